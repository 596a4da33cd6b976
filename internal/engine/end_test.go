package engine

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

// counting is a database that counts queries.
type counting struct {
	store.DB
	queries *int
}

func (c counting) Update(ctx context.Context, fn func(store.Conn) error) error {
	return c.DB.Update(ctx, func(conn store.Conn) error { return fn(countingConn{conn, c.queries}) })
}

type countingConn struct {
	store.Conn
	queries *int
}

func (c countingConn) Query(query string, row func(store.Row) error, args ...any) error {
	*c.queries++
	return c.Conn.Query(query, row, args...)
}

// TestResultsOfManyFiles: they stay in the order of the output, what no file is named by is left out, and a
// thousand do not hold up the only writer with a query for each.
func TestResultsOfManyFiles(t *testing.T) {
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(t.TempDir(), "test.db"), Owner: true})
	if err != nil {
		t.Fatal(err)
	}
	queries := 0
	rows := store.New(counting{db, &queries})
	t.Cleanup(func() { rows.Close() })
	row := store.Execution{No: 7, Account: 1, Environment: chargehand.Live}
	const count = 1_000
	var ids, want []chargehand.FileID
	err = rows.Update(t.Context(), func(tx *store.Tx) error {
		ids, want = nil, nil
		digest := make([]byte, 32)
		if err := tx.ReserveBlob(digest, 1); err != nil {
			return err
		}
		for i := range count {
			f := store.File{ID: chargehand.FileID{byte(i), byte(i >> 8), 1}, Account: 1, Environment: chargehand.Live, Name: "x", Size: 1, Digest: digest, Visible: true}
			switch i % 4 {
			case 0: // of this execution
				f.Execution = 7
			case 1: // of another account
				f.Account = 2
			case 2: // becomes visible with the end
				f.Visible = false
			}
			if err := tx.InsertFile(&f); err != nil {
				return err
			}
			ids = append(ids, f.ID)
			if i%4 != 1 {
				want = append(want, f.ID)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(ids)
	slices.Reverse(want)
	var fresh []chargehand.FileID
	for _, id := range ids {
		if id[0]%4 == 2 {
			fresh = append(fresh, id)
		}
	}
	end := End{references: ids}
	queries = 0
	err = rows.Update(t.Context(), func(tx *store.Tx) error { return end.FindResults(tx, &row, fresh, nil) })
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, id := range want {
		texts = append(texts, `"`+id.String()+`"`)
	}
	if got := "[" + strings.Join(texts, ",") + "]"; string(end.Files) != got || len(end.foreign) != count/4 {
		t.Errorf("%d foreign files, results %.200s", len(end.foreign), end.Files)
	}
	if queries > 10 {
		t.Errorf("%d queries", queries)
	}
}
