package seed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/rollup"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

// Options say what history is made. Executions is required.
type Options struct {
	Executions int
	Seed       uint64        // of all that is chosen
	Now        time.Time     // when the history ends; default: now
	Span       time.Duration // how long it lasts; default: 28 days, less than executions are kept
	Waiting    bool          // all executions wait for a time, a month after Now at the earliest
	Progress   func(done int)
}

// Open opens the database of an installation whose server does not run: a database at that address or, if it is empty,
// the one in the data directory.
func Open(ctx context.Context, dataDir, databaseURL string) (*store.Store, error) {
	var db store.DB
	var err error
	if databaseURL != "" {
		db, err = postgres.Open(ctx, postgres.Options{URL: databaseURL, Mode: postgres.Shared, Writers: 1, Readers: 1})
	} else {
		db, err = sqlite.Open(sqlite.Options{Path: filepath.Join(dataDir, installation.DatabaseName), Owner: true})
	}
	if err != nil {
		return nil, err
	}
	return store.New(db), nil
}

// history makes executions in the order of their creation.
type history struct {
	Options
	random    *rand.Rand
	account   int64
	keys      []int64 // that may have started executions
	workflows []workflow
	child     *workflow
	made      int
	failed    []*made // some that may be retried
}

// ending is how long before the end of a history its last execution begins, so that no end lies in the future.
const ending = time.Hour

// Fill adds a history to an installation: its oldest account gets the workflows, executions and batches. All of them
// are counted by the hour when it returns.
func Fill(ctx context.Context, st *store.Store, o Options) error {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	o.Span = cmp.Or(o.Span, 28*24*time.Hour)
	h := &history{Options: o, random: rand.New(rand.NewPCG(o.Seed, uint64(o.Executions)))}
	err := st.View(ctx, func(r *store.Reader) error {
		accounts, err := r.Accounts()
		if err == nil && len(accounts) == 0 {
			err = errors.New("the database holds no installation: a server that was started once makes one")
		}
		if err != nil {
			return err
		}
		h.account = accounts[0].No
		keys, err := r.ListKeys(h.account, chargehand.Live, chargehand.KeyID{}, 10)
		for i := range keys {
			h.keys = append(h.keys, keys[i].No)
		}
		return err
	})
	if err != nil {
		return err
	}
	if h.workflows, err = putWorkflows(ctx, st, h.account, o.Now.Add(-o.Span-ending)); err != nil {
		return err
	}
	for i := range h.workflows {
		if h.workflows[i].kind == child {
			h.child = &h.workflows[i]
		}
	}
	if err := h.fill(ctx, st); err != nil {
		return err
	}
	return rollup.New(rollup.Config{Store: st}).Pass(ctx)
}

// fill writes parts while the next ones are made.
func (h *history) fill(ctx context.Context, st *store.Store) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	parts := make(chan *part, 4)
	go func() {
		defer close(parts)
		for items := 0; h.made < h.Executions; {
			var p *part
			switch {
			case h.Waiting:
				p = h.waiting()
			case items < h.made*2/5: // two of five are items of a batch
				p = h.batch()
				items += len(p.list)
			default:
				p = h.singles()
			}
			select {
			case parts <- p:
			case <-ctx.Done():
				return
			}
		}
	}()
	done := 0
	for p := range parts {
		if err := st.Update(ctx, p.write); err != nil {
			return fmt.Errorf("write executions: %w", err)
		}
		if done += p.size(); h.Progress != nil {
			h.Progress(done)
		}
	}
	return nil
}

// nowMs is when the next execution is created.
func (h *history) nowMs() int64 {
	begin := h.Now.Add(-h.Span - ending).UnixMilli()
	return begin + int64(float64(h.Span.Milliseconds())*float64(h.made)/float64(h.Executions))
}

// row begins an execution of a workflow that is created now.
func (h *history) row(w *workflow, low uint64) store.Execution {
	h.made++
	return store.Execution{ID: newID(h.nowMs(), low), Account: h.account, Environment: chargehand.Live, Workflow: w.No}
}

// workflow chooses a workflow by weight.
func (h *history) workflow() *workflow {
	n := h.random.IntN(100)
	for i := range h.workflows {
		if n -= h.workflows[i].weight; n < 0 {
			return &h.workflows[i]
		}
	}
	panic("the weights of workflows do not add up to 100")
}

// version chooses a version: newer ones as time passes.
func (h *history) version(w *workflow) *version {
	at := len(w.versions) * h.made / (h.Executions + 1)
	return &w.versions[max(0, at-h.random.IntN(2))]
}

func (h *history) input() map[string]any {
	return map[string]any{
		"n": h.random.IntN(100_000), "customer": fmt.Sprint("c-", h.random.IntN(20_000)),
		"days": 2 + h.random.IntN(6), "refused": h.random.IntN(50) == 0,
	}
}

