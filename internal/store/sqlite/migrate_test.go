package sqlite

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/dialect"
)

var quiet = slog.New(slog.DiscardHandler)

// steps makes a schema of migrations with these statements.
func steps(t *testing.T, statements ...string) schema {
	t.Helper()
	files := fstest.MapFS{}
	for i, s := range statements {
		name := strings.Repeat("0", 4) + strconv.Itoa(i+1) + "_step.sql"
		files[name] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + s + "\n")}
	}
	known, err := dialect.NewSchema(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	return schema{known}
}

const (
	first   = `CREATE TABLE a (n INTEGER) STRICT; INSERT INTO a VALUES (1);`
	second  = `ALTER TABLE a ADD COLUMN m INTEGER NOT NULL DEFAULT 7;`
	broken3 = `INSERT INTO a (n) VALUES (3); INSERT INTO nowhere VALUES (1);`
)

func rowOf(t *testing.T, path, query string) []int64 {
	t.Helper()
	c, err := openConn(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	row, err := c.plain(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return row
}

func TestMigrateStepByStep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	if err := steps(t, first).migrate(path, quiet); err != nil {
		t.Fatal(err)
	}
	copies := func() []string {
		found, _ := filepath.Glob(path + ".before-*")
		return found
	}
	if got := copies(); len(got) != 0 {
		t.Errorf("a new database was copied: %v", got)
	}
	if err := steps(t, first, second).migrate(path, quiet); err != nil {
		t.Fatal(err)
	}
	if row := rowOf(t, path, "SELECT n, m FROM a"); row[0] != 1 || row[1] != 7 {
		t.Errorf("row %v after the second migration, want 1 7", row)
	}
	if got := copies(); len(got) != 1 || got[0] != path+".before-2" {
		t.Fatalf("copies %v, want one", got)
	}
	if row := rowOf(t, copies()[0], "SELECT COUNT(*) FROM pragma_table_info('a')"); row[0] != 1 {
		t.Errorf("the copy has %d columns, want 1, as before", row[0])
	}
	if err := steps(t, first, second).migrate(path, quiet); err != nil {
		t.Fatal(err)
	}
	if got := copies(); len(got) != 1 {
		t.Errorf("copies %v although nothing was to be done", got)
	}
}

func TestMigrationFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	if err := steps(t, first).migrate(path, quiet); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the copy of the first attempt is replaced
		err := steps(t, first, second, broken3).migrate(path, quiet)
		if err == nil || !strings.Contains(err.Error(), "nowhere") {
			t.Fatalf("a migration that fails: %v", err)
		}
	}
	// The second succeeded, the third left nothing.
	if row := rowOf(t, path, "SELECT COUNT(*), SUM(m) FROM a"); row[0] != 1 || row[1] != 7 {
		t.Errorf("row %v, want 1 7", row)
	}
	if err := steps(t, first, second, `INSERT INTO a (n) VALUES (3);`).migrate(path, quiet); err != nil {
		t.Errorf("mended: %v", err)
	}
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	if err := steps(t, first, second).migrate(path, quiet); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	err = steps(t, first).migrate(path, quiet)
	if !errors.Is(err, dialect.ErrNewer) || !strings.Contains(err.Error(), "schema 2, this one knows 1") {
		t.Errorf("an older binary: %v, want ErrNewer with both numbers", err)
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("the refused database was changed")
	}
}

// TestGuestOfOlderServer opens a database that a running server has not migrated.
func TestGuestOfOlderServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	if err := steps(t, first).migrate(path, quiet); err != nil {
		t.Fatal(err)
	}
	server := &DB{path: path}
	if err := server.takeLock(time.Second); err != nil {
		t.Fatal(err)
	}
	guest := &DB{path: path}
	err := guest.bringUp(steps(t, first, second), Options{Logger: quiet})
	if !errors.Is(err, dialect.ErrOlder) || !errors.Is(err, store.ErrLocked) {
		t.Errorf("beside an older server: %v, want ErrOlder", err)
	}
	if err := server.unlock(); err != nil {
		t.Fatal(err)
	}
	if err := guest.bringUp(steps(t, first, second), Options{Logger: quiet}); err != nil {
		t.Errorf("without a server: %v", err)
	}
	if guest.lock != nil {
		t.Error("a guest kept the lock")
	}
}

// TestMigrationNames holds the files to what schema takes for granted.
func TestMigrationNames(t *testing.T) {
	known, err := knownSchema()
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(migrationFiles, "migrations/*")
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for _, name := range names {
		m := regexp.MustCompile(`^(\d{5})_[a-z_]+\.sql$`).FindStringSubmatch(path.Base(name))
		if m == nil {
			t.Errorf("%s is not named NNNNN_words.sql", name)
			continue
		}
		n, _ := strconv.Atoi(m[1])
		if n <= last {
			t.Errorf("%s comes after number %d", name, last)
		}
		last = n
		text, err := fs.ReadFile(migrationFiles, name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "+goose Down") || strings.Contains(string(text), "NO TRANSACTION") {
			t.Errorf("%s goes backwards or runs without a transaction", name)
		}
	}
	if int(known.Target) != last {
		t.Errorf("target %d, the last number is %d", known.Target, last)
	}
}

// TestTablesAreStrict and have the settings that cannot be changed later.
func TestTablesAreStrict(t *testing.T) {
	db := openTest(t)
	loose := rowOf(t, db.path, `SELECT COUNT(*) FROM pragma_table_list WHERE type = 'table' AND schema = 'main' AND strict = 0
 AND name NOT LIKE 'sqlite_%' AND name <> 'goose_db_version'`)
	if loose[0] != 0 {
		t.Errorf("%d tables are not STRICT", loose[0])
	}
	if row := rowOf(t, db.path, "SELECT COUNT(*) FROM pragma_table_list WHERE schema = 'main' AND strict = 1"); row[0] < 15 {
		t.Errorf("%d strict tables", row[0])
	}
}
