package blackbox_test

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
)

// TestContractServe holds docs/reference/cli.md to what it says of `serve` and of the operations beside it.
func TestContractServe(t *testing.T) {
	t.Parallel()
	t.Run("one owner", testOneOwner)
	t.Run("stop", testStop)
	t.Run("settings", testSettings)
	t.Run("bad settings", testBadSettings)
	t.Run("workflows folder", testWorkflowsFolder)
	t.Run("backup", testBackup)
	t.Run("master key", testMasterKey)
}

// testOneOwner: a second serve on the same data directory says so and exits 1.
func testOneOwner(t *testing.T) {
	servertest.Only(t, servertest.SQLite) // elsewhere the second one stands by, or works too
	s := start(t)
	flow := deploy(t, s, echo)
	got := cli(t, nil, 1, "serve", "--data-dir", s.DataDir, "--listen", "127.0.0.1:0")
	if !strings.Contains(got.err, s.DataDir) || !strings.Contains(got.err, "in use") || got.out != "" {
		t.Errorf("%q %q", got.out, got.err)
	}
	if e := ends(t, s, flow, "{}"); e["status"] != "finished" {
		t.Errorf("the first server: %v", e)
	}
	// The address is taken: also said, also 1, and nothing is left in the way.
	dir := t.TempDir()
	got = cli(t, nil, 1, "serve", "--data-dir", dir, "--listen", strings.TrimPrefix(s.URL, "http://"))
	if !strings.Contains(got.err, "in use") {
		t.Errorf("%q", got.err)
	}
	if code := s.Stop(); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
	again := servertest.Launch(t, servertest.Options{DataDir: s.DataDir})
	again.Key = s.Key
	wantStatus(t, again.Do(t, "GET", "/workflows/"+flow, ""), 200)
}

// testStop: SIGTERM finishes or parks running executions within 10 s and exits with 0; they continue at the next start.
func testStop(t *testing.T) {
	s := start(t, append([]string{"--allow-run", "shell"}, egress...)...)
	calls := newBarrier(t)
	paths := map[string]string{
		"timer": begin(t, s, deploy(t, s, "do:\n- a: {wait: {seconds: 1}}\n"), "{}"), "call": begin(t, s, deploy(t, s, calls.flow()), `{"n":1}`),
		"process": begin(t, s, deploy(t, s, "do:\n- a: {run: {shell: {command: 'sleep 600'}}}\n"), "{}"), "long": begin(t, s, deploy(t, s, sleep), "{}"),
	}
	for name, path := range paths {
		begun := []string{"processing"}
		if name == "timer" { // on a slow machine it may be over
			begun = append(begun, "finished")
		}
		await(t, s, path, begun...)
	}
	calls.await(1)
	began := time.Now()
	code := s.Stop()
	if took := time.Since(began); code != 0 || took > 30*time.Second {
		t.Errorf("exit code %d after %s", code, took)
	}
	calls.release()
	again := servertest.Launch(t, servertest.Options{DataDir: s.DataDir, Args: append([]string{"--allow-run", "shell"}, egress...)})
	again.Key = s.Key
	for _, name := range []string{"timer", "call"} {
		if e := finish(t, again, paths[name]); e["status"] != "finished" {
			t.Errorf("%s after the restart: %v", name, e)
		}
	}
	for _, name := range []string{"process", "long"} {
		if e := await(t, again, paths[name], "processing"); e["finished_at"] != nil {
			t.Errorf("%s after the restart: %v", name, e)
		}
		wantStatus(t, again.Do(t, "POST", paths[name]+"/cancel", ""), 202)
	}
}

