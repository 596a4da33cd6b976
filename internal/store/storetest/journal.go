package storetest

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/chargehand/chargehand/internal/store"
)

var journalTests = map[string]func(*fixture){
	"events in order":     journalOrder,
	"events are unique":   journalUnique,
	"drop through a seq":  journalDrop,
	"checkpoint":          checkpoints,
	"timeline chunks":     timelineChunks,
	"callback error ends": journalCallback,
}

func (f *fixture) journal(no, after int64) (rows []store.JournalRow) {
	f.Helper()
	f.view(func(r *store.Reader) error {
		return r.Journal(no, after, func(j *store.JournalRow) error {
			rows = append(rows, *j)
			return nil
		})
	})
	return rows
}

func journalOrder(f *fixture) {
	a, b := f.inserted(), f.inserted()
	large := inline(string(make([]byte, 100_000)))
	blob := f.blobPayload(1, 1<<20)
	want := []store.JournalRow{
		{Execution: a, Seq: 1, Event: inline("one"), Digest: 1<<64 - 1},
		{Execution: a, Seq: 2, Event: large, Digest: 0},
		{Execution: a, Seq: 3, Event: blob, Digest: 7},
		{Execution: a, Seq: 300, Event: inline("\x00"), Digest: 1 << 63},
	}
	f.update(func(tx *store.Tx) error {
		for _, i := range []int{3, 0, 2, 1} {
			if err := tx.AppendJournal(&want[i]); err != nil {
				return err
			}
		}
		return tx.AppendJournal(&store.JournalRow{Execution: b, Seq: 1, Event: inline("other")})
	})
	if got := f.journal(a, 0); !reflect.DeepEqual(got, want) {
		f.Errorf("journal has %d events, or others, want %d", len(got), len(want))
	}
	if got := f.journal(a, 2); !reflect.DeepEqual(got, want[2:]) {
		f.Errorf("journal after 2 has %d events", len(got))
	}
	if got := f.journal(a, 300); len(got) != 0 {
		f.Errorf("journal after the last has %d events", len(got))
	}
}

func journalUnique(f *fixture) {
	no := f.inserted()
	event := store.JournalRow{Execution: no, Seq: 1, Event: inline("first")}
	f.update(func(tx *store.Tx) error { return tx.AppendJournal(&event) })
	event.Event = inline("second")
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.AppendJournal(&event) })
	if got := f.journal(no, 0); string(got[0].Event.Inline) != "first" {
		f.Errorf("event is %q", got[0].Event.Inline)
	}
}

func journalDrop(f *fixture) {
	a, b := f.inserted(), f.inserted()
	blob := f.blobPayload(1, 1<<20)
	f.update(func(tx *store.Tx) error {
		for seq := int64(1); seq <= 10; seq++ {
			for _, no := range []int64{a, b} {
				if err := tx.AppendJournal(&store.JournalRow{Execution: no, Seq: seq, Event: blob}); err != nil {
					return err
				}
			}
		}
		return tx.DropJournal(a, 6)
	})
	if got := f.journal(a, 0); len(got) != 4 || got[0].Seq != 7 {
		f.Errorf("%d events are left, from %d", len(got), got[0].Seq)
	}
	if got := f.journal(b, 0); len(got) != 10 {
		f.Errorf("another execution has %d events left", len(got))
	}
}

func checkpoints(f *fixture) {
	no := f.inserted()
	f.view(func(r *store.Reader) error {
		if _, err := r.Checkpoint(no); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("before there is one: %v, want ErrNotFound", err)
		}
		return nil
	})
	for i, state := range []store.Payload{inline("s1"), f.blobPayload(1, 1<<20), f.blobPayload(2, 1<<20), inline("s4")} {
		want := store.Checkpoint{Execution: no, Seq: int64(i + 1), Revision: i, State: state}
		f.update(func(tx *store.Tx) error { return tx.PutCheckpoint(&want) })
		f.view(func(r *store.Reader) error {
			got, err := r.Checkpoint(no)
			if !reflect.DeepEqual(got, want) {
				f.Errorf("checkpoint %+v, want %+v", got, want)
			}
			return err
		})
	}
	f.update(func(tx *store.Tx) error { return errors.Join(tx.DropCheckpoint(no), tx.DropCheckpoint(no)) })
}

func timelineChunks(f *fixture) {
	a, b := f.inserted(), f.inserted()
	f.update(func(tx *store.Tx) error {
		for i := range 12 {
			if err := errors.Join(tx.AppendTimelineChunk(a, []byte(fmt.Sprint(i))), tx.AppendTimelineChunk(b, []byte("b"))); err != nil {
				return err
			}
		}
		return tx.DropTimelineChunks(a, 3)
	})
	f.update(func(tx *store.Tx) error { return tx.AppendTimelineChunk(a, []byte("12")) })
	f.view(func(r *store.Reader) error {
		got, err := r.TimelineChunks(a)
		if fmt.Sprintf("%s", got) != "[9 10 11 12]" {
			f.Errorf("chunks %s, want the newest three and the one after", got)
		}
		others, err2 := r.TimelineChunks(b)
		if len(others) != 12 {
			f.Errorf("another execution has %d chunks", len(others))
		}
		return errors.Join(err, err2)
	})
}

func journalCallback(f *fixture) {
	no := f.inserted()
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.AppendJournal(&store.JournalRow{Execution: no, Seq: 1}), tx.AppendJournal(&store.JournalRow{Execution: no, Seq: 2}))
	})
	calls := 0
	f.view(func(r *store.Reader) error {
		err := r.Journal(no, 0, func(*store.JournalRow) error {
			calls++
			return errUndo
		})
		if !errors.Is(err, errUndo) || calls != 1 {
			f.Errorf("%d calls and %v", calls, err)
		}
		return nil
	})
}
