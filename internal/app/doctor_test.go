package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/logtest"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

// wrong are the names of the findings of an installation that are not well, and all findings by name.
func wrong(t *testing.T, cfg Config, deep bool) (names []string, all map[string]Finding) {
	t.Helper()
	all = map[string]Finding{}
	for _, f := range Doctor(t.Context(), cfg, deep) {
		all[f.What] = f
		if !f.OK {
			names = append(names, f.What)
		}
	}
	return names, all
}

func TestDoctor(t *testing.T) {
	i := install(t, filepath.Join(t.TempDir(), "data"))
	_, file := i.ask("POST", "/files", "", "the content")
	cfg := Config{DataDir: i.dir}
	if got, all := wrong(t, cfg, true); len(got) != 0 {
		t.Errorf("a good installation has wrong: %v %+v", got, all)
	}
	damage(t, i.dir, file["sha256"].(string))
	if got, _ := wrong(t, cfg, true); !slices.Equal(got, []string{"files"}) {
		t.Errorf("with a damaged file, wrong are %v", got)
	}
	if got, _ := wrong(t, cfg, false); len(got) != 0 {
		t.Errorf("digests are read without --deep: %v", got)
	}
	if err := os.Chmod(i.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(i.dir, databaseName), 0o666); err != nil {
		t.Fatal(err)
	}
	if got, all := wrong(t, cfg, true); !slices.Equal(got, []string{"data directory", "files"}) || len(all["data directory"].Damages) != 2 {
		t.Errorf("with a folder that every user reads, wrong are %v: %+v", got, all["data directory"])
	}
	absent := filepath.Join(t.TempDir(), "absent")
	if got, _ := wrong(t, Config{DataDir: absent}, false); len(got) == 0 {
		t.Error("an absent folder is well")
	}
	if _, err := os.Stat(absent); !os.IsNotExist(err) {
		t.Errorf("the doctor has made %s", absent)
	}
}

// TestDoctorListsAllDamages: every content that rows refer to and that is not there or not whole is named; what nothing
// refers to is counted and is no damage.
func TestDoctorListsAllDamages(t *testing.T) {
	i := install(t, filepath.Join(t.TempDir(), "data"))
	var digests []string
	for n := range 20 {
		_, file := i.ask("POST", fmt.Sprintf("/files?filename=f%d.txt", n), "", fmt.Sprint("content ", n))
		digests = append(digests, file["sha256"].(string))
	}
	echo := i.apply(definition("echo", "{set: {text: ok}}"))
	large := fmt.Sprintf(`{"input":{"large":%q}}`, strings.Repeat("x", 200<<10))
	if _, e := i.ask("POST", "/workflows/"+echo+"/executions?wait=20s", "application/json", large); e["status"] != "finished" {
		t.Fatalf("execution %v", e)
	}
	content := filepath.Join(i.dir, filesName, "content")
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
	got, all := wrong(t, Config{DataDir: i.dir}, false)
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
	if _, all = wrong(t, Config{DataDir: i.dir}, false); len(all["files"].Damages) < 21 {
		t.Errorf("of all files, gone are %d: %+v", len(all["files"].Damages), all["files"])
	}
}

// TestDoctorComparesTheMasterKey: with another master key, no API key counts and no server starts.
func TestDoctorComparesTheMasterKey(t *testing.T) {
	i := install(t, filepath.Join(t.TempDir(), "data"))
	i.halt()
	path := filepath.Join(i.dir, masterKeyName)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte{7}, 32), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _ := wrong(t, Config{DataDir: i.dir}, false); !slices.Equal(got, []string{"master key of the database"}) {
		t.Errorf("wrong are %v", got)
	}
}

