package service

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// operator is a principal whose rights are in rows, as it manages executions.
func (fx *fixture) operator(name string, grants ...store.Grant) (*Principal, store.Member) {
	fx.t.Helper()
	if grants == nil {
		grants = []store.Grant{{Role: "operator"}}
	}
	m := fx.member(name, grants...)
	return fx.must(fx.session(fx.signIn(m), chargehand.Live), ScopeExecutionsManage, 0), m
}

// begin starts an operation.
func (fx *fixture) begin(p *Principal, body string, filter *ListExecutions) *Operation {
	fx.t.Helper()
	fx.pass(time.Millisecond) // what was created before is older than the operation
	o, _, err := fx.StartOperation(fx.t.Context(), p, StartOperation{Body: parse(fx.t, body), Filter: filter})
	if err != nil {
		fx.t.Fatal(err)
	}
	return o
}

func (s *Service) worker() *operationWorker {
	return &operationWorker{Service: s, last: map[operationShare]int64{}, positions: map[int64]chargehand.ExecutionID{}, passed: map[int64]bool{}}
}

// carry carries operations out until they wait or have ended.
func (fx *fixture) carry(w *operationWorker) {
	fx.t.Helper()
	for range 10_000 {
		rest, err := w.pass(fx.t.Context())
		if err != nil {
			fx.t.Fatal(err)
		}
		if rest > 0 {
			return
		}
	}
	fx.t.Fatal("the operations do not come to an end")
}

func (fx *fixture) operation(p *Principal, o *Operation) *Operation {
	fx.t.Helper()
	got, err := fx.GetOperation(fx.t.Context(), p, o.ID)
	if err != nil {
		fx.t.Fatal(err)
	}
	return got
}

// done starts an operation, carries it out and returns it.
func (fx *fixture) done(p *Principal, body string, filter *ListExecutions) *Operation {
	fx.t.Helper()
	o := fx.begin(p, body, filter)
	fx.carry(fx.worker())
	return fx.operation(p, o)
}

func (fx *fixture) items(p *Principal, o *Operation, outcomes ...string) (all []OperationItem) {
	fx.t.Helper()
	q := ListOperationItems{Operation: o.ID, Outcomes: outcomes, Limit: 7}
	for {
		page, err := fx.ListOperationItems(fx.t.Context(), p, q)
		if err != nil {
			fx.t.Fatal(err)
		}
		all = append(all, page.Data...)
		if q.After = page.Cursor; q.After.IsZero() {
			return all
		}
	}
}

// wantCounts compares status and counts: total, succeeded, skipped, failed, pending.
func wantCounts(t *testing.T, o *Operation, status string, counts ...int64) {
	t.Helper()
	got := []int64{o.Total, o.Succeeded, o.Skipped, o.Failed, o.Pending}
	if o.Status != status || !slices.Equal(got, counts) || o.EndedAt.IsZero() == (status != "selecting" && status != "running") {
		t.Errorf("the operation is %s (%s %s, ended %v) with %v, want %s with %v", o.Status, o.Code, o.Detail, o.EndedAt, got, status, counts)
	}
}

func (fx *fixture) many(workflow chargehand.WorkflowID, n int) (all []*Execution) {
	fx.t.Helper()
	for range n {
		all = append(all, fx.create(workflow, noInput))
		fx.pass(time.Millisecond)
	}
	return all
}

func (fx *fixture) fail(list ...*Execution) {
	fx.t.Helper()
	for _, e := range list {
		fault := []byte(`{"type":"https://example.com/e","status":500,"code":"communication"}`)
		if err := fx.engine.end(fx.t.Context(), e.ID, chargehand.Errored, chargehand.Faulted, &store.Outcome{Fault: fault}); err != nil {
			fx.t.Fatal(err)
		}
	}
}

