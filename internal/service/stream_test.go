package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
)

// written is how tests write down an event.
func written(e *StreamEvent) string {
	switch {
	case e.Execution != nil:
		return e.Execution.Status.String()
	case e.Batch != nil:
		return fmt.Sprintf("batch %s %d+%d", e.Batch.Status, e.Batch.Queued, e.Batch.Completed)
	case e.Gap != nil:
		return fmt.Sprintf("gap %d-%d", e.Gap.From, e.Gap.To)
	case e.Gone:
		return "gone"
	case e.Task.Ended:
		return fmt.Sprintf("%d %s %s", e.Task.No, e.Task.Name, e.Task.Phase)
	}
	return fmt.Sprintf("%d %s", e.Task.No, e.Task.Name)
}

// reader follows in the background and writes down what it gets.
type reader struct {
	t      *testing.T
	news   chan string
	end    chan error
	cancel context.CancelFunc
}

func (fx *fixture) follows(t *testing.T, follow func(ctx context.Context, send func([]StreamEvent) error) error) *reader {
	ctx, cancel := context.WithCancel(t.Context())
	r := &reader{t: t, news: make(chan string, 10_000), end: make(chan error, 1), cancel: cancel}
	t.Cleanup(cancel)
	go func() {
		r.end <- follow(ctx, func(events []StreamEvent) error {
			for i := range events {
				r.news <- written(&events[i])
			}
			return nil
		})
	}()
	return r
}

// want waits for news.
func (r *reader) want(news ...string) {
	r.t.Helper()
	for _, want := range news {
		select {
		case got := <-r.news:
			if got != want {
				r.t.Fatalf("got %q, want %q", got, want)
			}
		case <-time.After(time.Minute):
			r.t.Fatalf("got nothing, want %q", want)
		}
	}
}

func (r *reader) wantEnd(reason string) {
	r.t.Helper()
	select {
	case err := <-r.end:
		var end *StreamEnd
		if !errors.As(err, &end) || end.Reason != reason || end.Detail == "" {
			r.t.Fatalf("ended with %v, want %s", err, reason)
		}
	case <-time.After(time.Minute):
		r.t.Fatalf("has not ended, want %s", reason)
	}
	if reason == EndComplete && len(r.news) > 0 {
		r.t.Fatalf("got %q beside", <-r.news)
	}
}

// entry is a task with the numbers of its start and end; 0: it has not ended.
func entry(name string, seq, started, ended int) machine.Entry {
	e := startedTask()
	e.Seq, e.Name, e.Reference, e.Attempt, e.Phase, e.StartedMs, e.StartedNo = seq, name, "/do/0/"+name, 1, chargehand.Running, 1, started
	if ended > 0 {
		e.EndedMs, e.EndedNo, e.Phase = 2, ended, chargehand.Completed
	}
	return e
}

// startedTask is the entry of a task that waits.
var startedTask = sync.OnceValue(func() machine.Entry {
	doc, problems := dsl.Parse(definition("one", "1.0.0"))
	if problems.HasErrors() {
		panic(problems)
	}
	p, _ := plan.Compile(doc, plan.Options{})
	m := machine.New(p, machine.Identity{Execution: chargehand.ExecutionID{1}})
	m.Apply(machine.Event{Kind: machine.Started, TimeMs: 1, Output: map[string]any{}})
	e := m.Timeline()[0]
	e.Wait, e.Input = nil, nil
	return e
})

func telling(fx *fixture) *fixture {
	fx.engine.tells = true
	return fx
}

// TestFollowExecution: each start and end of a task comes once and in order, whether the engine reports changes or
// the rows are polled, and a reader who comes back continues where it was.
func TestFollowExecution(t *testing.T) {
	for _, tells := range []bool{true, false} {
		t.Run(fmt.Sprintf("notified %v", tells), func(t *testing.T) {
			fx := newFixture(t)
			fx.engine.tells = tells
			e := fx.create(fx.apply(definition("flow", "1.0.0")).ID, noInput)
			follow := func(after int64) *reader {
				return fx.follows(t, func(ctx context.Context, send func([]StreamEvent) error) error {
					return fx.FollowExecution(ctx, fx.p, FollowExecution{Workflow: e.Workflow, Execution: e.ID, After: after}, send)
				})
			}
			first := follow(0)
			first.want("initial")
			fx.run(e.ID, store.StateActive)
			first.want("processing")
			fx.engine.traced(e.ID, entry("a", 1, 1, 0))
			first.want("1 a")
			fx.engine.traced(e.ID, entry("a", 1, 1, 3), entry("b", 2, 2, 0))
			first.want("2 b", "3 a completed")
			second := follow(2)
			second.want("processing", "3 a completed")
			fx.engine.traced(e.ID, entry("a", 1, 1, 3), entry("b", 2, 2, 4))
			first.want("4 b completed")
			second.want("4 b completed")
			fx.finish(e.ID, `1`)
			first.want("finished")
			first.wantEnd(EndComplete)
			second.want("finished")
			second.wantEnd(EndComplete)
			third := follow(3)
			third.want("finished", "4 b completed")
			third.wantEnd(EndComplete)
			if len(fx.live.topics) != 0 || len(fx.engine.follows) != 0 || fx.live.total != 0 || len(fx.live.open) != 0 {
				t.Errorf("left are %d topics, %d followers, %d streams", len(fx.live.topics), len(fx.engine.follows), fx.live.total)
			}
		})
	}
}

