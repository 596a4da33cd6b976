package temporal

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// stage plays Temporal: it remembers what it was notified, and each workflow that is started
// does what a workflow does to its row.
type stage struct {
	rowsFixture *rowsFixture
	act         func(p *play) // default: finish at once, or, every third, after a wait
	down        atomic.Bool
	slow        chan struct{} // when set, each start waits until it is closed

	arrived chan chargehand.ExecutionID // when set, is notified of each start before that

	mu    sync.Mutex
	plays map[chargehand.ExecutionID]*play
	calls int
	acts  sync.WaitGroup
	over  bool
}

// play is a workflow.
type play struct {
	argument argument
	starts   int
	signals  []message
	arriving chan message
	ended    bool
}

// nodeRemote is the way of one node to the stage.
type nodeRemote struct {
	*stage
	node *node
}

var errDown = serviceerror.NewUnavailable("the server is down")

func (r *nodeRemote) reach() error {
	if r.node.dead.Load() || r.down.Load() {
		return errDown
	}
	return nil
}

func (r *nodeRemote) start(ctx context.Context, s started) error {
	if err := r.reach(); err != nil {
		return err
	}
	if r.arrived != nil {
		r.arrived <- s.argument.Execution
	}
	if r.slow != nil {
		select {
		case <-r.slow:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	if p := r.plays[s.argument.Execution]; p != nil {
		p.starts++
		return nil
	}
	p := &play{argument: s.argument, starts: 1, arriving: make(chan message, 100)}
	r.plays[s.argument.Execution] = p
	if r.over {
		return nil
	}
	r.acts.Go(func() {
		act := r.act
		if act == nil {
			act = r.usual
		}
		act(p)
	})
	return nil
}

func (r *nodeRemote) signal(_ context.Context, id chargehand.ExecutionID, m message) error {
	if err := r.reach(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	p := r.plays[id]
	if p == nil || p.ended {
		return errGone
	}
	p.signals = append(p.signals, m)
	p.arriving <- m
	return nil
}

func (r *nodeRemote) queued(context.Context, chargehand.ExecutionID) (bool, error) {
	return false, r.reach()
}

func (r *nodeRemote) closed(context.Context, int64, func(closedWorkflow) error) (int64, error) {
	return 0, errors.New("not played")
}

func (r *nodeRemote) ended(_ context.Context, id chargehand.ExecutionID) (string, error) {
	if p := r.play(id); p != nil && !p.ended {
		return "", r.reach()
	}
	return goneStatus, r.reach()
}

func (s *stage) play(id chargehand.ExecutionID) *play {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plays[id]
}

// end waits until all has left the stage.
func (s *stage) end() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.acts.Wait()
}

// activities are the activities that a workflow calls, on a worker that does not die.
func (s *stage) activities() *activities {
	return &activities{WorkerConfig: WorkerConfig{
		Store: s.rowsFixture.store, Freed: s.rowsFixture.freed, Now: time.Now, Limits: WorkerLimits{AccountSlots: s.rowsFixture.slots},
	}}
}

// usual is what workflows do by default.
func (s *stage) usual(p *play) {
	if p.argument.No%3 == 0 && !s.waits(p) {
		s.leave(p)
		return
	}
	s.finish(p)
}

// waits gives the slot back, takes one again, and reports whether the execution continues.
func (s *stage) waits(p *play) bool {
	a := s.activities()
	for number, slot := range []bool{false, true} {
		got, err := a.reportState(context.Background(), stateReport{
			Execution: p.argument.Execution, No: p.argument.No, Number: int64(number + 1), Slot: slot, Phase: chargehand.Waiting.String(),
		})
		if err != nil {
			s.rowsFixture.t.Error(err)
			return false
		}
		if got.Final {
			return false
		}
		if !slot || got.Granted {
			continue
		}
		for {
			m := <-p.arriving
			if m.Kind == kindCancel {
				return false
			}
			if m.Report == int64(number+1) {
				break
			}
		}
	}
	return true
}

func (s *stage) finish(p *play) {
	err := s.rowsFixture.store.Update(context.Background(), func(tx *store.Tx) error {
		now := time.Now().UnixMilli()
		_, err := tx.FinishExecution(p.argument.No, chargehand.Finished, chargehand.Completed, p.argument.StartedMs, now,
			&store.Outcome{Output: store.Payload{Inline: []byte("1"), Size: 1}})
		return err
	})
	if err != nil && !errors.Is(err, store.ErrConflict) {
		s.rowsFixture.t.Error(err)
	}
	s.leave(p)
	s.rowsFixture.notify()
}

func (s *stage) leave(p *play) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.ended = true
}
