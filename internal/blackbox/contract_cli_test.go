package blackbox_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
	"github.com/chargehand/chargehand/internal/value"
)

// said is what a command of the command line wrote, and its exit code.
type said struct {
	out, err string
	code     int
}

// command is `chargehand` with these arguments as a client of s; nil: no server at all.
func command(t *testing.T, s *server, args ...string) *exec.Cmd {
	t.Helper()
	cmd := servertest.Command(t, args...)
	home := t.TempDir()
	cmd.Dir = home
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TZ=UTC"}
	if s != nil {
		cmd.Env = append(cmd.Env, "CHARGEHAND_URL="+s.URL, "CHARGEHAND_API_KEY="+s.Key)
	}
	return cmd
}

func finishCommand(t *testing.T, cmd *exec.Cmd) said {
	t.Helper()
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	got := said{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
	if strings.Contains(got.out+got.err, "\x1b[") {
		t.Errorf("%q: colours without a terminal:\n%s%s", cmd.Args[1:], got.out, got.err)
	}
	if strings.Contains(got.err, "panic:") || strings.Contains(got.err, "goroutine ") {
		t.Errorf("%q: %s", cmd.Args[1:], got.err)
	}
	return got
}

// want fails the test unless the command has ended with that exit code.
func (s said) want(t *testing.T, code int, args ...any) said {
	t.Helper()
	if s.code != code {
		t.Fatalf("%v: exit code %d, want %d\nstdout: %s\nstderr: %s", args, s.code, code, s.out, s.err)
	}
	return s
}

func cli(t *testing.T, s *server, code int, args ...string) said {
	t.Helper()
	return finishCommand(t, command(t, s, args...)).want(t, code, args)
}

// write makes a file in a folder of the test.
func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestContractCLI holds docs/reference/cli.md: what scripts rely on.
func TestContractCLI(t *testing.T) {
	t.Parallel()
	s := start(t)
	t.Run("keys create", func(t *testing.T) { testKeysCreate(t) })
	t.Run("workflows", func(t *testing.T) { testWorkflowsCommands(t, s) })
	t.Run("run", func(t *testing.T) { testRunCommand(t, s) })
	t.Run("run with files", func(t *testing.T) { testRunFiles(t, s) })
	t.Run("run, interrupted", func(t *testing.T) { testRunInterrupted(t, s) })
	t.Run("batch", func(t *testing.T) { testBatchCommand(t, s) })
	t.Run("executions", func(t *testing.T) { testExecutionsCommands(t, s) })
	t.Run("exit codes", func(t *testing.T) { testExitCodes(t, s) })
	t.Run("json everywhere", func(t *testing.T) { testJSONEverywhere(t, s) })
}

// testKeysCreate: "Prints the key and nothing else on stdout"; without a server too.
func testKeysCreate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	location := servertest.Location(t, dir)
	if got := cli(t, nil, 2, slices.Concat([]string{"keys", "create", "--data-dir", dir}, location)...); got.out != "" || !strings.Contains(got.err, "there is no installation in") {
		t.Errorf("where there is no installation: stdout %q, stderr %q", got.out, got.err)
	}
	if _, err := os.Stat(filepath.Join(dir, "chargehand.db")); !os.IsNotExist(err) {
		t.Errorf("a refused command made a database: %v", err)
	}
	for _, args := range [][]string{
		{"--init"}, {}, {"--name", "n"}, {"--environment", "test"}, {"--preset", "all"}, {"--scopes", "workflows:read,executions:read"}, {"--expires", "90d"}, {"--expires", "12h"},
	} {
		got := cli(t, nil, 0, slices.Concat([]string{"keys", "create", "--data-dir", dir}, servertest.Location(t, dir), args)...)
		if !keyText.MatchString(strings.TrimSuffix(got.out, "\n")) || strings.Count(got.out, "\n") != 1 {
			t.Errorf("%q prints %d bytes that are not a key alone", args, len(got.out))
		}
		if want := map[bool]string{true: "sk_test_", false: "sk_live_"}[slices.Contains(args, "test")]; !strings.HasPrefix(got.out, want) {
			t.Errorf("%q: not a key with the prefix %s", args, want)
		}
	}
	for _, args := range [][]string{
		{"--preset", "root"}, {"--environment", "prod"}, {"--scopes", "everything"}, {"--expires", "soon"}, {"--expires", "-1d"}, {"--expires", "0d"}, {"--preset", "run", "--scopes", "admin"}, {"--nonsense"}, {"extra"},
	} {
		got := cli(t, nil, 2, slices.Concat([]string{"keys", "create", "--data-dir", dir}, servertest.Location(t, dir), args)...)
		if got.out != "" || got.err == "" {
			t.Errorf("%q: stdout %q, stderr %q", args, got.out, got.err)
		}
	}
	s := servertest.Launch(t, servertest.Options{DataDir: dir})
	s.Key = strings.TrimSpace(cli(t, nil, 0, append([]string{"keys", "create", "--data-dir", dir, "--scopes", "workflows:read"}, servertest.Location(t, dir)...)...).out)
	wantStatus(t, s.Do(t, "GET", "/workflows", ""), 200)
	wantStatus(t, s.Do(t, "GET", "/executions", ""), 403)
}

