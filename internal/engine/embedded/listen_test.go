package embedded

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// bigger is n with CHARGEHAND_FULL, and less otherwise: the scale tells of time and memory only.
func bigger(n int) int {
	if os.Getenv("CHARGEHAND_FULL") == "" || raceDetector {
		return n / 20
	}
	return n
}

func (fx *fixture) publish(events ...string) {
	fx.t.Helper()
	envelopes := make([]value.Value, len(events))
	for i, text := range events {
		envelopes[i] = parseInput(fx.t, text)
	}
	if err := publish(fx.engine, envelopes); err != nil {
		fx.t.Fatal(err)
	}
}

func envelope(kind string, id int, data string) string {
	return fmt.Sprintf(`{"specversion":"1.0","id":"%d","source":"/test","type":"%s","data":%s}`, id, kind, data)
}

// listeners starts n executions that listen, and waits until all of them sleep.
func (fx *fixture) listeners(revision int64, n int, input func(i int) string) []store.Execution {
	fx.t.Helper()
	rows := make([]store.Execution, n)
	for i := range rows {
		rows[i] = fx.run(revision, input(i))
	}
	for i := range rows {
		row := fx.read(rows[i].No)
		if row.State != store.StateParked || row.Status != chargehand.Processing || row.Phase != chargehand.Waiting {
			fx.t.Fatalf("a listener is %+v", row)
		}
	}
	if n := fx.engine.Stats().InMemory; n != 0 {
		fx.t.Fatalf("%d executions that only listen are in memory", n)
	}
	return rows
}

func heapBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestBroadcast: one event for many listeners costs each of them the same, however many there are.
func TestBroadcast(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	rev := fx.define("- a: { listen: { to: { one: { with: { type: go } } } } }")
	n := bigger(10_000)
	rows := fx.listeners(rev, n, func(int) string { return `{}` })
	before := heapBytes()
	began := time.Now()
	fx.publish(envelope("other", 1, "0"), envelope("go", 2, `"all"`))
	for _, row := range rows {
		if row = fx.final(row); row.Status != chargehand.Finished {
			t.Fatalf("a listener ended as %+v", row)
		}
	}
	took := time.Since(began)
	if got := fx.result(rows[n-1].No); got != `["all"]` {
		t.Errorf("a listener has got %s", got)
	}
	if woken := fx.engine.Stats().Woken; woken != int64(n) {
		t.Errorf("%d were woken, want %d", woken, n)
	}
	fx.idle(0)
	grown := int64(heapBytes()) - int64(before)
	t.Logf("%d listeners took %v, %v each, and %d KiB of memory", n, took, took/time.Duration(n), grown>>10)
	if grown > 64<<20 {
		t.Errorf("memory grew by %d bytes", grown)
	}
}

// TestCorrelated: many executions listen to events of one type. Each is woken by its own event
// only.
func TestCorrelated(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	rev := fx.define("- a: { listen: { to: { one: { with: { type: order }, " +
		"correlate: { order: { from: .data.id, expect: '${ .id }' } } } } } }")
	n := bigger(4_000)
	rows := fx.listeners(rev, n, func(i int) string { return fmt.Sprintf(`{"id":%d}`, i) })
	events := make([]string, n)
	for i := range events {
		events[i] = envelope("order", i, fmt.Sprintf(`{"id":%d}`, i))
	}
	began := time.Now()
	for len(events) > 0 {
		page := events[:min(100, len(events))]
		events = events[len(page):]
		fx.publish(page...)
	}
	for i, row := range rows {
		fx.final(row)
		if got, want := fx.result(row.No), fmt.Sprintf(`[{"id":%d}]`, i); got != want {
			t.Fatalf("listener %d has got %s", i, got)
		}
	}
	t.Logf("%d events for one listener each took %v", n, time.Since(began))
	if woken := fx.engine.Stats().Woken; woken != int64(n) {
		t.Errorf("%d were woken, want %d", woken, n)
	}
}

// TestOwnTypes: executions that listen to a type of their own are one kind for the event matcher,
// however many they are, and each is woken by its own event only.
func TestOwnTypes(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	rev := fx.define("- a: { listen: { to: { one: { with: { type: '${ \"reply.\" + $workflow.input.id }' } } } } }")
	n := bigger(1_000)
	rows := fx.listeners(rev, n, func(i int) string { return fmt.Sprintf(`{"id":"%d"}`, i) })
	fx.view(func(r *store.Reader) error {
		kinds, err := r.FilterKinds(fx.account.No, chargehand.Live, n)
		if len(kinds) != 1 {
			t.Errorf("%d listeners have %d kinds of filters", n, len(kinds))
		}
		return err
	})
	events := make([]string, n)
	for i := range events {
		events[i] = envelope(fmt.Sprintf("reply.%d", i), i, fmt.Sprint(i))
	}
	began := time.Now()
	for len(events) > 0 {
		page := events[:min(100, len(events))]
		events = events[len(page):]
		fx.publish(page...)
	}
	for i, row := range rows {
		fx.final(row)
		if got, want := fx.result(row.No), fmt.Sprintf(`[%d]`, i); got != want {
			t.Fatalf("listener %d has got %s", i, got)
		}
	}
	t.Logf("%d events for one listener each, by type, took %v", n, time.Since(began))
	if woken := fx.engine.Stats().Woken; woken != int64(n) {
		t.Errorf("%d were woken, want %d", woken, n)
	}
}

