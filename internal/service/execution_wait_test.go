package service

import (
	"context"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

func TestWaitAnswersAtTheEnd(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	fx.engine.waiting = make(chan struct{}, 10)
	type answer struct {
		e   *Execution
		err error
	}
	answers := make(chan answer)
	go func() {
		e, _, err := fx.CreateExecution(context.Background(), fx.p, CreateExecution{Workflow: flow.ID, View: View{Wait: time.Minute}})
		answers <- answer{e, err}
	}()
	<-fx.engine.waiting
	fx.engine.mu.Lock()
	id := fx.engine.starts[0].Row.ID
	fx.engine.mu.Unlock()
	fx.run(id, store.StateActive) // no reason to answer
	<-fx.engine.waiting
	fx.finish(id, `{"a":1}`)
	got := <-answers
	if got.err != nil || got.e.Status != chargehand.Finished || string(got.e.Output) != `{"a":1}` || len(got.e.Results) != 1 {
		t.Errorf("the wait answered %+v, %v", got.e, got.err)
	}
}

// TestWaitShowsWhatIsThere: a start that is waited for in vain answers with the execution as it is then, whether the
// time is over or the client has gone.
func TestWaitShowsWhatIsThere(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	e, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID, View: View{Wait: time.Millisecond}})
	if err != nil || e.ID != fx.engine.starts[0].Row.ID || e.Status != chargehand.Initial || e.Output != nil {
		t.Errorf("the time is over: %+v, %v", e, err)
	}
	fx.engine.waiting = make(chan struct{}, 10)
	ctx, gone := context.WithCancel(t.Context())
	defer gone()
	go func() {
		<-fx.engine.waiting // it is started and watched
		fx.engine.mu.Lock()
		id := fx.engine.starts[1].Row.ID
		fx.engine.mu.Unlock()
		fx.run(id, store.StateActive)
		<-fx.engine.waiting // it was read, and is watched again
		gone()
	}()
	e, _, err = fx.CreateExecution(ctx, fx.p, CreateExecution{Workflow: flow.ID, View: View{Wait: time.Minute}})
	if err != nil || e.ID != fx.engine.starts[1].Row.ID || e.Status != chargehand.Processing {
		t.Errorf("the client has gone: %+v, %v", e, err)
	}
}

func TestWaitAnswersWhenAPersonIsNeeded(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	e := fx.create(flow.ID, noInput)
	err := fx.rows.Update(t.Context(), func(tx *store.Tx) error {
		row, err := tx.FindExecution(e.ID)
		if err != nil {
			return err
		}
		return tx.SetStatus(row.No, chargehand.HumanInTheLoop, chargehand.Waiting, store.StateParked, fx.nowMs(), store.Waits{})
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := fx.GetExecution(t.Context(), fx.p, flow.ID, e.ID, View{Wait: time.Hour})
	if err != nil || got.Status != chargehand.HumanInTheLoop {
		t.Errorf("the wait answered %+v, %v", got, err)
	}
}

func TestWaitAnswersAtTheLimit(t *testing.T) {
	fx := newFixture(t, func(c *Config) { c.Limits.Wait = 20 * time.Millisecond })
	flow := fx.apply(definition("one", "1.0.0"))
	e, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID, View: View{Wait: time.Hour}})
	if err != nil || e.Status != chargehand.Initial {
		t.Errorf("the limit answered %+v, %v, want the execution as it is", e, err)
	}
}

func TestWaitAnswersWhenTheServerStops(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	e := fx.create(flow.ID, noInput)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	got, err := fx.GetExecution(ctx, fx.p, flow.ID, e.ID, View{Wait: time.Hour})
	if err != nil || got.ID != e.ID {
		t.Errorf("a stop answered %+v, %v, want the execution as it is", got, err)
	}
}