func testWorkflowsCommands(t *testing.T, s *server) {
	dir := t.TempDir()
	a, b := unique("cli"), unique("cli")
	yaml := write(t, dir, "a.yaml", definition(a, "1.0.0", echo))
	json := write(t, dir, "b.json", `{"document":{"dsl":"1.0.3","namespace":"contract","name":"`+b+`","version":"0.1.0"},"do":[{"x":{"set":{"y":1}}}]}`)
	line := regexp.MustCompile(`^([0-9a-f-]{36})\s+contract/(\S+)\s+(\S+)\s+created$`)
	got := cli(t, s, 0, "workflows", "apply", yaml, json)
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	if len(lines) != 2 {
		t.Fatalf("%q", got.out)
	}
	ma, mb := line.FindStringSubmatch(lines[0]), line.FindStringSubmatch(lines[1])
	if ma == nil || mb == nil || ma[2] != a || ma[3] != "1.0.0" || mb[2] != b || mb[3] != "0.1.0" {
		t.Fatalf("one line each with id, namespace/name, version, result: %q", got.out)
	}
	id := ma[1]
	wantStatus(t, s.Do(t, "GET", "/workflows/"+id, ""), 200)
	draft := write(t, dir, "draft.yaml", definition(a, "2.0.0", failed))
	cli(t, s, 0, "workflows", "apply", "--draft", draft)
	if w := s.Do(t, "GET", "/workflows/"+id, "").Object(); w["published_version"] != "1.0.0" {
		t.Errorf("--draft published: %v", w)
	}
	if got := cli(t, s, 0, "workflows", "list", "-o", "wide"); !strings.Contains(got.out, id) || !strings.Contains(got.out, "contract/"+b) {
		t.Errorf("list: %s", got.out)
	}
	if got := cli(t, s, 0, "workflows", "show", "contract/"+a); !strings.Contains(got.out, id) {
		t.Errorf("show: %s", got.out)
	}
	cli(t, s, 0, "workflows", "publish", "contract/"+a, "2.0.0")
	if w := s.Do(t, "GET", "/workflows/"+id, "").Object(); w["published_version"] != "2.0.0" {
		t.Errorf("publish: %v", w)
	}
	cli(t, s, 2, "workflows", "delete", id) // there is no terminal to ask on
	wantStatus(t, s.Do(t, "GET", "/workflows/"+id, ""), 200)
	cli(t, s, 0, "workflows", "delete", id, "--yes")
	wantStatus(t, s.Do(t, "GET", "/workflows/"+id, ""), 404)
	bad := write(t, dir, "bad.yaml", definition("bad", "1.0.0", "do:\n- a: {sit: 1}\n"))
	if got := finishCommand(t, command(t, s, "workflows", "apply", bad)); got.code == 0 || got.out != "" || !strings.Contains(got.err, "bad.yaml:3:") {
		t.Errorf("a bad definition: %d %q %q", got.code, got.out, got.err)
	}
	cli(t, nil, 0, "workflows", "validate", yaml, json) // no server needed
	if got := finishCommand(t, command(t, nil, "workflows", "validate", yaml, bad)); got.code == 0 || !strings.Contains(got.out+got.err, "bad.yaml:3:") {
		t.Errorf("validate: %d %q %q", got.code, got.out, got.err)
	}
	cli(t, s, 2, "workflows", "apply", filepath.Join(dir, "nothing.yaml"))
	cli(t, s, 2, "workflows", "apply")
}

