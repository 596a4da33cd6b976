package temporal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	runner "github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
)

// attack skips a test that compares times, for which it needs a machine that does nothing else, and minutes.
func attack(t *testing.T) {
	t.Helper()
	if os.Getenv("CHARGEHAND_FULL") == "" {
		t.Skip("this compares times beside an attack; set CHARGEHAND_FULL=1")
	}
}

// startBatch starts a batch of a workflow, whose items have the same input.
func (e *installation) startBatch(w store.Workflow, n int, input string) store.Batch {
	e.t.Helper()
	b := store.Batch{
		ID: e.id(), Account: e.account.No, Environment: chargehand.Live, Workflow: w.No, Revision: w.Published,
		Concurrency: 500, RequestedConcurrency: 500, Total: int64(n),
	}
	e.update(func(tx *store.Tx) error { return tx.InsertBatch(&b) })
	for from := 0; from < n; from += 500 {
		e.update(func(tx *store.Tx) error {
			var err error
			for i := from; i < min(from+500, n) && err == nil; i++ {
				row := store.Execution{
					ID: e.id(), Account: e.account.No, Environment: chargehand.Live, Workflow: w.No, Revision: w.Published, Machine: 1,
					Status: chargehand.Initial, Phase: chargehand.Pending, State: store.StateQueued,
					Batch: b.No, Item: int64(i), Input: store.Payload{Inline: []byte(input), Size: int64(len(input))},
				}
				err = tx.InsertExecution(&row)
			}
			return err
		})
	}
	e.engine.BatchReady(b.No)
	return b
}

// startIn starts an execution of a workflow in an environment.
func (e *installation) startIn(env chargehand.Environment, w store.Workflow, p *plan.Plan) store.Execution {
	e.t.Helper()
	row := store.Execution{
		ID: e.id(), Account: e.account.No, Environment: env, Workflow: w.No, Revision: w.Published, Input: store.Payload{Inline: []byte("{}"), Size: 2},
	}
	row, err := e.engine.Start(context.Background(), engine.Start{Row: row, Plan: p, Input: map[string]any{}})
	if err != nil {
		e.t.Fatal(err)
	}
	return row
}

func (e *installation) publishIn(env chargehand.Environment, events ...map[string]any) {
	e.t.Helper()
	if err := e.engine.Publish(context.Background(), engine.Publisher{Account: e.account.No, Environment: env}, events); err != nil {
		e.t.Fatal(err)
	}
}

// within waits until something is the case, and returns how long that took.
func (e *installation) within(atMost time.Duration, what string, is func() bool) time.Duration {
	e.t.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	begun := time.Now()
	for !is() {
		<-ticker.C
		if time.Since(begun) > atMost {
			e.t.Fatalf("%s: not within %v", what, atMost)
		}
	}
	return time.Since(begun)
}

func (e *installation) parkedRows() (n int) {
	e.view(func(r *store.Reader) error {
		unfinished, err := r.CountUnfinished()
		n = int(unfinished[store.StateParked])
		return err
	})
	return n
}

func (e *installation) unread() (n int) {
	e.view(func(r *store.Reader) error {
		for after := int64(0); ; {
			page, err := r.WokenSubscriptions(after, 1000)
			if n += len(page); err != nil || len(page) < 1000 {
				return err
			}
			after = page[len(page)-1].No
		}
	})
	return n
}

// How often an event is published for a probe: before the flood, beside it, and after its listeners were cancelled.
const alone, beside, after = 4, 3, 2

