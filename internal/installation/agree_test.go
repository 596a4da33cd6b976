package installation

import (
	"sync"
	"testing"

	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
)

// TestConcurrentNodesThatStartAtOnceAgree: of several nodes that start for the first time, all take the
// same name and the same value.
func TestConcurrentNodesThatStartAtOnceAgree(t *testing.T) {
	url := peer.StartPostgres(t, peer.PostgresOptions{Careless: true}).NewDatabase(t)
	const nodes = 6
	stores := make([]*store.Store, nodes)
	for i := range stores {
		db, err := postgres.Open(t.Context(), postgres.Options{URL: url, Mode: postgres.Shared})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		stores[i] = store.New(db)
	}
	for range 20 {
		names, agreed := make([]string, nodes), make([]bool, nodes)
		var all sync.WaitGroup
		for i, db := range stores {
			all.Go(func() {
				var err error
				if names[i], err = Name(t.Context(), db); err != nil {
					t.Error(err)
				}
				if agreed[i], err = agree(t.Context(), db, MetaFiles, []byte{byte(i)}, nil); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		same := 0
		for i := range nodes {
			if names[i] != names[0] {
				t.Fatalf("the installation is named %q and %q", names[0], names[i])
			}
			if agreed[i] {
				same++
			}
		}
		if same != 1 {
			t.Fatalf("%d of %d different values are that of the installation", same, nodes)
		}
		err := stores[0].Update(t.Context(), func(tx *store.Tx) error {
			if err := tx.DeleteMeta(MetaName); err != nil {
				return err
			}
			return tx.DeleteMeta(MetaFiles)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
