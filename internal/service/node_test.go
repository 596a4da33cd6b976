package service

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/store/postgres/postgrestest"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
)

// nodes are two services over one database, as two processes would be: they share rows and
// contents, the fake engine and the clock, and no memory of the service's own.
type nodes struct {
	t    *testing.T
	a, b *fixture
	rand *rand.Rand
}

// node is another service over the same database. again is a connection of its own, nil: the
// same one.
func (fx *fixture) node(again store.DB) *fixture {
	if again == nil {
		again = fx.db.DB
	}
	other := &fixture{t: fx.t, db: &countingDB{DB: again}, engine: fx.engine, account: fx.account, p: fx.p, test: fx.test}
	other.rows = store.New(other.db)
	other.blobs = fx.blobs
	other.plans = NewPlans(other.rows, plan.Options{Run: []string{"js"}})
	other.Service = New(Config{
		Store: other.rows, Engine: fx.engine, Plans: other.plans, Blobs: other.blobs, Now: fx.now,
		Pepper: []byte(strings.Repeat("p", 32)), LinkKey: []byte(strings.Repeat("l", 32)), Sealer: fx.sealer, Shared: true,
	})
	return other
}

func shared(c *Config) { c.Shared = true }

// TestConcurrentNodes runs every scenario on two nodes over SQLite, where only the code of the service
// can race, and over PostgreSQL, where transactions race too.
func TestConcurrentNodes(t *testing.T) {
	scenarios := map[string]func(*nodes){
		"first account":                firstAccountAtOnce,
		"idempotency key":              sameKeyAtOnce,
		"repeated after a crash":       repeatedAfterACrash,
		"cancelled batch is completed": cancelledBatchIsCompleted,
		"applies":                      appliesAtOnce,
		"draft beside publication":     draftBesidePublication,
		"patched key":                  patchedKey,
		"revoked key":                  revokedKey,
		"secrets":                      secretsAtOnce,
		"workflow counts at once":      workflowCountsAtOnce,
		"last use":                     lastUse,
		"sweeps":                       sweepsAtOnce,
		"one sweeps":                   oneSweeps,
		"quota":                        quotaTogether,
		"upload in use":                uploadInUse,
		"pages beside writers":         pagesBesideWriters,
	}
	run := func(t *testing.T, open func(t *testing.T) (one, two store.DB)) {
		for name, scenario := range scenarios {
			t.Run(name, func(t *testing.T) {
				one, two := open(t)
				a := newFixtureOver(t, one, shared)
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				scenario(&nodes{t: t, a: a, b: a.node(two), rand: rand.New(rand.NewPCG(seed, 0))})
			})
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		run(t, func(t *testing.T) (one, two store.DB) { return openSQLite(t), nil })
	})
	t.Run("postgres", func(t *testing.T) {
		server := peer.StartPostgres(t, peer.PostgresOptions{Careless: true})
		var schemas postgrestest.Schemas
		run(t, func(t *testing.T) (one, two store.DB) {
			url := schemas.New(t, server)
			open := func() store.DB {
				db, err := postgres.Open(t.Context(), postgres.Options{URL: url, Mode: postgres.Shared})
				if err != nil {
					t.Fatal(err)
				}
				return db
			}
			one, two = open(), open()
			t.Cleanup(func() { two.Close() })
			return one, two
		})
	})
}

// both does something on both nodes at once, and returns the answer of each.
func (n *nodes) both(do func(fx *fixture) error) (a, b error) {
	n.t.Helper()
	return n.each(func() error { return do(n.a) }, func() error { return do(n.b) })
}

// each does two things at once.
func (n *nodes) each(one, two func() error) (a, b error) {
	var all sync.WaitGroup
	begin := make(chan struct{})
	all.Go(func() {
		<-begin
		a = one()
	})
	all.Go(func() {
		<-begin
		b = two()
	})
	close(begin)
	all.Wait()
	return a, b
}

