package temporal

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/background"
	"github.com/chargehand/chargehand/internal/store"
)

// boundOfEnds is what clients are promised: so long after the end of its workflow, however that came, a row has ended.
const boundOfEnds = 60 * time.Second

// TestRowsEndWithinAMinute ends workflows by hand, in virtual time, at the moment at which the node dies that looks
// after them, which
// has just prolonged its lease; the other one has to do with half of what Temporal can tell.
func TestRowsEndWithinAMinute(t *testing.T) {
	const each = 1000 // rows of a kind
	for name, test := range map[string]struct {
		rows     int // that run, and as many that wait
		lag      time.Duration
		listless bool // lists are empty
		mute     bool // questions for one workflow fail
		failures int  // of lists, each after the longest time that is waited
		young    bool // the executions have just begun
	}{
		"a list that is late":          {rows: 1, lag: visibilityLag, mute: true},
		"a list that fails once":       {rows: 1, lag: visibilityLag / 2, mute: true, failures: 1},
		"no list":                      {rows: each, listless: true},
		"no list, they had just begun": {rows: 1, listless: true, young: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			worst := time.Duration(0)
			for _, after := range []time.Duration{0, 8 * time.Second} {
				synctest.Test(t, func(t *testing.T) {
					w := newSQLiteFixture(t)
					rows := w.live(test.rows)
					ended := map[chargehand.ExecutionID]bool{rows[len(rows)-1].ID: true, rows[len(rows)/2-1].ID: true}
					var died atomic.Pointer[time.Time]
					failures := test.failures
					to := remoteFuncs{
						onOpen: func(id chargehand.ExecutionID) (bool, error) {
							time.Sleep(20 * time.Millisecond)
							if test.mute {
								return false, errDown
							}
							return died.Load() == nil || !ended[id], nil
						},
						onClosed: func(since int64, tell func(closedWorkflow) error) (_ int64, err error) {
							at := died.Load()
							if at == nil || test.listless || time.Since(*at) < test.lag {
								return since, nil
							}
							if failures--; failures >= 0 {
								time.Sleep(rpcTime)
								return 0, errDown
							}
							for id := range ended {
								err = errors.Join(err, tell(closedWorkflow{ID: id, Status: "terminated", ClosedMs: at.UnixMilli()}))
							}
							return since, err
						},
					}
					db := &dying{DB: w.db, gone: make(chan struct{})}
					first := w.reconcilerOn(db, to)
					time.Sleep(time.Second)
					second := w.reconcilerOn(w.db, to)
					if !test.young {
						time.Sleep(time.Minute)
					}
					time.Sleep(after)
					db.next.Store(true)
					<-db.gone
					now := time.Now()
					died.Store(&now)
					for w.number(`SELECT COUNT(*) FROM execution WHERE state = 0`) < int64(len(ended)) && time.Since(now) < 3*boundOfEnds {
						time.Sleep(500 * time.Millisecond)
					}
					worst = max(worst, time.Since(now))
					if err := errors.Join(first.Stop(t.Context()), second.Stop(t.Context())); err != nil {
						t.Error(err)
					}
				})
			}
			t.Logf("at most %v", worst)
			if worst > boundOfEnds {
				t.Errorf("a row ended %v after its workflow, more than %v", worst, boundOfEnds)
			}
		})
	}
}

// dying is the database of a node that dies with its next Update, which is committed.
type dying struct {
	store.DB
	next, dead atomic.Bool
	gone       chan struct{}
}

func (d *dying) Update(ctx context.Context, fn func(store.Conn) error) error {
	if d.dead.Load() {
		return errDead
	}
	err := d.DB.Update(ctx, fn)
	if d.next.CompareAndSwap(true, false) {
		d.dead.Store(true)
		close(d.gone)
	}
	return err
}

func (d *dying) View(ctx context.Context, fn func(store.Conn) error) error {
	if d.dead.Load() {
		return errDead
	}
	return d.DB.View(ctx, fn)
}

// reconcilerOn starts the reconciler of a node, as it is in an engine.
func (w *rowsFixture) reconcilerOn(db store.DB, to remote) *background.Group {
	st, services := store.New(db), background.NewGroup()
	quiet := slog.New(slog.DiscardHandler)
	r := newReconciler(reconcilerConfig{Store: st, Remote: to, Node: w.id(), Log: quiet, Canceller: &canceller{
		Store: st, Relay: w.relayTo(remoteFuncs{}), Freed: func(int64) {}, Changed: func([16]byte) {}, Now: time.Now, Log: quiet,
	}})
	services.Start("reconciler", r.run)
	return services
}

// live makes n rows that run, and n that wait. They have just begun.
func (w *rowsFixture) live(n int) []store.Execution {
	w.t.Helper()
	rows := w.accept(2 * n)
	err := w.db.Update(w.t.Context(), func(c store.Conn) error {
		_, err := c.Exec(`UPDATE execution SET state = CASE WHEN no <= ?1 THEN 3 ELSE 4 END, status = 1, started_ms = ?2`, rows[n-1].No, time.Now().UnixMilli())
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return rows
}
