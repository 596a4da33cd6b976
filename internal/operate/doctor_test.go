package operate_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/app/apptest"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/operate"
	"github.com/chargehand/chargehand/internal/rollup"
	"github.com/chargehand/chargehand/internal/store"
)

// wrong are the names of the findings of an installation that are not well, and all findings by name.
func wrong(t *testing.T, cfg installation.Settings, deep bool) (names []string, all map[string]operate.Finding) {
	t.Helper()
	all = map[string]operate.Finding{}
	for _, f := range operate.Doctor(t.Context(), cfg, operate.Checks{Deep: deep}) {
		all[f.What] = f
		if !f.OK {
			names = append(names, f.What)
		}
	}
	return names, all
}

func TestDoctor(t *testing.T) {
	i := install(t, filepath.Join(t.TempDir(), "data"))
	_, file := i.Ask("POST", "/files", "", "the content")
	cfg := installation.Settings{DataDir: i.Dir}
	got, all := wrong(t, cfg, true)
	if len(got) != 0 {
		t.Errorf("a good installation has wrong: %v %+v", got, all)
	}
	findingsAreDocumented(t, all)
	apptest.Damage(t, i.Dir, file["sha256"].(string))
	if got, all := wrong(t, cfg, true); !slices.Equal(got, []string{"files"}) || all["files"].Detail != "1 is wrong" {
		t.Errorf("with a damaged file, wrong are %v: %+v", got, all["files"])
	}
	if got, _ := wrong(t, cfg, false); len(got) != 0 {
		t.Errorf("digests are read without --deep: %v", got)
	}
	if err := os.Chmod(i.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(i.Dir, installation.DatabaseName), 0o666); err != nil {
		t.Fatal(err)
	}
	if got, all := wrong(t, cfg, true); !slices.Equal(got, []string{"data directory", "files"}) || len(all["data directory"].Damages) != 2 || all["data directory"].Detail != "2 are wrong" {
		t.Errorf("with a folder that every user reads, wrong are %v: %+v", got, all["data directory"])
	}
	absent := filepath.Join(t.TempDir(), "absent")
	if got, _ := wrong(t, installation.Settings{DataDir: absent}, false); len(got) == 0 {
		t.Error("an absent folder is well")
	}
	if _, err := os.Stat(absent); !os.IsNotExist(err) {
		t.Errorf("the doctor has made %s", absent)
	}
}

// findingsAreDocumented checks that docs/reference/doctor.md has a row for each finding.
func findingsAreDocumented(t *testing.T, all map[string]operate.Finding) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "doctor.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for row := range strings.Lines(string(page)) {
		if cells := strings.Split(row, " | "); len(cells) == 2 {
			for name := range strings.SplitSeq(strings.TrimPrefix(cells[0], "| "), ", ") {
				documented[name] = true
			}
		}
	}
	for name := range all {
		if !documented[name] {
			t.Errorf("docs/reference/doctor.md does not have the finding %q", name)
		}
	}
}