// TestOperationCancels: an operation acts on what its filter selects, was created before it and has not ended, once
// each, with one entry in the audit log.
func TestOperationCancels(t *testing.T) {
	fx := newFixture(t)
	one, two := fx.apply(definition("one", "1.0.0")), fx.apply(definition("two", "1.0.0"))
	p, _ := fx.operator("ada")
	open, other := fx.many(one.ID, 75), fx.create(two.ID, noInput)
	ended := fx.create(one.ID, noInput)
	fx.finish(ended.ID, `{}`)
	o := fx.begin(p, `{"action": "cancel", "filter": {}, "reason": "enough"}`, &ListExecutions{Filter: ExecutionFilter{WorkflowNames: []string{"test/one"}}})
	wantCounts(t, o, "selecting", 0, 0, 0, 0, 0)
	later := fx.create(one.ID, noInput)
	fx.carry(fx.worker())
	o = fx.operation(p, o)
	wantCounts(t, o, "completed", 75, 75, 0, 0, 0)
	if o.Action != "cancel" || o.Reason != "enough" || string(o.Filter) != `{"workflow":["test/one"]}` || o.StartedBy.Name != "ada" {
		t.Errorf("it is shown as %+v", o)
	}
	for _, e := range open {
		if got := fx.get(e); got.Phase != chargehand.Cancelled {
			t.Errorf("%s is %s", e.ID, got.Phase)
		}
	}
	for _, e := range []*Execution{other, later, ended} {
		if got := fx.get(e); got.Phase == chargehand.Cancelled {
			t.Errorf("%s was cancelled", e.ID)
		}
	}
	if slices.ContainsFunc(fx.engine.reasons, func(reason string) bool { return reason != "enough" }) || len(fx.engine.reasons) != 75 {
		t.Errorf("%d cancellations, for the reasons %v", len(fx.engine.reasons), slices.Compact(fx.engine.reasons))
	}
	log := fx.auditLog(fx.p, ListAudit{Limit: 100})
	log = slices.DeleteFunc(log, func(e AuditEntry) bool { return e.Target.Kind != "operation" && e.Target.Kind != "execution" })
	if len(log) != 1 || log[0].Action != audit.OperationStarted || log[0].Target.ID != o.ID.String() ||
		!strings.Contains(string(log[0].Changes), `"workflow":["test/one"]`) {
		t.Errorf("the audit log has %+v", log)
	}
	if items := fx.items(p, o); len(items) != 75 || items[0].Execution != open[0].ID || items[74].Execution != open[74].ID || items[3].Outcome != "succeeded" {
		t.Errorf("%d items, the first is %+v", len(items), items[0])
	}
}

// TestOperationRetries: each execution that has failed gets one retry, which the item names; a cancelled one gets none.
func TestOperationRetries(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	p, _ := fx.operator("ada")
	all := fx.many(flow.ID, 40)
	fx.fail(all[:35]...)
	fx.finish(all[35].ID, `{}`)
	wantCounts(t, fx.done(p, `{"action": "cancel", "ids": ["`+all[36].ID.String()+`"]}`, nil), "completed", 1, 1, 0, 0, 0)
	o := fx.done(p, `{"action": "retry", "filter": {}, "version": "same"}`, &ListExecutions{})
	wantCounts(t, o, "completed", 35, 35, 0, 0, 0)
	for i, item := range fx.items(p, o, "succeeded") {
		e, err := fx.GetExecution(t.Context(), fx.p, flow.ID, item.Started, view)
		if err != nil || e.RetryOf != all[i].ID || e.StartedBy.Name != "ada" {
			t.Fatalf("item %d is %+v: %+v, %v", i, item, e, err)
		}
	}
	if n := len(fx.engine.starts); n != 75 {
		t.Errorf("%d starts", n)
	}
	o = fx.done(p, `{"action": "retry", "filter": {}}`, &ListExecutions{Statuses: []chargehand.Status{chargehand.Finished}})
	wantCounts(t, o, "completed", 1, 1, 0, 0, 0)
}

