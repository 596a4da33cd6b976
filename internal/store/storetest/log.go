package storetest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var logTests = map[string]func(*fixture){
	"segments in order":       logOrder,
	"a limit that is reached": logEnds,
	"of what is gone":         logOfNothing,
	"by many processes":       logByMany,
	"of many executions":      logsOfMany,
}

// log reads segments with lines after one.
func (f *fixture) log(no, after int64, limit int) (list []store.LogSegment) {
	f.Helper()
	f.view(func(r *store.Reader) (err error) {
		list, err = r.LogSegments(no, after, limit)
		return err
	})
	return list
}

func (f *fixture) appendLog(s store.LogSegment) store.LogSegment {
	f.Helper()
	f.update(func(tx *store.Tx) error { return tx.AppendLog(&s) })
	return s
}

func logOrder(f *fixture) {
	e := f.execution(startMs)
	e.StartedBy = -7
	f.insert(&e)
	other := f.inserted()
	blob := f.blobPayload(1, 1<<18)
	want := []store.LogSegment{
		f.appendLog(store.LogSegment{Execution: e.No, Lines: 3, Bytes: 5, Tasks: []byte{1, 5}, Data: inline("three")}),
		f.appendLog(store.LogSegment{Execution: e.No, Lines: 1000, Bytes: blob.Size, Tasks: []byte{2}, Data: blob}),
		f.appendLog(store.LogSegment{Execution: e.No, Lines: 1, Bytes: 3, Tasks: []byte{3}, Data: inline("one")}),
	}
	f.appendLog(store.LogSegment{Execution: other, Lines: 1, Bytes: 3, Tasks: []byte{9}, Data: inline("xyz")})
	for i, line := range []int64{1, 4, 1004} {
		if want[i].Line != line {
			f.Errorf("segment %d begins at line %d, want %d", i, want[i].Line, line)
		}
	}
	if got := f.log(e.No, 0, 10); !reflect.DeepEqual(got, want) {
		f.Errorf("segments %+v, want %+v", got, want)
	}
	for after, left := range map[int64]int{0: 0, 1: 0, 2: 0, 3: 1, 4: 1, 1002: 1, 1003: 2, 1004: 3, 99999: 3} {
		if got := f.log(e.No, after, 10); len(got) != 3-left || left < 3 && !reflect.DeepEqual(got, want[left:]) {
			f.Errorf("after line %d there are %d segments, want %d", after, len(got), 3-left)
		}
	}
	if got := f.log(e.No, 0, 1); len(got) != 1 {
		f.Errorf("%d segments, want 1", len(got))
	}
	var tasks []byte
	f.view(func(r *store.Reader) error {
		end, err := r.LogEnd(e.No)
		if want := (store.LogEnd{Line: 1004, Bytes: 8 + 1<<18}); end != want || err != nil {
			f.Errorf("the log ends at %+v (%v), want %+v", end, err, want)
		}
		if end, err := r.LogEnd(f.inserted()); end != (store.LogEnd{}) || err != nil {
			f.Errorf("a log that is empty ends at %+v (%v)", end, err)
		}
		return r.LogTasks(e.No, func(t []byte) error { tasks = append(tasks, t...); return nil })
	})
	if string(tasks) != "\x01\x05\x02\x03" {
		f.Errorf("tasks %v", tasks)
	}
}

func logEnds(f *fixture) {
	no := f.inserted()
	f.appendLog(store.LogSegment{Execution: no, Lines: 1, Bytes: 1, Ended: true, Data: inline("x")})
	err := f.Store.Update(context.Background(), func(tx *store.Tx) error {
		return tx.AppendLog(&store.LogSegment{Execution: no, Lines: 1, Bytes: 1, Data: inline("y")})
	})
	if !errors.Is(err, store.ErrLogEnded) || len(f.log(no, 0, 10)) != 1 {
		f.Errorf("behind the limit: %v", err)
	}
}

func logOfNothing(f *fixture) {
	no := f.inserted()
	f.update(func(tx *store.Tx) error { _, err := finish(tx, no, startMs, "1"); return err })
	f.appendLog(store.LogSegment{Execution: no, Lines: 1, Bytes: 1, Data: inline("x")}) // of a process that no task awaits
	f.deleteEnded(chargehand.Live, startMs+1, 10)
	err := f.Store.Update(context.Background(), func(tx *store.Tx) error {
		return tx.AppendLog(&store.LogSegment{Execution: no, Lines: 1, Bytes: 1, Data: inline("x")})
	})
	if !errors.Is(err, store.ErrNotFound) {
		f.Errorf("append to the log of what is gone: %v", err)
	}
}

// logsOfMany: segments of more executions than fit into one list; those whose log takes none hold up no other.
func logsOfMany(f *fixture) {
	const many, gone, ended, long = 230, 3, 5, 7
	var list []*store.LogSegment
	for i := range many {
		no := int64(1 << 40)
		if i != gone {
			no = f.inserted()
		}
		list = append(list, &store.LogSegment{Execution: no, Lines: 2, Bytes: 3, Tasks: []byte{1}, Data: inline("new")})
	}
	f.appendLog(store.LogSegment{Execution: list[ended].Execution, Lines: 1, Bytes: 1, Ended: true, Tasks: []byte{1}, Data: inline("x")})
	for range 10 {
		f.appendLog(store.LogSegment{Execution: list[long].Execution, Lines: 4, Bytes: 2, Tasks: []byte{1}, Data: inline("xx")})
	}
	slices.Reverse(list)
	f.update(func(tx *store.Tx) error { return tx.AppendLogs(list) })
	slices.Reverse(list)
	for i, s := range list {
		want, line, total := error(nil), int64(1), int64(3)
		switch i {
		case gone:
			want, line, total = store.ErrNotFound, 0, 0
		case ended:
			want, line, total = store.ErrLogEnded, 0, 0
		case long:
			line, total = 41, 23
		}
		if s.Refused != want || s.Line != line || s.Total != total {
			f.Errorf("segment %d: line %d, total %d, %v; want %d, %d, %v", i, s.Line, s.Total, s.Refused, line, total, want)
		}
		got := f.log(s.Execution, s.Line-1, 2)
		if want == nil && (len(got) != 1 || !reflect.DeepEqual(&got[0], s)) {
			f.Errorf("segment %d is stored as %+v, want %+v", i, got, s)
		}
	}
	err := f.Store.Update(context.Background(), func(tx *store.Tx) error { return tx.AppendLogs(append(list[:1:1], list[0])) })
	if err == nil || len(f.log(list[0].Execution, 0, 10)) != 1 {
		f.Errorf("two segments of one execution: %v", err)
	}
}

func logByMany(f *fixture) {
	no := f.inserted()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				err := f.Store.Update(context.Background(), func(tx *store.Tx) error {
					return tx.AppendLog(&store.LogSegment{Execution: no, Lines: 2, Bytes: 1, Data: inline("x")})
				})
				if err != nil {
					f.Errorf("append: %v", err)
				}
			}
		})
	}
	all.Wait()
	if got := f.log(no, 0, 100); len(got) != 40 || got[39].Line != 79 || got[39].Total != 40 {
		f.Errorf("%d segments", len(got))
	}
}
