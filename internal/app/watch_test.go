package app

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/app/apptest"
	"github.com/chargehand/chargehand/internal/logtest"
)

// A definition whose resource cannot be had is tried again, without a change of its file. What
// is wrong is logged once, and what cannot pass is left alone.
func TestWorkflowsAreTriedAgainWhenAResourceIsAbsent(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) <= 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("return 42"))
	}))
	defer server.Close()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"late.yaml":   apptest.Definition("late", "{run: {script: {language: js, source: {endpoint: '"+server.URL+"/s.js'}}}}"),
		"broken.yaml": apptest.Definition("broken", "{sett: {x: 1}}"),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log := &logtest.Buffer{}
	i := install(t, filepath.Join(t.TempDir(), "data"), func(c *Config) {
		c.Workflows, c.AllowEgress, c.firstRetry = folder, []string{"127.0.0.1"}, time.Millisecond
		c.Log = slog.New(slog.NewTextHandler(log, nil))
	})
	apptest.Await(t, func() bool { return log.Count("workflow applied", "late.yaml") == 1 })
	i.Halt()
	if n := asked.Load(); n != 4 {
		t.Errorf("the resource was asked for %d times, want 4", n)
	}
	if n := log.Count("workflow not applied", "late.yaml", "tried_again=true"); n != 1 {
		t.Errorf("the same problem was logged %d times", n)
	}
	if n := log.Count("workflow not applied", "late.yaml", "code=resource_missing"); n != 1 {
		t.Errorf("the place of the problem was logged %d times", n)
	}
	if n := log.Count("workflow not applied", "broken.yaml", "tried_again=false"); n != 1 {
		t.Errorf("what cannot pass was logged %d times", n)
	}
}