// TestOperationsOfAllKinds: suspend, resume and delete take what they can be done to.
func TestOperationsOfAllKinds(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	p, _ := fx.operator("ada")
	all := fx.many(flow.ID, 6)
	batch := fx.createBatch(flow.ID, `{"items": [{}, {}]}`)
	entries, _ := fx.entries(batch, BatchEntries{})
	for _, one := range entries {
		fx.finish(one.Execution, `{}`)
	}
	fx.finish(all[0].ID, `{}`)
	wantCounts(t, fx.done(p, `{"action": "suspend", "ids": ["`+all[1].ID.String()+`"]}`, nil), "completed", 1, 1, 0, 0, 0)
	wantCounts(t, fx.done(p, `{"action": "suspend", "filter": {}}`, &ListExecutions{}), "completed", 4, 4, 0, 0, 0)
	wantCounts(t, fx.done(p, `{"action": "suspend", "filter": {}}`, &ListExecutions{}), "completed", 0, 0, 0, 0, 0)
	wantCounts(t, fx.done(p, `{"action": "resume", "filter": {}}`, &ListExecutions{Phases: []chargehand.Phase{chargehand.Suspended}}), "completed", 5, 5, 0, 0, 0)
	wantCounts(t, fx.done(p, `{"action": "delete", "filter": {}}`, &ListExecutions{}), "completed", 1, 1, 0, 0, 0)
	wantCounts(t, fx.done(p, `{"action": "cancel", "filter": {}}`, &ListExecutions{Statuses: []chargehand.Status{chargehand.Finished}}), "completed", 0, 0, 0, 0, 0)
	named := fx.done(p, fmt.Sprintf(`{"action": "delete", "ids": ["%s", "%s", "%s"]}`, all[1].ID, entries[0].Execution, all[0].ID), nil)
	wantCounts(t, named, "completed", 3, 0, 2, 1, 0)
	if len(named.Failures) != 1 || named.Failures[0].Execution != all[0].ID || named.Failures[0].Code != string(chargehand.CodeExecutionNotFound) {
		t.Errorf("its failures are %+v", named.Failures)
	}
	for _, item := range fx.items(p, named, "skipped") {
		if item.Code != string(chargehand.CodeStateConflict) || item.Detail == "" {
			t.Errorf("skipped: %+v", item)
		}
	}
}

// TestOperationBesideEnds: what ends between the selection and its turn is skipped, and keeps its end.
func TestOperationBesideEnds(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	p, _ := fx.operator("ada")
	all := fx.many(flow.ID, 5)
	o, w := fx.begin(p, `{"action": "cancel", "filter": {}}`, &ListExecutions{}), fx.worker()
	if _, err := w.pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantCounts(t, fx.operation(p, o), "running", 5, 0, 0, 0, 5)
	fx.finish(all[2].ID, `{"done":true}`)
	fx.carry(w)
	wantCounts(t, fx.operation(p, o), "completed", 5, 4, 1, 0, 0)
	if got := fx.get(all[2]); got.Status != chargehand.Finished {
		t.Errorf("it is %s", got.Status)
	}
}

