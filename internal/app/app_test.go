package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/store"
)

// installation is an App that serves, and a key of it.
type installation struct {
	*App
	t       *testing.T
	dir     string
	base    string
	key     string
	stopped bool
}

func install(t *testing.T, dir string, change ...func(*Config)) *installation {
	t.Helper()
	cfg := Config{DataDir: dir, Listen: "127.0.0.1:0"}
	for _, c := range change {
		c(&cfg)
	}
	key, err := CreateKey(t.Context(), cfg, NewKey{Preset: "all", Init: true})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	a.Start()
	i := &installation{App: a, t: t, dir: dir, key: key, base: "http://" + a.Address().String() + "/api/v1"}
	t.Cleanup(i.halt)
	return i
}

// halt stops the server once.
func (i *installation) halt() {
	if i.stopped {
		return
	}
	i.stopped = true
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	i.Stop(ctx)
}

// ask makes a request and decodes the JSON of the answer.
func (i *installation) ask(method, path, mediaType, body string) (int, map[string]any) {
	i.t.Helper()
	status, raw := i.fetch(method, i.base+path, mediaType, body)
	var v map[string]any
	if err := json.Unmarshal(raw, &v); err != nil {
		i.t.Fatalf("%s %s: %d %s", method, path, status, raw)
	}
	return status, v
}

func (i *installation) fetch(method, address, mediaType, body string) (int, []byte) {
	i.t.Helper()
	r, err := http.NewRequestWithContext(i.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		i.t.Fatal(err)
	}
	r.Header.Set("x-api-key", i.key)
	if mediaType != "" {
		r.Header.Set("Content-Type", mediaType)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		i.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		i.t.Fatal(err)
	}
	return resp.StatusCode, raw
}

func (i *installation) apply(definition string) string {
	i.t.Helper()
	status, v := i.ask("POST", "/workflows", "application/yaml", definition)
	if status != 201 {
		i.t.Fatalf("apply: %d %v", status, v)
	}
	return v["id"].(string)
}

func definition(name, task string) string {
	return fmt.Sprintf("document: {dsl: '1.0.3', namespace: default, name: %s, version: '1.0.0'}\ndo:\n  - step: %s\n", name, task)
}

func TestBackupIsRestoredWithItsFilesAndWhatRuns(t *testing.T) {
	dir := t.TempDir()
	first := install(t, filepath.Join(dir, "data"))
	done := first.apply(definition("done", "{set: {text: ok}}"))
	sleeper := first.apply(definition("sleeper", "{wait: {seconds: 1}}"))
	_, file := first.ask("POST", "/files?filename=a.txt", "text/plain", "content of a file")
	// An input above the inline limit is a content of the blob store.
	large := fmt.Sprintf(`{"input":{"large":%q}}`, strings.Repeat("x", 200<<10))
	_, e := first.ask("POST", "/workflows/"+done+"/executions?wait=10s", "application/json", large)
	if e["status"] != "finished" {
		t.Fatalf("execution %v", e)
	}
	_, waiting := first.ask("POST", "/workflows/"+sleeper+"/executions", "application/json", "{}")

	copied := filepath.Join(dir, "copy")
	report, err := Backup(t.Context(), Config{DataDir: first.dir}, copied)
	if err != nil || report.Files < 2 || report.Bytes < 200<<10 {
		t.Fatalf("backup: %+v, %v", report, err)
	}
	if _, err := Backup(t.Context(), Config{DataDir: first.dir}, copied); err == nil {
		t.Error("a second backup into the same folder is accepted")
	}
	first.halt()

	again := filepath.Join(dir, "again")
	if _, err := Restore(t.Context(), copied, again); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), copied, again); err == nil {
		t.Error("an installation is overwritten")
	}
	for _, f := range Doctor(t.Context(), Config{DataDir: again}, true) {
		if !f.OK {
			t.Errorf("doctor: %+v", f)
		}
	}
	second := install(t, again)
	second.key = first.key
	if _, got := second.ask("GET", "/workflows/"+done+"/executions/"+e["id"].(string), "", ""); got["status"] != "finished" {
		t.Errorf("the finished execution is %v", got)
	}
	if status, raw := second.fetch("GET", second.base+"/files/"+file["id"].(string)+"/content", "", ""); status != 200 || string(raw) != "content of a file" {
		t.Errorf("the file is %d %q", status, raw)
	}
	path := "/workflows/" + sleeper + "/executions/" + waiting["id"].(string) + "?wait=20s"
	if _, got := second.ask("GET", path, "", ""); got["status"] != "finished" {
		t.Errorf("the waiting execution is %v", got)
	}
}

// TestACutOffBackupIsNone: without all of its files nothing can be restored.
func TestACutOffBackupIsNone(t *testing.T) {
	dir := t.TempDir()
	i := install(t, filepath.Join(dir, "data"))
	_, file := i.ask("POST", "/files", "", "the content")
	damage(t, i.dir, file["sha256"].(string))
	copied := filepath.Join(dir, "copy")
	if _, err := Backup(t.Context(), Config{DataDir: i.dir}, copied); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Fatalf("backup of a damaged file: %v", err)
	}
	if _, err := Restore(t.Context(), copied, filepath.Join(dir, "again")); err == nil {
		t.Error("a backup that was cut off is restored")
	}
}

