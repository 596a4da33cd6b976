package service

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// asKey is a principal of another key, and of another account where account is not 0.
func (fx *fixture) asKey(key, account int64) *Principal {
	p := *fx.p
	p.KeyNo = key
	if account != 0 {
		p.AccountNo = account
	}
	return &p
}

// TestComputationsAreShared: a key with many evaluations or tests holds up neither other keys of its account nor other
// accounts, and what waits is bounded.
func TestComputationsAreShared(t *testing.T) {
	for name, bounds := range map[string]computationBounds{"evaluations": evaluationBounds, "tests": testBounds} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { computationsAreShared(t, bounds) }) })
	}
}

func computationsAreShared(t *testing.T, bounds computationBounds) {
	e := newComputations(bounds)
	busy, colleague, stranger := &Principal{AccountNo: 1, KeyNo: 1}, &Principal{AccountNo: 1, KeyNo: 2}, &Principal{AccountNo: 2, KeyNo: 3}
	leave, err := e.enter(t.Context(), busy)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	wait := func(name string, p *Principal) {
		go func() {
			leave, err := e.enter(t.Context(), p)
			if err != nil {
				t.Error(err)
				return
			}
			order = append(order, name) // one at a time: they are of one account
			leave()
		}()
		synctest.Wait()
	}
	for range bounds.waiting - 1 {
		wait("busy", busy)
	}
	_, err = e.enter(t.Context(), busy)
	wantCode(t, err, chargehand.CodeRateLimited)
	wait("colleague", colleague)
	atOnce, err := e.enter(t.Context(), stranger)
	if err != nil {
		t.Fatal(err)
	}
	atOnce()
	leave()
	synctest.Wait()
	if len(order) != bounds.waiting || order[0] != "colleague" {
		t.Errorf("computed in the order %v", order)
	}
	if len(e.open) != 0 {
		t.Errorf("%d are still counted", len(e.open))
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	leave, err = e.enter(canceled, colleague) // a free permit needs no wait
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.enter(canceled, busy); !errors.Is(err, context.Canceled) || len(e.open) != 1 {
		t.Errorf("a request that gave up: %v, %d are counted", err, len(e.open))
	}
	leave()
}

// TestComputationsOfBothEnvironments: an account that computes in both of its environments lets no other account wait,
// neither in live nor in test.
func TestComputationsOfBothEnvironments(t *testing.T) {
	for name, bounds := range map[string]computationBounds{"evaluations": evaluationBounds, "tests": testBounds} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newComputations(bounds)
				for _, p := range []*Principal{
					{AccountNo: 1, KeyNo: 1, Environment: chargehand.Live}, {AccountNo: 1, KeyNo: 2, Environment: chargehand.Test},
					{AccountNo: 2, KeyNo: 3, Environment: chargehand.Test}, {AccountNo: 2, KeyNo: 4, Environment: chargehand.Live},
				} {
					leave, err := e.enter(t.Context(), p) // a wait would be a deadlock here
					if err != nil {
						t.Fatal(err)
					}
					defer leave()
				}
			})
		})
	}
}

// TestStreamsAreShared: an account leaves room for the streams of others, and an environment for those of the other.
func TestStreamsAreShared(t *testing.T) {
	fx := newFixture(t, func(c *Config) { c.Limits.EventStreamsPerKey, c.Limits.EventStreams = 2, 16 })
	open := 0
	var err error
	for key := int64(1001); err == nil && key < 1100; key++ {
		p := fx.asKey(key, 0)
		for range 2 {
			if _, err = fx.live.admit(p); err == nil {
				open++
			}
		}
	}
	if wantCode(t, err, chargehand.CodeQuotaExceeded); open != 12 {
		t.Errorf("one account has %d of 16 streams", open)
	}
	if _, err := fx.live.admit(fx.asKey(1200, 77)); err != nil {
		t.Errorf("another account: %v", err)
	}
	if _, err := fx.live.admit(fx.test); err != nil {
		t.Errorf("another environment: %v", err)
	}
}