// TestOperationRights: an operation does what its starter may do when the turn of an execution comes.
func TestOperationRights(t *testing.T) {
	fx := newFixture(t)
	one, two := fx.apply(definition("one", "1.0.0")), fx.apply(definition("two", "1.0.0"))
	manyOf := func() []*Execution { return append(fx.many(one.ID, 3), fx.many(two.ID, 3)...) }
	selected := func(p *Principal) (*Operation, *operationWorker) {
		o, w := fx.begin(p, `{"action": "cancel", "filter": {}}`, &ListExecutions{}), fx.worker()
		if _, err := w.pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		return o, w
	}
	t.Run("a limited right", func(t *testing.T) {
		manyOf()
		p, _ := fx.operator("limited", store.Grant{Role: "viewer"}, store.Grant{Role: "operator", Workflow: one.ID})
		wantCounts(t, fx.done(p, `{"action": "cancel", "filter": {}}`, &ListExecutions{}), "completed", 3, 3, 0, 0, 0)
		o := fx.done(p, `{"action": "cancel", "ids": ["`+fx.create(two.ID, noInput).ID.String()+`"]}`, nil)
		wantCounts(t, o, "completed", 1, 0, 0, 1, 0)
	})
	t.Run("a right that was taken away in part", func(t *testing.T) {
		all := manyOf()
		p, m := fx.operator("narrowed", store.Grant{Role: "operator", Workflow: one.ID}, store.Grant{Role: "operator", Workflow: two.ID})
		o, w := selected(p)
		fx.takeAll(m)
		fx.give(m, store.Grant{Role: "operator", Workflow: one.ID})
		fx.carry(w)
		o = fx.operation(p, o)
		if o.Status != "completed" || o.Failed < 3 || o.Succeeded != 3 || o.Failures[0].Code != string(chargehand.CodeExecutionNotFound) {
			t.Errorf("it is %+v", o)
		}
		if fx.get(all[0]).Phase != chargehand.Cancelled || fx.get(all[3]).Phase == chargehand.Cancelled {
			t.Error("it did what was not allowed, or not what was")
		}
	})
	for name, end := range map[string]func(m store.Member){
		"all rights were taken away": fx.takeAll,
		"the user was disabled": func(m store.Member) {
			err := fx.rows.Update(t.Context(), func(tx *store.Tx) error { return tx.SetMemberStatus(m.No, store.Active, store.Disabled) })
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := manyOf()
			p, m := fx.operator(strings.ReplaceAll(name, " ", "-"))
			o, w := selected(p)
			end(m)
			fx.carry(w)
			o = fx.operation(p, o)
			if o.Status != "stopped" || o.Code != string(chargehand.CodeInsufficientScope) || o.Detail == "" || o.Succeeded != 0 || o.Pending != o.Total {
				t.Errorf("it is %+v", o)
			}
			if fx.get(all[0]).Phase == chargehand.Cancelled {
				t.Error("it did what was not allowed")
			}
		})
	}
	t.Run("a key that was revoked", func(t *testing.T) {
		manyOf()
		secret := fx.issue(IssueKey{Name: "k", Scopes: PresetOperate})
		p, err := fx.Authenticate(t.Context(), secret, localhost)
		if err != nil {
			t.Fatal(err)
		}
		o, w := selected(fx.must(p, ScopeExecutionsManage, 0))
		if err := fx.RevokeKey(t.Context(), fx.p, p.Key); err != nil {
			t.Fatal(err)
		}
		fx.carry(w)
		if o = fx.operation(p, o); o.Status != "stopped" || o.Succeeded != 0 {
			t.Errorf("it is %+v", o)
		}
	})
	t.Run("who sees which", func(t *testing.T) {
		ada, _ := fx.operator("owner", store.Grant{Role: "operator", Workflow: one.ID})
		bob, _ := fx.operator("another", store.Grant{Role: "operator", Workflow: one.ID})
		o := fx.begin(ada, `{"action": "cancel", "filter": {}}`, &ListExecutions{})
		limited := *ada
		limited.Name, limited.KeyNo = "a limited key of the owner", 99
		for p, sees := range map[*Principal]bool{ada: true, &limited: false, bob: false, fx.p: true, fx.test: false, fx.stranger(): false} {
			_, err := fx.GetOperation(t.Context(), p, o.ID)
			if sees != (err == nil) {
				t.Errorf("%s sees it: %v, want %t", p.Name, err, sees)
			}
			page, err := fx.ListOperations(t.Context(), p, 1, Cursor{})
			if err != nil || sees != (len(page.Data) == 1 && page.Data[0].ID == o.ID) {
				t.Errorf("%s lists it: %+v, %v", p.Name, page, err)
			}
			if !sees {
				_, _, err := fx.CancelOperation(t.Context(), p, CancelOperation{Operation: o.ID})
				wantCode(t, err, chargehand.CodeOperationNotFound)
				_, err = fx.ListOperationItems(t.Context(), p, ListOperationItems{Operation: o.ID, Limit: 1})
				wantCode(t, err, chargehand.CodeOperationNotFound)
			}
		}
		fx.carry(fx.worker())
	})
}

// takeAll takes all grants of a member away.
func (fx *fixture) takeAll(m store.Member) {
	fx.t.Helper()
	err := fx.rows.Update(fx.t.Context(), func(tx *store.Tx) error {
		grants, err := tx.ListGrants(store.GrantFilter{Account: m.Account, Person: m.Person.No, Limit: 10})
		for i := range grants {
			if err == nil {
				err = tx.DeleteGrant(grants[i].No)
			}
		}
		return err
	})
	if err != nil {
		fx.t.Fatal(err)
	}
}

// TestOperationWaitsForQueues: retries wait while the queue of their workflow is full, and leave room in it for others.
func TestOperationWaitsForQueues(t *testing.T) {
	fx := newFixture(t)
	flow, other := fx.apply(definition("one", "1.0.0")), fx.apply(definition("two", "1.0.0"))
	p, _ := fx.operator("ada")
	failed := append(fx.many(flow.ID, operationQueue+50), fx.many(other.ID, 3)...)
	fx.fail(failed...)
	o, w := fx.begin(p, `{"action": "retry", "filter": {}}`, &ListExecutions{}), fx.worker()
	fx.engine.refuse = engine.ErrQueueFull
	fx.carry(w)
	wantCounts(t, fx.operation(p, o), "running", operationQueue+53, 0, 0, 0, operationQueue+53)
	fx.engine.refuse = nil
	fx.carry(w)
	fx.carry(w)
	// The fake engine starts none of them. Those that are handled beside each other may find the same last place.
	if got := fx.operation(p, o); got.Succeeded < operationQueue+3 || got.Succeeded >= operationQueue+3+handledBeside || got.Failed+got.Skipped != 0 {
		t.Errorf("it is %+v", got)
	}
	for _, item := range fx.items(p, o, "succeeded") {
		fx.finish(item.Started, `{}`)
	}
	fx.carry(w)
	fx.carry(w)
	wantCounts(t, fx.operation(p, o), "completed", operationQueue+53, operationQueue+53, 0, 0, 0)
}

