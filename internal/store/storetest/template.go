package storetest

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/chargehand/chargehand/internal/store"
)

// Template is a database file with its schema. A test that begins with a copy of it does not have to
// make that schema, which takes most of a short test, the more so with the race detector.
type Template struct {
	// Open makes a database at a path, or opens one.
	Open func(path string) (store.DB, error)

	once sync.Once
	data []byte
	err  error
}

// New opens a copy in a folder of the test, and closes it after the test if that has not.
func (m *Template) New(t testing.TB) store.DB {
	t.Helper()
	m.once.Do(func() { m.err = m.prepare(filepath.Join(t.TempDir(), "template.db")) })
	if m.err != nil {
		t.Fatal(m.err)
	}
	path := filepath.Join(t.TempDir(), "test.db")
	if err := os.WriteFile(path, m.data, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := m.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	return db
}

func (m *Template) prepare(path string) error {
	db, err := m.Open(path)
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	m.data, err = os.ReadFile(path)
	return err
}