// TestHoldKnowsEachPrincipal: of the requests of a key that began with other rights than it has now, those end, and
// those that began with the present ones do not.
func TestHoldKnowsEachPrincipal(t *testing.T) {
	fx := newFixture(t)
	made, _, err := fx.CreateKey(t.Context(), fx.p, CreateKey{Body: map[string]any{"name": "x", "preset": "all"}})
	if err != nil {
		t.Fatal(err)
	}
	now, err := fx.Authenticate(t.Context(), made.Secret, localhost)
	if err != nil {
		t.Fatal(err)
	}
	older := *now
	older.Scopes &^= ScopeAdmin // it was read before the key got the scope
	first, release := fx.Hold(t.Context(), now)
	defer release()
	second, release := fx.Hold(t.Context(), &older)
	defer release()
	select {
	case <-second.Done():
	case <-time.After(2 * time.Minute):
		t.Error("the request with the older rights continues")
	}
	if end := (*StreamEnd)(nil); second.Err() != nil && (!errors.As(context.Cause(second), &end) || end.Reason != EndRevoked) {
		t.Errorf("it ended with %v", context.Cause(second))
	}
	if first.Err() != nil {
		t.Errorf("the request with the present rights ended: %v", context.Cause(first))
	}
}

// TestFloorsTellNothing: where a list stops to look at rows, a principal without a right to them learns neither their
// ids nor their times, and finds everything nevertheless.
func TestFloorsTellNothing(t *testing.T) {
	fx := newFixture(t)
	fx.examined = 4
	shown, hidden := fx.apply(definition("shown", "1.0.0")).ID, fx.apply(definition("hidden", "1.0.0")).ID
	own := fx.principal(chargehand.Live, PresetAll)
	own.partial, own.KeyNo = &partial{limits: store.NoWorkflow()}, 4711
	limited := fx.principal(chargehand.Live, PresetAll, shown)
	strangers := map[[16]byte]bool{}
	start := func(p *Principal, workflow chargehand.WorkflowID) chargehand.ExecutionID {
		e, _, err := fx.CreateExecution(t.Context(), p, CreateExecution{Workflow: workflow, Body: map[string]any{"labels": map[string]any{"team": "blue"}}})
		if err != nil {
			t.Fatal(err)
		}
		fx.pass(time.Second)
		return e.ID
	}
	wanted := 0
	for i := range 30 {
		if i%10 == 5 {
			start(own, shown)
			wanted++
		}
		strangers[start(fx.p, hidden)] = true
	}
	labelled := ExecutionFilter{Labels: []Label{{Name: "team", Value: "blue"}}, Versions: []string{"1.0.0"}}
	for _, c := range []struct {
		name   string
		p      *Principal
		filter ExecutionFilter
	}{{"who sees its own", own, ExecutionFilter{}}, {"who sees one workflow", limited, labelled}} {
		q := ListExecutions{Limit: 100, Filter: c.filter}
		found, sealed := 0, 0
		for pages := 0; pages == 0 || !q.After.IsZero(); pages++ {
			page, err := fx.ListExecutions(t.Context(), c.p, q)
			if err != nil || pages > 60 {
				t.Fatalf("%s, page %d: %v", c.name, pages, err)
			}
			for stranger := range strangers {
				if page.Cursor.ID == stranger || page.Cursor.Milli == chargehand.ExecutionID(stranger).Milli() {
					t.Errorf("%s gets the cursor of an execution of others", c.name)
				}
			}
			if page.Cursor.Milli == sealedCursor {
				sealed++
			}
			found += len(page.Data)
			q.After = page.Cursor
		}
		if found != wanted || sealed == 0 {
			t.Errorf("%s finds %d of %d, with %d sealed cursors", c.name, found, wanted, sealed)
		}
		count, err := fx.CountExecutions(t.Context(), c.p, q)
		if err != nil || !count.AtLeast || !count.ExaminedUntil.IsZero() {
			t.Errorf("%s: %+v %v", c.name, count, err)
		}
	}
}
