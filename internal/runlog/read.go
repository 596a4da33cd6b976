package runlog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// Query says which lines of a log are wanted. The zero Query wants all.
type Query struct {
	After   int64 // only lines behind that one
	Seqs    []int64
	Level   chargehand.LogLevel // or more urgent
	Streams []chargehand.LogStream
	Text    string // that a line has, in whatever case
}

func (q *Query) prepared() Query {
	p := *q
	p.Text = strings.ToLower(q.Text)
	return p
}

// wants expects a Query that is prepared.
func (q *Query) wants(l *Line) bool {
	switch {
	case l.Number <= q.After, l.Level < q.Level:
		return false
	case len(q.Seqs) > 0 && !slices.Contains(q.Seqs, l.Seq), len(q.Streams) > 0 && !slices.Contains(q.Streams, l.Stream):
		return false
	}
	return q.Text == "" || strings.Contains(strings.ToLower(l.Text), q.Text)
}

// page is how many segments are read at a time. Their data is in memory.
const page = 16

// Search returns the first line of the log of an execution that a query wants. If there is none, it returns nil and the
// number of the last line, behind which a later search may begin.
func Search(ctx context.Context, s *store.Store, blobs engine.Blobs, execution int64, query Query) (found *Line, last int64, err error) {
	last = query.After
	q := query.prepared()
	err = read(ctx, s, blobs, execution, &q, func(segment *store.LogSegment) { last = segment.Line + segment.Lines - 1 }, func(l *Line) bool {
		found = l
		return false
	})
	return found, last, err
}

// Read calls f with each line of the log of an execution that a query wants, in order, until f returns false.
func Read(ctx context.Context, s *store.Store, blobs engine.Blobs, execution int64, query Query, f func(*Line) bool) error {
	q := query.prepared()
	return read(ctx, s, blobs, execution, &q, func(*store.LogSegment) {}, f)
}

// read is Read of a query that is prepared. It calls done with each segment that was read to its end.
func read(
	ctx context.Context, s *store.Store, blobs engine.Blobs, execution int64, q *Query, done func(*store.LogSegment), f func(*Line) bool,
) error {
	for after, more := q.After, true; more; {
		var list []store.LogSegment
		err := s.View(ctx, func(r *store.Reader) (err error) {
			list, err = r.LogSegments(execution, after, page)
			return err
		})
		if err != nil {
			return err
		}
		for i := range list {
			segment := &list[i]
			after = segment.Line + segment.Lines - 1
			if !hasAny(segment.Tasks, q.Seqs) {
				done(segment)
				continue
			}
			data, err := engine.ReadPayload(ctx, blobs, segment.Data)
			if err != nil {
				return fmt.Errorf("read the log: %w", err)
			}
			err = decode(data, segment.Line, func(l *Line) bool {
				more = !q.wants(l) || f(l)
				return more
			})
			if err != nil {
				return engine.Unreadable("log", err)
			}
			if !more {
				return nil
			}
			done(segment)
		}
		more = len(list) == page
	}
	return nil
}

// hasAny reports whether a segment has lines of one of the tasks; no tasks: of all.
func hasAny(tasks []byte, seqs []int64) bool {
	if len(seqs) == 0 {
		return true
	}
	sizes := map[int64]int64{}
	if addTasks(sizes, tasks) != nil {
		return true // reading it says what is wrong
	}
	return slices.ContainsFunc(seqs, func(seq int64) bool { return sizes[seq] > 0 })
}

// TaskBytes are how many bytes of text each task has in the log of an execution, by the seq of its timeline entry.
func TaskBytes(r *store.Reader, execution int64) (map[int64]int64, error) {
	sizes := map[int64]int64{}
	err := r.LogTasks(execution, func(tasks []byte) error { return addTasks(sizes, tasks) })
	return sizes, err
}
