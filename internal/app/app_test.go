package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/app/apptest"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/operate"
	"github.com/chargehand/chargehand/internal/store"
)

// fixture is an App that serves, and a client of it.
type fixture struct {
	*apptest.Installation
	*App
}

func install(t *testing.T, dir string, change ...func(*Config)) *fixture {
	t.Helper()
	cfg := Config{Settings: installation.Settings{DataDir: dir}, Listen: "127.0.0.1:0"}
	for _, c := range change {
		c(&cfg)
	}
	key, err := operate.CreateKey(t.Context(), cfg.Settings, operate.NewKey{Preset: "all", Init: true})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{apptest.Serve(t, a, dir, key), a}
}

func TestOneServerOwnsADirectory(t *testing.T) {
	i := install(t, filepath.Join(t.TempDir(), "data"))
	if _, err := New(t.Context(), Config{Settings: installation.Settings{DataDir: i.Dir}, Listen: "127.0.0.1:0"}); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a second server: %v", err)
	}
	i.Halt()
	if a, err := New(t.Context(), Config{Settings: installation.Settings{DataDir: i.Dir}, Listen: "127.0.0.1:0"}); err != nil {
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
		"valid":            {apptest.Definition("a", "{set: {x: 1}}"), nil, true, ""},
		"no such task":     {apptest.Definition("a", "{sett: {x: 1}}"), nil, false, "sett"},
		"shell refused":    {apptest.Definition("a", "{run: {shell: {command: ls}}}"), nil, false, "shell"},
		"shell allowed":    {apptest.Definition("a", "{run: {shell: {command: ls}}}"), []string{"shell"}, true, ""},
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
	write("a.yaml", apptest.Definition("first", "{set: {x: 1}}"))
	write("b.yaml", apptest.Definition("broken", "{sett: {x: 1}}"))
	write("c.txt", apptest.Definition("text", "{set: {x: 1}}"))
	i := install(t, filepath.Join(t.TempDir(), "data"), func(c *Config) { c.Workflows = folder })
	names := func() string {
		_, page := i.Ask("GET", "/workflows", "", "")
		var list []string
		for _, w := range page["data"].([]any) {
			list = append(list, w.(map[string]any)["name"].(string))
		}
		return strings.Join(list, " ") // newest first
	}
	apptest.Await(t, func() bool { return names() == "first" })
	write("b.yaml", apptest.Definition("repaired", "{set: {x: 1}}"))
	apptest.Await(t, func() bool { return names() == "repaired first" })
	write("d.json", `{"document":{"dsl":"1.0.3","namespace":"default","name":"third","version":"1"},"do":[]}`)
	write("e.yml", apptest.Definition("fourth", "{set: {x: 1}}"))
	apptest.Await(t, func() bool { return strings.HasPrefix(names(), "fourth") })
}

// TestConcurrentStopAnswersWhoWaits: a start that waits for its end is answered, with the execution as
// it is, and the execution continues at the next start.
func TestConcurrentStopAnswersWhoWaits(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	i := install(t, dir)
	sleeper := i.Apply(apptest.Definition("sleeper", "{wait: {hours: 1}}"))
	type reply struct {
		status int
		body   []byte
	}
	answers := make(chan reply, 1)
	go func() {
		r, err := http.NewRequest("POST", i.Base+"/workflows/"+sleeper+"/executions?wait=60s", bytes.NewReader([]byte("{}")))
		if err != nil {
			answers <- reply{}
			return
		}
		r.Header.Set("x-api-key", i.Key)
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
	apptest.Await(t, func() bool {
		_, page := i.Ask("GET", "/executions?status=processing", "", "")
		return len(page["data"].([]any)) == 1
	})
	began := time.Now()
	i.Halt()
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the stop took %s", took)
	}
	got := <-answers
	var e map[string]any
	if got.status != 201 || json.Unmarshal(got.body, &e) != nil || e["status"] != "processing" {
		t.Fatalf("the waiting start was answered %d %s", got.status, got.body)
	}
	again := install(t, dir)
	status, _ := again.Ask("POST", "/workflows/"+sleeper+"/executions/"+e["id"].(string)+"/cancel", "", "")
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
			a, err := New(t.Context(), Config{Settings: installation.Settings{DataDir: dir}, Listen: "127.0.0.1:0"})
			if <-made; err == nil {
				a.Stop(t.Context())
			}
			started <- err
		}()
		if _, err := operate.CreateKey(t.Context(), installation.Settings{DataDir: dir}, operate.NewKey{Init: true}); err != nil {
			t.Errorf("the key: %v", err)
		}
		close(made)
		if err := <-started; err != nil {
			t.Errorf("the server: %v", err)
		}
	}
}