// TestListenersDoNotStopOthers: while many listeners of one workflow read many events that are not for them, the
// events of other workflows and of the other environment arrive, and the listeners can be cancelled. It runs beside no
// other test, because it compares times.
func TestListenersDoNotStopOthers(t *testing.T) {
	attack(t)
	e := newInstallation(t, defaultLimits())
	e.others[e.account.ID] = func(context.Context, runner.Call) runner.Result { return runner.Result{} }
	const listeners, events = 300, 5_000
	// What this filter asks for depends on each execution, so each has to read all events.
	many, _ := e.deploy("many", parse(t, `do: [{a: {listen: {to: {one: {with: {type: org.sec.never, data: '${ .x > ($input.never | length) + 77 }'}}}}}}]`))
	batch := e.startBatch(many, listeners, `{"never":"never"}`)
	took := e.within(time.Hour, "all listeners wait", func() bool { return e.parkedRows() == listeners })
	t.Logf("%d listeners have started within %v", listeners, took)

	event := func(kind string, i int) map[string]any {
		return map[string]any{"specversion": "1.0", "id": fmt.Sprint(kind, i), "source": "/test", "type": kind, "data": map[string]any{"x": 1}}
	}
	// Each probe is a listener in both environments, for an event of its own.
	probes := make([][2]store.Execution, alone+beside+after)
	for i := range probes {
		p := parse(t, fmt.Sprintf("do: [{a: {listen: {to: {one: {with: {type: other%d}}}}}}]", i))
		other, _ := e.deploy(fmt.Sprint("other", i), p)
		probes[i] = [2]store.Execution{e.startIn(chargehand.Live, other, p), e.startIn(chargehand.Test, other, p)}
	}
	e.within(time.Minute, "others listen", func() bool { return e.parkedRows() == listeners+2*len(probes) })
	// arrive publishes an event for a probe, and returns how long it takes until both have ended.
	arrive := func(number int) time.Duration {
		probe := probes[number]
		begun := time.Now()
		e.publishIn(chargehand.Test, event(fmt.Sprint("other", number), 0))
		e.publishIn(chargehand.Live, event(fmt.Sprint("other", number), 0))
		published := time.Since(begun)
		e.within(5*time.Minute, "the events arrive", func() bool {
			return e.row(probe[0].No).Status.Final() && e.row(probe[1].No).Status.Final()
		})
		took := time.Since(begun)
		t.Logf("probe %d: published within %v, has arrived after %v; %d listeners have to read", number, published, took, e.unread())
		return took
	}
	var usual time.Duration
	for i := range alone {
		usual = max(usual, arrive(i))
	}
	// What Temporal does for an event takes as long as the machine lets it: so the bound grows with that. The quickest
	// counts, because a machine that others use, too, may stand still for seconds.
	atMost := time.Second + 10*usual

	for from := 0; from < events; from += 1_000 {
		page := make([]map[string]any, 1_000)
		for i := range page {
			page[i] = event("org.sec.never", from+i)
		}
		e.publishIn(chargehand.Live, page...)
	}
	quickest := time.Hour
	for i := range beside {
		quickest = min(quickest, arrive(alone+i))
	}
	if quickest > atMost {
		t.Errorf("beside the listeners an event takes %v at least, which may be %v", quickest, atMost)
	}
	if e.unread() == 0 {
		t.Error("the events have waited until all listeners had read")
	}

	begun := time.Now()
	if err := e.engine.CancelBatch(t.Context(), batch.ID, ""); err != nil && !errors.Is(err, engine.ErrFinal) {
		t.Fatal(err)
	}
	took = time.Since(begun)
	t.Logf("%d listeners were cancelled within %v", listeners, took)
	if took > time.Second+time.Duration(listeners)*100*time.Millisecond {
		t.Errorf("to cancel %d listeners took %v", listeners, took)
	}
	quickest = time.Hour
	for i := range after {
		quickest = min(quickest, arrive(alone+beside+i))
	}
	if quickest > atMost {
		t.Errorf("after they were cancelled, an event takes %v at least, which may be %v", quickest, atMost)
	}
}

// TestBurstsDoNotStopOthers: a burst of starts of one workflow does not stand before the start of another one, nor
// before an event for it.
func TestBurstsDoNotStopOthers(t *testing.T) {
	attack(t)
	e := newInstallation(t, defaultLimits())
	set := parse(t, "do: [{a: {set: {x: 1}}}]")
	many, _ := e.deploy("many", set)
	other, _ := e.deploy("other", set)
	listens := parse(t, "do: [{a: {listen: {to: {one: {with: {type: other}}}}}}]")
	listening, _ := e.deploy("listens", listens)
	runs := func() time.Duration {
		begun := time.Now()
		row := e.startIn(chargehand.Live, other, set)
		e.within(5*time.Minute, "another workflow ends", func() bool { return e.row(row.No).Status.Final() })
		return time.Since(begun)
	}
	listener := e.startIn(chargehand.Live, listening, listens)
	e.within(time.Minute, "another workflow listens", func() bool { return e.parkedRows() == 1 })
	var usual time.Duration
	for range 5 {
		usual = max(usual, runs())
	}
	burst := make([]store.Execution, 1_000)
	for i := range burst {
		burst[i] = e.startIn(chargehand.Live, many, set)
	}
	ended := func() (n int) {
		for _, row := range burst {
			if e.row(row.No).Status.Final() {
				n++
			}
		}
		return n
	}
	begun := time.Now()
	e.publishIn(chargehand.Live, map[string]any{"specversion": "1.0", "id": "1", "source": "/test", "type": "other"})
	e.within(5*time.Minute, "the event arrives", func() bool { return e.row(listener.No).Status.Final() })
	event := time.Since(begun)
	quickest := time.Hour
	for range 3 {
		took := runs()
		quickest = min(quickest, took)
		t.Logf("a start takes %v beside a burst, of which %d have ended; alone %v", took, ended(), usual)
	}
	t.Logf("an event takes %v beside a burst", event)
	if atMost := time.Second + 10*usual; quickest > atMost || event > 2*atMost {
		t.Errorf("beside a burst a start takes %v at least, and an event %v; a start may take %v", quickest, event, atMost)
	}
	if ended() == len(burst) {
		t.Error("they have waited until the burst was over")
	}
	e.within(10*time.Minute, "the burst ends", func() bool { return ended() == len(burst) })
	t.Logf("%d have ended within %v", len(burst), time.Since(begun))
}