func (n *nodes) good(errs ...error) {
	n.t.Helper()
	if err := errors.Join(errs...); err != nil {
		n.t.Fatal(err)
	}
}

// count runs a query of one number.
func (n *nodes) count(query string) (number int64) {
	n.t.Helper()
	err := n.a.db.DB.View(n.t.Context(), func(c store.Conn) error {
		return c.Query(query, func(r store.Row) error {
			number = r.Int(0)
			return nil
		})
	})
	n.good(err)
	return number
}

func firstAccountAtOnce(n *nodes) {
	// The fixture has made one; it is deleted again.
	for range 10 {
		n.good(n.a.db.Update(n.t.Context(), func(c store.Conn) error {
			_, err := c.Exec(`DELETE FROM account`)
			return err
		}))
		var one, two store.Account
		n.good(n.each(
			func() (err error) { one, err = FirstAccount(n.t.Context(), n.a.rows, epoch); return err },
			func() (err error) { two, err = FirstAccount(n.t.Context(), n.b.rows, epoch); return err },
		))
		if got := n.count(`SELECT COUNT(*) FROM account`); one != two || got != 1 {
			n.t.Fatalf("there are %d accounts: %+v and %+v", got, one, two)
		}
	}
}

// cancelledBatchIsCompleted: a node dies between the mark and the last item.
func cancelledBatchIsCompleted(n *nodes) {
	flow := n.a.apply(definition("flow", "1.0.0"))
	b := n.a.createBatch(flow.ID, `{"items": [{}, {}]}`)
	i := key("k", "/x", "body")
	c := &idempotencyGuard{service: n.a.Service, hash: i.hash(n.a.p)}
	c.row = store.Idempotency{Hash: c.hash[:], Account: n.a.p.AccountNo, Environment: n.a.p.Environment, BodyHash: i.BodyHash[:], CreatedMs: n.a.nowMs()}
	n.good(n.a.rows.Update(n.t.Context(), func(tx *store.Tx) error {
		if _, err := tx.SetBatchCancelled(b.no, "enough"); err != nil {
			return err
		}
		return c.record(tx, statusAccepted, "batch", b.ID)
	}))
	body := map[string]any{"reason": "enough"}
	got, replayed, err := n.b.CancelBatch(n.t.Context(), n.b.p, ChangeBatch{Workflow: flow.ID, Batch: b.ID, Body: body, Idempotency: i})
	if err != nil || !replayed || got.Status != chargehand.BatchFailed || n.a.engine.reasons[0] != "enough" {
		n.t.Errorf("got %+v, replayed %v, %v, for %q", got, replayed, err, n.a.engine.reasons)
	}
}

// appliesAtOnce: revisions are numbered without a gap, equal contents are one revision, and
// pointers stand on what was applied.
func appliesAtOnce(n *nodes) {
	const applies = 12
	plans := make([][]ApplyWorkflow, 4)
	for i := range plans {
		for range applies {
			content := fmt.Sprintf("  title: content %d\n", n.rand.IntN(3))
			plans[i] = append(plans[i], ApplyWorkflow{
				Definition: definition(fmt.Sprint("flow-", n.rand.IntN(3)), fmt.Sprintf("1.0.%d", n.rand.IntN(2)), content),
				MediaType:  mediaYAML, Draft: n.rand.IntN(2) == 0,
			})
		}
	}
	var all sync.WaitGroup
	for i, list := range plans {
		fx := n.a
		if i%2 == 1 {
			fx = n.b
		}
		all.Go(func() {
			for _, r := range list {
				if _, _, err := fx.ApplyWorkflow(n.t.Context(), fx.p, r); err != nil {
					n.t.Errorf("apply: %v", err)
				}
			}
		})
	}
	all.Wait()
	if got := n.count(`SELECT COUNT(*) FROM workflow`); got > 3 {
		n.t.Errorf("there are %d workflows of 3 names", got)
	}
	if got := n.count(`SELECT COUNT(*) FROM (SELECT 1 AS one FROM revision GROUP BY workflow, version HAVING MIN(number) <> 1 OR MAX(number) <> COUNT(*)) AS wrong`); got != 0 {
		n.t.Errorf("%d versions have gaps in their revisions", got)
	}
	if got := n.count(`SELECT COUNT(*) FROM revision r JOIN revision s ON s.workflow = r.workflow AND s.version = r.version AND s.number = r.number + 1 AND s.definition = r.definition`); got != 0 {
		n.t.Errorf("%d revisions have the content of the one before", got)
	}
	if got := n.count(`SELECT COUNT(*) FROM workflow w WHERE w.published <> 0 AND NOT EXISTS (SELECT 1 FROM revision r WHERE r.no = w.published AND r.workflow = w.no AND r.draft = 0)`); got != 0 {
		n.t.Errorf("%d workflows have a draft published", got)
	}
}