// damage changes the content of a stored file.
func damage(t *testing.T, dataDir, digest string) {
	t.Helper()
	found := ""
	err := filepath.WalkDir(filepath.Join(dataDir, filesName), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(strings.ReplaceAll(path, string(filepath.Separator), ""), digest[4:]) {
			found = path
		}
		return err
	})
	if err != nil || found == "" {
		t.Fatalf("no content %s: %v", digest, err)
	}
	if err := os.Chmod(found, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(found, []byte("not content"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOneServerOwnsADirectory(t *testing.T) {
	i := install(t, filepath.Join(t.TempDir(), "data"))
	if _, err := New(t.Context(), Config{DataDir: i.dir, Listen: "127.0.0.1:0"}); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a second server: %v", err)
	}
	i.halt()
	if a, err := New(t.Context(), Config{DataDir: i.dir, Listen: "127.0.0.1:0"}); err != nil {
		t.Errorf("after the first: %v", err)
	} else {
		a.Stop(t.Context())
	}
}

func TestValidate(t *testing.T) {
	for name, test := range map[string]struct {
		definition string
		allow      []string
		valid      bool
		reported   string
	}{
		"valid":            {definition("a", "{set: {x: 1}}"), nil, true, ""},
		"no such task":     {definition("a", "{sett: {x: 1}}"), nil, false, "sett"},
		"shell refused":    {definition("a", "{run: {shell: {command: ls}}}"), nil, false, "shell"},
		"shell allowed":    {definition("a", "{run: {shell: {command: ls}}}"), []string{"shell"}, true, ""},
		"not a definition": {"[", nil, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			problems, valid, err := Check{AllowRun: test.allow}.Definition(t.Context(), []byte(test.definition))
			if err != nil || valid != test.valid || valid == (len(problems) > 0) {
				t.Fatalf("valid %v, problems %+v", valid, problems)
			}
			if !valid && (problems[0].Line < 1 || problems[0].Column < 1 || !strings.Contains(problems[0].Detail, test.reported)) {
				t.Errorf("problem %+v", problems[0])
			}
		})
	}
}

// TestConcurrentWorkflowsAreAppliedAtStartAndOnChange: what cannot be applied leaves the rest alone.
func TestConcurrentWorkflowsAreAppliedAtStartAndOnChange(t *testing.T) {
	folder := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.yaml", definition("first", "{set: {x: 1}}"))
	write("b.yaml", definition("broken", "{sett: {x: 1}}"))
	write("c.txt", definition("text", "{set: {x: 1}}"))
	i := install(t, filepath.Join(t.TempDir(), "data"), func(c *Config) { c.Workflows = folder })
	names := func() string {
		_, page := i.ask("GET", "/workflows", "", "")
		var list []string
		for _, w := range page["data"].([]any) {
			list = append(list, w.(map[string]any)["name"].(string))
		}
		return strings.Join(list, " ") // newest first
	}
	await(t, func() bool { return names() == "first" })
	write("b.yaml", definition("repaired", "{set: {x: 1}}"))
	await(t, func() bool { return names() == "repaired first" })
	write("d.json", `{"document":{"dsl":"1.0.3","namespace":"default","name":"third","version":"1"},"do":[]}`)
	write("e.yml", definition("fourth", "{set: {x: 1}}"))
	await(t, func() bool { return strings.HasPrefix(names(), "fourth") })
}

// await asks again until it is so; the folder is watched by the kernel, so there is nothing
// else to wait for.
func await(t *testing.T, so func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it did not happen in time")
		}
	}
}

// TestConcurrentStopAnswersWhoWaits: a start that waits for its end is answered, with the execution as
// it is, and the execution continues at the next start.
func TestConcurrentStopAnswersWhoWaits(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	i := install(t, dir)
	sleeper := i.apply(definition("sleeper", "{wait: {hours: 1}}"))
	type reply struct {
		status int
		body   []byte
	}
	answers := make(chan reply, 1)
	go func() {
		r, err := http.NewRequest("POST", i.base+"/workflows/"+sleeper+"/executions?wait=60s", bytes.NewReader([]byte("{}")))
		if err != nil {
			answers <- reply{}
			return
		}
		r.Header.Set("x-api-key", i.key)
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			answers <- reply{0, []byte(err.Error())}
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		answers <- reply{resp.StatusCode, body}
	}()
	await(t, func() bool {
		_, page := i.ask("GET", "/executions?status=processing", "", "")
		return len(page["data"].([]any)) == 1
	})
	began := time.Now()
	i.halt()
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("the stop took %s", took)
	}
	got := <-answers
	var e map[string]any
	if got.status != 201 || json.Unmarshal(got.body, &e) != nil || e["status"] != "processing" {
		t.Fatalf("the waiting start was answered %d %s", got.status, got.body)
	}
	again := install(t, dir)
	status, _ := again.ask("POST", "/workflows/"+sleeper+"/executions/"+e["id"].(string)+"/cancel", "", "")
	if status != 202 {
		t.Errorf("after the start, cancelling it answers %d", status)
	}
}

// TestConcurrentAKeyIsMadeWhileTheServerStartsForTheFirstTime: both want to make the database.
func TestConcurrentAKeyIsMadeWhileTheServerStartsForTheFirstTime(t *testing.T) {
	for range 8 {
		dir := filepath.Join(t.TempDir(), "data")
		started, made := make(chan error, 1), make(chan struct{})
		go func() {
			a, err := New(t.Context(), Config{DataDir: dir, Listen: "127.0.0.1:0"})
			if <-made; err == nil {
				a.Stop(t.Context())
			}
			started <- err
		}()
		if _, err := CreateKey(t.Context(), Config{DataDir: dir}, NewKey{Init: true}); err != nil {
			t.Errorf("the key: %v", err)
		}
		close(made)
		if err := <-started; err != nil {
			t.Errorf("the server: %v", err)
		}
	}
}