// testSettings: each flag also as CHARGEHAND_… and in a config file.
func testSettings(t *testing.T) {
	dir := t.TempDir()
	config := write(t, dir, "config.yaml", "rate-limit: 3\npublic-url: http://from.file:1\nallow-run: [shell]\n")
	limit := func(s *server) any {
		for _, l := range list(s.Do(t, "GET", "/limits", "").Object()["data"]) {
			if fields(l)["name"] == "requests_per_second" {
				return fields(l)["value"]
			}
		}
		return nil
	}
	file := servertest.Start(t, servertest.Options{Args: []string{"--config", config}})
	if limit(file) != 3 {
		t.Errorf("the config file is not used: %v", limit(file))
	}
	file.Apply(t, definition("shell", "1.0.0", "do:\n- a: {run: {shell: {command: 'true'}}}\n"))
	environment := servertest.Start(t, servertest.Options{
		Args: []string{"--config", config, "--public-url", "http://from.flag:3"},
		Env:  []string{"CHARGEHAND_RATE_LIMIT=4", "CHARGEHAND_PUBLIC_URL=http://from.environment:2", "CHARGEHAND_ALLOW_RUN=js"},
	})
	if limit(environment) != 4 {
		t.Errorf("the environment does not win over the file: %v", limit(environment))
	}
	a := environment.Do(t, "POST", "/workflows", definition("shell", "1.0.0", "do:\n- a: {run: {shell: {command: 'true'}}}\n"), "Content-Type", "application/yaml")
	if a.Status != 422 {
		t.Errorf("allow-run of the environment does not win: %d", a.Status)
	}
	if kind := text(environment.Do(t, "GET", "/nothing", "").Object()["type"]); !strings.HasPrefix(kind, "http://from.flag:3/") {
		t.Errorf("the flag does not win over the environment: %s", kind)
	}
	off := servertest.Start(t, servertest.Options{Args: []string{"--rate-limit", "0"}})
	if limit(off) != 0 {
		t.Errorf("--rate-limit 0 is off: %v", limit(off))
	}
	usual := servertest.Start(t, servertest.Options{})
	if limit(usual) != 1000 {
		t.Errorf("the default is 1,000 requests a second: %v", limit(usual))
	}
}

