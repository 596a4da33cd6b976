package postgres_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
)

// fill are many rows of one account, and what a planner knows of them.
var fill = []string{
	`INSERT INTO execution (account, workflow, revision, batch, item, started_ms, finished_ms, environment, machine, status, phase, state, root, id, error_code)
 SELECT 1, 1 + n % 3, 1, 0, 0, n, n, 1, 1, CASE WHEN n % 1000 = 0 THEN 1 WHEN n % 20 = 0 THEN 5 ELSE 4 END, 1,
 CASE WHEN n % 1000 = 0 THEN 1 ELSE 0 END, CASE WHEN n % 30 = 0 THEN 1 + n % 2 ELSE 0 END, decode(lpad(to_hex(n), 32, '0'), 'hex'),
 CASE WHEN n % 20 = 0 AND n % 1000 <> 0 THEN 'c' || n % 3 END FROM generate_series(1, 60000) AS s (n)`,
	`INSERT INTO batch (account, workflow, revision, concurrency, requested_concurrency, total, environment, status, id)
 SELECT 1, 1 + n % 3, 1, 1, 1, 1, 1, 3, decode(lpad(to_hex(n), 32, '0'), 'hex') FROM generate_series(1, 20000) AS s (n)`,
	`INSERT INTO audit (account, environment, id, actor_kind, actor_id, actor_name, action, target_kind, target_id, target_name, address, request_id)
 SELECT 1, n % 3, decode(lpad(to_hex(n), 32, '0'), 'hex'), 'key', 'k' || n % 3, 'k', 'a' || n % 4, 't', 't' || n % 5, 't', '', '' FROM generate_series(1, 20000) AS s (n)`,
	`ANALYZE execution`, `ANALYZE batch`, `ANALYZE audit`,
}

// TestPlansOfFilledTables: in an installation of one account with few workflows, lists go through their indexes. The
// index of the ids has their order, too: through it, a list of what is rare looks at all rows.
func TestPlansOfFilledTables(t *testing.T) {
	var seen sync.Map
	db := open(t, postgres.Options{URL: peer.StartPostgres(t).NewDatabase(t)})
	for _, text := range fill {
		if err := db.Update(t.Context(), func(c store.Conn) error { _, err := c.Exec(text); return err }); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	filters := []store.ExecutionFilter{
		{}, {Workflow: 1}, {Workflow: 1, StartedBy: 7}, {Statuses: []chargehand.Status{chargehand.Initial}}, {Phases: []chargehand.Phase{chargehand.Faulted}},
		{Conditions: store.Conditions{ErrorCodes: []string{"c1"}}}, {Conditions: store.Conditions{Root: 1}}, {Conditions: store.Conditions{Causes: []string{"event"}}},
		{Workflow: 1, Conditions: store.Conditions{ErrorCodes: []string{"c1"}}}, {Conditions: store.Conditions{Waits: []store.WaitKind{store.WaitTimer}}},
	}
	lists := 0
	err := store.New(recorder{db, &seen}).View(t.Context(), func(r *store.Reader) error {
		for _, f := range filters {
			f.Account, f.Environment, f.Limit = 1, chargehand.Live, 100
			for _, f.Ascending = range []bool{false, true} {
				_, err := r.ListExecutions(f)
				if err == nil {
					_, err = r.ExecutionKeys(f)
				}
				if err == nil {
					_, err = r.CountListed(f)
				}
				if err == nil {
					_, _, err = r.Examined(f, 50)
				}
				if err != nil {
					return err
				}
			}
		}
		for _, f := range []store.BatchFilter{{}, {Workflow: 1}, {StartedBy: 7}} {
			f.Account, f.Environment, f.Limit = 1, chargehand.Live, 100
			if _, err := r.ListBatches(f); err != nil {
				return err
			}
		}
		for _, f := range []store.AuditFilter{{}, {Actor: "k1"}, {Action: "a1"}, {Target: "t1"}} {
			f.Account, f.Limit = 1, 100
			if _, err := r.ListAudit(f); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	seen.Range(func(query, args any) bool {
		lists++
		plan, err := explain(t, db, query.(string), args.([]any))
		if err != nil {
			t.Fatalf("plan of %s: %v", query, err)
		}
		if strings.Contains(plan, "_id_key") || bad(plan) != "" {
			t.Errorf("%s\n%s", query, plan)
		}
		return true
	})
	if lists < 2*len(filters) {
		t.Error(fmt.Sprint("only ", lists, " lists were seen"))
	}
}
