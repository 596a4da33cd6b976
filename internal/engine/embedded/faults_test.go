package embedded

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// faultsPerRound is the number of faults that one engine has to live with.
const faultsPerRound = 50

// faultsTime is what all faults together, and what they make run again, may add to the time of a script.
const faultsTime = time.Hour

// TestRandomFaults injects faults at random into starts, at once and later, batches, events, children and
// cancellations. Every accepted execution ends, no bound is exceeded, and in the end the engine
// holds nothing. CHARGEHAND_FAULTS is the number of faults. CHARGEHAND_FAULTS_SEED is the seed of a
// round that is to be repeated.
func TestRandomFaults(t *testing.T) {
	rounds, first := 2, rand.Uint64N(1_000_000)
	if text := os.Getenv("CHARGEHAND_FAULTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("CHARGEHAND_FAULTS is not a number: %q", text)
		}
		rounds = (n + faultsPerRound - 1) / faultsPerRound
	}
	if text := os.Getenv("CHARGEHAND_FAULTS_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("CHARGEHAND_FAULTS_SEED is not a number: %q", text)
		}
		rounds, first = 1, seed
	}
	var total [faults]int
	for round := range uint64(rounds) {
		seed := first + round
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				counts := faultRound(t, seed)
				for kind, n := range counts {
					total[kind] += n
				}
			})
		})
		if t.Failed() {
			t.Fatalf("repeat it with CHARGEHAND_FAULTS_SEED=%d", seed)
		}
	}
	for kind, n := range total {
		if kind != int(noFault) {
			t.Logf("%v: %d times", faultKind(kind), n)
		}
	}
}

// faulting is one round of TestRandomFaults.
type faulting struct {
	*fixture
	t      *testing.T
	faulty *faultyDB
	want   map[int64]string        // results by revision
	within map[int64]time.Duration // what each may take without faults

	mu       sync.Mutex
	random   *rand.Rand
	left     int // faults to come
	accepted []store.Execution
	batches  []store.Batch
	exceeded []string
}

func faultRound(t *testing.T, seed uint64) [faults]int {
	f := &faulting{
		fixture: newFixture(t), t: t, want: make(map[int64]string), within: make(map[int64]time.Duration),
		random: rand.New(rand.NewPCG(seed, 7)),
	}
	f.limits.AccountSlots = 3
	if seed%2 == 1 {
		f.limits.SlotsPerKey, f.limits.CallsPerKey = 2, 1
		f.by = func() int64 { return int64(f.n(3)) }
	}
	f.faulty = &faultyDB{DB: f.db, free: make(chan struct{})}
	f.rows = store.New(f.faulty)
	f.start()
	defer f.stop()
	f.measure()
	f.left = faultsPerRound
	f.faulty.mu.Lock()
	f.faulty.plan, f.faulty.reads, f.faulty.check = f.next, f.nextRead, f.bounds
	f.faulty.mu.Unlock()
	var load sync.WaitGroup
	for range 4 {
		load.Go(f.starts)
	}
	load.Go(f.runBatches)
	load.Go(f.publishes)
	listens := f.define("- a: { listen: { to: { one: { with: { type: meet } } } } }\n- b: { set: { x: 1 } }")
	load.Go(func() { f.meets(listens) })
	load.Wait()
	f.want[listens] = `{"x":1}`
	f.begun()
	f.meet(-1) // for those whose start was refused though it was made
	f.ends()
	f.faulty.mu.Lock()
	defer f.faulty.mu.Unlock()
	return f.faulty.counts
}

// measure finds out how each workflow ends without faults.
func (f *faulting) measure() {
	names := make([]string, 0, len(scripts))
	for name := range scripts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		rev := scripts[name].define(f.fixture)
		row := f.run(rev, `{"x":1}`)
		f.endOf(row, scripts[name].bound())
		f.want[rev], f.within[rev] = f.result(row.No), scripts[name].bound()
	}
	f.allEnd(faultsTime)
}

// longest is what the longest script may take.
func (f *faulting) longest() time.Duration { return slices.Max(slices.Collect(maps.Values(f.within))) }

// n returns a random number below max.
func (f *faulting) n(max int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.IntN(max)
}

