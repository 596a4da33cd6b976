package move

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/app"
	"github.com/chargehand/chargehand/internal/app/apptest"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/keyring"
	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

const rowsOfEach = 9

// fullSource makes a data directory whose tables all have rows, with values in every column
// that may be hard to copy. What the rows mean is of no interest.
func fullSource(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	ring, err := secret.LoadOrCreate(filepath.Join(dir, installation.MasterKeyName))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(dir, installation.DatabaseName), Owner: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(t.Context(), func(c store.Conn) error {
		tables, err := sqlite.Tables(c)
		for _, table := range tables {
			for n := range rowsOfEach {
				if err == nil {
					err = insertAny(c, table, int64(n))
				}
			}
		}
		if err == nil {
			_, err = c.Exec(`DELETE FROM wrapped_key`) // those of the installation take their place
		}
		if err == nil { // numbers of rows that are gone are not used again
			_, err = c.Exec(`UPDATE sqlite_sequence SET seq = 4711 WHERE name = 'outbox'`)
		}
		return err
	})
	if err == nil {
		_, err = keyring.Open(t.Context(), store.New(db), ring, time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// insertAny inserts the n-th row of a table.
func insertAny(c store.Conn, table store.Table, n int64) error {
	var parameters []string
	var args []any
	for i, column := range table.Columns {
		parameters = append(parameters, fmt.Sprintf("?%d", i+1))
		args = append(args, anyValue(table, column, n))
	}
	if _, err := c.Exec(fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table.Name, table.Names(), strings.Join(parameters, ", ")), args...); err != nil {
		return fmt.Errorf("insert into %s: %w", table.Name, err)
	}
	return nil
}

// anyValue obeys the few checks of the schema, and is hard to copy otherwise.
func anyValue(table store.Table, column store.Column, n int64) any {
	switch {
	case column.Null && n%3 == 0:
		return nil
	case table.Name == "execution" && column.Name == "state":
		return n % 2
	case column.Name == "status" && table.Name == "execution":
		return 4 - 3*(n%2)
	case column.Name == "status" && table.Name == "human_task":
		return 3 + n%2 // it has ended
	case column.Name == "refs":
		return int64(0)
	case column.Name == "id", column.Name == "dedupe", column.Name == "digest" && column.Kind == store.KindBytes, strings.HasSuffix(column.Name, "hash") && column.Kind == store.KindBytes, column.Name == "credential", column.Name == "summed", table.Name == "sign_in_delay" && column.Kind == store.KindBytes:
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", table.Name, n))
		if column.Name == "id" || column.Name == "dedupe" {
			return sum[:16]
		}
		return sum[:]
	case column.Kind == store.KindText:
		return []string{"", "a\x00b\x01\xff", "ä'\"\\N\t", "\x0100", strings.Repeat("long ", 5000)}[n%5] + fmt.Sprint("-", n)
	case column.Kind == store.KindBytes:
		return [][]byte{{}, {0, 1, 2, 255}, []byte("PGCOPY"), make([]byte, 70_000)}[n%4]
	case column.Name == "no", strings.HasSuffix(column.Name, "_ms"), column.Name == "digest", column.Name == "size":
		return int64(1)<<62 + 7*n
	case column.Name == "execution", column.Name == "workflow", column.Name == "account":
		return 1_000*n + 1
	}
	return n + 1
}

// rowsOf reads all rows of a database, by table, each as a text.
func rowsOf(t *testing.T, db store.DB, list func(store.Conn) ([]store.Table, error)) map[string][]string {
	t.Helper()
	rows := map[string][]string{}
	err := db.View(t.Context(), func(c store.Conn) error {
		tables, err := list(c)
		if err != nil {
			return err
		}
		for _, table := range tables {
			err := c.Query("SELECT "+table.Names()+" FROM "+table.Name+" "+table.Order(), func(r store.Row) error {
				var values []string
				for i, column := range table.Columns {
					switch {
					case r.Null(i):
						values = append(values, column.Name+" is null")
					case column.Kind == store.KindInt:
						values = append(values, fmt.Sprint(column.Name, " ", r.Int(i)))
					case column.Kind == store.KindText:
						values = append(values, fmt.Sprintf("%s %q", column.Name, r.Text(i)))
					default:
						values = append(values, fmt.Sprintf("%s %x", column.Name, r.Bytes(i)))
					}
				}
				if text := strings.Join(values, "; "); !strings.Contains(text, `name "`+store.MovePrefix) {
					rows[table.Name] = append(rows[table.Name], text)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func sourceRows(t *testing.T, dir string) map[string][]string {
	t.Helper()
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(dir, installation.DatabaseName)})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return rowsOf(t, db, sqlite.Tables)
}

func targetRows(t *testing.T, url string) map[string][]string {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Options{URL: url, Mode: postgres.Owner})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return rowsOf(t, db, postgres.Tables)
}

func wantSame(t *testing.T, dir, url string, before map[string][]string) {
	t.Helper()
	after := targetRows(t, url)
	if !reflect.DeepEqual(before, after) {
		for table := range before {
			if !reflect.DeepEqual(before[table], after[table]) {
				t.Errorf("table %s has %d rows %.300q, want %d rows %.300q", table, len(after[table]), after[table], len(before[table]), before[table])
			}
		}
		t.Fatalf("%d tables, want %d", len(after), len(before))
	}
	if now := sourceRows(t, dir); !reflect.DeepEqual(before, now) {
		t.Error("the source was changed, beyond the mark")
	}
}

// refusal is why the installation cannot be served; empty: it can.
func refusal(t *testing.T, cfg installation.Settings) string {
	t.Helper()
	a, err := app.New(t.Context(), app.Config{Settings: cfg, Listen: "127.0.0.1:0"})
	if err != nil {
		return err.Error()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a.Stop(ctx)
	return ""
}

// TestMoveRows moves rows of every table. All tests share a server.
func TestMoveRows(t *testing.T) {
	server := peer.StartPostgres(t, peer.PostgresOptions{Careless: true})
	t.Run("schema", func(t *testing.T) { testMoveSchema(t, server) })
	t.Run("cut off", func(t *testing.T) { testMoveCutOff(t, server) })
	t.Run("changes", func(t *testing.T) { testMoveNoticesChanges(t, server) })
	t.Run("interrupt", func(t *testing.T) { testMoveInterrupted(t, server) })
	t.Run("refusals", func(t *testing.T) { testMoveRefusals(t, server) })
}

// testMoveSchema: a table or column that only one dialect has, or has otherwise, cannot be
// moved. It is copied by itself if both have it.
func testMoveSchema(t *testing.T, server *peer.Postgres) {
	dir, url := fullSource(t), server.NewDatabase(t)
	before := sourceRows(t, dir)
	if len(before) < 18 {
		t.Fatalf("the source has rows in %d tables", len(before))
	}
	for table, rows := range before {
		if len(rows) < rowsOfEach && table != "wrapped_key" { // which has those of the installation
			t.Errorf("table %s has %d rows", table, len(rows))
		}
	}
	if _, err := Run(t.Context(), Request{From: dir, To: url}); err != nil {
		t.Fatal(err)
	}
	wantSame(t, dir, url, before)

	// Numbers continue behind the highest that was ever used.
	db, err := postgres.Open(t.Context(), postgres.Options{URL: url, Mode: postgres.Shared})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(t.Context(), func(c store.Conn) error {
		no, err := c.Insert(`INSERT INTO outbox (execution, kind, report, due_ms) VALUES (1, 1, 1, 1)`)
		if want := int64(1)<<62 + 7*(rowsOfEach-1) + 1; err == nil && no != want {
			t.Errorf("the next message has the number %d, want %d", no, want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	testSchemaDifferences(t, db, dir)
}

func testSchemaDifferences(t *testing.T, db *postgres.DB, dir string) {
	source, err := sqlite.Open(sqlite.Options{Path: filepath.Join(dir, installation.DatabaseName)})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	var has []store.Table
	if err := source.View(t.Context(), func(c store.Conn) (err error) { has, err = sqlite.Tables(c); return err }); err != nil {
		t.Fatal(err)
	}
	for statement, named := range map[string]string{
		"CREATE TABLE fresh (no BIGINT PRIMARY KEY)":         "fresh",
		"ALTER TABLE timer ADD COLUMN extra BIGINT":          "timer",
		"ALTER TABLE batch ALTER COLUMN total DROP NOT NULL": "batch",
		"DROP TABLE file_use":                                "file_use",
	} {
		undo := errors.New("undo")
		err := db.Update(t.Context(), func(c store.Conn) error {
			if _, err := c.Exec(statement); err != nil {
				return err
			}
			tables, err := postgres.Tables(c)
			if err != nil {
				return err
			}
			if err := store.SameTables(has, tables); err == nil || !strings.Contains(err.Error(), named) {
				t.Errorf("after %s: %v", statement, err)
			}
			return undo
		})
		if !errors.Is(err, undo) {
			t.Fatal(err)
		}
	}
}

// testMoveCutOff cuts a move off after every transaction in the target, and continues each time.
// Between, no server can serve the target, and the source cannot be served any more exactly
// when everything was compared.
func testMoveCutOff(t *testing.T, server *peer.Postgres) {
	dir, url := fullSource(t), server.NewDatabase(t)
	before := sourceRows(t, dir)
	cut := errors.New("cut off")
	what := Request{From: dir, To: url, pageRows: 4, written: func() error { return cut }}
	attempts, marked := 0, 0
	for {
		_, err := Run(t.Context(), what)
		if err == nil {
			t.Fatal("a move that is cut off reports success")
		}
		if !errors.Is(err, cut) {
			t.Fatalf("attempt %d: %v", attempts, err)
		}
		attempts++
		if attempts%10 == 1 {
			if got := refusal(t, installation.Settings{DataDir: t.TempDir(), DatabaseURL: url, MasterKeyFile: filepath.Join(dir, installation.MasterKeyName)}); !strings.Contains(got, "is not finished") {
				t.Fatalf("serving the target: %q", got)
			}
		}
		db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(dir, installation.DatabaseName)})
		if err != nil {
			t.Fatal(err)
		}
		err = store.New(db).View(t.Context(), installation.CheckMoved)
		db.Close()
		if err != nil {
			if marked++; marked == 2 {
				break // only the last step is left
			}
		}
		if attempts > 1000 {
			t.Fatal("the move does not get on")
		}
	}
	if want := len(before) * (rowsOfEach / 4); attempts < want {
		t.Errorf("only %d transactions, want at least %d", attempts, want)
	}
	if got := refusal(t, installation.Settings{DataDir: dir}); !strings.Contains(got, "was moved to postgres://") {
		t.Fatalf("serving the source: %q", got)
	}
	what.written = nil
	if _, err := Run(t.Context(), what); err != nil {
		t.Fatal(err)
	}
	wantSame(t, dir, url, before)

	if _, err := Run(t.Context(), what); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("moving once more: %v", err)
	}
	what.To = server.NewDatabase(t)
	if _, err := Run(t.Context(), what); err == nil || !strings.Contains(err.Error(), "was moved to") {
		t.Errorf("moving to another place: %v", err)
	}
	if _, err := Undo(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Undo(t.Context(), dir); err == nil {
		t.Error("what was not moved can be undone")
	}
	if _, err := Run(t.Context(), what); err != nil {
		t.Errorf("moving after an undo: %v", err)
	}
}

// testMoveNoticesChanges: a row that is not as it was is an error, which names its table, and the source stays.
func testMoveNoticesChanges(t *testing.T, server *peer.Postgres) {
	dir := fullSource(t)
	for statement, table := range map[string]string{
		"UPDATE timer SET due_ms = due_ms + 1 WHERE command = 3":                      "timer",
		"DELETE FROM outcome WHERE execution IN (SELECT MAX(execution) FROM outcome)": "outcome",
		"UPDATE workflow SET name = name || ' '":                                      "workflow",
		"UPDATE execution SET input = NULL WHERE input = ''":                          "execution",
		"INSERT INTO meta VALUES ('strange', '')":                                     "meta",
	} {
		url := server.NewDatabase(t)
		name := url[strings.LastIndex(url, "/")+1 : strings.LastIndex(url, "?")]
		last := func(s Step) {
			if s.Part == "workflow" && !s.Compare && s.Done > 0 {
				server.Exec(t, name, statement)
			}
		}
		_, err := Run(t.Context(), Request{From: dir, To: url, Progress: last})
		if err == nil || !strings.Contains(err.Error(), "table "+table+" is not the same") {
			t.Errorf("after %s: %v", statement, err)
		}
		db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(dir, installation.DatabaseName)})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.New(db).View(t.Context(), installation.CheckMoved); err != nil {
			t.Errorf("after %s, the source: %v", statement, err)
		}
		db.Close()
	}
}

// testMoveInterrupted: an interrupted move continues, and no process changes the source before its end.
func testMoveInterrupted(t *testing.T, server *peer.Postgres) {
	dir, url := fullSource(t), server.NewDatabase(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	what := Request{From: dir, To: url, pageRows: 3}
	what.Progress = func(s Step) {
		if s.Part == "journal" && s.Done > 0 {
			interrupt()
		}
	}
	if _, err := Run(ctx, what); !errors.Is(err, context.Canceled) {
		t.Fatalf("an interrupted move: %v", err)
	}
	before := sourceRows(t, dir)
	written := make(chan error, 1)
	var begin sync.Once
	what.Progress = func(Step) {
		begin.Do(func() {
			go func() {
				guest, err := sqlite.Open(sqlite.Options{Path: filepath.Join(dir, installation.DatabaseName)})
				if err == nil {
					err = store.New(guest).Update(context.Background(), func(tx *store.Tx) error { return tx.SetMeta("late", nil) })
					guest.Close()
				}
				written <- err
			}()
		})
		select {
		case err := <-written:
			t.Errorf("another process has written into the source during the move (%v)", err)
		default:
		}
	}
	report, err := Run(t.Context(), what)
	if err != nil {
		t.Fatal(err)
	}
	if report.Rows == 0 || report.Rows >= report.Compared {
		t.Errorf("the second run copied %d rows of %d", report.Rows, report.Compared)
	}
	<-written // after the mark, or refused
	if after := targetRows(t, url); !reflect.DeepEqual(before, after) {
		t.Error("the rows are not the same")
	}
}

// testMoveRefusals: what is wrong is reported before anything is written.
func testMoveRefusals(t *testing.T, server *peer.Postgres) {
	dir, empty := fullSource(t), server.NewDatabase(t)
	newer, used, begun := server.NewDatabase(t), server.NewDatabase(t), server.NewDatabase(t)
	nameOf := func(url string) string { return url[strings.LastIndex(url, "/")+1 : strings.LastIndex(url, "?")] }
	server.Exec(t, nameOf(newer), "CREATE TABLE goose_db_version (version_id BIGINT, is_applied BOOLEAN); INSERT INTO goose_db_version VALUES (9999, true)")
	if got := refusal(t, installation.Settings{DataDir: t.TempDir(), DatabaseURL: used, MasterKeyFile: apptest.MasterFile(t)}); got != "" {
		t.Fatal(got)
	}
	cut := errors.New("cut off")
	if _, err := Run(t.Context(), Request{From: fullSource(t), To: begun, written: func() error { return cut }}); !errors.Is(err, cut) {
		t.Fatal(err)
	}
	open := filepath.Join(t.TempDir(), "open.Key")
	if err := os.WriteFile(open, binary.BigEndian.AppendUint64(nil, 1), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		what Request
		says string
	}{
		"no source":            {Request{To: empty}, "--from"},
		"no target":            {Request{From: dir}, "--to"},
		"nothing there":        {Request{From: t.TempDir(), To: empty}, "no installation"},
		"another scheme":       {Request{From: dir, To: "mysql://h/d"}, "postgres://"},
		"unreachable":          {Request{From: dir, To: "postgres://u:geheim@127.0.0.1:1/d"}, "--to"},
		"files unknown":        {Request{From: dir, To: empty, ToFilesURL: "ftp://x"}, "--to-files"},
		"another key":          {Request{From: dir, To: empty, MasterKeyFile: apptest.MasterFile(t)}, "another key"},
		"a broken key":         {Request{From: dir, To: empty, MasterKeyFile: open}, "--master-key-file"},
		"no key":               {Request{From: dir, To: empty, FromMasterKeyFile: filepath.Join(dir, "none")}, "--from-master-key-file"},
		"not empty":            {Request{From: dir, To: used}, "not empty"},
		"newer":                {Request{From: dir, To: newer}, "newer version"},
		"another installation": {Request{From: dir, To: begun}, "another installation"},
	} {
		_, err := Run(t.Context(), test.what)
		if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if tables := targetRows(t, empty); len(tables) != 0 {
		t.Errorf("after all these, the database has %v", tables)
	}
	owner, err := sqlite.Open(sqlite.Options{Path: filepath.Join(dir, installation.DatabaseName), Owner: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), Request{From: dir, To: empty}); !errors.Is(err, store.ErrLocked) {
		t.Errorf("beside a server: %v", err)
	}
	owner.Close()
	if _, err := Run(t.Context(), Request{From: dir, To: empty}); err != nil {
		t.Errorf("after all these: %v", err)
	}
}
