package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
	"github.com/chargehand/chargehand/internal/store/storetest"
)

func TestStore(t *testing.T) {
	for name, owner := range map[string]bool{"owner": true, "beside": false} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) store.DB {
				db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(t.TempDir(), "suite.db"), Owner: owner})
				if err != nil {
					t.Fatal(err)
				}
				return db
			})
		})
	}
}
