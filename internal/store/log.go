package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/chargehand/chargehand"
)

// ErrLogEnded says that the log of an execution has reached its limit: nothing is appended any more.
var ErrLogEnded = errors.New("the log of the execution has reached its limit")

// LogSegment is a part of the log of an execution: lines that were written together.
type LogSegment struct {
	Execution int64
	Line      int64 // number of its first line; lines are numbered from 1 without gaps
	Lines     int64
	Bytes     int64 // of the data
	Total     int64 // bytes of the log up to its end
	Ended     bool  // the log has reached its limit with it
	Tasks     []byte
	Data      Payload
	Refused   error // set by AppendLogs: why it was not written
}

// LogEnd is where the log of an execution ends.
type LogEnd struct {
	Line  int64 // number of the last line
	Bytes int64
	Ended bool // it has reached its limit
}

// AppendLog adds a segment behind the last one, and sets its Line and Total. Its blob must have been reserved.
// Errors: ErrNotFound: the execution is gone; ErrLogEnded; ErrConflict: another process has added a segment meanwhile.
// With the first two nothing was written, unless it has a blob, and the Update can continue.
func (t *Tx) AppendLog(s *LogSegment) error {
	if err := t.AppendLogs([]*LogSegment{s}); err != nil {
		return err
	}
	return s.Refused
}

// AppendLogs is AppendLog for segments of different executions. What is wrong with one log is in Refused of its
// segment: ErrNotFound or ErrLogEnded; the others are written.
func (t *Tx) AppendLogs(list []*LogSegment) error {
	segments, executions := slices.Clone(list), make([]int64, len(list))
	slices.SortFunc(segments, func(a, b *LogSegment) int { return cmp.Compare(a.Execution, b.Execution) })
	for i, s := range segments {
		s.Refused, executions[i] = ErrNotFound, s.Execution
		if i > 0 && executions[i-1] == s.Execution {
			return errors.New("append to logs: two segments of one execution")
		}
	}
	found := make([]logOwner, 0, len(list))
	return inGroups(executions, func(placeholders string, args []any) error {
		if lock := t.c.ForUpdate(); lock != "" {
			err := t.c.Query(`SELECT no FROM execution WHERE no IN (`+placeholders+`) ORDER BY no`+lock, func(Row) error { return nil }, args...)
			if err != nil {
				return fmt.Errorf("lock executions: %w", err)
			}
		}
		// A statement of its own: one that has waited for a row would see the log as it was before the wait.
		found = found[:0]
		err := t.c.Query(`SELECT e.no, e.account, e.environment, e.started_by, COALESCE(l.line + l.lines - 1, 0), COALESCE(l.total, 0), COALESCE(l.ended, 0)
 FROM execution e LEFT JOIN log_segment l ON l.execution = e.no AND l.line = (SELECT MAX(m.line) FROM log_segment m WHERE m.execution = e.no)
 WHERE e.no IN (`+placeholders+`) ORDER BY e.no`, func(r Row) error {
			found = append(found, logOwner{
				r.Int(0), UsageOwner{r.Int(1), chargehand.Environment(r.Int(2)), r.Int(3)}, LogEnd{r.Int(4), r.Int(5), r.Int(6) != 0},
			})
			return nil
		}, args...)
		if err != nil {
			return fmt.Errorf("read the ends of logs: %w", err)
		}
		for i := range found {
			for segments[0].Execution != found[i].execution { // one of them is gone
				segments = segments[1:]
			}
			if err := t.appendLog(segments[0], &found[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// logOwner is an execution, and where its log ends.
type logOwner struct {
	execution int64
	owner     UsageOwner
	end       LogEnd
}

func (t *Tx) appendLog(s *LogSegment, o *logOwner) error {
	if o.end.Ended {
		s.Refused = ErrLogEnded
		return nil
	}
	s.Refused, s.Line, s.Total = nil, o.end.Line+1, o.end.Bytes+s.Bytes
	err := t.c.Send("append to the log of an execution", `INSERT INTO log_segment (execution, line, lines, bytes, total, ended, tasks, data, data_blob)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`,
		s.Execution, s.Line, s.Lines, s.Bytes, s.Total, flagArg(s.Ended), s.Tasks, t.seal(kindLog, rowKey{s.Execution, s.Line}, s.Data.Inline), t.hide(s.Data.Blob))
	if err != nil {
		return err
	}
	t.countUsage(o.owner.Account, o.owner.Environment, o.owner.Actor, Usage{Bytes: s.Bytes})
	return t.refBlob(s.Data.Blob)
}

// LogEnd reads where the log of an execution ends; zero where it has none.
func (r *Reader) LogEnd(execution int64) (e LogEnd, err error) {
	err = r.c.Query(`SELECT line + lines - 1, total, ended FROM log_segment WHERE execution = ?1 ORDER BY line DESC LIMIT 1`, func(row Row) error {
		e = LogEnd{row.Int(0), row.Int(1), row.Int(2) != 0}
		return nil
	}, execution)
	if err != nil {
		return LogEnd{}, fmt.Errorf("read the end of a log: %w", err)
	}
	return e, nil
}

// LogSegments reads up to limit segments with lines after one, in order.
func (r *Reader) LogSegments(execution, after int64, limit int) (list []LogSegment, err error) {
	err = r.c.Query(`SELECT line, lines, bytes, total, ended, tasks, data, data_blob, bytes FROM log_segment
 WHERE execution = ?1 AND line >= COALESCE((SELECT l.line FROM log_segment l WHERE l.execution = ?1 AND l.line <= ?2 ORDER BY l.line DESC LIMIT 1), 0)
 AND line + lines > ?2 ORDER BY line LIMIT ?3`, func(row Row) error {
		s := LogSegment{
			Execution: execution, Line: row.Int(0), Lines: row.Int(1), Bytes: row.Int(2), Total: row.Int(3), Ended: row.Int(4) != 0, Tasks: row.Bytes(5),
		}
		s.Data = r.payload(row, 6, kindLog, rowKey{execution, s.Line})
		list = append(list, s)
		return nil
	}, execution, after+1, int64(limit))
	if err != nil {
		return nil, fmt.Errorf("read a log: %w", err)
	}
	return list, nil
}

// LogTasks calls f with the Tasks of each segment of the log of an execution.
func (r *Reader) LogTasks(execution int64, f func(tasks []byte) error) error {
	err := r.c.Query(`SELECT tasks FROM log_segment WHERE execution = ?1`, func(row Row) error { return f(row.Bytes(0)) }, execution)
	if err != nil {
		return fmt.Errorf("read the sizes of a log: %w", err)
	}
	return nil
}