// next plans an Update: one of eight goes wrong.
func (f *faulting) next() fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left <= 0 || f.random.IntN(8) > 0 {
		return fault{}
	}
	f.left--
	return fault{
		kind:      faultKind(1 + f.random.IntN(int(faults)-1)),
		statement: 1 + f.random.IntN(8),
		delay:     time.Duration(1+f.random.IntN(3000)) * time.Millisecond,
	}
}

func (f *faulting) nextRead() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left <= 0 || f.random.IntN(60) > 0 {
		return nil
	}
	if f.random.IntN(2) == 0 {
		return errBroken
	}
	return errStatement
}

// bounds counts active executions in the rows, before each commit.
func (f *faulting) bounds(c store.Conn) error {
	total := int64(0)
	err := c.Query(`SELECT e.batch, COUNT(*), MAX(b.concurrency) FROM execution e LEFT JOIN batch b ON b.no = e.batch
 WHERE e.state = 3 GROUP BY e.batch`, func(r store.Row) error {
		batch, n := r.Int(0), r.Int(1)
		if total += n; batch != 0 && n > r.Int(2) {
			f.exceed("batch %d has %d active executions", batch, n)
		}
		return nil
	})
	if total > int64(f.limits.AccountSlots) {
		f.exceed("the account has %d active executions", total)
	}
	if err != nil || f.limits.SlotsPerKey == 0 {
		return err
	}
	return c.Query(`SELECT COALESCE(root_by, started_by), COUNT(*) FROM execution WHERE state = 3
 GROUP BY 1, CASE WHEN COALESCE(root_by, started_by) = 0 THEN workflow END`, func(r store.Row) error {
		if r.Int(1) > int64(f.limits.SlotsPerKey) {
			f.exceed("key %d has %d active executions", r.Int(0), r.Int(1))
		}
		return nil
	})
}

func (f *faulting) exceed(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.exceeded = append(f.exceeded, fmt.Sprintf(format, args...))
}

// goesOn reports whether there are faults to come.
func (f *faulting) goesOn() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left > 0
}

// starts accepts executions, some of which start later, and cancels some.
func (f *faulting) starts() {
	revisions := make([]int64, 0, len(f.want))
	for rev := range f.want {
		revisions = append(revisions, rev)
	}
	slices.Sort(revisions)
	for f.goesOn() {
		rev := revisions[f.n(len(revisions))]
		start := func() (store.Execution, error) { return f.startOne(rev, `{"x":1}`) }
		if f.n(4) == 0 {
			start = func() (store.Execution, error) {
				return f.startLater(rev, time.Duration(1+f.n(2000))*time.Millisecond)
			}
		}
		row, err := start()
		if err == nil {
			f.mu.Lock()
			f.accepted = append(f.accepted, row)
			f.mu.Unlock()
			switch f.n(5) {
			case 0:
				err = f.engine.Cancel(f.t.Context(), row.ID, "enough")
			case 1, 2:
				err = f.suspend(row)
			}
		}
		if err != nil && !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, errStatement) &&
			!errors.Is(err, engine.ErrFinal) {
			f.t.Errorf("start and cancel: %v", err)
		}
		time.Sleep(time.Duration(f.n(400)) * time.Millisecond)
	}
}