// TestFollowOnceForAll: a change costs one reading of the rows and one of the timeline, whether one follows or 1,000.
func TestFollowOnceForAll(t *testing.T) {
	const readers = 1000
	fx := telling(newFixture(t, func(c *Config) { c.Limits.EventStreamsPerKey = readers }))
	e := fx.create(fx.apply(definition("flow", "1.0.0")).ID, noInput)
	fx.run(e.ID, store.StateActive)
	var all []*reader
	for range readers {
		all = append(all, fx.follows(t, func(ctx context.Context, send func([]StreamEvent) error) error {
			return fx.FollowExecution(ctx, fx.p, FollowExecution{Workflow: e.Workflow, Execution: e.ID}, send)
		}))
	}
	for _, r := range all {
		r.want("processing")
	}
	lines := []machine.Entry{}
	for seq := 1; seq <= 5; seq++ {
		views, timelines := fx.db.views.Load(), fx.engine.read.Load()
		lines = append(lines, entry("a", seq, seq, 0))
		fx.engine.traced(e.ID, slices.Clone(lines)...)
		for _, r := range all {
			r.want(fmt.Sprintf("%d a", seq))
		}
		if v, n := fx.db.views.Load()-views, fx.engine.read.Load()-timelines; v > 1 || n != 1 {
			t.Errorf("a change cost %d readings of rows and %d of timelines", v, n)
		}
	}
	views := fx.db.views.Load()
	fx.finish(e.ID, `1`)
	for _, r := range all {
		r.want("finished")
		r.wantEnd(EndComplete)
	}
	if v := fx.db.views.Load() - views; v > 3 {
		t.Errorf("the end cost %d readings", v)
	}
}

