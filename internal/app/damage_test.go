package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/app/apptest"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/logtest"
	"github.com/chargehand/chargehand/internal/operate"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

// TestDamagedPayloads: a payload in a content that is damaged, or that is in clear where that is refused, is no outage.
// The execution ends, because another try reads the same.
func TestDamagedPayloads(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "files")
	clear, err := blob.OpenFolder(blob.Config{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	sealer := secret.NewSealer(secret.NewKeys())
	sealer.RefuseClear()
	only, err := blob.OpenFolder(blob.Config{Folder: folder, Sealer: sealer, Seal: true})
	if err != nil {
		t.Fatal(err)
	}
	digest, err := payloads{clear}.Put(t.Context(), bytes.Repeat([]byte("1"), 1000))
	if err != nil {
		t.Fatal(err)
	}
	never := func(what string, from *blob.Store, want error) {
		t.Helper()
		_, err := engine.ReadPayload(t.Context(), payloads{from}, store.Payload{Blob: digest, Size: 1000})
		var ends *engine.Unrecoverable
		if !errors.As(err, &ends) || !strings.Contains(err.Error(), want.Error()) {
			t.Errorf("%s: %v", what, err)
		}
	}
	never("a content in clear", only, secret.ErrClear)
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			err = os.WriteFile(path, bytes.Repeat([]byte("2"), 1000), 0o600)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	never("another content", clear, blob.ErrDamaged)
}

// TestLostDatabase: a missing or empty database beside a master key or files is no new installation, for any command.
func TestLostDatabase(t *testing.T) {
	i := install(t, filepath.Join(t.TempDir(), "data"))
	i.Ask("POST", "/files", "", "the content")
	copied := filepath.Join(t.TempDir(), "copy")
	if _, err := operate.Backup(t.Context(), installation.Settings{DataDir: i.Dir}, copied); err != nil {
		t.Fatal(err)
	}
	i.Halt()
	path := filepath.Join(i.Dir, installation.DatabaseName)
	refused := func(what string) {
		t.Helper()
		cfg := Config{Settings: installation.Settings{DataDir: i.Dir}, Listen: "127.0.0.1:0"}
		_, started := New(t.Context(), cfg)
		_, key := operate.CreateKey(t.Context(), cfg.Settings, operate.NewKey{})
		_, first := operate.CreateKey(t.Context(), cfg.Settings, operate.NewKey{Init: true})
		_, saved := operate.Backup(t.Context(), cfg.Settings, filepath.Join(t.TempDir(), "again"))
		for name, err := range map[string]error{"serve": started, "keys create": key, "keys create --init": first, "backup": saved} {
			if err == nil || !strings.Contains(err.Error(), "was lost") || !strings.Contains(err.Error(), "chargehand restore") {
				t.Errorf("%s, %s: %v", what, name, err)
			}
		}
		got, all := wrong(t, i.Dir)
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
	if err := os.Remove(filepath.Join(i.Dir, installation.MasterKeyName)); err != nil {
		t.Fatal(err)
	}
	refused("files alone")
	if err := os.Truncate(filepath.Join(copied, installation.DatabaseName), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := operate.Restore(t.Context(), copied, filepath.Join(t.TempDir(), "again")); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("restore of an empty database: %v", err)
	}
}

// TestLostDatabaseOfAKeyElsewhere: a master key that is kept elsewhere says the same beside what an earlier start has
// left, also without files, and nothing in a new data directory.
func TestLostDatabaseOfAKeyElsewhere(t *testing.T) {
	for _, made := range []bool{false, true} { // the key: by the operator, by the first start
		dir, key := filepath.Join(t.TempDir(), "data"), apptest.MasterFile(t)
		if made {
			key = filepath.Join(t.TempDir(), "master.key")
		}
		elsewhere := func(c *Config) { c.MasterKeyFile = key }
		i := install(t, dir, elsewhere)
		i.Halt()
		refused := func(what string) {
			t.Helper()
			cfg := Config{Settings: installation.Settings{DataDir: dir, MasterKeyFile: key}, Listen: "127.0.0.1:0"}
			_, started := New(t.Context(), cfg)
			_, first := operate.CreateKey(t.Context(), cfg.Settings, operate.NewKey{Init: true})
			for name, err := range map[string]error{"serve": started, "keys create --init": first} {
				if err == nil || !strings.Contains(err.Error(), "was lost") || !strings.Contains(err.Error(), key) {
					t.Errorf("%s, %s: %v", what, name, err)
				}
			}
		}
		path := filepath.Join(dir, installation.DatabaseName)
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		refused("0 bytes")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		refused("no file")
		if err := os.RemoveAll(filepath.Join(dir, installation.FilesName)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		refused("0 bytes alone")
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		install(t, dir, elsewhere).Halt() // a new data directory
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		// As the first start leaves it when it is killed before its database is made.
		if err := os.WriteFile(filepath.Join(dir, "unfinished-start"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		install(t, dir, elsewhere).Halt()
	}
}

// TestFirstStartThatWasCutOff: what a first start leaves when it is killed between key and database starts again.
func TestFirstStartThatWasCutOff(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	cfg := installation.Settings{DataDir: dir, MasterKeyFile: filepath.Join(dir, installation.MasterKeyName)}
	if _, err := cfg.Keyring(); err != nil {
		t.Fatal(err)
	}
	i := install(t, dir)
	i.Halt()
	const begun = "unfinished-start"
	if _, err := os.Stat(filepath.Join(dir, begun)); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", begun, err)
	}
}

// TestIntegrityAtStart: a database that was not closed in good order is looked through, and its damages are in the log.
func TestIntegrityAtStart(t *testing.T) {
	i := install(t, filepath.Join(t.TempDir(), "data"))
	w := i.Apply(apptest.Definition("a", "{set: {text: ok}}"))
	for range 30 {
		i.Ask("POST", "/workflows/"+w+"/executions?wait=20s", "application/json", fmt.Sprintf(`{"input":{"x":%q}}`, strings.Repeat("y", 2000)))
	}
	i.Halt()
	path := filepath.Join(i.Dir, installation.DatabaseName)
	unclean := func() {
		t.Helper()
		if err := os.WriteFile(path+"-wal", []byte("as after a crash"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	begin := func() *logtest.Buffer {
		t.Helper()
		log := &logtest.Buffer{}
		a, err := New(t.Context(), Config{Settings: installation.Settings{DataDir: i.Dir, Log: slog.New(slog.NewJSONHandler(log, nil))}, Listen: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		a.Start()
		t.Cleanup(func() { a.Stop(t.Context()) })
		return log
	}
	unclean()
	log := begin()
	apptest.Await(t, func() bool { return len(log.With("the structure of the database is sound")) == 1 })
	if got := len(log.With("the data directory " + i.Dir)); got != 0 {
		t.Errorf("warnings about permissions: %d", got)
	}
}

// TestDamagedDatabaseIsReported: doctor and the check at the start report a damaged page.
func TestDamagedDatabaseIsReported(t *testing.T) {
	i := install(t, filepath.Join(t.TempDir(), "data"))
	w := i.Apply(apptest.Definition("a", "{set: {text: ok}}"))
	for range 30 {
		i.Ask("POST", "/workflows/"+w+"/executions?wait=20s", "application/json", fmt.Sprintf(`{"input":{"x":%q}}`, strings.Repeat("y", 900)))
	}
	i.Halt()
	path := filepath.Join(i.Dir, installation.DatabaseName)
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
	if got, all := wrong(t, i.Dir); !slices.Contains(got, "database") || len(all["database"].Damages) == 0 {
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
	first.Halt()
	for path, mode := range map[string]os.FileMode{dir: 0o755, filepath.Join(dir, installation.DatabaseName): 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	log := &logtest.Buffer{}
	install(t, dir, func(c *Config) { c.Log = slog.New(slog.NewJSONHandler(log, nil)) })
	for _, what := range []string{"the data directory " + dir + " is open to every user", filepath.Join(dir, installation.DatabaseName) + " is open to every user"} {
		if !strings.Contains(log.String(), what) {
			t.Errorf("no word of %q in %s", what, log.String())
		}
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
	if got, all := wrong(t, i.Dir); len(got) != 0 || !strings.Contains(all["clock"].Detail, "-1h0m0s") {
		t.Errorf("doctor: %v %+v", got, all["clock"])
	}
	var step installation.ClockStep
	err := db.store.View(t.Context(), func(r *store.Reader) error {
		data, err := r.Meta(installation.MetaClock)
		if err == nil {
			err = json.Unmarshal(data, &step)
		}
		return err
	})
	if err != nil || step.ByMs != -time.Hour.Milliseconds() {
		t.Errorf("noted: %+v %v", step, err)
	}
}

// wrong are the names of what the doctor finds wrong, and all findings by name.
func wrong(t *testing.T, dir string) (names []string, all map[string]operate.Finding) {
	t.Helper()
	all = map[string]operate.Finding{}
	for _, f := range operate.Doctor(t.Context(), installation.Settings{DataDir: dir}, operate.Checks{}) {
		all[f.What] = f
		if !f.OK {
			names = append(names, f.What)
		}
	}
	return names, all
}
