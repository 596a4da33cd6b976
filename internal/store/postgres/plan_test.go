package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/storetest"
)

// recorder collects the statements of package store that pass through a database.
type recorder struct {
	store.DB
	seen *sync.Map // text → []any, the arguments of one use
}

type recordingConn struct {
	store.Conn
	seen *sync.Map
}

func (d recorder) Update(ctx context.Context, fn func(store.Conn) error) error {
	return d.DB.Update(ctx, func(c store.Conn) error { return fn(recordingConn{c, d.seen}) })
}

func (d recorder) View(ctx context.Context, fn func(store.Conn) error) error {
	return d.DB.View(ctx, func(c store.Conn) error { return fn(recordingConn{c, d.seen}) })
}

func (c recordingConn) Exec(query string, args ...any) (int64, error) {
	c.record(query, args)
	return c.Conn.Exec(query, args...)
}

func (c recordingConn) Query(query string, row func(store.Row) error, args ...any) error {
	c.record(query, args)
	return c.Conn.Query(query, row, args...)
}

func (c recordingConn) InsertAll(query string, args [][]any) ([]int64, error) {
	c.record(query, args[0])
	return c.Conn.InsertAll(query, args)
}

func (c recordingConn) Each(query string, args [][]any) (int64, error) {
	c.record(query, args[0])
	return c.Conn.Each(query, args)
}

func (c recordingConn) Send(what, query string, args ...any) error {
	c.record(query, args)
	return c.Conn.Send(what, query, args...)
}

func (c recordingConn) record(query string, args []any) {
	caller, _, _, _ := runtime.Caller(2)
	if strings.HasPrefix(runtime.FuncForPC(caller).Name(), "github.com/chargehand/chargehand/internal/store.") {
		c.seen.Store(query, args)
	}
}

// whole are the statements that read or sort a table or index as a whole, and why they may.
var whole = map[string]string{
	"FROM operation WHERE status < 3 ORDER": "the operations that have not ended, from their own index",
	" wrapped_key ":                         "an installation has a few keys",
	" node ":                                "an installation has a few servers",
	"FROM account ORDER BY no":              "accounts are few",
	" AND h.execution = ":                   "the human tasks of one execution, sorted",
	"AS turn FROM task_mail_rate":           "rows of workflows whose mails are due, from an index",
	"FROM stream ORDER BY account":          "streams are as few as accounts",
	"LEFT JOIN stream_cursor":               "streams are as few as accounts",
	"FROM stream s LEFT JOIN sink":          "streams are as few as accounts",
	"GROUP BY account, environment":         "at recovery only: everything that is queued",
	"SELECT DISTINCT account, environment":  "at recovery only: everything that is queued",
	"WHERE state <> 0 GROUP BY state":       "at recovery and for metrics: everything that has not ended",
	"state IN (1, 2, 3, 4) AND state <>":    "groups of at most four",
	"FROM batch WHERE status < 3":           "the batches that are not final, from their own index",
	"(SUM(waiting) AS BIGINT":               "a row for each workflow that sends mail",
	"UPDATE api_key SET":                    "keys are few, and while there are none, any index is as good",
}

// checkPlans asks PostgreSQL for its plan of every statement that was seen. Each must go
// through an index in the order that is asked for, so that none gets slower with the
// number of stored rows. The tables are empty and never analysed: the worst that a planner
// can know.
func checkPlans(t *testing.T, db store.DB, seen *sync.Map) {
	statements := 0
	seen.Range(func(key, value any) bool {
		query, args := key.(string), value.([]any)
		for text := range whole {
			if strings.Contains(query, text) {
				return true
			}
		}
		statements++
		plan, err := explain(t, db, query, args)
		if err != nil {
			t.Errorf("plan of %s: %v", query, err)
			return true
		}
		if reason := bad(plan); reason != "" {
			t.Errorf("%s\n%s:\n%s", query, reason, plan)
		}
		if strings.Contains(query, "WHERE no = ?1 AND state + 0 = 1") {
			checkMany(t, db, query, args)
		}
		return true
	})
	if statements < 80 {
		t.Errorf("only %d statements were seen", statements)
	}
}

// sortedPage is a sort of what a LIMIT has already cut to a page.
var sortedPage = regexp.MustCompile(`Sort  .*\n +Sort Key:.*\n +->  Limit`)

