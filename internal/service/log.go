package service

import (
	"context"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/runlog"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// logPause is how long a request that waits for lines of a log pauses between two searches, logGap how long at
	// least where the execution changes all the time: before each search, what waits of the log is written.
	logPause = 400 * time.Millisecond
	logGap   = 50 * time.Millisecond
	// logDelay is how long after the end of an execution another process may still write its log.
	logDelay = 5 * time.Second
)

// LogLine is a line of the log of an execution.
type LogLine struct {
	Line   int64 // from 1 without gaps
	At     time.Time
	Seq    int64 // of the task in the timeline; 0: of none
	Level  chargehand.LogLevel
	Stream chargehand.LogStream
	Text   string
}

// LogQuery says which lines of a log are wanted.
type LogQuery struct {
	After   int64 // only lines behind that one
	Seqs    []int64
	Level   chargehand.LogLevel // or more urgent; 0: all
	Streams []chargehand.LogStream
	Text    string // that a line has, in whatever case
	Limit   int
	Wait    time.Duration // for the first line
}

// ExecutionLog is the log of an execution, as a query wants it.
type ExecutionLog struct {
	Complete bool // nothing is added any more
	// Lines calls f with each line, in order. An error of f ends it and is returned.
	Lines func(ctx context.Context, f func(*LogLine) error) error
}

// Log finds the log of an execution. With q.Wait, it waits until there is a line that is wanted, or there will be
// none. Codes: execution_not_found.
func (s *Service) Log(ctx context.Context, p *Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID, q LogQuery) (*ExecutionLog, error) {
	query := runlog.Query{After: q.After, Seqs: q.Seqs, Level: q.Level, Streams: q.Streams, Text: q.Text}
	deadline := s.now().Add(min(q.Wait, s.limits.Wait))
	for {
		changed, stop := s.engine.Watch(id)
		row, found, err := s.searchLog(ctx, p, workflow, id, &query)
		if err != nil {
			stop()
			return nil, err
		}
		complete := s.isLogComplete(&row)
		left := deadline.Sub(s.now())
		if found || complete || left <= 0 || !pauseUnless(ctx, min(left, logPause), changed) {
			stop()
			return &ExecutionLog{Complete: complete, Lines: s.logLines(row.No, query, q.Limit)}, nil
		}
		stop()
	}
}

// searchLog reports whether the log of an execution has a line that is wanted. From then on, q leaves out what was
// searched in vain.
func (s *Service) searchLog(ctx context.Context, p *Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID, q *runlog.Query) (row store.Execution, found bool, err error) {
	err = s.view(ctx, func(r *store.Reader) (err error) {
		row, err = s.findExecution(r, p, workflow, id)
		return err
	})
	if err != nil {
		return row, false, err
	}
	s.logs.Flush(ctx, row.No) // of an execution that has ended, this is its whole log
	line, last, err := runlog.Search(ctx, s.store, eventContents{s}, row.No, *q)
	q.After = last
	return row, line != nil, storageError(err)
}

// isLogComplete reports whether nothing is added to a log any more, if it is read now. Steps of another process may
// write for a moment after the end of an execution.
func (s *Service) isLogComplete(row *store.Execution) bool {
	return row.State == store.StateEnded && (!s.shared || s.nowMs()-row.FinishedMs > logDelay.Milliseconds())
}

// pauseUnless waits, less long if something changes, but logGap at least. It reports whether it is worth to look again.
func pauseUnless(ctx context.Context, wait time.Duration, changed <-chan struct{}) bool {
	gap := min(wait, logGap)
	if pause.For(ctx, gap) != nil {
		return false
	}
	timer := time.NewTimer(wait - gap)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	return true
}

func (s *Service) logLines(no int64, q runlog.Query, limit int) func(ctx context.Context, f func(*LogLine) error) error {
	return func(ctx context.Context, f func(*LogLine) error) error {
		n, refused := 0, error(nil)
		err := runlog.Read(ctx, s.store, eventContents{s}, no, q, func(l *runlog.Line) bool {
			refused = f(&LogLine{Line: l.Number, At: atMs(l.AtMs), Seq: l.Seq, Level: l.Level, Stream: l.Stream, Text: l.Text})
			n++
			return refused == nil && n < limit
		})
		if refused != nil {
			return refused
		}
		return storageError(err)
	}
}