// draftBesidePublication: neither pointer is lost.
func draftBesidePublication(n *nodes) {
	n.a.apply(definition("flow", "1.0.0"))
	for i := range 15 {
		draft, version := fmt.Sprintf("2.0.%d", i), fmt.Sprintf("1.1.%d", i)
		var applied, drafted *AppliedWorkflow
		n.good(n.each(
			func() (err error) {
				drafted, _, err = n.a.ApplyWorkflow(n.t.Context(), n.a.p, ApplyWorkflow{Definition: definition("flow", draft), MediaType: mediaYAML, Draft: true})
				return err
			},
			func() (err error) {
				applied, _, err = n.b.ApplyWorkflow(n.t.Context(), n.b.p, ApplyWorkflow{Definition: definition("flow", version), MediaType: mediaYAML})
				return err
			},
		))
		if drafted.ID != applied.ID {
			n.t.Fatal("two workflows of one name")
		}
		if got := n.a.workflow(n.a.p, applied.ID); got.PublishedVersion != version {
			n.t.Fatalf("version %s is published, want %s", got.PublishedVersion, version)
		}
		if got := n.b.workflow(n.b.test, applied.ID); got.Version != draft {
			n.t.Fatalf("test runs version %s, want the draft %s", got.Version, draft)
		}
		// And moving the pointer keeps a draft that comes at the same time.
		draft = fmt.Sprintf("3.0.%d", i)
		n.good(n.each(
			func() error {
				_, _, err := n.a.ApplyWorkflow(n.t.Context(), n.a.p, ApplyWorkflow{Definition: definition("flow", draft), MediaType: mediaYAML, Draft: true})
				return err
			},
			func() error {
				_, _, err := n.b.PublishVersion(n.t.Context(), n.b.p, PublishVersion{Workflow: applied.ID, Version: "1.0.0"})
				return err
			},
		))
		if got := n.a.workflow(n.a.test, applied.ID); got.PublishedVersion != "1.0.0" || got.Version != draft {
			n.t.Fatalf("published %s, test runs %s", got.PublishedVersion, got.Version)
		}
	}
}

func patchedKey(n *nodes) {
	made, _, err := n.a.CreateKey(n.t.Context(), n.a.p, CreateKey{Body: map[string]any{"name": "x"}})
	n.good(err)
	for i := range 15 {
		name := fmt.Sprint("name ", i)
		n.good(n.each(
			func() error {
				_, err := n.a.PatchKey(n.t.Context(), n.a.p, made.ID, map[string]any{"name": name})
				return err
			},
			func() error {
				_, err := n.b.PatchKey(n.t.Context(), n.b.p, made.ID, parse(n.t, fmt.Sprintf(`{"rate_limit": %d}`, i+1)))
				return err
			},
		))
		got, err := n.a.GetKey(n.t.Context(), n.a.p, made.ID)
		n.good(err)
		if got.Name != name || got.RatePerSecond != float64(i+1) {
			n.t.Fatalf("the key is %+v, want %s and %d", got, name, i+1)
		}
	}
}