// TestFollowTopics: a snapshot of each topic, then its changes; polled, all rows of a kind in one reading.
func TestFollowTopics(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("flow", "1.0.0")).ID
	b, _, err := fx.CreateBatch(t.Context(), fx.p, CreateBatch{Workflow: flow, Body: parse(t, `{"items":[{},{}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	var topics []Topic
	for range MaxTopics - 1 {
		topics = append(topics, Topic{TopicExecution, fx.create(flow, noInput).ID})
	}
	topics = append(topics, Topic{TopicBatch, b.ID})
	r := fx.follows(t, func(ctx context.Context, send func([]StreamEvent) error) error {
		return fx.Follow(ctx, fx.p, topics, view, send)
	})
	for range MaxTopics - 1 {
		r.want("initial")
	}
	r.want("batch pending 2+0")
	for _, topic := range topics[:MaxTopics-1] {
		fx.finish(topic.ID, `1`)
	}
	for range MaxTopics - 1 {
		r.want("finished")
	}
	if _, _, err := fx.CancelBatch(t.Context(), fx.p, ChangeBatch{Workflow: flow, Batch: b.ID}); err != nil {
		t.Fatal(err)
	}
	r.want("batch failed 0+0")
	r.wantEnd(EndComplete)

	err = fx.Follow(t.Context(), fx.stranger(), topics[:1], view, nil)
	wantCode(t, err, chargehand.CodeExecutionNotFound)
	err = fx.Follow(t.Context(), fx.test, topics[MaxTopics-1:], view, nil)
	wantCode(t, err, chargehand.CodeBatchNotFound)
}

// TestFollowEndsWithTheKey: a stream ends when its key is revoked, here or on another node, and when its rights change.
func TestFollowEndsWithTheKey(t *testing.T) {
	fx := newFixture(t, shared)
	other := fx.node(nil)
	e := fx.create(fx.apply(definition("flow", "1.0.0")).ID, noInput)
	for _, node := range []*fixture{fx, other} {
		made, _, err := fx.CreateKey(t.Context(), fx.p, CreateKey{Body: map[string]any{"name": "x", "preset": "all"}})
		if err != nil {
			t.Fatal(err)
		}
		p, err := fx.Authenticate(t.Context(), made.Secret, localhost)
		if err != nil {
			t.Fatal(err)
		}
		used := fx.uses.lastMs(p.KeyNo)
		fx.pass(time.Second)
		r := fx.follows(t, func(ctx context.Context, send func([]StreamEvent) error) error {
			return fx.FollowExecution(ctx, p, FollowExecution{Workflow: e.Workflow, Execution: e.ID}, send)
		})
		r.want("initial")
		waits := make(chan error, 1)
		held, release := fx.Hold(t.Context(), p)
		defer release()
		go func() {
			_, err := fx.GetExecution(held, p, e.Workflow, e.ID, View{Wait: time.Minute})
			waits <- err
		}()
		if err := node.RevokeKey(t.Context(), fx.p, made.ID); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		r.wantEnd(EndRevoked)
		if err := <-waits; err != nil {
			t.Errorf("the request that waited got %v", err)
		}
		if took := time.Since(began); took > 30*time.Second { // a second, on a machine that has time
			t.Errorf("they ended after %s", took)
		}
		if now := fx.uses.lastMs(p.KeyNo); now != used {
			t.Errorf("the stream counts as a use of the key")
		}
	}
	if fx.holds.mu.Lock(); len(fx.holds.byKey) != 0 {
		t.Errorf("%d keys are still held", len(fx.holds.byKey))
	}
	fx.holds.mu.Unlock()
}

// TestFollowIsBounded: streams of one key and of the server have a limit, and give their places back.
func TestFollowIsBounded(t *testing.T) {
	fx := newFixture(t, func(c *Config) { c.Limits.EventStreamsPerKey, c.Limits.EventStreams = 2, 3 })
	e := fx.create(fx.apply(definition("flow", "1.0.0")).ID, noInput)
	one, two := *fx.p, *fx.p
	one.KeyNo, two.KeyNo = 1001, 1002
	follow := func(p *Principal) *reader {
		r := fx.follows(t, func(ctx context.Context, send func([]StreamEvent) error) error {
			return fx.Follow(ctx, p, []Topic{{TopicExecution, e.ID}}, view, send)
		})
		return r
	}
	first := follow(&one)
	first.want("initial")
	follow(&one).want("initial")
	wantCode(t, <-follow(&one).end, chargehand.CodeQuotaExceeded)
	follow(&two).want("initial")
	wantCode(t, <-follow(&two).end, chargehand.CodeUnavailable)
	first.cancel()
	if err := <-first.end; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	follow(&two).want("initial")
}

// TestTimelinesOfLeftStreams: who opens streams and leaves them at once does not have their timelines read.
func TestTimelinesOfLeftStreams(t *testing.T) {
	fx := telling(newFixture(t))
	e := fx.create(fx.apply(definition("flow", "1.0.0")).ID, noInput)
	fx.run(e.ID, store.StateActive)
	fx.engine.traced(e.ID, entry("a", 1, 1, 0))
	follow := func() *reader {
		r := fx.follows(t, func(ctx context.Context, send func([]StreamEvent) error) error {
			return fx.FollowExecution(ctx, fx.p, FollowExecution{Workflow: e.Workflow, Execution: e.ID}, send)
		})
		r.want("processing")
		return r
	}
	for range liveTimelines { // others are being read
		fx.live.timelines <- struct{}{}
	}
	for range 5 * liveTimelines {
		r := follow()
		r.cancel()
		if err := <-r.end; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	before, last := fx.engine.read.Load(), follow()
	for range liveTimelines {
		<-fx.live.timelines
	}
	last.want("1 a")
	if n := fx.engine.read.Load() - before; n != 1 {
		t.Errorf("%d timelines were read", n)
	}
}

// TestSlowReader: one who takes too long for what is sent at once is cut, and may come back. One who is behind gets
// everything, also what is not kept in memory.
func TestSlowReader(t *testing.T) {
	fx := telling(newFixture(t))
	e := fx.create(fx.apply(definition("flow", "1.0.0")).ID, noInput)
	fx.run(e.ID, store.StateActive)
	var lines []machine.Entry
	for seq := 1; seq <= keptTaskEvents; seq++ {
		lines = append(lines, entry("a", seq, 2*seq-1, 2*seq))
	}
	fx.engine.traced(e.ID, lines[0])
	late := fx.follows(t, func(ctx context.Context, send func([]StreamEvent) error) error {
		return fx.FollowExecution(ctx, fx.p, FollowExecution{Workflow: e.Workflow, Execution: e.ID}, send)
	})
	late.want("processing", "1 a", "2 a completed")
	fx.engine.traced(e.ID, lines...)
	for no := 3; no <= 2*keptTaskEvents; no++ {
		want := fmt.Sprintf("%d a", no)
		if no%2 == 0 {
			want += " completed"
		}
		late.want(want)
	}
	late.cancel()
	if err := <-late.end; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	fx.live.slow = time.Nanosecond
	slow := fx.follows(t, func(ctx context.Context, send func([]StreamEvent) error) error {
		return fx.FollowExecution(ctx, fx.p, FollowExecution{Workflow: e.Workflow, Execution: e.ID}, send)
	})
	slow.want("processing")
	slow.wantEnd(EndSlow)
}

// TestLargeTaskEvents: of errors with long details, few are kept and sent at a time, and nevertheless all are sent.
func TestLargeTaskEvents(t *testing.T) {
	fx := telling(newFixture(t))
	e := fx.create(fx.apply(definition("flow", "1.0.0")).ID, noInput)
	fx.run(e.ID, store.StateActive)
	const failures, size = 20, 100 << 10
	var lines []machine.Entry
	for seq := 1; seq <= failures; seq++ {
		one := entry("a", seq, 2*seq-1, 2*seq)
		one.Phase, one.Fault = chargehand.Faulted, &machine.Fault{Type: "https://example.com/x", Detail: strings.Repeat("x", size)}
		lines = append(lines, one)
	}
	fx.engine.traced(e.ID, lines...)
	var largest atomic.Int64
	f := fx.follows(t, func(ctx context.Context, send func([]StreamEvent) error) error {
		return fx.FollowExecution(ctx, fx.p, FollowExecution{Workflow: e.Workflow, Execution: e.ID}, func(events []StreamEvent) error {
			n := 0
			for i := range events {
				one := taskEvent{task: events[i].Task}
				n += one.bytes()
			}
			largest.Store(max(largest.Load(), int64(n)))
			return send(events)
		})
	})
	f.want("processing")
	for no := 1; no <= 2*failures; no++ {
		want := fmt.Sprintf("%d a", no)
		if no%2 == 0 {
			want += " faulted"
		}
		f.want(want)
	}
	if n := largest.Load(); n > taskEventBytes+size || n < size {
		t.Errorf("%d bytes were sent at once", n)
	}
	fx.live.mu.Lock()
	defer fx.live.mu.Unlock()
	for _, topic := range fx.live.topics {
		if n := len(topic.tasks.list); n == 0 || n > 2*(taskEventBytes/size)+1 {
			t.Errorf("%d events are kept", n)
		}
	}
}

// TestTaskEvents: what may be on its way is waited for, and what is lost is a gap, also while the execution runs.
func TestTaskEvents(t *testing.T) {
	many := func(n, from int) (lines []machine.Entry) {
		for seq := from; seq < from+n; seq++ {
			lines = append(lines, entry("a", seq, 2*seq-1, 2*seq))
		}
		return lines
	}
	for _, test := range []struct {
		name   string
		lines  []machine.Entry
		final  bool
		moving bool
		want   string
	}{
		{"none", nil, true, false, ""},
		{"whole", many(2, 1), false, false, "1 2 3 4"},
		{"the first is on its way", []machine.Entry{entry("b", 2, 2, 3), entry("c", 3, 4, 0)}, false, true, ""},
		{"one between is on its way", []machine.Entry{entry("b", 1, 1, 2), entry("c", 3, 4, 0)}, false, true, "1 2"},
		{"some are lost, and it continues", []machine.Entry{entry("b", 2, 2, 3), entry("c", 3, 5, 0)}, false, false, "1-1 2 3 4-4 5"},
		{"some are lost, and it has ended", []machine.Entry{entry("b", 2, 2, 3), entry("c", 3, 5, 0)}, true, false, "1-1 2 3 4-4 5"},
		{"it has ended meanwhile", []machine.Entry{entry("b", 2, 2, 3), entry("c", 3, 5, 0)}, true, true, "1-1 2 3 4-4 5"},
	} {
		t.Run(test.name, func(t *testing.T) {
			fx := newFixture(t)
			fx.engine.lines, fx.engine.moving = test.lines, test.moving
			list, err := fx.taskEvents(t.Context(), 1, test.final)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range list {
				if text := fmt.Sprint(e.to); e.task == nil {
					got = append(got, fmt.Sprintf("%d-%d", e.from, e.to))
				} else {
					got = append(got, text)
				}
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("events %v, want %s", got, test.want)
			}
		})
	}
	fx := newFixture(t)
	fx.engine.lines = many(engine.TimelineEntries, 6)
	list, err := fx.taskEvents(t.Context(), 1, false)
	if err != nil || list[0].from != 1 || list[0].to != 10 || list[0].task != nil || len(list) != 1+2*engine.TimelineEntries {
		t.Errorf("with a timeline that was cut: %d events, the first is %+v, %v", len(list), list[0], err)
	}
}
