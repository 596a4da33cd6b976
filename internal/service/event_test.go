package service

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/engine/embedded"
	"github.com/chargehand/chargehand/internal/store"
)

// storedEvents lists the events of an environment: source and id, and who emitted them.
func (fx *fixture) storedEvents(env chargehand.Environment) (list []string) {
	fx.t.Helper()
	err := fx.rows.View(fx.t.Context(), func(r *store.Reader) error {
		list = nil
		return r.Events(fx.account.No, env, 0, 1<<40, 1000, func(e *store.Event) (bool, error) {
			list = append(list, fmt.Sprintf("%d %s %s", e.Number, e.Type, e.Data.Inline))
			if e.Origin != (chargehand.ExecutionID{}) {
				fx.t.Errorf("an event from outside has the origin %s", e.Origin)
			}
			return true, nil
		})
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	return list
}

const orderEvent = `{"specversion":"1.0","id":"1","source":"/shop","type":"order","data":{"n":12345678901234567890123}}`

// TestPublishEvents: stored once, in the environment of the key, all of a batch or none.
func TestPublishEvents(t *testing.T) {
	fx := newFixture(t)
	withEngine(t, fx, embedded.Limits{})
	publish := func(p *Principal, text string, i *Idempotency) (bool, error) {
		t.Helper()
		return fx.PublishEvents(t.Context(), p, PublishEvents{Body: parse(t, text), Batch: text[0] == '[', Idempotency: i})
	}
	for range 2 {
		if _, err := publish(fx.p, orderEvent, nil); err != nil {
			t.Fatal(err)
		}
	}
	second, third := strings.Replace(orderEvent, `"id":"1"`, `"id":"2"`, 1), strings.Replace(orderEvent, "/shop", "/other", 1)
	if _, err := publish(fx.p, "["+second+","+strings.Replace(third, "order", "", 1)+"]", nil); err == nil || !strings.Contains(fmt.Sprint(err.(*chargehand.Error).Fields), "/1/type") {
		t.Errorf("half a batch: %v", err)
	}
	if got := fx.storedEvents(chargehand.Live); len(got) != 1 || !strings.Contains(got[0], "12345678901234567890123") {
		t.Errorf("stored %q", got)
	}
	if _, err := publish(fx.p, "["+second+","+third+","+second+","+orderEvent+"]", nil); err != nil {
		t.Fatal(err)
	}
	if got := fx.storedEvents(chargehand.Live); len(got) != 3 || !strings.HasPrefix(got[2], "3 order ") {
		t.Errorf("stored %q", got)
	}
	i := &Idempotency{Method: "POST", Path: "/api/v1/events", Key: "k"}
	for attempt := range 2 {
		if replayed, err := publish(fx.test, orderEvent, i); err != nil || replayed != (attempt == 1) {
			t.Errorf("attempt %d: replayed %t, %v", attempt, replayed, err)
		}
	}
	i = &Idempotency{Method: i.Method, Path: i.Path, Key: i.Key, BodyHash: [32]byte{1}}
	if _, err := publish(fx.test, second, i); err == nil || err.(*chargehand.Error).Code != chargehand.CodeIdempotencyKeyReused {
		t.Errorf("another body: %v", err)
	}
	if got := fx.storedEvents(chargehand.Test); len(got) != 1 {
		t.Errorf("stored in test %q", got)
	}
}

// TestEventWakesListener: what is published ends an execution that waits for it.
func TestEventWakesListener(t *testing.T) {
	fx := newFixture(t)
	withEngine(t, fx, embedded.Limits{})
	flow := fx.apply([]byte("document: {dsl: '1.0.3', namespace: test, name: listener, version: '1.0.0'}\n" +
		"do:\n  - hear:\n      listen: {to: {one: {with: {type: order}}}}\n"))
	e := fx.create(flow.ID, nil)
	if _, err := fx.PublishEvents(t.Context(), fx.test, PublishEvents{Body: parse(t, orderEvent)}); err != nil {
		t.Fatal(err)
	}
	if _, err := fx.PublishEvents(t.Context(), fx.p, PublishEvents{Body: parse(t, strings.Replace(orderEvent, `"n":12345678901234567890123`, `"n":7`, 1))}); err != nil {
		t.Fatal(err)
	}
	got, err := fx.GetExecution(t.Context(), fx.p, flow.ID, e.ID, View{Wait: 10 * time.Second})
	if err != nil || got.Status != chargehand.Finished || string(got.Output) != `[{"n":7}]` {
		t.Errorf("got %+v, %v", got, err)
	}
	if found, err := fx.WorkflowOf(t.Context(), fx.p, e.ID); err != nil || found != flow.ID {
		t.Errorf("its workflow is %s, %v", found, err)
	}
	for _, p := range []*Principal{fx.test, fx.stranger(), fx.principal(chargehand.Live, PresetAll, newID[chargehand.WorkflowID](1))} {
		if _, err := fx.WorkflowOf(t.Context(), p, e.ID); err == nil {
			t.Error("a stranger learns the workflow")
		}
	}
}

// TestEventsAreDeleted after their time, those of all streams.
func TestEventsAreDeleted(t *testing.T) {
	fx := newFixture(t, func(c *Config) { c.Retention.Events = time.Hour })
	insert := func(env chargehand.Environment, from, n int) {
		var events []store.Event
		for i := range n {
			events = append(events, store.Event{
				Account: fx.account.No, Environment: env, Type: "a", Dedupe: [16]byte{byte(from + i), byte((from + i) >> 8)},
				Data: store.Payload{Inline: []byte(`{}`), Size: 2},
			})
		}
		if err := fx.rows.Update(t.Context(), func(tx *store.Tx) error {
			_, err := tx.InsertEvents(events, fx.nowMs())
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	insert(chargehand.Live, 0, 2*sweepRows+5)
	insert(chargehand.Test, 0, 3)
	fx.pass(time.Hour)
	insert(chargehand.Test, 3, 1)
	fx.pass(time.Minute)
	if err := fx.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if live, test := fx.storedEvents(chargehand.Live), fx.storedEvents(chargehand.Test); len(live) != 0 || len(test) != 1 || !strings.HasPrefix(test[0], "4 ") {
		t.Errorf("left are %d live and %q", len(live), test)
	}
}

// startTeller tells of each execution that starts.
type startTeller struct {
	engine.Engine
	started chan struct{}
}

func (s startTeller) Start(ctx context.Context, r engine.Start) (store.Execution, error) {
	defer func() { s.started <- struct{}{} }()
	return s.Engine.Start(ctx, r)
}

// A workflow with `schedule.on` starts when the event is there, not when the schedules are next
// looked at, which is 250 ms after it.
func TestEventsStartScheduledWorkflowsAtOnce(t *testing.T) {
	fx := newFixture(t)
	withEngine(t, fx, embedded.Limits{})
	started := make(chan struct{}, 1)
	fx.Service.engine = startTeller{fx.Service.engine, started}
	fx.apply(definition("listens", "1.0.0", "schedule: {on: {one: {with: {type: 'org.example.order'}}}}\n"))
	if _, err := fx.schedules.Step(t.Context()); err != nil { // from here on it listens
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	running := make(chan struct{})
	go func() {
		defer close(running)
		fx.schedules.Run(ctx)
	}()
	defer func() { cancel(); <-running }()
	quickest := time.Hour
	for i := range 5 {
		began := time.Now()
		event := strings.Replace(`{"specversion":"1.0","id":"ID","source":"https://e.org","type":"org.example.order"}`, "ID", strconv.Itoa(i), 1)
		if _, err := fx.PublishEvents(t.Context(), fx.p, PublishEvents{Body: parse(t, event)}); err != nil {
			t.Fatal(err)
		}
		<-started
		quickest = min(quickest, time.Since(began))
	}
	if quickest > 125*time.Millisecond {
		t.Errorf("the quickest of five starts took %s", quickest)
	}
}
