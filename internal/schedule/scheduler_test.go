package schedule

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

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/storetest"
)

func TestStepStartsWhatIsDue(t *testing.T) {
	w := newFixture(t)
	w.publish(1, "{every: PT1M}")
	w.publish(2, "{cron: '*/5 * * * *'}")
	s := w.scheduler()
	if wait := w.step(s); wait != time.Minute {
		t.Errorf("it sleeps for %s", wait)
	}
	w.runs(1, 0)
	for range 10 {
		w.pass(time.Minute)
		w.step(s)
		w.step(s)
	}
	w.runs(1, 10)
	w.runs(2, 2)
	w.pass(31 * 24 * time.Hour)
	w.step(w.scheduler()) // after a restart
	w.runs(1, 11)
	w.runs(2, 3)
	if got := w.started(1)[0]; got != "{}" {
		t.Errorf("the input is %s", got)
	}
}

func TestNothingIsScheduled(t *testing.T) {
	w := newFixture(t)
	s := w.scheduler()
	if wait := w.step(s); wait != maxSleep {
		t.Errorf("it sleeps for %s", wait)
	}
	// Published without knowing whether it has a schedule.
	w.plans[1] = compiled(t, "}\ndo: [{a: {set: {x: 1}}}]")
	w.update(func(tx *store.Tx) error { return tx.ActivateSchedule(1, 1, 1, begin) })
	w.step(s)
	w.view(func(r *store.Reader) error {
		if a, err := r.Agenda(0); err != nil || a.Any {
			t.Errorf("the row is still there: %+v, %v", a, err)
		}
		return nil
	})
}

func (w *fixture) view(fn func(*store.Reader) error) {
	w.t.Helper()
	if err := w.rows.View(context.Background(), fn); err != nil {
		w.t.Fatal(err)
	}
}

func TestAfterWaitsForTheEnd(t *testing.T) {
	w := newFixture(t)
	w.publish(1, "{after: PT10S}")
	s := w.scheduler()
	for n := range 5 {
		if wait := w.step(s); wait > checkEvery {
			t.Errorf("it sleeps for %s", wait)
		}
		w.runs(1, n+1)
		w.pass(time.Hour) // the run takes long
		w.step(s)
		w.runs(1, n+1)
		w.end()
		w.step(s)
		w.pass(9 * time.Second)
		w.step(s)
		w.runs(1, n+1)
		w.pass(time.Second)
	}
}

// A version that is replaced starts nothing any more, though a node has read its row.
func TestVersionIsReplaced(t *testing.T) {
	w := newFixture(t)
	w.publish(1, "{every: PT1M}")
	s := w.scheduler()
	w.step(s)
	w.pass(time.Minute)
	var row store.Schedule
	w.view(func(r *store.Reader) (err error) {
		row, err = r.ScheduleOf(1)
		return err
	})
	w.publish(1, "{every: PT3M}")
	if err := s.handle(context.Background(), &row); err != nil {
		t.Errorf("who is too late: %v", err)
	}
	w.runs(1, 0)
	w.step(s)
	w.pass(2 * time.Minute)
	w.step(s)
	w.runs(1, 0)
	w.pass(time.Minute)
	w.step(s)
	w.runs(1, 1)
	w.update(func(tx *store.Tx) error { return tx.DeactivateSchedule(1) })
	w.pass(time.Hour)
	w.step(s)
	w.runs(1, 1)
}

func TestRefusedTickIsTriedAgain(t *testing.T) {
	w := newFixture(t)
	w.publish(1, "{every: PT1H}")
	w.publish(2, "{every: PT1H}")
	engineOf := &starter{rows: w.rows}
	s := w.scheduler(func(c *Config) { c.Starter = engineOf })
	w.step(s)
	full := engine.ErrQueueFull
	engineOf.refuse.Store(&full)
	w.pass(time.Hour)
	w.step(s)
	tries := engineOf.tries.Load()
	w.step(s)
	if engineOf.tries.Load() != tries {
		t.Error("it was tried again at once")
	}
	if wait := w.step(s); wait > minRetry {
		t.Errorf("it sleeps for %s", wait)
	}
	w.pass(minRetry)
	engineOf.refuse.Store(nil)
	w.step(s)
	w.runs(1, 1)
	w.runs(2, 1)
	w.pass(time.Hour - minRetry)
	w.step(s)
	w.runs(1, 2) // the grid has not moved
}