// testBadSettings: wrong usage is exit code 2, and says which setting.
func testBadSettings(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"--rate-limit", "-1"}, {"--rate-limit", "NaN"}, {"--rate-limit", "many"}, {"--public-url", "ftp://x"}, {"--public-url", "x"}, {"--allow-run", "perl"}, {"--allow-egress", "10.0.0.0/99"},
		{"--connect-to", "a:b"}, {"--trusted-ca", filepath.Join(dir, "nothing.pem")}, {"--trusted-ca", write(t, dir, "empty.pem", "no certificate")}, {"--config", filepath.Join(dir, "nothing.yaml")},
		{"--config", write(t, dir, "unknown.yaml", "colour: red\n")}, {"--max-running", "-1"}, {"--log-level", "loud"},
	} {
		got := cli(t, nil, 2, append([]string{"serve", "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "data")}, args...)...)
		if got.out != "" || got.err == "" {
			t.Errorf("%q: %q %q", args, got.out, got.err)
		}
	}
	cmd := command(t, nil, "serve", "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "data"))
	cmd.Env = append(cmd.Env, "CHARGEHAND_RATE_LIMIT=many")
	if got := finishCommand(t, cmd).want(t, 2); !strings.Contains(got.err, "CHARGEHAND_RATE_LIMIT") {
		t.Errorf("%q", got.err)
	}
	// What the operating system refuses is no wrong usage.
	cli(t, nil, 1, "serve", "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(write(t, dir, "file", ""), "below"))
}

// testWorkflowsFolder: applied at start and again on change; a bad file stops nothing.
func testWorkflowsFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "good.yaml", definition("good", "1.0.0", "do:\n- a: {set: {x: first}}\n"))
	write(t, dir, "bad.yaml", definition("bad", "1.0.0", "do:\n- a: {sit: {}}\n"))
	write(t, dir, "notes.txt", "no definition")
	write(t, dir, "other.json", `{"document":{"dsl":"1.0.3","namespace":"contract","name":"other","version":"1.0.0"},"do":[{"a":{"set":{"x":1}}}]}`)
	s := start(t, "--workflows", dir)
	named := func(name string) object {
		for _, w := range list(s.Do(t, "GET", "/workflows", "").Object()["data"]) {
			if fields(w)["name"] == name {
				return fields(w)
			}
		}
		return nil
	}
	eventually(t, "the folder is applied", func() bool { return named("good") != nil && named("other") != nil })
	eventually(t, "the bad one is logged with its place", func() bool {
		return strings.Contains(s.Log(), "bad.yaml") && strings.Contains(s.Log(), "line=3")
	})
	write(t, dir, "good.yaml", definition("good", "1.0.0", "do:\n- a: {set: {x: second}}\n"))
	write(t, dir, "new.yml", definition("new", "1.0.0", echo))
	write(t, dir, "bad.yaml", definition("bad", "1.0.0", echo))
	eventually(t, "changes are applied", func() bool { return named("new") != nil && named("bad") != nil })
	eventually(t, "the changed one runs", func() bool {
		e := ends(t, s, text(named("good")["id"]), "{}")
		return fields(e["output"])["x"] == "second"
	})
}

// testBackup: safe beside a running server, with files and master key; doctor finds damage.
func testBackup(t *testing.T) {
	servertest.Only(t, servertest.SQLite) // elsewhere the database has a backup of its own
	s := start(t)
	flow := deploy(t, s, echo)
	content := strings.Repeat("content ", 1000)
	file := upload(t, s, "kept.txt", "text/plain", content)
	path := begin(t, s, flow, `{"file":`+reference(file)+`}`)
	before := finish(t, s, path)
	waiting := begin(t, s, deploy(t, s, "do:\n- a: {wait: {seconds: 1}}\n"), "{}")
	await(t, s, waiting, "processing")
	copied, restored := filepath.Join(t.TempDir(), "copy"), filepath.Join(t.TempDir(), "restored")
	cli(t, nil, 0, "backup", "--data-dir", s.DataDir, copied)
	wantStatus(t, s.Do(t, "POST", executions(flow), "{}"), 201)
	cli(t, nil, 0, "restore", "--data-dir", restored, copied)
	if got := finishCommand(t, command(t, nil, "restore", "--data-dir", restored, copied)); got.code == 0 {
		t.Error("restored over an installation")
	}
	cli(t, nil, 0, "doctor", "--data-dir", restored)
	other := servertest.Launch(t, servertest.Options{DataDir: restored})
	other.Key = s.Key // keys are part of the backup
	after := other.Do(t, "GET", path, "").Object()
	if after["finished_at"] != before["finished_at"] || string(download(t, other, list(after["results"])[0])) != content {
		t.Errorf("restored as %v", after)
	}
	if e := finish(t, other, waiting); e["status"] != "finished" {
		t.Errorf("what waited at the backup: %v", e)
	}
	cli(t, nil, 0, "doctor", "--data-dir", restored) // beside the server
	other.Stop()
	broken := false
	_ = filepath.WalkDir(filepath.Join(restored, "files"), func(name string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !broken {
			broken = os.Chmod(name, 0o600) == nil && os.WriteFile(name, []byte("damaged"), 0o600) == nil
		}
		return err
	})
	if got := cli(t, nil, 1, "doctor", "--data-dir", restored); !broken || !strings.Contains(got.out+got.err, "wrong") {
		t.Errorf("doctor: %s%s", got.out, got.err)
	}
	absent := filepath.Join(t.TempDir(), "absent")
	cli(t, nil, 1, "doctor", "--data-dir", absent)
	if _, err := os.Stat(absent); !os.IsNotExist(err) {
		t.Errorf("doctor made %s", absent)
	}
}

// testMasterKey: made at first start, 0600; a lost one is an error and not replaced in silence.
func testMasterKey(t *testing.T) {
	servertest.Only(t, servertest.SQLite) // elsewhere it is not in the data directory
	s := start(t)
	path := filepath.Join(s.DataDir, "master.key")
	s.Stop()
	kept, err := os.ReadFile(path)
	if err != nil || os.Remove(path) != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"keys", "create"}, {"doctor"}} {
		got := cli(t, nil, 1, append(args, "--data-dir", s.DataDir)...)
		if !strings.Contains(got.err+got.out, path) {
			t.Errorf("%q: %q", args, got.err)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("another master key was made")
	}
	elsewhere := write(t, t.TempDir(), "key", string(kept))
	again := servertest.Launch(t, servertest.Options{DataDir: s.DataDir, Args: []string{"--master-key-file", elsewhere}})
	again.Key = s.Key
	wantStatus(t, again.Do(t, "GET", "/workflows", ""), 200)
	if err := os.Chmod(elsewhere, 0o644); err != nil {
		t.Fatal(err)
	}
	cli(t, nil, 1, "keys", "create", "--data-dir", s.DataDir, "--master-key-file", elsewhere) // every user may read it
}

// TestContractEgress: private addresses are refused, on the address connected to, after name
// resolution, on every redirect, unless the operator allows them.
func TestContractEgress(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		fmt.Fprint(w, "here")
	}))
	t.Cleanup(receiver.Close)
	_, port, _ := net.SplitHostPort(receiver.Listener.Addr().String())
	call := func(s *server, address string) object {
		flow := deploy(t, s, fmt.Sprintf("do:\n- a: {call: http, with: {method: get, endpoint: '%s'}, timeout: {after: {seconds: 60}}}\n", address))
		return finish(t, s, begin(t, s, flow, "{}"))
	}
	closed := servertest.Start(t, servertest.Options{Env: []string{"HTTP_PROXY=" + receiver.URL, "http_proxy=" + receiver.URL, "ALL_PROXY=" + receiver.URL}})
	for _, host := range []string{
		"127.0.0.1", "localhost", "127.1.2.3", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[::]", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254",
		"100.64.0.1", "224.0.0.1", "[fe80::1]", "[fc00::1]", "[ff02::1]", "0.1.2.3", "[2002:7f00:1::]",
	} {
		e := call(closed, "http://"+host+":"+port+"/")
		if fault := fields(e["error"]); e["status"] != "error" || !strings.Contains(text(fault["detail"]), "egress") && host != "[2002:7f00:1::]" {
			t.Errorf("%s: %v %v", host, e["status"], fault)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Fatalf("%d refused calls arrived, perhaps by a proxy of the environment", n)
	}
	for _, allowed := range []string{"127.0.0.1", "127.0.0.0/8", "localhost"} {
		s := start(t, "--allow-egress", allowed)
		host := "127.0.0.1"
		if allowed == "localhost" {
			host = allowed
		}
		if e := call(s, "http://"+host+":"+port+"/"); e["output"] != "here" {
			t.Errorf("allowed by %s: %v", allowed, e)
		}
		if e := call(s, "http://10.0.0.1:"+port+"/"); e["status"] != "error" {
			t.Errorf("%s allows other addresses: %v", allowed, e)
		}
	}
}

