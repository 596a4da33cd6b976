package operate_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/app"
	"github.com/chargehand/chargehand/internal/app/apptest"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/operate"
)

// install serves a new installation.
func install(t *testing.T, dir string) *apptest.Installation {
	t.Helper()
	settings := installation.Settings{DataDir: dir}
	key, err := operate.CreateKey(t.Context(), settings, operate.NewKey{Preset: "all", Init: true})
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), app.Config{Settings: settings, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	return apptest.Serve(t, a, dir, key)
}

func TestBackupIsRestoredWithItsFilesAndWhatRuns(t *testing.T) {
	dir := t.TempDir()
	first := install(t, filepath.Join(dir, "data"))
	done := first.Apply(apptest.Definition("done", "{set: {text: ok}}"))
	sleeper := first.Apply(apptest.Definition("sleeper", "{wait: {seconds: 1}}"))
	_, file := first.Ask("POST", "/files?filename=a.txt", "text/plain", "content of a file")
	// An input above the inline limit is a content of the blob store.
	large := fmt.Sprintf(`{"input":{"large":%q}}`, strings.Repeat("x", 200<<10))
	_, e := first.Ask("POST", "/workflows/"+done+"/executions?wait=10s", "application/json", large)
	if e["status"] != "finished" {
		t.Fatalf("execution %v", e)
	}
	_, waiting := first.Ask("POST", "/workflows/"+sleeper+"/executions", "application/json", "{}")

	copied := filepath.Join(dir, "copy")
	report, err := operate.Backup(t.Context(), installation.Settings{DataDir: first.Dir}, copied)
	if err != nil || report.Files < 2 || report.Bytes < 200<<10 {
		t.Fatalf("backup: %+v, %v", report, err)
	}
	if _, err := operate.Backup(t.Context(), installation.Settings{DataDir: first.Dir}, copied); err == nil {
		t.Error("a second backup into the same folder is accepted")
	}
	first.Halt()

	again := filepath.Join(dir, "again")
	if _, err := operate.Restore(t.Context(), copied, again); err != nil {
		t.Fatal(err)
	}
	if _, err := operate.Restore(t.Context(), copied, again); err == nil {
		t.Error("an installation is overwritten")
	}
	for _, f := range operate.Doctor(t.Context(), installation.Settings{DataDir: again}, operate.Checks{Deep: true}) {
		if !f.OK {
			t.Errorf("doctor: %+v", f)
		}
	}
	second := install(t, again)
	second.Key = first.Key
	if _, got := second.Ask("GET", "/workflows/"+done+"/executions/"+e["id"].(string), "", ""); got["status"] != "finished" {
		t.Errorf("the finished execution is %v", got)
	}
	if status, raw := second.Fetch("GET", second.Base+"/files/"+file["id"].(string)+"/content", "", ""); status != 200 || string(raw) != "content of a file" {
		t.Errorf("the file is %d %q", status, raw)
	}
	path := "/workflows/" + sleeper + "/executions/" + waiting["id"].(string) + "?wait=20s"
	if _, got := second.Ask("GET", path, "", ""); got["status"] != "finished" {
		t.Errorf("the waiting execution is %v", got)
	}
}

// TestACutOffBackupIsNone: without all of its files nothing can be restored.
func TestACutOffBackupIsNone(t *testing.T) {
	dir := t.TempDir()
	i := install(t, filepath.Join(dir, "data"))
	_, file := i.Ask("POST", "/files", "", "the content")
	apptest.Damage(t, i.Dir, file["sha256"].(string))
	copied := filepath.Join(dir, "copy")
	if _, err := operate.Backup(t.Context(), installation.Settings{DataDir: i.Dir}, copied); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Fatalf("backup of a damaged file: %v", err)
	}
	if _, err := operate.Restore(t.Context(), copied, filepath.Join(dir, "again")); err == nil {
		t.Error("a backup that was cut off is restored")
	}
}
