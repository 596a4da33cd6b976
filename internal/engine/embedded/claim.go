package embedded

import (
	"errors"
	"log/slog"
	"time"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// maxClaim bounds the queued executions that are started in one submission, so that
// the writer is free for others every few milliseconds.
const maxClaim = 128

// feed gives the slots that were granted to a source to its executions, until none is
// granted any more. One goroutine per source does so at a time.
func (e *Engine) feed(src *source) {
	reader := queueReader{source: src, ahead: 1}
	wait := minBackoff
	for {
		f, ok := e.slots.next(src)
		if !ok {
			return
		}
		for _, no := range f.ready {
			e.goWork(func() { e.send(no, message{kind: grant, source: src}) })
		}
		if f.slots == 0 {
			continue
		}
		used, err := e.claim(&reader, f)
		if err != nil {
			e.backOff("start queued executions", err, wait)
			wait = min(2*wait, maxBackoff)
		} else {
			wait = minBackoff
		}
		e.slots.free(src, f.slots-used)
	}
}

// backOff waits after a failure outside of any execution.
func (e *Engine) backOff(what string, err error, wait time.Duration) {
	e.stats.failures.Add(1)
	if errors.Is(err, store.ErrUnavailable) {
		e.outage.began()
	} else if e.ctx.Err() == nil {
		e.log.Error(what, "error", err)
	}
	e.sleep(wait)
}

// queueReader reads the queued rows of a source in order.
type queueReader struct {
	source *source
	ahead  int // rows to read beyond the slots, because they did not need one so far
}

// read returns the next rows, at most limit. Fewer than limit: there are no more.
func (q *queueReader) read(r *store.Reader, limit int) ([]store.Execution, error) {
	if q.source.batch != 0 {
		return r.QueuedItems(q.source.batch, limit)
	}
	return r.QueuedSingles(q.source.number, 0, limit)
}

// claim starts queued executions in their order, as many as get a slot, in one submission.
// It returns the slots that they hold now.
func (e *Engine) claim(q *queueReader, f fed) (used int, err error) {
	limit := min(f.slots*q.ahead, maxClaim)
	var rows []store.Execution
	err = e.store.View(e.ctx, func(r *store.Reader) (err error) {
		rows, err = q.read(r, limit)
		return err
	})
	if err != nil {
		return 0, err
	}
	var started []*submission
	tried := 0
	for ; tried < len(rows) && used < f.slots; tried++ {
		s, err := e.begin(q.source, rows[tried])
		if err != nil {
			e.giveUp(started)
			return 0, err
		}
		if s == nil {
			continue
		}
		started = append(started, s)
		if s.row.Run == store.RunActive {
			used++
		}
	}
	if used == 0 {
		q.ahead = min(2*q.ahead, maxClaim)
	} else {
		q.ahead = 1
	}
	if err := e.writeClaims(started); err != nil {
		kept := e.doubtClaims(started, err)
		e.giveUp(started) // what others have sent them is delivered
		return kept, err
	}
	if len(rows) > 0 && len(started) == 0 {
		e.sleep(time.Millisecond) // all are being cancelled
	}
	if len(rows) < limit && tried == len(rows) {
		e.slots.exhausted(q.source, f.added)
	}
	for _, s := range started {
		if s.conflict && s.row.Run == store.RunActive {
			used--
		}
		e.claimed(s)
	}
	return used, nil
}

// begin applies the first event of a queued execution. It returns nil if somebody else has
// it in hand, who cancels it.
func (e *Engine) begin(src *source, row store.Execution) (*submission, error) {
	r, ok := e.runs.claim(row.No)
	if !ok {
		return nil, nil
	}
	if r.loaded { // it has been started meanwhile
		e.handOver(r)
		return nil, nil
	}
	s := &submission{run: r, begin: true}
	r.row, r.source, r.loaded = row, src, true
	err := e.prepare(s)
	var broken *brokenError
	if errors.As(err, &broken) {
		err = e.breakOff(s, broken.fault)
	}
	if err == nil {
		err = s.store(e.ctx, e.config.Blobs)
	}
	if err != nil {
		e.giveUp([]*submission{s})
		return nil, err
	}
	return s, nil
}

func (e *Engine) prepare(s *submission) error {
	r := s.run
	if err := checkRevision(r.row.Machine); err != nil {
		return err
	}
	p, err := e.plan(e.ctx, r.row.Revision)
	if err != nil {
		return err
	}
	if r.input, err = e.input(e.ctx, &r.row); err != nil {
		return err
	}
	r.slot = true
	return e.first(s, p)
}

// breakOff ends an execution without its machine, mostly as an error of the system.
func (e *Engine) breakOff(s *submission, f *machine.Fault) error {
	level := slog.LevelError
	if !f.System {
		level = slog.LevelInfo
	}
	e.log.Log(e.ctx, level, "an execution is ended by the system", "execution", s.run.row.ID, "code", f.Code,
		"detail", s.run.secrets.RedactText(f.Detail))
	s.breakOff(f, e.nowMs())
	return e.settle(s)
}

// writeClaims commits first events together. If that fails though the store is available,
// each is tried alone, and one that fails again ends as an error of the system.
func (e *Engine) writeClaims(started []*submission) error {
	if len(started) == 0 {
		return nil
	}
	err := e.store.Update(e.ctx, func(tx *store.Tx) error {
		for _, s := range started {
			if err := s.claim(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		e.outage.over()
		return nil
	}
	if errors.Is(err, store.ErrUnavailable) || e.ctx.Err() != nil {
		return err
	}
	if len(started) > 1 {
		for i := range started {
			if err := e.writeClaims(started[i : i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	s := started[0]
	if s.broken {
		return err
	}
	e.log.Error("a queued execution cannot be started", "execution", s.run.row.ID, "error", err)
	*s = submission{run: s.run, begin: true, broken: true}
	if err := e.breakOff(s, engine.SystemFault(engine.CodeInternal, "The execution's first step could not be written, although the storage is available. The server's log says more.")); err != nil {
		return err
	}
	return e.writeClaims(started)
}

// doubtClaims remembers executions that may have been started by a commit that failed, and
// returns the slots that they keep.
func (e *Engine) doubtClaims(started []*submission, err error) (kept int) {
	if !errors.Is(err, store.ErrUnavailable) {
		return 0
	}
	for _, s := range started {
		e.pokePump(s)
		d := doubt{no: s.run.no}
		if s.row.Run == store.RunActive {
			d.source = s.run.source
		}
		if !s.moved {
			continue
		}
		s.run.doubtful = true // for messages that are there already
		if e.outage.remember(d) && d.source != nil {
			kept++
		}
	}
	return kept
}

// claim writes a first event, unless the execution was cancelled in the meantime.
func (s *submission) claim(tx *store.Tx) error {
	s.conflict, s.moved = false, false
	err := s.write(tx)
	if errors.Is(err, store.ErrConflict) && !s.moved {
		s.conflict = true
		return nil
	}
	return err
}

// claimed carries out what a durable first event asks for.
func (e *Engine) claimed(s *submission) {
	r := s.run
	switch {
	case s.conflict:
		r.row.Run = store.RunEnded
		r.machine, r.secrets, r.timers, r.slot = nil, nil, nil, false
	default:
		r.slot = s.row.Run == store.RunActive // the others have given theirs to the next one
		e.stats.started.Add(1)
		e.committed(s)
		if r.row.Batch != 0 {
			e.watches.notify(r.source.batchID) // the first one makes it running
		}
	}
	e.handOver(r)
}

// giveUp leaves executions queued whose first event could not be written.
func (e *Engine) giveUp(started []*submission) {
	for _, s := range started {
		r := s.run
		r.loaded, r.machine, r.secrets, r.slot, r.timers = false, nil, nil, false, nil
		e.handOver(r)
	}
}
