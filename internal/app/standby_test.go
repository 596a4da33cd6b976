package app

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/app/apptest"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/peer"
)

// ready is the status of /readyz.
func (i *fixture) ready() int {
	resp, err := http.Get(strings.TrimSuffix(i.Base, "/api/v1") + "/readyz")
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

// TestStandbyTakesOver: of two servers on one PostgreSQL database one works; the other answers 503
// until the first is gone, and then continues with its executions.
func TestStandbyTakesOver(t *testing.T) {
	url, files := peer.StartPostgres(t).NewDatabase(t), "file://"+t.TempDir()
	shared := func(c *Config) { c.DatabaseURL, c.FilesURL = url, files }
	master := apptest.MasterFile(t)
	key := func(c *Config) { c.MasterKeyFile = master }
	first := install(t, t.TempDir(), shared, key)
	second := install(t, t.TempDir(), shared, key)
	if got := first.ready(); got != 200 {
		t.Fatalf("/readyz of the first server: %d", got)
	}
	if got := second.ready(); got != 503 {
		t.Fatalf("/readyz of the standby: %d", got)
	}
	if status, problem := second.Ask("GET", "/workflows", "", ""); status != 503 || problem["code"] != "unavailable" {
		t.Fatalf("the standby answers %d %v", status, problem)
	}
	apptest.Await(t, func() bool {
		_, system := first.Ask("GET", "/system", "", "")
		processes, _ := system["processes"].([]any)
		return slices.ContainsFunc(processes, func(p any) bool { return p.(map[string]any)["standby"] == true })
	})
	id := first.Apply(apptest.Definition("waits", "{wait: {milliseconds: 300}}"))
	status, execution := first.Ask("POST", "/workflows/"+id+"/executions", "", "")
	if status != 201 {
		t.Fatalf("start: %d %v", status, execution)
	}
	first.Halt()
	apptest.Await(t, func() bool { return second.ready() == 200 })
	apptest.Await(t, func() bool {
		_, e := second.Ask("GET", "/workflows/"+id+"/executions/"+execution["id"].(string)+"?wait=5", "", "")
		return e["status"] == "finished"
	})
}

// logWaiter closes a channel when a text is logged.
type logWaiter struct {
	text string
	once sync.Once
	done chan struct{}
}

func (h *logWaiter) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(h.text)) {
		h.once.Do(func() { close(h.done) })
	}
	return len(line), nil
}

// TestStandbyOutlivesAFailedTakeOver: a database that goes away again just when the standby takes
// over, as in a failover, ends the attempt and not the process.
func TestStandbyOutlivesAFailedTakeOver(t *testing.T) {
	p := peer.StartPostgres(t)
	url := p.NewDatabase(t)
	name := url[strings.LastIndex(url, "/")+1 : strings.Index(url, "?")]
	master, files := apptest.MasterFile(t), "file://"+t.TempDir()
	shared := func(c *Config) { c.DatabaseURL, c.MasterKeyFile, c.FilesURL = url, master, files }
	first := install(t, t.TempDir(), shared)
	failed := &logWaiter{text: "could not take over", done: make(chan struct{})}
	second := install(t, t.TempDir(), shared, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(failed, nil)) })
	p.Exec(t, name, `CREATE FUNCTION away() RETURNS bool LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'away' USING ERRCODE = '57P01'; END $$;
		ALTER TABLE meta RENAME TO meta_there; CREATE VIEW meta AS SELECT * FROM meta_there WHERE away()`)
	first.Halt()
	select {
	case <-failed.done:
	case <-time.After(time.Minute):
		t.Fatal("the standby did not try to take over")
	}
	if got := second.ready(); got == 200 {
		t.Fatal("the standby is ready without a database")
	}
	p.Exec(t, name, `DROP VIEW meta; ALTER TABLE meta_there RENAME TO meta`)
	apptest.Await(t, func() bool { return second.ready() == 200 })
}

// TestMasterKeyOfAnotherInstallation: a wrong key is an error of the start, not of each API key.
func TestMasterKeyOfAnotherInstallation(t *testing.T) {
	dir := t.TempDir()
	i := install(t, dir)
	i.Halt()
	_, err := New(t.Context(), Config{Settings: installation.Settings{DataDir: dir, MasterKeyFile: apptest.MasterFile(t)}, Listen: "127.0.0.1:0"})
	if err == nil || !strings.Contains(err.Error(), "master key is not the one of this database") {
		t.Fatalf("a server with another master key: %v", err)
	}
}

// TestSharedDatabaseNeedsAKey: several servers cannot each make their own.
func TestSharedDatabaseNeedsAKey(t *testing.T) {
	_, err := New(t.Context(), Config{Settings: installation.Settings{DataDir: t.TempDir(), DatabaseURL: "postgres://127.0.0.1:1/none"}})
	if err == nil || !strings.Contains(err.Error(), "--master-key-file") {
		t.Fatalf("without a master key: %v", err)
	}
}

// TestTemporalAddress: an address that can never be reached is an error of the start, not waited for.
func TestTemporalAddress(t *testing.T) {
	for _, address := range []string{"http://127.0.0.1:7233", "127.0.0.1", ":7233", ":::", "h:port", "h:70000"} {
		cfg := Config{Settings: installation.Settings{DataDir: t.TempDir(), Engine: installation.EngineTemporal, DatabaseURL: "postgres://127.0.0.1:1/none"}}
		cfg.Temporal.Address = address
		var wrong *installation.SettingError
		if _, err := New(t.Context(), cfg); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "--temporal-address") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// TestFilesAreShared: all servers on a database need the same files, and no other installation
// has them; a single one may keep them to itself, and logs what that means.
func TestFilesAreShared(t *testing.T) {
	server, master := peer.StartPostgres(t), apptest.MasterFile(t)
	url, other := server.NewDatabase(t), server.NewDatabase(t)
	open := func(url, dir, files string) (string, error) {
		log := &logWaiter{text: "--files-url", done: make(chan struct{})}
		cfg := Config{Listen: "127.0.0.1:0", Settings: installation.Settings{
			DataDir: dir, Engine: installation.EngineTemporal, DatabaseURL: url, MasterKeyFile: master, FilesURL: files,
			Log: slog.New(slog.NewTextHandler(log, nil)),
		}}
		cfg.Temporal.Address = "127.0.0.1:1" // no server: it may be away at the start
		a, err := New(t.Context(), cfg)
		if err != nil {
			return "", err
		}
		a.Stop(t.Context())
		select {
		case <-log.done:
			return "told", nil
		default:
			return "", nil
		}
	}
	first, files := t.TempDir(), "file://"+t.TempDir()
	for _, test := range []struct{ name, url, dir, files, warned, refused string }{
		{"the first one, with files of its own", url, first, "", "told", ""},
		{"the same one again", url, first, "", "told", ""},
		{"another one, with files of its own", url, t.TempDir(), "", "", "does not hold the files of this database"},
		{"another one, with other files", url, t.TempDir(), files, "", "does not hold the files of this database"},
		{"another one, with the same files", url, t.TempDir(), "file://" + filepath.Join(first, "files"), "", ""},
		{"another installation, with other files", other, t.TempDir(), files, "", ""},
		{"another installation, with these files", other, t.TempDir(), "file://" + filepath.Join(first, "files"), "", "another installation"},
	} {
		warned, err := open(test.url, test.dir, test.files)
		var wrong *installation.SettingError
		switch {
		case test.refused == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.refused != "" && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), test.refused)):
			t.Errorf("%s: %v, want %q", test.name, err, test.refused)
		case warned != test.warned:
			t.Errorf("%s: told %q", test.name, warned)
		}
	}
}