// TestContractConnectTo: --connect-to as curl, repeatable, its targets are allowed; and
// --trusted-ca for servers whose authority the system does not trust.
func TestContractConnectTo(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host) }))
	t.Cleanup(receiver.Close)
	ca := write(t, t.TempDir(), "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: receiver.Certificate().Raw})))
	address := receiver.Listener.Addr().String()
	rest := "do:\n- a: {call: http, with: {method: get, endpoint: 'https://example.com/'}}\n" // the certificate's name
	trusting := start(t, "--connect-to", "other.example:443:127.0.0.1:1", "--connect-to", "example.com:443:"+address, "--trusted-ca", ca)
	if e := finish(t, trusting, begin(t, trusting, deploy(t, trusting, rest), "{}")); e["output"] != "example.com" {
		t.Errorf("%v", e)
	}
	doubting := start(t, "--connect-to", "example.com:443:"+address)
	if e := finish(t, doubting, begin(t, doubting, deploy(t, doubting, rest), "{}")); e["status"] != "error" {
		t.Errorf("an unknown authority is trusted: %v", e)
	}
	direct := strings.Replace(rest, "https://example.com/", "https://"+address+"/", 1)
	if e := finish(t, doubting, begin(t, doubting, deploy(t, doubting, direct), "{}")); e["status"] != "error" {
		t.Errorf("%v", e)
	}
}