// TestOperationIsCancelled: a cancelled operation does nothing more, and cannot be cancelled again.
func TestOperationIsCancelled(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	p, _ := fx.operator("ada")
	all := fx.many(flow.ID, handledAtOnce+20)
	o, w := fx.begin(p, `{"action": "cancel", "filter": {}}`, &ListExecutions{}), fx.worker()
	for range 2 {
		if _, err := w.pass(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	request := CancelOperation{Operation: o.ID, Idempotency: key("k", "/x", "a")}
	got, _, err := fx.CancelOperation(t.Context(), p, request)
	if err != nil || got.Status != "cancelled" || got.Succeeded < handledAtOnce || got.Pending == 0 {
		t.Fatalf("it is %+v, %v", got, err)
	}
	fx.carry(w)
	if after := fx.operation(p, o); after.Succeeded != got.Succeeded {
		t.Errorf("it acted on more: %+v", after)
	}
	if _, replayed, err := fx.CancelOperation(t.Context(), p, request); err != nil || !replayed {
		t.Errorf("again with the same key: %t, %v", replayed, err)
	}
	_, _, err = fx.CancelOperation(t.Context(), p, CancelOperation{Operation: o.ID})
	wantCode(t, err, chargehand.CodeStateConflict)
	if e := fx.get(all[len(all)-1]); e.Phase == chargehand.Cancelled {
		t.Error("the last one was cancelled")
	}
}

// TestOperationLimits: an environment has a bounded number of operations under way, which is not that of another.
func TestOperationLimits(t *testing.T) {
	fx := newFixture(t)
	p, _ := fx.operator("ada")
	for range MaxActiveOperations {
		fx.begin(p, `{"action": "cancel", "filter": {}}`, &ListExecutions{})
	}
	_, _, err := fx.StartOperation(t.Context(), p, StartOperation{Body: parse(t, `{"action": "cancel", "filter": {}}`), Filter: &ListExecutions{}})
	refused := wantCode(t, err, chargehand.CodeQuotaExceeded)
	if refused.RetryAfter == 0 || refused.Quota.Name != "operations" || refused.Quota.Used != MaxActiveOperations {
		t.Errorf("refused with %+v", refused)
	}
	fx.begin(fx.test, `{"action": "cancel", "filter": {}}`, &ListExecutions{})
	fx.carry(fx.worker())
	fx.begin(p, `{"action": "cancel", "filter": {}}`, &ListExecutions{})
}

// TestOperationsAreDeleted: operations are kept for 30 days after their end, and those that have not ended for longer.
func TestOperationsAreDeleted(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	p := fx.principal(chargehand.Live, PresetAll)
	all := fx.many(flow.ID, 3)
	fx.begin(p, `{"action": "cancel", "ids": ["`+all[0].ID.String()+`"]}`, nil)
	fx.carry(fx.worker()) // it stops, because the key has no row
	open := fx.begin(p, `{"action": "cancel", "ids": ["`+all[1].ID.String()+`"]}`, nil)
	listed := func() (n int) {
		page, err := fx.ListOperations(t.Context(), p, 10, Cursor{})
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Data)
	}
	for _, want := range []int{2, 1} {
		if err := fx.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := listed(); n != want {
			t.Errorf("%d operations are kept, want %d", n, want)
		}
		fx.pass(OperationLife + time.Minute)
	}
	if got := fx.operation(p, open); got.Status != "running" {
		t.Errorf("the one that is left is %s", got.Status)
	}
}

// TestOperationsRoundRobin: an environment with many operations does not keep another waiting.
func TestOperationsRoundRobin(t *testing.T) {
	fx := newFixture(t)
	w := fx.worker()
	active := []store.Operation{{No: 1, Account: 1, Environment: chargehand.Live}, {No: 4, Account: 1, Environment: chargehand.Live},
		{No: 5, Account: 1, Environment: chargehand.Live}, {No: 2, Account: 1, Environment: chargehand.Test}, {No: 3, Account: 2, Environment: chargehand.Live}}
	for _, want := range [][]int64{{1, 2, 3}, {4, 2, 3}, {5, 2, 3}, {1, 2, 3}} {
		var got []int64
		for _, o := range w.roundRobin(active) {
			got = append(got, o.No)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the operations are %v, want %v", got, want)
		}
	}
}
