package examples

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	_ "image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
)

// cli runs the command line against a server and returns what it printed.
func cli(t *testing.T, s *servertest.Server, args ...string) string {
	t.Helper()
	cmd := servertest.Command(t, args...)
	cmd.Env = append(servertest.Environment(), "CHARGEHAND_URL="+s.URL, "CHARGEHAND_API_KEY="+s.Key)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("chargehand %s: %v\n%s%s", strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// outside runs `chargehand examples serve` on a free port and returns host:port.
func outside(t *testing.T) string {
	t.Helper()
	cmd := servertest.Command(t, "examples", "serve", "--listen", "127.0.0.1:0", "--slowness", "5ms")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stderr).ReadString('\n')
	address := regexp.MustCompile(`http://([^/]+)/`).FindStringSubmatch(line)
	if err != nil || address == nil {
		t.Fatalf("examples serve says %q, %v", line, err)
	}
	return address[1]
}

func tools(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "picture"), "./picture")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build picture: %v\n%s", err, out)
	}
	return dir
}

func start(t *testing.T) (s *servertest.Server, path string) {
	t.Helper()
	path = tools(t)
	s = servertest.Start(t, servertest.Options{
		Args: []string{"--allow-run", "shell", "--connect-to", "127.0.0.1:8099:" + outside(t)},
		Env:  []string{"PATH=" + path + ":" + os.Getenv("PATH")},
	})
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("examples: %v, %v", files, err)
	}
	cli(t, s, append([]string{"workflows", "apply"}, files...)...)
	return s, path
}

func equalJSON(t *testing.T, got []byte, expectedFile string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join("data", expectedFile))
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if err := json.Unmarshal(want, &b); err != nil {
		t.Fatal(err)
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if !bytes.Equal(x, y) {
		t.Errorf("got  %s\nwant %s", x, y)
	}
}

func TestExamples(t *testing.T) {
	server, path := start(t)
	t.Run("hello", func(t *testing.T) {
		dir := t.TempDir()
		cli(t, server, "run", "examples/hello", "--input", "@data/hello.input.json", "--download", dir)
		output, err := os.ReadFile(filepath.Join(dir, "output.json"))
		if err != nil {
			t.Fatal(err)
		}
		equalJSON(t, output, "hello.expected.json")
	})
	t.Run("enrich-order", func(t *testing.T) {
		dir := t.TempDir()
		var batch struct{ Total, Completed, Failed int }
		printed := cli(t, server, "batch", "examples/enrich-order", "--items", "data/orders.csv", "--concurrency", "8", "--download", dir)
		if err := json.Unmarshal([]byte(printed), &batch); err != nil {
			t.Fatal(err)
		}
		if batch.Total != 24 || batch.Completed != 24 || batch.Failed != 0 {
			t.Errorf("batch %+v", batch)
		}
		all := []json.RawMessage{}
		for i := range batch.Total {
			output, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%05d", i), "output.json"))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, output)
		}
		got, _ := json.Marshal(all)
		equalJSON(t, got, "orders.expected.json")
	})
	t.Run("enrich-order, unknown customer", func(t *testing.T) {
		cmd := servertest.Command(t, "run", "examples/enrich-order", "--input", `{"order":"x","customer":"c-99","amount":"1"}`)
		cmd.Env = append(servertest.Environment(), "CHARGEHAND_URL="+server.URL, "CHARGEHAND_API_KEY="+server.Key)
		out, err := cmd.Output()
		if cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("exit code %d, %v", cmd.ProcessState.ExitCode(), err)
		}
		if !strings.Contains(string(out), "https://example.com/errors/unknown-customer") || !strings.Contains(string(out), "c-99") {
			t.Errorf("error: %s", out)
		}
	})
	t.Run("await-payment", func(t *testing.T) {
		var waiting struct {
			ID string `json:"execution_id"`
		}
		if err := json.Unmarshal([]byte(cli(t, server, "run", "examples/await-payment", "--input", `{"order":"o-7","amount":40}`, "--no-wait", "-o", "json")), &waiting); err != nil {
			t.Fatal(err)
		}
		for i, subject := range []string{"o-8", "o-7"} { // the first is of another order
			event := fmt.Sprintf(`{"specversion":"1.0","id":"%d","source":"/shop","type":"com.example.order.paid","subject":%q,"data":{"amount":40}}`, i, subject)
			file := filepath.Join(t.TempDir(), "event.json")
			if err := os.WriteFile(file, []byte(event), 0o600); err != nil {
				t.Fatal(err)
			}
			cli(t, server, "events", "publish", file)
		}
		output := cli(t, server, "executions", "watch", waiting.ID, "-o", "json")
		if !strings.Contains(output, `"ready to ship"`) {
			t.Errorf("output: %s", output)
		}
	})
	t.Run("thumbnails and contact sheet", func(t *testing.T) {
		dir := t.TempDir()
		generate := exec.Command(filepath.Join(path, "picture"), "generate", "-count", "6", "-out", filepath.Join(dir, "pictures"))
		if out, err := generate.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		cli(t, server, "batch", "examples/thumbnail", "--files", "picture="+filepath.Join(dir, "pictures", "*.png"), "--concurrency", "3", "--download", filepath.Join(dir, "small"))
		thumbnails, _ := filepath.Glob(filepath.Join(dir, "small", "*", "picture-0*-thumbnail.png"))
		if len(thumbnails) != 6 {
			t.Fatalf("thumbnails: %v", thumbnails)
		}
		for _, file := range thumbnails {
			if w, h := size(t, file); max(w, h) != 160 {
				t.Errorf("%s is %d × %d", file, w, h)
			}
		}
		references := cli(t, server, append([]string{"files", "upload", "-o", "json"}, thumbnails...)...)
		cli(t, server, "run", "examples/contact-sheet", "--input", `{"columns":3,"pictures":`+references+`}`, "--download", dir)
		if w, h := size(t, filepath.Join(dir, "contact-sheet.png")); w != 510 || h != 340 {
			t.Errorf("the sheet is %d × %d", w, h)
		}
	})
	t.Run("recorded", func(t *testing.T) { recorded(t, server, 1, 6) })
}