// bad says what is wrong with a plan.
func bad(plan string) string {
	plan = sortedPage.ReplaceAllString(plan, "")
	for _, word := range []string{"Seq Scan", "Sort  ", "Bitmap", "Hash Join"} {
		if strings.Contains(plan, word) {
			return "uses " + strings.TrimSpace(word)
		}
	}
	lines := strings.Split(plan, "\n")
	for i, line := range lines {
		// An index without a condition is read from one end to the other, unless a LIMIT stops it.
		if strings.Contains(line, "Scan using") || strings.Contains(line, "Scan Backward using") {
			if (i+1 == len(lines) || !strings.Contains(lines[i+1], "Index Cond")) && !strings.Contains(plan, "Limit") {
				return "reads a whole index"
			}
		}
	}
	return ""
}

// checkMany looks at the plan of an UPDATE of one row where it is sent for many (Conn.Each).
func checkMany(t *testing.T, db store.DB, query string, args []any) {
	t.Helper()
	many := postgres.ManyText(postgres.Rewrite(query))
	arrays := make([]any, len(args))
	for i, arg := range args {
		if arrays[i] = []any{arg}; arg == nil {
			arrays[i] = []any{""}
		}
	}
	plan, err := explain(t, db, many, arrays)
	if err != nil {
		t.Errorf("plan of %s: %v", many, err)
	} else if reason := bad(plan); reason != "" || !strings.Contains(plan, "execution_pkey") {
		t.Errorf("%s\n%s:\n%s", many, reason, plan)
	}
}

// explain asks for the plan that a session makes once for all arguments. It asks again if the session had too many
// texts, and has just forgotten all that was prepared.
func explain(t *testing.T, db store.DB, query string, args []any) (string, error) {
	t.Helper()
	plan, err := explainOnce(t, db, query, args)
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) && e.Code == "26000" {
		return explainOnce(t, db, query, args)
	}
	return plan, err
}

func explainOnce(t *testing.T, db store.DB, query string, args []any) (string, error) {
	t.Helper()
	types, values := make([]string, len(args)), make([]string, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case nil:
			types[i], values[i] = "unknown", "NULL"
		case int64, int:
			types[i], values[i] = "bigint", fmt.Sprint(v)
		case bool:
			types[i], values[i] = "bigint", "1"
		case string:
			types[i], values[i] = "text", "'x'"
		case []byte:
			types[i], values[i] = "bytea", "''"
		case []any:
			types[i], values[i] = map[bool]string{true: "bigint[]", false: "text[]"}[isNumber(v[0])], "'{}'"
			if _, bytes := v[0].([]byte); bytes {
				types[i] = "bytea[]"
			}
		default:
			t.Fatalf("argument %T", arg)
		}
	}
	var lines []string
	err := db.Update(t.Context(), func(c store.Conn) error {
		lines = nil
		prepare := "PREPARE p"
		if len(args) > 0 {
			prepare += " (" + strings.Join(types, ", ") + ")"
		}
		if _, err := c.Exec(prepare + " AS " + postgres.Rewrite(query)); err != nil {
			return err
		}
		execute := "EXPLAIN EXECUTE p"
		if len(args) > 0 {
			execute += " (" + strings.Join(values, ", ") + ")"
		}
		err := c.Query(execute, func(r store.Row) error {
			lines = append(lines, r.Text(0))
			return nil
		})
		if err != nil {
			return err
		}
		_, err = c.Exec("DEALLOCATE p")
		return err
	})
	return strings.Join(lines, "\n"), err
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, int, bool:
		return true
	}
	return false
}

func TestStoreSealed(t *testing.T) {
	kept := newKept(t, postgres.Shared)
	storetest.RunSealedAgain(t, func(t *testing.T) store.DB { return kept.open(t) }, secret.NewSealer(secret.NewKeys()))
}

// TestStore runs the suite in both modes, and then looks at the plans of its statements.
func TestStore(t *testing.T) {
	var seen sync.Map
	in := func(t *testing.T, mode postgres.Mode) storetest.Open {
		kept := newKept(t, mode)
		return func(t *testing.T) store.DB { return recorder{kept.open(t), &seen} }
	}
	t.Run("shared", func(t *testing.T) { storetest.Run(t, in(t, postgres.Shared)) })
	t.Run("owner", func(t *testing.T) { storetest.RunAgain(t, in(t, postgres.Owner)) })
	if !t.Failed() {
		checkPlans(t, open(t, postgres.Options{URL: server(t).NewSchema(t)}), &seen)
	}
}