// revokedKey: within a second everywhere, and by one of two who revoke at once.
func revokedKey(n *nodes) {
	for range 10 {
		made, _, err := n.a.CreateKey(n.t.Context(), n.a.p, CreateKey{Body: map[string]any{"name": "x"}})
		n.good(err)
		for range 3 {
			n.good(n.both(func(fx *fixture) error { _, err := fx.Authenticate(n.t.Context(), made.Secret, localhost); return err }))
		}
		one, two := n.both(func(fx *fixture) error { return fx.RevokeKey(n.t.Context(), fx.p, made.ID) })
		if (one == nil) == (two == nil) {
			n.t.Fatalf("revoked with %v and %v", one, two)
		}
		wantCode(n.t, errors.Join(one, two), chargehand.CodeKeyNotFound)
		n.a.pass(hardAge)
		_, err = n.b.Authenticate(n.t.Context(), made.Secret, localhost)
		wantCode(n.t, err, chargehand.CodeInvalidAPIKey)
		_, err = n.a.Authenticate(n.t.Context(), made.Secret, localhost)
		wantCode(n.t, err, chargehand.CodeInvalidAPIKey)
	}
}

// workflowCountsAtOnce: a client that got its answer from one node can continue on the other at once.
func workflowCountsAtOnce(n *nodes) {
	flow := n.a.apply(definition("flow", "1.0.0"))
	if e := n.b.create(flow.ID, noInput); e.WorkflowVersion != "1.0.0" {
		n.t.Fatalf("it runs %s", e.WorkflowVersion)
	}
	n.a.apply(definition("flow", "1.1.0"))
	if e := n.b.create(flow.ID, noInput); e.WorkflowVersion != "1.1.0" {
		n.t.Fatalf("it runs %s", e.WorkflowVersion)
	}
	n.b.applyAs(n.b.p, definition("flow", "1.2.0"), true)
	if e := n.a.createAs(n.a.test, flow.ID, noInput); e.WorkflowVersion != "1.2.0" {
		n.t.Fatalf("test runs %s", e.WorkflowVersion)
	}
	_, _, err := n.b.PublishVersion(n.t.Context(), n.b.p, PublishVersion{Workflow: flow.ID, Version: "1.0.0"})
	n.good(err)
	if got := n.a.workflow(n.a.p, flow.ID); got.PublishedVersion != "1.0.0" {
		n.t.Fatalf("published is %s", got.PublishedVersion)
	}
	n.good(n.a.DeleteWorkflow(n.t.Context(), n.a.p, flow.ID))
	_, _, err = n.b.CreateExecution(n.t.Context(), n.b.p, CreateExecution{Workflow: flow.ID})
	wantCode(n.t, err, chargehand.CodeWorkflowNotFound)
	again := n.b.apply(definition("flow", "1.0.0"))
	if e := n.a.create(again.ID, noInput); again.ID == flow.ID || e.Workflow != again.ID {
		n.t.Fatalf("the deleted workflow is %v again", again.ID)
	}
	if one, two := n.both(func(fx *fixture) error { return fx.DeleteWorkflow(n.t.Context(), fx.p, again.ID) }); (one == nil) == (two == nil) {
		n.t.Fatalf("deleted with %v and %v", one, two)
	}
}

// lastUse: the later use counts, no matter which node writes first, and there is no deadlock.
func lastUse(n *nodes) {
	var secrets []string
	for range 30 {
		secrets = append(secrets, n.a.issue(IssueKey{}))
	}
	for range 5 {
		n.a.pass(time.Second)
		for _, secret := range secrets {
			n.good(n.both(func(fx *fixture) error { _, err := fx.Authenticate(n.t.Context(), secret, localhost); return err }))
		}
		n.good(n.both(func(fx *fixture) error { return fx.writeUses(n.t.Context()) }))
		if got := n.count(fmt.Sprint(`SELECT COUNT(*) FROM api_key WHERE last_used_ms = `, n.a.nowMs())); got != 30 {
			n.t.Fatalf("%d of 30 uses are written", got)
		}
	}
}