// TestLostDatabase: a missing or empty database beside a master key or files is no new installation, for any command.
func TestLostDatabase(t *testing.T) {
	i := install(t, filepath.Join(t.TempDir(), "data"))
	i.ask("POST", "/files", "", "the content")
	copied := filepath.Join(t.TempDir(), "copy")
	if _, err := Backup(t.Context(), Config{DataDir: i.dir}, copied); err != nil {
		t.Fatal(err)
	}
	i.halt()
	path := filepath.Join(i.dir, databaseName)
	refused := func(what string) {
		t.Helper()
		cfg := Config{DataDir: i.dir, Listen: "127.0.0.1:0"}
		_, started := New(t.Context(), cfg)
		_, key := CreateKey(t.Context(), cfg, NewKey{})
		_, first := CreateKey(t.Context(), cfg, NewKey{Init: true})
		_, saved := Backup(t.Context(), cfg, filepath.Join(t.TempDir(), "again"))
		for name, err := range map[string]error{"serve": started, "keys create": key, "keys create --init": first, "backup": saved} {
			if err == nil || !strings.Contains(err.Error(), "was lost") || !strings.Contains(err.Error(), "chargehand restore") {
				t.Errorf("%s, %s: %v", what, name, err)
			}
		}
		got, all := wrong(t, cfg, false)
		if !slices.Contains(got, "database") || !strings.Contains(all["database"].Detail, "was lost") {
			t.Errorf("%s: doctor finds %v", what, got)
		}
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	refused("0 bytes")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	refused("no file")
	if err := os.Remove(filepath.Join(i.dir, masterKeyName)); err != nil {
		t.Fatal(err)
	}
	refused("files alone")
	if err := os.Truncate(filepath.Join(copied, databaseName), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), copied, filepath.Join(t.TempDir(), "again")); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("restore of an empty database: %v", err)
	}
}

// TestFirstStartThatWasCutOff: what a first start leaves when it is killed between key and database starts again.
func TestFirstStartThatWasCutOff(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	cfg := Config{DataDir: dir, Listen: "127.0.0.1:0", MasterKeyFile: filepath.Join(dir, masterKeyName)}
	if _, err := cfg.keyring(); err != nil {
		t.Fatal(err)
	}
	i := install(t, dir)
	i.halt()
	if _, err := os.Stat(filepath.Join(dir, startName)); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", startName, err)
	}
}