// suspend suspends an execution for a while.
func (f *faulting) suspend(row store.Execution) error {
	err := f.engine.Suspend(f.t.Context(), row.ID)
	time.Sleep(time.Duration(f.n(3000)) * time.Millisecond)
	for first := true; ; first = false {
		again := f.engine.Resume(f.t.Context(), row.ID)
		switch {
		case again == nil, errors.Is(again, engine.ErrFinal):
			return err
		case errors.Is(again, engine.ErrNotSuspended):
			if err == nil && first { // one that failed may have been written
				f.t.Errorf("execution %v is not suspended any more", row.ID)
			}
			return err
		case !errors.Is(again, store.ErrUnavailable) && !errors.Is(again, errStatement):
			return again
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// runBatches runs batches beside each other, and cancels one.
func (f *faulting) runBatches() {
	rev := f.define(`
- a: { call: http, with: { method: get, endpoint: http://x/slow/20 } }
- b: { wait: { milliseconds: 30 } }
- c: { call: http, with: { method: get, endpoint: http://x/slow/20 } }`)
	ends := f.define("- a: { set: { x: 1 } }")
	for i, revision := range []int64{rev, ends, rev} {
		b := f.batch(revision, 1+i, numbered(15))
		f.batches = append(f.batches, b)
		time.Sleep(time.Duration(f.n(800)) * time.Millisecond)
		if i == 2 {
			err := f.engine.CancelBatch(f.t.Context(), b.ID, "enough")
			for errors.Is(err, store.ErrUnavailable) || errors.Is(err, errStatement) {
				time.Sleep(100 * time.Millisecond)
				err = f.engine.CancelBatch(f.t.Context(), b.ID, "more than enough")
			}
			if err != nil && !errors.Is(err, engine.ErrFinal) {
				f.t.Errorf("cancel a batch: %v", err)
			}
		}
	}
}

func (f *faulting) publishes() {
	for i := range 20 {
		ev := map[string]any{
			"specversion": "1.0", "id": strconv.Itoa(i), "source": "https://example.com", "type": "of no interest",
			"time": "2026-01-01T00:00:00Z",
		}
		from := engine.Publisher{Account: f.account.No, Environment: chargehand.Live}
		err := f.engine.Publish(f.t.Context(), from, []map[string]any{ev})
		if err != nil && !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, errStatement) {
			f.t.Errorf("publish: %v", err)
		}
		time.Sleep(time.Duration(f.n(300)) * time.Millisecond)
	}
}

// meets starts executions that wait for an event, and publishes it.
func (f *faulting) meets(revision int64) {
	for i := 0; f.goesOn(); i++ {
		if row, err := f.startOne(revision, `{}`); err == nil {
			f.mu.Lock()
			f.accepted = append(f.accepted, row)
			f.mu.Unlock()
			f.begun()
			f.meet(i)
		}
		time.Sleep(time.Duration(f.n(400)) * time.Millisecond)
	}
}

// begun waits until nothing is queued: an execution gets events that are published since its start (T60).
func (f *faulting) begun() {
	for {
		var unfinished store.StateCounts
		err := f.store.View(f.t.Context(), func(r *store.Reader) (err error) {
			unfinished, err = r.CountUnfinished()
			return err
		})
		if err == nil && unfinished[store.StateQueued] == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// meet publishes an event for them, until it is accepted.
func (f *faulting) meet(i int) {
	ev := map[string]any{"specversion": "1.0", "id": strconv.Itoa(i), "source": "https://example.com/meet", "type": "meet"}
	from := engine.Publisher{Account: f.account.No, Environment: chargehand.Live}
	err := f.engine.Publish(f.t.Context(), from, []map[string]any{ev})
	for errors.Is(err, store.ErrUnavailable) || errors.Is(err, errStatement) {
		time.Sleep(100 * time.Millisecond)
		err = f.engine.Publish(f.t.Context(), from, []map[string]any{ev})
	}
	if err != nil {
		f.t.Errorf("publish: %v", err)
	}
}

// ends checks how everything has ended. A waiter that is not notified waits too long.
func (f *faulting) ends() {
	for _, row := range f.accepted {
		row := f.finalIn(row, f.within[row.Revision]+faultsTime)
		got := f.result(row.No)
		gaveUp := f.log.contains(fmt.Sprintf("execution=%v failures=%d", row.ID, maxFailures))
		if got != f.want[row.Revision] && got != "fault cancelled" && !(gaveUp && got == "fault internal") {
			f.t.Errorf("execution %v of %d ended with %s, want %s", row.ID, row.Revision, got, f.want[row.Revision])
		}
	}
	for _, b := range f.batches {
		b = awaitChange(f.fixture, b.ID, faultsTime, "final", func() (store.Batch, bool) {
			b := f.readBatch(b.No)
			return b, b.Status.Final()
		})
		finished, failed := int64(0), int64(0)
		for _, row := range f.items(b.No) {
			if row.Status == chargehand.Finished {
				finished++
			} else if row.Status.Final() {
				failed++
			}
		}
		if b.Finished != finished || b.Failed != failed || finished+failed != b.Total {
			f.t.Errorf("%d items finished and %d failed: %+v", finished, failed, b)
		}
	}
	f.allEnd(f.longest() + faultsTime) // also of starts that were refused though they were made
	f.t.Logf("%+v", f.engine.Stats())
	for _, text := range f.exceeded {
		f.t.Error(text)
	}
	if f.t.Failed() {
		f.t.Log(f.log)
	}
}