func TestZoneChanges(t *testing.T) {
	w := newFixture(t)
	w.publish(1, "{cron: '0 18 * * *'}")
	w.step(w.scheduler())
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	s := w.scheduler(func(c *Config) { c.Zone = berlin })
	w.step(s)
	w.pass(5 * time.Hour) // 17:00 UTC, 18:00 there
	w.step(s)
	w.runs(1, 1)
}

func TestEventsStartRuns(t *testing.T) {
	const order = "{with: {type: order}, correlate: {id: {from: .data.id}}}"
	const payment = "{with: {type: payment}, correlate: {id: {from: .data.id}}}"
	for name, test := range map[string]struct {
		schedule, unread string
		want             []string
	}{
		"one": {"{on: {one: {with: {type: order}}}}", "", []string{`[{"id":1}]`, `[{"id":2}]`, `[{"id":3}]`}},
		"any": {"{on: {any: [{with: {type: order, data: {id: 2}}}, {with: {type: payment}}]}}", "",
			[]string{`[{"id":2}]`, `[{"id":2,"paid":true}]`, `[{"id":1,"paid":true}]`}},
		"all, uncorrelated": {"{on: {all: [{with: {type: order}}, {with: {type: payment}}]}}", "",
			[]string{`[{"id":1},{"id":2,"paid":true}]`, `[{"id":2},{"id":1,"paid":true}]`}},
		"all, correlated": {"{on: {all: [" + order + ", " + payment + "]}}", "",
			[]string{`[{"id":2},{"id":2,"paid":true}]`, `[{"id":1},{"id":1,"paid":true}]`}},
		"envelope": {"{read: envelope, on: {one: {with: {type: payment, data: {id: 1}}}}}", "",
			[]string{`[{"data":{"id":1,"paid":true},"id":"4","source":"/test","specversion":"1.0","type":"payment"}]`}},
		"the default of the installation": {"{on: {one: {with: {type: payment, data: {id: 1}}}}}", "envelope",
			[]string{`[{"data":{"id":1,"paid":true},"id":"4","source":"/test","specversion":"1.0","type":"payment"}]`}},
		"until": {"{on: {any: [], until: 'length == 2'}}", "", []string{`[{"id":1},{"id":2}]`, `[{"id":2,"paid":true},{"id":1,"paid":true}]`}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t)
			w.event("order", `{"id":0}`) // before the publication
			w.count = 0
			w.publish(1, test.schedule)
			fresh := func() *Scheduler { return w.scheduler(func(c *Config) { c.Unread = test.unread }) }
			s := fresh()
			w.step(s)
			for _, e := range [][2]string{{"order", `{"id":1}`}, {"order", `{"id":2}`}, {"payment", `{"id":2,"paid":true}`}, {"payment", `{"id":1,"paid":true}`}, {"order", `{"id":3}`}} {
				w.event(e[0], e[1])
				w.step(s)
				s = fresh() // what it knows is in the rows
			}
			if got := w.started(1); !slices.Equal(got, test.want) {
				t.Errorf("runs %q, want %q", got, test.want)
			}
		})
	}
}

// A flood of events that begin matches and complete none is bounded.
func TestMatchesAreBounded(t *testing.T) {
	w := newFixture(t)
	w.publish(1, "{on: {all: [{with: {type: a}}, {with: {type: b}}]}}")
	s := w.scheduler()
	var list [][2]string
	for i := range maxMatches + 3 {
		list = append(list, [2]string{"a", fmt.Sprint(i)})
	}
	w.store(list)
	w.step(s)
	w.event("b", `"end"`)
	w.step(w.scheduler())
	if got := w.started(1); len(got) != 1 || got[0] != `[3,"end"]` {
		t.Errorf("runs %q", got)
	}
}

