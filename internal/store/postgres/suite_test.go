package postgres_test

import (
	"testing"

	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/storetest"
)

func TestStore(t *testing.T) {
	pg := server(t)
	for name, mode := range map[string]postgres.Mode{"owner": postgres.Owner, "shared": postgres.Shared} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) store.DB {
				return open(t, postgres.Options{URL: pg.NewSchema(t), Mode: mode})
			})
		})
	}
}