// TestIntegrityAtStart: a database that was not closed in good order is looked through, and its damages are in the log.
func TestIntegrityAtStart(t *testing.T) {
	i := install(t, filepath.Join(t.TempDir(), "data"))
	w := i.apply(definition("a", "{set: {text: ok}}"))
	for range 30 {
		i.ask("POST", "/workflows/"+w+"/executions?wait=20s", "application/json", fmt.Sprintf(`{"input":{"x":%q}}`, strings.Repeat("y", 2000)))
	}
	i.halt()
	path := filepath.Join(i.dir, databaseName)
	unclean := func() {
		t.Helper()
		if err := os.WriteFile(path+"-wal", []byte("as after a crash"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	begin := func() *logtest.Buffer {
		t.Helper()
		log := &logtest.Buffer{}
		a, err := New(t.Context(), Config{DataDir: i.dir, Listen: "127.0.0.1:0", Log: slog.New(slog.NewJSONHandler(log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		a.Start()
		t.Cleanup(func() { a.Stop(t.Context()) })
		return log
	}
	unclean()
	log := begin()
	await(t, func() bool { return len(log.With("the structure of the database is sound")) == 1 })
	if got := len(log.With("the data directory " + i.dir)); got != 0 {
		t.Errorf("warnings about permissions: %d", got)
	}
}

// TestDamagedDatabaseIsReported: doctor and the check at the start report a damaged page.
func TestDamagedDatabaseIsReported(t *testing.T) {
	i := install(t, filepath.Join(t.TempDir(), "data"))
	w := i.apply(definition("a", "{set: {text: ok}}"))
	for range 30 {
		i.ask("POST", "/workflows/"+w+"/executions?wait=20s", "application/json", fmt.Sprintf(`{"input":{"x":%q}}`, strings.Repeat("y", 900)))
	}
	i.halt()
	path := filepath.Join(i.dir, databaseName)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The leaf that holds the first of the long inputs.
	at := bytes.Index(data, bytes.Repeat([]byte("y"), 900))
	if at < 0 {
		t.Fatal("no page to damage")
	}
	page := at / 4096 * 4096
	copy(data[page:], bytes.Repeat([]byte{0xa5}, 64))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, all := wrong(t, Config{DataDir: i.dir}, false); !slices.Contains(got, "database") || len(all["database"].Damages) == 0 {
		t.Errorf("doctor finds %v: %+v", got, all["database"])
	}
	db, err := sqlite.Open(sqlite.Options{Path: path, Owner: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	log := &logtest.Buffer{}
	a := &App{log: slog.New(slog.NewJSONHandler(log, nil))}
	damages, err := db.TableDamages(t.Context())
	if err != nil || len(damages) == 0 {
		t.Fatalf("table by table: %v %v", damages, err)
	}
	a.tellDamages(damages)
	if got := log.With("the database is damaged: stop the server and restore a backup, or see `chargehand doctor`"); len(got) == 0 {
		t.Errorf("nothing is logged: %s", log.String())
	}
}

// TestOpenDataDirectoryIsLoggedAtStart: what others can read is said where the server starts, too.
func TestOpenDataDirectoryIsLoggedAtStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first := install(t, dir)
	first.halt()
	for path, mode := range map[string]os.FileMode{dir: 0o755, filepath.Join(dir, databaseName): 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	log := &logtest.Buffer{}
	install(t, dir, func(c *Config) { c.Log = slog.New(slog.NewJSONHandler(log, nil)) })
	for _, what := range []string{"the data directory " + dir + " is open to every user", filepath.Join(dir, databaseName) + " is open to every user"} {
		if !strings.Contains(log.String(), what) {
			t.Errorf("no word of %q in %s", what, log.String())
		}
	}
}

// TestDoctorKnowsTheLastBackup: doctor knows when the last one was made, and that there was none.
func TestDoctorKnowsTheLastBackup(t *testing.T) {
	i := install(t, filepath.Join(t.TempDir(), "data"))
	cfg := Config{DataDir: i.dir}
	if _, all := wrong(t, cfg, false); !strings.Contains(all["backups"].Detail, "none") {
		t.Errorf("before one: %+v", all["backups"])
	}
	if _, err := Backup(t.Context(), cfg, filepath.Join(t.TempDir(), "copy")); err != nil {
		t.Fatal(err)
	}
	if _, all := wrong(t, cfg, false); !strings.Contains(all["backups"].Detail, time.Now().UTC().Format("2006-01-02T15")) {
		t.Errorf("after one: %+v", all["backups"])
	}
}

// TestClockSteps: a step is found in both directions, a slow look is none, and log and doctor tell.
func TestClockSteps(t *testing.T) {
	var w clockWatch
	wall := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for n, test := range []struct{ wall, mono, want time.Duration }{
		{0, 0, 0}, {5 * time.Second, 5 * time.Second, 0},
		{time.Minute, time.Minute, 0}, // the process did not run for a while
		{5*time.Second - time.Hour, 5 * time.Second, -time.Hour},
		{5 * time.Second, 5 * time.Second, 0},
		{5*time.Second + 48*time.Hour, 5 * time.Second, 48 * time.Hour},
		{6 * time.Second, 5 * time.Second, 0}, // slewed
	} {
		wall = wall.Add(test.wall)
		if got := w.step(wall, w.mono+test.mono); got != test.want {
			t.Errorf("look %d: %v, want %v", n, got, test.want)
		}
	}
	i := install(t, filepath.Join(t.TempDir(), "data"))
	db, _ := i.parts()
	log := &logtest.Buffer{}
	tellClock(t.Context(), slog.New(slog.NewJSONHandler(log, nil)), db.store, wall, -time.Hour)
	if got := log.With("the clock was set back: waits that have begun and schedules stand still until it has caught up"); len(got) != 1 || got[0]["by"] != "-1h0m0s" {
		t.Errorf("log %s", log.String())
	}
	if got, all := wrong(t, Config{DataDir: i.dir}, false); len(got) != 0 || !strings.Contains(all["clock"].Detail, "-1h0m0s") {
		t.Errorf("doctor: %v %+v", got, all["clock"])
	}
	var step clockStep
	err := db.store.View(t.Context(), func(r *store.Reader) error {
		data, err := r.Meta(metaClock)
		if err == nil {
			err = json.Unmarshal(data, &step)
		}
		return err
	})
	if err != nil || step.ByMs != -time.Hour.Milliseconds() {
		t.Errorf("noted: %+v %v", step, err)
	}
}