// TestManyEvents: a listener takes any number of events, each once and in order.
func TestManyEvents(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	n := bigger(10_000)
	rev := fx.define(fmt.Sprintf(
		"- a: { listen: { to: { any: [ { with: { type: n } } ], until: '(. | length) == %d' } } }", n))
	row := fx.listeners(rev, 1, func(int) string { return `{}` })[0]
	began := time.Now()
	var want strings.Builder
	for from := 0; from < n; from += 100 {
		events := make([]string, 0, 100)
		for i := from; i < min(from+100, n); i++ {
			events = append(events, envelope("n", i, fmt.Sprint(i)))
			fmt.Fprintf(&want, ",%d", i)
		}
		fx.publish(events...)
	}
	row = fx.finalIn(row, time.Minute)
	t.Logf("%d events for one listener took %v", n, time.Since(began))
	if got := fx.result(row.No); got != "["+want.String()[1:]+"]" {
		t.Errorf("it has got %.200s", got)
	}
}

// TestEventsAreTheSameBySourceAndID: what is published twice is delivered once.
func TestEventsAreTheSameBySourceAndID(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	rev := fx.define("- a: { listen: { to: { all: [ { with: { type: x } }, { with: { type: 'x|y' } } ] } } }")
	row := fx.listeners(rev, 1, func(int) string { return `{}` })[0]
	fx.publish(envelope("x", 1, "1"))
	fx.publish(envelope("x", 1, "1"), envelope("y", 2, "2"))
	fx.final(row)
	if got := fx.result(row.No); got != `[1,2]` {
		t.Errorf("it has got %s", got)
	}
}

// TestListenersOutliveRestarts: an event that is stored while no engine runs wakes its listeners
// after the start.
func TestListenersOutliveRestarts(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	rev := fx.define("- a: { listen: { to: { one: { with: { type: go } } } } }\n- b: { set: { got: '${ .[0] }' } }")
	row := fx.listeners(rev, 1, func(int) string { return `{}` })[0]
	fx.stop()
	fx.openStore()
	ev := parseInput(t, envelope("go", 1, "7")).(map[string]any)
	e := &Engine{config: fx.config().withDefaults(), store: fx.store, reader: eventstream.NewReader(fx.store, nil)}
	e.matcher = e.newMatcher()
	if err := publish(e, []value.Value{ev}); err != nil {
		t.Fatal(err)
	}
	fx.start()
	defer fx.stop()
	fx.final(row)
	if got := fx.result(row.No); got != `{"got":7}` {
		t.Errorf("it has got %s", got)
	}
}

// streamRunner hands over n numbers, then runs until it is stopped.
type streamRunner struct {
	n     int
	check func(handed int, key string)
}

func (r streamRunner) Run(ctx context.Context, c activity.Call) activity.Result {
	for i := range r.n {
		if err := c.Progress(ctx, i); err != nil {
			return activity.Result{}
		}
		r.check(i+1, c.Key)
	}
	<-ctx.Done()
	return activity.Result{}
}

const streamOf = "- a: { call: asyncapi, with: { document: { endpoint: 'https://example.org/' }, operation: o, " +
	"subscription: { consume: { amount: %d } } } }"

// TestStreamIsDurable: a stream continues only when the outcome that it has handed over is in the
// journal. After a crash it begins again.
func TestStreamIsDurable(t *testing.T) {
	fx := newFixture(t)
	var row store.Execution
	begun := make(chan struct{})
	handed := make(chan int, 10)
	fx.runner = streamRunner{n: 3, check: func(n int, _ string) {
		<-begun
		if rows := fx.journalLength(row); rows < n {
			t.Errorf("%d were handed over, and the journal has %d rows", n, rows)
		}
		handed <- n
	}}
	fx.start()
	rev := fx.define(fmt.Sprintf(streamOf, 4))
	row = fx.run(rev, `{}`)
	close(begun)
	for want := 1; want <= 3; want++ {
		if got := <-handed; got != want {
			t.Fatalf("handed over %d, want %d", got, want)
		}
	}
	fx.kill()
	fx.start() // the journal has three, and the next run hands over from the first one
	defer fx.stop()
	fx.final(row)
	if got := fx.result(row.No); got != `[0,1,2,0]` {
		t.Errorf("it ends with %s", got)
	}
}

// TestEventsMeetListeners: events are published while the only execution that waits for their type begins to listen.
func TestEventsMeetListeners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.start()
		defer fx.stop()
		const kinds, each = 8, 40
		var all sync.WaitGroup
		for kind := range kinds {
			name := fmt.Sprint("type", kind)
			rev := fx.define("- a: { wait: { milliseconds: 10 } }\n" +
				"- b: { listen: { to: { one: { with: { type: " + name + " } } } } }")
			all.Go(func() {
				for i := range each {
					row := fx.run(rev, `{}`)
					time.Sleep(10 * time.Millisecond)
					fx.publishIn(chargehand.Live, envelope(name, kind*each+i, `{}`))
					fx.finalIn(row, time.Minute)
				}
			})
		}
		all.Wait()
	})
}
