package eventstream

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

// fixture is a database with a workflow.
type fixture struct {
	*testing.T
	*store.Store
	db     store.DB
	sealer *secret.Sealer
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(t.TempDir(), "v.db"), Owner: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	f := &fixture{t, store.New(db), db, secret.NewSealer(secret.NewKeys())}
	err = f.Update(context.Background(), func(tx *store.Tx) error {
		definition := store.Definition{Account: 1, Digest: make([]byte, 32), MediaType: "application/yaml", Source: []byte("{}")}
		workflow := store.Workflow{ID: chargehand.WorkflowID{1}, Account: 1, Namespace: "n", Name: "n", CreatedMs: 1}
		if err := errors.Join(tx.PutDefinition(&definition), tx.InsertWorkflow(&workflow)); err != nil {
			return err
		}
		return tx.InsertRevision(&store.Revision{Workflow: workflow.No, Version: "1.0.0", Definition: definition.No})
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) execution(n byte) *store.Execution {
	f.Helper()
	row := &store.Execution{
		ID: chargehand.ExecutionID{n}, Account: 1, Environment: chargehand.Live, Workflow: 1, Revision: 1,
		Status: chargehand.Initial, Phase: chargehand.Pending, State: store.StateQueued,
	}
	if err := f.Update(context.Background(), func(tx *store.Tx) error { return tx.InsertExecution(row) }); err != nil {
		f.Fatal(err)
	}
	return row
}