// ofRun is the final execution that run prints.
func ofRun(t *testing.T, got said) object {
	t.Helper()
	e, ok := parse(t, got.out).(object)
	if !ok || !isUUID(e["id"]) {
		t.Fatalf("stdout is no execution: %q", got.out)
	}
	return e
}

func testRunCommand(t *testing.T, s *server) {
	name := unique("cli")
	id := s.Apply(t, definition(name, "1.0.0", fallible))
	file := write(t, t.TempDir(), "in.json", `{"n":100000000000000000001}`)
	stdin := command(t, s, "run", "contract/"+name, "--input", "-")
	stdin.Stdin = strings.NewReader(`{"n":100000000000000000001}`)
	for _, got := range []said{
		cli(t, s, 0, "run", "contract/"+name, "--input", `{"n":100000000000000000001}`), cli(t, s, 0, "run", id, "--input", "@"+file), finishCommand(t, stdin).want(t, 0),
	} {
		e := ofRun(t, got)
		if e["status"] != "finished" || string(value.Marshal(e["output"])) != `{"n":100000000000000000001}` {
			t.Errorf("%s", got.out)
		}
		if !strings.Contains(got.err, "finished") || !strings.Contains(got.err, "completed") {
			t.Errorf("no progress on stderr: %q", got.err)
		}
	}
	// The final execution is what the API answers, field by field.
	e := ofRun(t, cli(t, s, 0, "run", id, "--input", `{"n":1.0}`))
	read := s.Do(t, "GET", executions(id)+"/"+text(e["id"]), "").Object()
	delete(fields(list(e["results"])[0]), "url") // signed anew on each read
	delete(fields(list(e["results"])[0]), "expires_at")
	delete(fields(list(read["results"])[0]), "url")
	delete(fields(list(read["results"])[0]), "expires_at")
	if !equal(e, read) {
		t.Errorf("printed %s\nread    %s", value.Marshal(e), value.Marshal(read))
	}
	if e := ofRun(t, cli(t, s, 0, "run", id)); !equal(e["output"], object{}) {
		t.Errorf("without input: %v", e["output"])
	}
	got := cli(t, s, 1, "run", id, "--input", `{"bad":true}`)
	if e := ofRun(t, got); e["status"] != "error" || !strings.Contains(got.err, "Bad") {
		t.Errorf("%s %s", got.out, got.err)
	}
	slow := deploy(t, s, sleep)
	e = ofRun(t, cli(t, s, 0, "run", slow, "--no-wait"))
	if e["status"] != "initial" {
		t.Errorf("--no-wait: %v", e)
	}
	wantStatus(t, s.Do(t, "GET", executions(slow)+"/"+text(e["id"]), ""), 200)
	for _, bad := range []string{"[]", "x", "null", "{", "@/nothing", "{}{}"} {
		if got := cli(t, s, 2, "run", id, "--input", bad); got.out != "" || got.err == "" {
			t.Errorf("--input %s: %q %q", bad, got.out, got.err)
		}
	}
}