// TestLargeMatches: their states are in blobs, and in sum they are bounded as well.
func TestLargeMatches(t *testing.T) {
	w := newFixture(t)
	w.publish(1, "{on: {all: [{with: {type: a}, correlate: {n: {from: .data.n}}}, {with: {type: b}, correlate: {n: {from: .data.n}}}]}}")
	const size = 256 << 10
	scheduler := func() *Scheduler {
		s := w.scheduler()
		s.events.matchBytes = 8 * size
		return s
	}
	s := scheduler()
	w.step(s)
	filler := strings.Repeat("x", size)
	for n := range 9 { // each is followed by a rest of a quarter of a second
		w.event("a", fmt.Sprintf(`{"n":%d,"x":"%s"}`, n, filler))
		w.step(s)
		if n == 0 {
			if len(w.blobs.data) != 1 {
				t.Fatalf("%d states are in blobs", len(w.blobs.data))
			}
			w.event("b", `{"n":99}`)
			w.step(s)
			w.matches(1) // it rests
		}
		w.pass(300 * time.Millisecond)
		w.step(s)
	}
	w.matches(7) // each is a bit larger than the event in it
	w.pass(time.Minute)
	s = scheduler() // after a restart
	for n := range 9 {
		w.event("b", fmt.Sprintf(`{"n":%d}`, n))
		w.step(s)
		w.pass(time.Minute)
		w.step(s)
	}
	w.runs(1, 7)
	var first string
	err := w.db.View(t.Context(), func(c store.Conn) error {
		return c.Query(`SELECT data FROM input ORDER BY execution LIMIT 1`, func(r store.Row) error {
			first = string(r.Bytes(0))
			return nil
		})
	})
	if err != nil || !strings.HasPrefix(first, `[{"n":2,`) || len(first) < size {
		t.Errorf("the first input of %d bytes begins with %.20s (%v)", len(first), first, err)
	}
	storetest.CheckInvariants(t, w.db)
	w.update(func(tx *store.Tx) error { return tx.DeactivateSchedule(1) })
	storetest.CheckInvariants(t, w.db)
}

// matches wants that many of workflow 1.
func (w *fixture) matches(want int) {
	w.t.Helper()
	w.view(func(r *store.Reader) error {
		s, err := r.ScheduleOf(1)
		list, err2 := r.Matches(s.No)
		if len(list) != want {
			w.t.Fatalf("%d matches, want %d", len(list), want)
		}
		return errors.Join(err, err2)
	})
}

// mortal is a database that dies after its nth commit: that one is written, but its caller gets an error.
type mortal struct {
	store.DB
	left *atomic.Int64
}

func (m mortal) Update(ctx context.Context, fn func(store.Conn) error) error {
	if m.left.Load() <= 0 {
		return store.ErrUnavailable
	}
	err := m.DB.Update(ctx, fn)
	if err == nil && m.left.Add(-1) <= 0 {
		return store.ErrUnavailable
	}
	return err
}

// TestCrashAfterEveryCommit crashes after each commit of a story, and wants the same runs.
func TestCrashAfterEveryCommit(t *testing.T) {
	story := func(t *testing.T, crash int64) (runs [4][]string, commits int64) {
		w := newFixture(t)
		w.publish(1, "{every: PT1M}")
		w.publish(2, "{after: PT30S}")
		w.publish(3, "{on: {all: [{with: {type: a}}, {with: {type: b}}]}}")
		left := new(atomic.Int64)
		left.Store(crash)
		life := func() *Scheduler { return w.schedulerOver(store.New(mortal{w.db, left})) }
		s := life()
		for i := range 6 {
			for {
				_, err := s.Step(context.Background())
				if err == nil {
					break
				}
				if !errors.Is(err, store.ErrUnavailable) || left.Load() > 0 {
					t.Fatal(err)
				}
				left.Store(1 << 40)
				s = life()
			}
			w.end()
			w.event([]string{"a", "a", "b", "c", "b", "b"}[i], fmt.Sprint(i))
			w.pass(30 * time.Second)
		}
		for i := range runs {
			runs[i] = w.started(int64(i))
		}
		return runs, crash - left.Load()
	}
	want, commits := story(t, 1<<30)
	if len(want[1]) != 2 || len(want[2]) < 3 || len(want[3]) != 2 {
		t.Fatalf("the story makes the runs %q", want)
	}
	t.Logf("%d commits", commits)
	for crash := int64(1); crash <= commits; crash++ {
		if got, _ := story(t, crash); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("after a crash at commit %d: runs %q, want %q", crash, got, want)
		}
	}
}