// sweepsAtOnce: two sweeps at once delete everything that is past its time and nothing else, and neither fails.
func sweepsAtOnce(n *nodes) {
	flow := n.a.apply(definition("flow", "1.0.0"))
	for i := range 250 {
		e := n.a.create(flow.ID, noInput)
		if i%2 == 0 {
			n.a.finish(e.ID, `{}`)
		}
	}
	for i := range 5 {
		n.a.upload(n.a.p, "a", fmt.Sprint("content ", i))
	}
	n.a.pass(31 * day)
	var all sync.WaitGroup
	for i := range 6 {
		fx := n.a
		if i%2 == 0 {
			fx = n.b
		}
		all.Go(func() {
			if err := fx.Sweep(n.t.Context()); err != nil {
				n.t.Error(err)
			}
		})
	}
	all.Wait()
	n.a.sweep() // the second of the two had nothing to do
	n.a.pass(looseLife + time.Millisecond)
	n.good(n.both(func(fx *fixture) error { return fx.Sweep(n.t.Context()) }))
	n.b.sweep()
	for table, want := range map[string]int64{"execution": 125, "outcome": 0, "file": 0, "blob": 0} {
		if got := n.count(`SELECT COUNT(*) FROM ` + table); got != want {
			n.t.Errorf("%d rows of %s are left, want %d", got, table, want)
		}
	}
}

// oneSweeps: content that is condemned is deleted by one node only. If the other one deleted
// it late, what was stored again meanwhile would be lost.
func oneSweeps(n *nodes) {
	content := []byte("content")
	digest, _, err := n.a.blobs.Put(n.t.Context(), strings.NewReader(string(content)), 100)
	n.good(err)
	n.a.sweep()
	n.a.pass(looseLife + time.Millisecond)
	if mine, err := n.a.maySweep(n.t.Context()); err != nil || !mine {
		n.t.Fatalf("the first may sweep: %v, %v", mine, err)
	}
	there := func() bool {
		_, err := n.a.blobs.Size(n.t.Context(), digest)
		if err != nil && !errors.Is(err, blob.ErrNotFound) {
			n.t.Fatal(err)
		}
		return err == nil
	}
	n.b.sweep()
	if !there() {
		n.t.Fatal("the second one swept beside the first")
	}
	n.a.pass(sweepLease - time.Millisecond) // the first one is dead
	n.b.sweep()
	if !there() {
		n.t.Fatal("the second one swept before the first one's lease was over")
	}
	n.a.pass(2 * time.Millisecond)
	n.b.sweep()
	if there() {
		n.t.Fatal("no node sweeps after one has died")
	}
	if mine, err := n.a.maySweep(n.t.Context()); err != nil || !mine {
		n.t.Fatalf("the second has kept the right to sweep: %v, %v", mine, err)
	}
}