// TestDoctorListsAllDamages: every content that rows refer to and that is not there or not whole is named; what nothing
// refers to is counted and is no damage.
func TestDoctorListsAllDamages(t *testing.T) {
	i := install(t, filepath.Join(t.TempDir(), "data"))
	var digests []string
	for n := range 20 {
		_, file := i.Ask("POST", fmt.Sprintf("/files?filename=f%d.txt", n), "", fmt.Sprint("content ", n))
		digests = append(digests, file["sha256"].(string))
	}
	echo := i.Apply(apptest.Definition("echo", "{set: {text: ok}}"))
	large := fmt.Sprintf(`{"input":{"large":%q}}`, strings.Repeat("x", 200<<10))
	if _, e := i.Ask("POST", "/workflows/"+echo+"/executions?wait=20s", "application/json", large); e["status"] != "finished" {
		t.Fatalf("execution %v", e)
	}
	content := filepath.Join(i.Dir, installation.FilesName, "content")
	find := func(digest string) string {
		t.Helper()
		matches, err := filepath.Glob(filepath.Join(content, digest[:2], "*", "*"+digest[4:]))
		if more, _ := filepath.Glob(filepath.Join(content, digest[:2], "*"+digest[2:])); len(matches) == 0 {
			matches = more
		}
		if err != nil || len(matches) != 1 {
			t.Fatalf("content %s: %v %v", digest, matches, err)
		}
		return matches[0]
	}
	for _, digest := range digests[:3] {
		if err := os.Remove(find(digest)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(find(digests[3]), 2); err != nil {
		t.Fatal(err)
	}
	// A content that nothing refers to.
	orphan := find(digests[4])
	stray := filepath.Join(filepath.Dir(orphan), strings.Repeat("e", len(filepath.Base(orphan))))
	if err := os.WriteFile(stray, []byte("stray"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, all := wrong(t, installation.Settings{DataDir: i.Dir}, false)
	f := all["files"]
	if !slices.Equal(got, []string{"files"}) || len(f.Damages) != 4 {
		t.Fatalf("wrong %v: %+v", got, f)
	}
	text := strings.Join(f.Damages, "\n")
	for n, digest := range digests[:4] {
		if !strings.Contains(text, digest) || !strings.Contains(text, fmt.Sprintf(`"f%d.txt"`, n)) {
			t.Errorf("content %d is not named: %s", n, text)
		}
	}
	if err := os.RemoveAll(content); err != nil {
		t.Fatal(err)
	}
	// the large input is a content too
	if _, all = wrong(t, installation.Settings{DataDir: i.Dir}, false); len(all["files"].Damages) < 21 {
		t.Errorf("of all files, gone are %d: %+v", len(all["files"].Damages), all["files"])
	}
}

// TestDoctorComparesTheMasterKey: with another master key, no API key counts and no server starts.
func TestDoctorComparesTheMasterKey(t *testing.T) {
	i := install(t, filepath.Join(t.TempDir(), "data"))
	i.Halt()
	path := filepath.Join(i.Dir, installation.MasterKeyName)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte{7}, 32), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _ := wrong(t, installation.Settings{DataDir: i.Dir}, false); !slices.Equal(got, []string{"master key of the database"}) {
		t.Errorf("wrong are %v", got)
	}
}

// TestDoctorKnowsTheLastBackup: doctor knows when the last one was made, and that there was none.
func TestDoctorKnowsTheLastBackup(t *testing.T) {
	i := install(t, filepath.Join(t.TempDir(), "data"))
	cfg := installation.Settings{DataDir: i.Dir}
	if _, all := wrong(t, cfg, false); !strings.Contains(all["backups"].Detail, "none") {
		t.Errorf("before one: %+v", all["backups"])
	}
	if _, err := operate.Backup(t.Context(), cfg, filepath.Join(t.TempDir(), "copy")); err != nil {
		t.Fatal(err)
	}
	if _, all := wrong(t, cfg, false); !strings.Contains(all["backups"].Detail, time.Now().UTC().Format("2006-01-02T15")) {
		t.Errorf("after one: %+v", all["backups"])
	}
}

// TestDoctorRecounts: counts that are lower than what is stored are listed, mended when that is asked for, and right
// afterwards. Those of executions that were deleted stay.
func TestDoctorRecounts(t *testing.T) {
	i := install(t, filepath.Join(t.TempDir(), "data"))
	echo := i.Apply(apptest.Definition("echo", "{set: {text: ok}}"))
	for range 3 {
		if _, e := i.Ask("POST", "/workflows/"+echo+"/executions?wait=20s", "application/json", `{}`); e["status"] != "finished" {
			t.Fatalf("execution %v", e)
		}
	}
	cfg := installation.Settings{DataDir: i.Dir}
	i.Halt()
	rows, err := cfg.OpenBeside(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if err := rollup.New(rollup.Config{Store: rows}).Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, all := wrong(t, cfg, false); len(got) != 0 {
		t.Fatalf("wrong are %v: %+v", got, all)
	}
	err = rows.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.DeleteRollups(1<<62, 1)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	got, all := wrong(t, cfg, false)
	lacking := all["counts by the hour"].Damages
	if !slices.Equal(got, []string{"counts by the hour"}) || len(lacking) != 1 || !strings.Contains(lacking[0], ": started 0, at least ") {
		t.Errorf("wrong are %v: %q", got, lacking)
	}
	for _, f := range operate.Doctor(t.Context(), cfg, operate.Checks{MendCounts: true}) {
		if !f.OK || f.What == "counts by the hour" && f.Detail != "1 counts were too low, and are mended" {
			t.Errorf("mending says %+v", f)
		}
	}
	if got, all := wrong(t, cfg, false); len(got) != 0 {
		t.Errorf("after mending wrong are %v: %+v", got, all)
	}
}