// TestNodesRace lets two nodes work beside each other, without the lease that keeps them apart.
func TestNodesRace(t *testing.T) {
	server := peer.StartPostgres(t, peer.PostgresOptions{Careless: true})
	url := server.NewSchema(t)
	open := func() store.DB {
		db, err := postgres.Open(t.Context(), postgres.Options{URL: url, Mode: postgres.Shared})
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	w := fixtureOver(t, open())
	other := store.New(open())
	defer other.Close()
	const workflows, rounds = 20, 15
	for i := range int64(workflows) {
		w.publish(i+1, []string{"{every: PT1S}", "{cron: '* * * * * *'}", "{every: PT1S, cron: '* * * * * *'}", "{on: {one: {with: {type: a}}}}"}[i%4])
	}
	one, two := w.scheduler(), w.schedulerOver(other)
	w.step(one)
	for round := range rounds {
		w.pass(time.Second)
		w.event("a", fmt.Sprint(round))
		var working sync.WaitGroup
		for _, s := range []*Scheduler{one, two} {
			working.Go(func() {
				if _, err := s.Step(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		working.Wait()
		w.step(one) // who was kept away by a lock may have left something
		w.step(two)
	}
	for i := range int64(workflows) {
		w.runs(i+1, rounds)
	}
}

// One node works at a time; another one takes over when it stops, and when it is gone for long.
func TestLease(t *testing.T) {
	w := newFixture(t)
	w.publish(1, "{every: PT1S}")
	shared := func(c *Config) { c.Shared = true }
	one, two := w.scheduler(shared), w.scheduler(shared)
	w.step(one)
	w.pass(time.Second)
	if wait := w.step(two); wait != sharedEvery {
		t.Errorf("the other one sleeps for %s", wait)
	}
	w.runs(1, 0)
	w.step(one)
	w.runs(1, 1)
	w.pass(leaseTime) // one is gone
	w.step(two)
	w.runs(1, 2)
	two.releaseLease(context.Background())
	w.pass(time.Second)
	w.step(w.scheduler(shared))
	w.runs(1, 3)
}

func TestRunStartsAndEnds(t *testing.T) {
	w := newFixture(t)
	s := w.scheduler()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx)
	}()
	w.publish(1, "{after: PT1H}")
	s.Notify()
	for len(w.started(1)) == 0 {
		s.Notify()
	}
	cancel()
	<-ended
	w.runs(1, 1)
}

// BenchmarkSleeping is a check of 10,000 schedules of which none is due.
func BenchmarkSleeping(b *testing.B) {
	w := newFixture(b)
	w.plans[1] = scheduled(b, "{every: PT1H}")
	w.update(func(tx *store.Tx) error {
		for i := range int64(10_000) {
			if err := tx.ActivateSchedule(1, i+1, 1, begin); err != nil {
				return err
			}
		}
		return nil
	})
	s := w.scheduler()
	from := time.Now()
	w.step(s)
	b.Logf("10,000 first checks take %s", time.Since(from))
	w.pass(time.Hour)
	from = time.Now()
	w.step(s)
	b.Logf("10,000 runs at the same moment take %s", time.Since(from))
	for b.Loop() {
		w.step(s)
	}
}

// What becomes due while others are started is not forgotten, and what was in trouble and is
// gone costs no work.
func TestSleepIsNeitherTooLongNorTooShort(t *testing.T) {
	w := newFixture(t)
	w.publish(1, "{every: PT10S}")
	w.publish(2, "{every: PT11S}")
	slow := &starter{rows: w.rows}
	s := w.scheduler(func(c *Config) { c.Starter = startAfter{slow, func() { w.pass(2 * time.Second) }} })
	w.step(s)
	w.pass(10 * time.Second)
	if wait := w.step(s); wait > time.Millisecond {
		t.Errorf("with something due, it sleeps for %s", wait)
	}
	w.step(s)
	w.runs(2, 1)

	full := engine.ErrQueueFull
	slow.refuse.Store(&full)
	w.pass(time.Minute)
	w.step(s)
	w.update(func(tx *store.Tx) error { return errors.Join(tx.DeactivateSchedule(1), tx.DeactivateSchedule(2)) })
	w.pass(time.Minute)
	if wait := w.step(s); wait < checkEvery {
		t.Errorf("with nothing due, it sleeps for %s", wait)
	}
	w.pass(time.Hour)
	if w.step(s); len(s.troubles) != 0 {
		t.Error("it remembers what is gone")
	}
}

// startAfter does something before it starts.
type startAfter struct {
	Starter
	do func()
}

func (s startAfter) StartFiring(ctx context.Context, r Firing) error {
	s.do()
	return s.Starter.StartFiring(ctx, r)
}
