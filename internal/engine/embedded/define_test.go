package embedded

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// define compiles a definition that consists of tasks (YAML, not indented).
func (fx *fixture) define(tasks string) int64 {
	fx.t.Helper()
	return fx.defineAll("do:\n" + indent(tasks))
}

// defineAll compiles a definition without its document.
func (fx *fixture) defineAll(body string) int64 {
	fx.t.Helper()
	p := compile(fx.t, body)
	fx.mu.Lock()
	defer fx.mu.Unlock()
	revision := int64(len(fx.plans) + 1_000) // above those that have rows
	fx.plans[revision] = p
	return revision
}

// deploy makes a published workflow of tasks, of namespace test and version 1.0.0, that
// others can start. It is the same after a restart.
func (fx *fixture) deploy(name, tasks string) int64 {
	fx.t.Helper()
	p := compile(fx.t, "do:\n"+indent(tasks))
	id := chargehand.WorkflowID(fx.id())
	flow := store.Workflow{
		ID: id, Account: fx.account.No, Namespace: "test", Name: name,
		CreatedMs: int64(fx.ids), UpdatedMs: int64(fx.ids),
	}
	revision := store.Revision{Version: "1.0.0", Number: 1, CreatedMs: 1}
	err := fx.store.Update(context.Background(), func(tx *store.Tx) error {
		if err := tx.InsertWorkflow(&flow); err != nil {
			return err
		}
		digest := sha256.Sum256([]byte(name))
		definition := store.Definition{
			Account: fx.account.No, Digest: digest[:], MediaType: "application/yaml", Source: []byte(tasks),
		}
		if err := tx.PutDefinition(&definition); err != nil {
			return err
		}
		revision.Workflow, revision.Definition = flow.No, definition.No
		if err := tx.InsertRevision(&revision); err != nil {
			return err
		}
		flow.Published = revision.No
		return tx.UpdateWorkflow(&flow)
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	fx.mu.Lock()
	defer fx.mu.Unlock()
	fx.plans[revision.No] = p
	return revision.No
}

// setSecret writes the next version of a secret, as JSON.
func (fx *fixture) setSecret(name, value string) {
	fx.t.Helper()
	err := fx.store.Update(context.Background(), func(tx *store.Tx) error {
		last, err := tx.LastSecret(fx.account.No, chargehand.Live, name)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		location := secret.Location{
			Account: fx.account.No, Environment: uint8(chargehand.Live), Name: name, Version: last.Version + 1,
		}
		return tx.PutSecret(&store.Secret{
			Account: location.Account, Environment: chargehand.Live, Name: name, Version: location.Version,
			Sealed: fx.sealer.Seal(location, []byte(value)),
		})
	})
	if err != nil {
		fx.t.Fatal(err)
	}
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
}

func compile(t testing.TB, body string) *plan.Plan {
	t.Helper()
	const head = "document:\n  dsl: '1.0.3'\n  namespace: test\n  name: test\n  version: '1.0.0'\n"
	doc, problems := dsl.Parse([]byte(head + body))
	if doc == nil {
		t.Fatalf("parse: %v\n%s", problems, body)
	}
	p, problems := plan.Compile(doc, plan.Options{Run: []string{"shell", "script"}})
	if p == nil {
		t.Fatalf("compile: %v\n%s", problems, body)
	}
	return p
}

// id makes ids in ascending order, of the current time.
func (fx *fixture) id() (id [16]byte) {
	fx.mu.Lock()
	defer fx.mu.Unlock()
	fx.ids++
	ms := time.Now().UnixMilli()
	binary.BigEndian.PutUint64(id[:8], uint64(ms)<<16|0x7000)
	binary.BigEndian.PutUint64(id[8:], 0x8000000000000000|fx.ids)
	return id
}

func (fx *fixture) row(revision int64, input string) store.Execution {
	return store.Execution{
		ID: chargehand.ExecutionID(fx.id()), Account: fx.account.No, Environment: chargehand.Live,
		Workflow: revision, Revision: revision, StartedBy: fx.starter(),
		Input: store.Payload{Inline: []byte(input), Size: int64(len(input))},
	}
}

func (fx *fixture) starter() int64 {
	if fx.by == nil {
		return 0
	}
	return fx.by()
}

func (fx *fixture) startOne(revision int64, input string) (store.Execution, error) {
	return fx.startIn(chargehand.Live, revision, input)
}

func (fx *fixture) startIn(env chargehand.Environment, revision int64, input string) (store.Execution, error) {
	p, err := fx.Plan(context.Background(), revision)
	if err != nil {
		return store.Execution{}, err
	}
	v, err := value.Parse([]byte(input), value.Limits{})
	if err != nil {
		return store.Execution{}, err
	}
	row := fx.row(revision, input)
	row.Environment = env
	return fx.engine.Start(context.Background(), engine.Start{Row: row, Plan: p, Input: v})
}

// runTest is run in the environment test.
func (fx *fixture) runTest(revision int64, input string) store.Execution {
	fx.t.Helper()
	row, err := fx.startIn(chargehand.Test, revision, input)
	if err != nil {
		fx.t.Fatal(err)
	}
	return row
}

// run starts an execution and fails the test if it is refused.
func (fx *fixture) run(revision int64, input string) store.Execution {
	fx.t.Helper()
	row, err := fx.startOne(revision, input)
	if err != nil {
		fx.t.Fatal(err)
	}
	return row
}

// batch inserts a batch of items and tells the engine.
func (fx *fixture) batch(revision int64, concurrency int, inputs []string) store.Batch {
	fx.t.Helper()
	b := store.Batch{
		ID: chargehand.BatchID(fx.id()), Account: fx.account.No, Environment: chargehand.Live,
		Workflow: revision, Revision: revision, Concurrency: concurrency, RequestedConcurrency: concurrency,
		Total: int64(len(inputs)), StartedBy: fx.starter(),
	}
	err := fx.store.Update(context.Background(), func(tx *store.Tx) error {
		if err := tx.InsertBatch(&b); err != nil {
			return err
		}
		for i, input := range inputs {
			row := fx.row(revision, input)
			row.Batch, row.Item, row.Machine, row.StartedBy = b.No, int64(i), machine.Revision, b.StartedBy
			row.Status, row.Phase, row.State = chargehand.Initial, chargehand.Pending, store.StateQueued
			if err := tx.InsertExecution(&row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	fx.engine.BatchReady(b.No)
	return b
}

func parseInput(t testing.TB, text string) value.Value {
	t.Helper()
	v, err := value.Parse([]byte(text), value.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func startOf(row store.Execution, p *plan.Plan, input value.Value) engine.Start {
	return engine.Start{Row: row, Plan: p, Input: input}
}