// recorded writes tests from what the examples have done: of each workflow and end at most ofEach, and at least least
// of all. The command runs each before it writes it, and says on standard error if the test comes to anything else
// than the execution.
func recorded(t *testing.T, server *servertest.Server, ofEach, least int) {
	all := 0
	written := map[string]int{}
	for line := range strings.Lines(cli(t, server, "executions", "list", "--all", "-o", "jsonl")) {
		var e struct {
			ID       string `json:"id"`
			Workflow string `json:"workflow"`
			Status   string `json:"status"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		key := e.Workflow + " " + e.Status
		if written[key] == ofEach {
			continue
		}
		written[key]++
		all++
		t.Run(e.Workflow+" "+e.Status, func(t *testing.T) {
			dir := t.TempDir()
			cmd := servertest.Command(t, "executions", "record-test", e.ID, "--with-files")
			cmd.Dir = dir
			cmd.Env = append(servertest.Environment(), "CHARGEHAND_URL="+server.URL, "CHARGEHAND_API_KEY="+server.Key)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Run(); err != nil || stderr.Len() > 0 || !strings.Contains(stdout.String(), "elapsed: P") {
				t.Errorf("%v\n%s%s", err, stderr.String(), stdout.String())
			}
			replayed(t, server, e.Workflow, e.ID)
			files, _ := filepath.Glob(filepath.Join(dir, "fixtures", "*"))
			if made := strings.Contains(stdout.String(), "from: fixtures/"); made != (len(files) > 0) {
				t.Errorf("the files are %q:\n%s", files, stdout.String())
			}
		})
	}
	if all < least {
		t.Errorf("tests were written of %v", written)
	}
}

// replayed replays an execution over the definition that it ran: each decision is the same, and so is what it came to.
func replayed(t *testing.T, server *servertest.Server, workflow, id string) {
	cmd := servertest.Command(t, "test", "--replay", id, "--definition", strings.TrimPrefix(workflow, "examples/")+".yaml")
	cmd.Env = append(servertest.Environment(), "CHARGEHAND_URL="+server.URL, "CHARGEHAND_API_KEY="+server.Key)
	if said, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(said), "compared") || strings.Count(string(said), "\n") != 1 {
		t.Errorf("%v\n%s", err, said)
	}
}

func size(t *testing.T, file string) (width, height int) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	config, _, err := image.DecodeConfig(f)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return config.Width, config.Height
}