// testRunFiles: --file NAME=PATH uploads and passes a reference; --download saves the results.
func testRunFiles(t *testing.T, s *server) {
	dir, target := t.TempDir(), filepath.Join(t.TempDir(), "deep", "target")
	id := deploy(t, s, echo)
	path := write(t, dir, "data with space.txt", "the data")
	got := cli(t, s, 0, "run", id, "--input", `{"n":1}`, "--file", "doc="+path, "--download", target)
	doc := fields(fields(ofRun(t, got)["output"])["doc"])
	if doc["name"] != "data with space.txt" || doc["size"] != 8 {
		t.Errorf("%s", got.out)
	}
	if saved, err := os.ReadFile(filepath.Join(target, "data with space.txt")); string(saved) != "the data" {
		t.Errorf("saved %q, %v", saved, err)
	}
	cli(t, s, 0, "run", id, "--download", target)
	if saved, err := os.ReadFile(filepath.Join(target, "output.json")); string(saved) != "{}" {
		t.Errorf("saved %q, %v", saved, err)
	}
	for _, bad := range []string{"doc", "=x", "doc=" + filepath.Join(dir, "nothing")} {
		cli(t, s, 2, "run", id, "--file", bad)
	}
}

// testRunInterrupted: Ctrl-C stops following, the execution keeps running.
func testRunInterrupted(t *testing.T, s *server) {
	id := deploy(t, s, sleep)
	cmd := command(t, s, "run", id)
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	errs := func() string {
		data, err := os.ReadFile(stderr.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var e object
	eventually(t, "the execution waits", func() bool {
		page := list(s.Do(t, "GET", executions(id), "").Object()["data"])
		if len(page) == 1 {
			e = fields(page[0])
		}
		return e["phase"] == "waiting" && strings.Contains(errs(), text(e["id"]))
	})
	_ = cmd.Process.Signal(syscall.SIGINT)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code == 0 || !strings.Contains(errs(), "no longer following") {
		t.Errorf("exit code %d, %q", code, errs())
	}
	if now := s.Do(t, "GET", executions(id)+"/"+text(e["id"]), "").Object(); now["status"] != "processing" {
		t.Errorf("the execution is %v", now["status"])
	}
}

func testBatchCommand(t *testing.T, s *server) {
	dir, name := t.TempDir(), unique("cli")
	id := s.Apply(t, definition(name, "1.0.0", fallible))
	for file, content := range map[string]string{
		"a.json": `[{"n":"1"},{"n":"2"},{"n":"3"}]`, "a.jsonl": "{\"n\":\"1\"}\n\n{\"n\":\"2\"}\r\n{\"n\":\"3\"}", "a.csv": "n\n1\n2\n3\n", "bom.csv": "\ufeffn\r\n1\r\n2\r\n3\r\n",
	} {
		target := filepath.Join(dir, "out-"+file)
		got := cli(t, s, 0, "batch", "contract/"+name, "--items", write(t, dir, file, content), "--concurrency", "2", "--download", target)
		b := fields(parse(t, got.out))
		if b["total"] != 3 || b["completed"] != 3 || b["effective_concurrency"] != 2 || !strings.Contains(got.err, "3 of 3") {
			t.Errorf("%s: %s %s", file, got.out, got.err)
		}
		batchShape.verify(t, "the batch of the summary", b)
		items := s.Do(t, "GET", batches(id)+"/"+text(b["batch_id"])+"/items", "").Object()
		for i, item := range list(items["data"]) {
			if !equal(fields(item)["inputs"], object{"n": fmt.Sprint(i + 1)}) {
				t.Errorf("%s: item %d is %v", file, i, item)
			}
		}
		saved := 0
		_ = filepath.WalkDir(target, func(_ string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				saved++
			}
			return nil
		})
		if saved != 3 {
			t.Errorf("%s: %d result files are saved", file, saved)
		}
	}
	mixed := write(t, dir, "mixed.json", `[{"bad":true},{}]`)
	got := cli(t, s, 1, "batch", id, "--items", mixed)
	if b := fields(parse(t, got.out)); b["failed"] != 1 || !strings.Contains(got.err, "1 failed") {
		t.Errorf("%s %s", got.out, got.err)
	}
	for name, content := range map[string]string{"x.json": "{}", "y.json": "[", "x.jsonl": "{}\nx\n", "x.csv": "a,b\n1\n", "x.txt": "[]"} {
		cli(t, s, 2, "batch", id, "--items", write(t, dir, name, content))
	}
	cli(t, s, 2, "batch", id)
	if got := finishCommand(t, command(t, s, "batch", id, "--items", write(t, dir, "empty.json", "[]"))); got.code == 0 || !strings.Contains(got.err, "item") {
		t.Errorf("no items: %d %s", got.code, got.err)
	}
}

func testExecutionsCommands(t *testing.T, s *server) {
	name := unique("cli")
	id := s.Apply(t, definition(name, "1.0.0", sleep))
	path := begin(t, s, id, "{}")
	e := path[strings.LastIndex(path, "/")+1:]
	await(t, s, path, "processing")
	if got := cli(t, s, 0, "executions", "list", "contract/"+name, "-o", "wide"); !strings.Contains(got.out, e) || !strings.Contains(got.out, "processing") {
		t.Errorf("list: %s", got.out)
	}
	if got := ofRun(t, cli(t, s, 0, "executions", "get", e, "-o", "json")); got["id"] != e {
		t.Errorf("get: %v", got)
	}
	eventually(t, "the task is in the timeline", func() bool { // on Temporal it comes a moment after it continues
		return strings.Contains(cli(t, s, 0, "executions", "timeline", e, "-o", "wide").out, "/do/0/sleep")
	})
	if got := ofRun(t, cli(t, s, 0, "executions", "cancel", e, "-o", "json")); got["phase"] != "cancelled" {
		t.Errorf("cancel: %v", got)
	}
	if got := finishCommand(t, command(t, s, "executions", "cancel", e)); got.code == 0 || !strings.Contains(got.err, "ended") {
		t.Errorf("cancelled twice: %d %s", got.code, got.err)
	}
	retried := ofRun(t, cli(t, s, 0, "executions", "retry", e, "-o", "json"))
	if retried["retry_of"] != e {
		t.Errorf("retry: %v", retried)
	}
	batch := text(s.Do(t, "POST", batches(id), `{"items":[{},{}]}`).Object()["batch_id"])
	if got := cli(t, s, 0, "batches", "list", id, "-o", "wide"); !strings.Contains(got.out, batch) {
		t.Errorf("batches list: %s", got.out)
	}
	if b := fields(parse(t, cli(t, s, 0, "batches", "get", batch, "-o", "json").out)); b["total"] != 2 {
		t.Errorf("batches get: %v", b)
	}
	if b := fields(parse(t, cli(t, s, 0, "batches", "cancel", batch, "-o", "json").out)); b["batch_id"] != batch {
		t.Errorf("batches cancel: %v", b)
	}
	file := upload(t, s, "f.txt", "text/plain", "f")
	if got := cli(t, s, 0, "files", "get", text(file["id"])); !strings.Contains(got.out, "f.txt") {
		t.Errorf("files get: %s", got.out)
	}
}

// testExitCodes: 2 wrong usage, 4 server not reachable or not authorised.
func testExitCodes(t *testing.T, s *server) {
	for _, args := range [][]string{{"nonsense"}, {"run"}, {"run", "a", "b"}, {"run", "a", "--nonsense"}, {"workflows", "nonsense"}, {"executions", "get"}, {"executions", "get", "a/b", "c"}, {"batch", "a", "--items", "x.json", "--concurrency", "0"}, {"executions", "list", "--status", "cancelled"}, {"run", "a", "--version", "1", "--version", "2"}, {"help", "nonsense"}, {"serve", "extra"}, {"serve", "--nonsense"}, {"backup"}, {"restore"}, {"workflows", "list", "-o", "xml"}} {
		if got := cli(t, s, 2, args...); got.out != "" || got.err == "" {
			t.Errorf("%q: %q %q", args, got.out, got.err)
		}
	}
	nowhere := command(t, nil, "run", "a/b") // tries more than once, which takes its time
	nowhere.Env = append(nowhere.Env, "CHARGEHAND_URL=http://127.0.0.1:1", "CHARGEHAND_API_KEY="+s.Key)
	finishCommand(t, nowhere).want(t, 4)
	for _, args := range [][]string{{"workflows", "list"}, {"run", "a/b"}, {"executions", "list"}, {"batches", "list", nobody}, {"limits"}} {
		stranger := command(t, nil, args...)
		stranger.Env = append(stranger.Env, "CHARGEHAND_URL="+s.URL, "CHARGEHAND_API_KEY=sk_live_x")
		finishCommand(t, stranger).want(t, 4, args)
		nobody := command(t, nil, args...)
		nobody.Env = append(nobody.Env, "CHARGEHAND_URL="+s.URL)
		finishCommand(t, nobody).want(t, 4, args)
	}
	for address, want := range map[string]int{
		s.URL + "/": 0, s.URL + "/api/v1": 0, s.URL + "/api/v1/": 0, strings.TrimPrefix(s.URL, "http://"): 2, "localhost": 2, "ftp://x": 2, "http://": 2, " ": 2,
	} {
		cmd := command(t, nil, "workflows", "list")
		cmd.Env = append(cmd.Env, "CHARGEHAND_URL="+address, "CHARGEHAND_API_KEY="+s.Key+"\n")
		finishCommand(t, cmd).want(t, want, address)
	}
	limited := command(t, nil, "workflows", "delete", "--yes", deploy(t, s, echo))
	limited.Env = append(limited.Env, "CHARGEHAND_URL="+s.URL, "CHARGEHAND_API_KEY="+servertest.CreateKey(t, s.DataDir))
	finishCommand(t, limited).want(t, 4)
	if got := finishCommand(t, command(t, s, "run", "contract/nothing")); got.code == 0 || got.out != "" || !strings.Contains(got.err, "contract/nothing") {
		t.Errorf("no such workflow: %d %q", got.code, got.err)
	}
	if got := cli(t, nil, 0, "version"); !strings.HasPrefix(got.out, "chargehand ") {
		t.Errorf("version: %q", got.out)
	}
	if got := cli(t, nil, 0, "completion", "bash"); !strings.Contains(got.out, "chargehand") {
		t.Error("completion bash prints nothing")
	}
	if got := cli(t, nil, 0, "--help"); !strings.Contains(got.out, "serve") {
		t.Errorf("--help: %q", got.out)
	}
}

func testJSONEverywhere(t *testing.T, s *server) {
	id := deploy(t, s, echo)
	path := begin(t, s, id, "{}")
	finish(t, s, path)
	e := path[strings.LastIndex(path, "/")+1:]
	batch := text(s.Do(t, "POST", batches(id)+"?wait=60s", `{"items":[{}]}`).Object()["batch_id"])
	dir := t.TempDir()
	yaml := write(t, dir, "a.yaml", definition(unique("cli"), "1.0.0", echo))
	items := write(t, dir, "items.json", "[{}]")
	for _, args := range [][]string{
		{"workflows", "list"}, {"workflows", "versions", id}, {"secrets", "list"}, {"workflows", "show", id}, {"workflows", "apply", yaml}, {"workflows", "validate", yaml}, {"workflows", "publish", id, "1.0.0"}, {"run", id}, {"batch", id, "--items", items},
		{"executions", "list"}, {"executions", "get", e}, {"executions", "timeline", e}, {"batches", "list", id}, {"batches", "get", batch}, {"batches", "items", batch}, {"files", "upload", yaml}, {"keys", "list"}, {"limits"},
	} {
		got := cli(t, s, 0, append(args, "-o", "json")...)
		if v := parse(t, got.out); !isObject(v) && !isList(v) {
			t.Errorf("%q -o json: %q", args, got.out)
		}
	}
}