// uploadInUse: a start that uses an old upload races the sweep that deletes it. Either the
// file is there and used, or it is gone and nothing refers to it.
func uploadInUse(n *nodes) {
	flow := n.a.apply(definition("flow", "1.0.0"))
	kept := 0
	for range 25 {
		f := n.a.upload(n.a.p, "a", "content")
		n.a.pass(31 * day)
		begin := func() (err error) {
			input := map[string]any{"input": map[string]any{"file": map[string]any{"uri": filesPath + f.ID.String()}}}
			if n.rand.IntN(2) == 0 {
				_, _, err = n.b.CreateExecution(n.t.Context(), n.b.p, CreateExecution{Workflow: flow.ID, Body: input})
				return err
			}
			body := map[string]any{"items": []any{input["input"]}}
			_, _, err = n.b.CreateBatch(n.t.Context(), n.b.p, CreateBatch{Workflow: flow.ID, Body: body})
			return err
		}
		n.good(n.each(func() error { return n.a.Sweep(n.t.Context()) }, begin))
		_, err := n.a.GetFile(n.t.Context(), n.a.p, ReadFile{ID: f.ID}, view)
		if err == nil {
			kept++
			n.a.sweep()
			_, err = n.a.GetFile(n.t.Context(), n.a.p, ReadFile{ID: f.ID}, view)
			n.good(err)
		} else {
			wantCode(n.t, err, chargehand.CodeFileNotFound)
		}
		if got := n.count(`SELECT COUNT(*) FROM file_use u WHERE NOT EXISTS (SELECT 1 FROM file f WHERE f.no = u.file)`); got != 0 {
			n.t.Fatalf("%d executions use a file that is gone", got)
		}
	}
	n.t.Logf("%d of 25 were kept", kept)
}

// pagesBesideWriters: a list that is read while both nodes write is in order and tells
// nothing twice, and afterwards it tells everything.
func pagesBesideWriters(n *nodes) {
	flow := n.a.apply(definition("flow", "1.0.0"))
	var all sync.WaitGroup
	for _, fx := range []*fixture{n.a, n.b} {
		all.Go(func() {
			for i := range 40 {
				if _, _, err := fx.CreateExecution(n.t.Context(), fx.p, CreateExecution{Workflow: flow.ID}); err != nil {
					n.t.Error(err)
				}
				if i%4 == 0 {
					source := definition(fmt.Sprintf("flow-%p-%d", fx, i), "1.0.0")
					if _, _, err := fx.ApplyWorkflow(n.t.Context(), fx.p, ApplyWorkflow{Definition: source, MediaType: mediaYAML}); err != nil {
						n.t.Error(err)
					}
				}
			}
		})
	}
	read := func(fx *fixture) (executions, workflows int) {
		var last [16]byte
		for after := (Cursor{}); ; {
			page, err := fx.ListExecutions(n.t.Context(), fx.p, ListExecutions{Limit: 7, After: after})
			n.good(err)
			for _, e := range page.Data {
				if executions++; last != [16]byte{} && string(e.ID[:]) >= string(last[:]) {
					n.t.Fatalf("%x comes after %x", e.ID, last)
				}
				last = e.ID
			}
			if after = page.Cursor; after.IsZero() {
				break
			}
		}
		var before time.Time
		for {
			page, err := fx.ListWorkflows(n.t.Context(), fx.p, ListWorkflows{Limit: 3, Before: before})
			n.good(err)
			for i := range page.Data {
				if at := page.Data[i].CreatedAt; !before.IsZero() && !at.Before(before) {
					n.t.Fatalf("%v comes after %v", at, before)
				}
			}
			workflows += len(page.Data)
			if before = page.Cursor; before.IsZero() {
				break
			}
		}
		return executions, workflows
	}
	for range 10 {
		read(n.a)
		read(n.b)
	}
	all.Wait()
	if executions, workflows := read(n.b); executions != 80 || workflows != 21 {
		n.t.Errorf("there are %d executions and %d workflows, want 80 and 21", executions, workflows)
	}
}

// TestItemsAreNotCheckedForNobody: who is gone does not keep a core busy with 10,000 items.
func TestItemsAreNotCheckedForNobody(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("typed", "1.0.0", wantsText))
	current, err := fx.current(t.Context(), fx.p, flow.ID)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := fx.plans.Plan(t.Context(), current.published.No)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	items := []any{map[string]any{"text": 1}}
	wantCode(t, checkItems(ctx, compiled, items), chargehand.CodeInputInvalid)
	cancel()
	if err := checkItems(ctx, compiled, items); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
