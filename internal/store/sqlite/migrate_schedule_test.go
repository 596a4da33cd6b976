package sqlite

import (
	"io/fs"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
)

// TestSchedulesBeginWithTheUpdate: what was published before there were schedules gets a row,
// and takes in events from then on; what is a draft or deleted gets none.
func TestSchedulesBeginWithTheUpdate(t *testing.T) {
	known, err := knownSchema()
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(known.files, "0000[1-6]_*.sql")
	if err != nil || len(names) != 6 {
		t.Fatalf("migrations before schedules: %v, %v", names, err)
	}
	older := fstest.MapFS{}
	for _, name := range names {
		data, err := fs.ReadFile(known.files, name)
		if err != nil {
			t.Fatal(err)
		}
		older[name] = &fstest.MapFile{Data: data}
	}
	before, err := newSchema(older)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "data.db")
	if err := before.migrate(path, quiet); err != nil {
		t.Fatal(err)
	}
	rowOf(t, path, `INSERT INTO workflow (no, id, account, namespace, name, created_ms, updated_ms, published, draft, deleted_ms) VALUES
 (1, zeroblob(16), 1, 'n', 'published', 1, 1, 7, 0, 0), (2, randomblob(16), 1, 'n', 'draft', 2, 2, 0, 8, 0), (3, randomblob(16), 1, 'n', 'gone', 3, 3, 9, 0, 5)
 RETURNING no`)
	rowOf(t, path, `INSERT INTO stream (account, environment, last, last_ms) VALUES (1, 1, 41, 1), (1, 2, 99, 1) RETURNING last`)
	if err := known.migrate(path, quiet); err != nil {
		t.Fatal(err)
	}
	row := rowOf(t, path, `SELECT COUNT(*), MAX(workflow), MAX(revision), MAX(position), MAX(due_ms) + MAX(activated_ms) + MAX(step) FROM schedule`)
	if want := []int64{1, 1, 7, 41, 0}; !slices.Equal(row, want) {
		t.Errorf("count, workflow, revision, position and times: %v, want %v", row, want)
	}
}