// singlesAtOnce is how many executions without a batch are written together.
const singlesAtOnce = 500

// singles makes executions without a batch.
func (h *history) singles() *part {
	p := &part{}
	for len(p.list) < singlesAtOnce && h.made < h.Executions {
		p.list = append(p.list, h.single())
	}
	return p
}

// waiting makes executions that wait.
func (h *history) waiting() *part {
	p := &part{}
	for i := range h.workflows {
		w := &h.workflows[i]
		if w.kind != waits {
			continue
		}
		for len(p.list) < singlesAtOnce && h.made < h.Executions {
			m := &made{}
			m.row = h.row(w, h.random.Uint64())
			h.run(m, h.version(w), h.input(), succeeds, 0)
			p.list = append(p.list, m)
		}
	}
	return p
}

func (h *history) single() *made {
	r, w, m := h.random, h.workflow(), &made{}
	m.row = h.row(w, r.Uint64())
	row, input, outcome := &m.row, h.input(), h.outcome()
	row.Labels = h.labels()
	switch n := r.IntN(100); {
	case n < 15:
		row.Cause = store.CauseSchedule
	case n < 25:
		row.Cause = store.CauseEvent
	case n < 30 && len(h.failed) > 0:
		first := h.failed[r.IntN(len(h.failed))]
		row.RetryOf, row.Workflow = first.row.ID, first.row.Workflow
		for i := range h.workflows {
			if h.workflows[i].No == row.Workflow {
				w = &h.workflows[i]
			}
		}
	}
	if row.Cause == store.CauseRequest && len(h.keys) > 0 {
		row.StartedBy = h.keys[r.IntN(len(h.keys))]
	}
	if r.IntN(20) == 0 {
		row.Environment = chargehand.Test
		row.StartedBy = 0 // the keys are of live
	}
	if r.IntN(500) == 0 {
		h.delay(m, w, input)
		return m
	}
	h.run(m, h.version(w), input, outcome, h.Now.UnixMilli())
	if m.child != nil {
		h.made++
	}
	if outcome == fails && m.end != nil && m.end.Fault != nil && row.RetryOf.IsZero() && row.Environment == chargehand.Live {
		if len(h.failed) < 100 {
			h.failed = append(h.failed, m)
		} else {
			h.failed[r.IntN(100)] = m
		}
	}
	return m
}

// batch makes a batch with its items.
func (h *history) batch() *part {
	r := h.random
	w := &h.workflows[r.IntN(4)]
	size := min(5+int(some(r, 995)), max(1, h.Executions-h.made))
	p := &part{batch: &store.Batch{
		ID: newID(h.nowMs(), r.Uint64()), Account: h.account, Environment: chargehand.Live, Workflow: w.No,
		Concurrency: 10, RequestedConcurrency: 10, Total: int64(size),
	}}
	if len(h.keys) > 0 {
		p.batch.StartedBy = h.keys[r.IntN(len(h.keys))]
	}
	if r.IntN(2) == 0 {
		p.batch.Labels = []store.Label{{Name: "campaign", Value: fmt.Sprint("k-", r.IntN(300))}, {Name: "team", Value: fmt.Sprint("t", r.IntN(8))}}
	}
	v, low := h.version(w), r.Uint64N(1<<51)
	createdMs := h.nowMs()
	for i := range size {
		m := &made{queuedMs: int64(i) * 400}
		m.row = h.row(w, 0)
		m.row.ID = newID(createdMs, low) // they are accepted together
		low += 1 + r.Uint64N(1<<40)
		m.row.Item, m.row.ItemID, m.row.StartedBy = int64(i), fmt.Sprintf("row-%d", i+1), p.batch.StartedBy
		h.run(m, v, h.input(), h.outcome(), h.Now.UnixMilli())
		p.list = append(p.list, m)
	}
	p.batch.Revision, p.batch.LastItem = v.revision, p.list[size-1].row.ID
	return p
}

// delay lets an execution start long after the end of the history.
func (h *history) delay(m *made, w *workflow, input map[string]any) {
	m.delay(h.version(w), input, h.Now.Add(time.Duration(30+h.random.IntN(300))*24*time.Hour).UnixMilli())
}

// outcome chooses how an execution goes.
func (h *history) outcome() outcome {
	switch n := h.random.IntN(100); {
	case n == 0:
		return cancelled
	case n < 10:
		return fails
	}
	return succeeds
}

// labels chooses the labels of an execution: most have none.
func (h *history) labels() (list []store.Label) {
	r := h.random
	add := func(name, format string, values int) {
		list = append(list, store.Label{Name: name, Value: fmt.Sprintf(format, r.IntN(values))})
	}
	if r.IntN(100) < 10 {
		add("customer", "c-%d", 5000)
	}
	if r.IntN(100) < 5 {
		add("region", "r%d", 4)
	}
	if r.IntN(100) < 30 {
		add("team", "t%d", 8)
	}
	return list
}
