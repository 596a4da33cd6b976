package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var eventTests = map[string]func(*fixture){
	"numbers without gaps":          eventNumbers,
	"each once":                     eventOnce,
	"from many at once":             eventRace,
	"times do not go back":          eventTimes,
	"pages and types":               eventPages,
	"streams":                       eventStreams,
	"deleted in steps":              eventRetention,
	"cursors":                       eventCursors,
	"streams behind a cursor":       eventsBehind,
	"a cursor is moved by one":      eventCursorRace,
	"undone events leave no number": eventUndone,
}

func event(dedupe, kind string) store.Event {
	e := store.Event{Account: 1, Environment: chargehand.Live, Type: kind, Data: inline(`{"type":"` + kind + `"}`)}
	copy(e.Dedupe[:], dedupe)
	return e
}

// insertEvents adds events at ms and returns how many were new.
func (f *fixture) insertEvents(ms int64, events ...store.Event) (added int) {
	f.Helper()
	f.update(func(tx *store.Tx) (err error) {
		added, err = tx.InsertEvents(events, ms)
		return err
	})
	return added
}

// events reads events of the usual stream, as number and type.
func (f *fixture) events(after, last int64, limit int, types ...string) (list []string) {
	f.Helper()
	f.view(func(r *store.Reader) error {
		list = nil
		row := func(e *store.Event) (bool, error) {
			list = append(list, fmt.Sprint(e.Number, " ", e.Type))
			return true, nil
		}
		if types != nil {
			return r.EventsOfTypes(1, chargehand.Live, types, after, last, limit, row)
		}
		return r.Events(1, chargehand.Live, after, last, limit, row)
	})
	return list
}

func eventNumbers(f *fixture) {
	first, second := event("1", "a"), event("2", "b")
	second.Data, second.Origin, second.Starter = f.blobPayload(4, 1<<19), chargehand.ExecutionID{7}, 5
	list := []store.Event{first, second}
	f.update(func(tx *store.Tx) error {
		added, err := tx.InsertEvents(list, startMs)
		if added != 2 {
			f.Errorf("%d were new, want 2", added)
		}
		return err
	})
	other := event("1", "a")
	other.Environment = chargehand.Test
	f.insertEvents(startMs+1, other)
	f.insertEvents(startMs+2, event("3", "c"))
	var got []store.Event
	f.view(func(r *store.Reader) error {
		got = nil
		return r.Events(1, chargehand.Live, 0, 100, 100, func(e *store.Event) (bool, error) {
			got = append(got, *e)
			return len(got) < 2, nil
		})
	})
	if len(got) != 2 || !reflect.DeepEqual(got, list) || got[0].Number != 1 || got[1].Number != 2 || got[1].ReceivedMs != startMs {
		f.Errorf("read %+v, want %+v", got, list)
	}
	if got := f.events(1, 100, 10); !slices.Equal(got, []string{"2 b", "3 c"}) {
		f.Errorf("behind the first: %v", got)
	}
	f.view(func(r *store.Reader) error {
		s, err := r.Stream(1, chargehand.Live)
		none, err2 := r.Stream(2, chargehand.Live)
		if s.Last != 3 || s.LastMs != startMs+2 || none.Last != 0 {
			f.Errorf("the stream is at %+v, another one at %+v", s, none)
		}
		return errors.Join(err, err2)
	})
}

func eventOnce(f *fixture) {
	if n := f.insertEvents(startMs, event("1", "a"), event("2", "b"), event("1", "again")); n != 2 {
		f.Errorf("%d were new, want 2", n)
	}
	list := []store.Event{event("3", "c"), event("2", "again")}
	f.update(func(tx *store.Tx) error {
		added, err := tx.InsertEvents(list, startMs+1)
		if added != 1 || list[0].Number != 3 || list[1].Number != 2 || list[1].ReceivedMs != startMs {
			f.Errorf("added %d: %+v", added, list)
		}
		return err
	})
	var many []store.Event
	for i := range 100 {
		many = append(many, event(fmt.Sprint(i), "d"))
	}
	if n := f.insertEvents(startMs+2, many...); n != 97 {
		f.Errorf("%d were new, want 97", n)
	}
	if got := f.events(0, 4, 10); !slices.Equal(got, []string{"1 a", "2 b", "3 c", "4 d"}) {
		f.Errorf("read %v", got)
	}
	if n := f.number(`SELECT last FROM stream`); n != 100 {
		f.Errorf("the last number is %d, want 100", n)
	}
}

func eventRace(f *fixture) {
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			list := []store.Event{event(fmt.Sprint("own", i), "a"), event("shared", "b")}
			if err := f.Update(context.Background(), func(tx *store.Tx) error { _, err := tx.InsertEvents(list, startMs); return err }); err != nil {
				f.Error(err)
			}
		})
	}
	all.Wait()
	if n := f.number(`SELECT COUNT(*) FROM event`); n != 21 {
		f.Errorf("%d events, want 21", n)
	}
	if n := f.number(`SELECT MAX(number) FROM event`); n != 21 {
		f.Errorf("the highest number is %d, want 21", n)
	}
}

func eventTimes(f *fixture) {
	f.insertEvents(startMs+10, event("1", "a"))
	f.insertEvents(startMs, event("2", "b")) // the clock of this node is behind
	f.insertEvents(startMs+20, event("3", "c"))
	for ms, want := range map[int64]int64{startMs: 0, startMs + 10: 0, startMs + 11: 2, startMs + 20: 2, startMs + 21: 3} {
		f.view(func(r *store.Reader) error {
			got, err := r.LastEventBefore(1, chargehand.Live, ms)
			if got != want {
				f.Errorf("the last one before +%d is %d, want %d", ms-startMs, got, want)
			}
			return err
		})
	}
}

func eventPages(f *fixture) {
	for i := range 10 {
		f.insertEvents(startMs+int64(i), event(fmt.Sprint(i), string(rune('a'+i%3))))
	}
	if got := f.events(2, 7, 3); !slices.Equal(got, []string{"3 c", "4 a", "5 b"}) {
		f.Errorf("a page is %v", got)
	}
	if got := f.events(1, 9, 4, "a", "c"); !slices.Equal(got, []string{"3 c", "4 a", "6 c", "7 a"}) {
		f.Errorf("a page of two types is %v", got)
	}
	if got := f.events(0, 100, 10, "none"); got != nil {
		f.Errorf("of a type that there is not: %v", got)
	}
	if got := f.events(0, 100, 10); len(got) != 10 {
		f.Errorf("all are %v", got)
	}
	if got := f.events(0, 100, 10, []string{}...); got != nil {
		f.Errorf("of no type: %v", got)
	}
	f.view(func(r *store.Reader) error {
		types, err := r.EventTypes(1, chargehand.Live, "", 2)
		all, err2 := r.EventTypes(1, chargehand.Live, "", 10)
		none, err3 := r.EventTypes(2, chargehand.Live, "", 10)
		if !slices.Equal(types, []string{"a", "b"}) || !slices.Equal(all, []string{"a", "b", "c"}) || none != nil {
			f.Errorf("types are %v, %v, %v", types, all, none)
		}
		return errors.Join(err, err2, err3)
	})
	f.insertEvents(startMs, event("11", "b.x"), event("12", "b\U0010FFFFx"), event("13", "b\uE000"), event("14", "b\uD7FF"), event("15", "ba"), event("16", "\U0010FFFFx"))
	for prefix, want := range map[string][]string{
		"b": {"b", "b.x", "ba", "b\uD7FF", "b\uE000", "b\U0010FFFFx"}, "b.": {"b.x"}, "b\uD7FF": {"b\uD7FF"},
		"b\U0010FFFF": {"b\U0010FFFFx"}, "\U0010FFFF": {"\U0010FFFFx"}, "d": nil,
	} {
		f.view(func(r *store.Reader) error {
			got, err := r.EventTypes(1, chargehand.Live, prefix, 10)
			if !slices.Equal(got, want) {
				f.Errorf("types that begin with %q are %q", prefix, got)
			}
			return err
		})
	}
}

func eventStreams(f *fixture) {
	b := event("1", "a")
	b.Account, b.Environment = 2, chargehand.Test
	f.insertEvents(startMs, event("1", "a"))
	f.insertEvents(startMs+1, b)
	f.view(func(r *store.Reader) error {
		got, err := r.Streams()
		want := []store.Stream{{Account: 1, Environment: chargehand.Live, Last: 1, LastMs: startMs}, {Account: 2, Environment: chargehand.Test, Last: 1, LastMs: startMs + 1}}
		if !slices.Equal(got, want) {
			f.Errorf("streams are %+v", got)
		}
		return err
	})
}

func eventRetention(f *fixture) {
	for i := range 5 {
		e := event(fmt.Sprint(i), "a")
		if i == 1 {
			e.Data = f.blobPayload(9, 1<<19)
		}
		f.insertEvents(startMs+int64(i), e)
	}
	for _, want := range []int{2, 1, 0} {
		var n int
		f.update(func(tx *store.Tx) (err error) {
			n, err = tx.DeleteEvents(1, chargehand.Live, startMs+3, 2)
			return err
		})
		if n != want {
			f.Errorf("deleted %d, want %d", n, want)
		}
	}
	if got := f.events(0, 100, 10); !slices.Equal(got, []string{"4 a", "5 a"}) {
		f.Errorf("left are %v", got)
	}
	f.insertEvents(startMs+9, event("6", "a"))
	if got := f.events(5, 100, 10); !slices.Equal(got, []string{"6 a"}) {
		f.Errorf("the next one is %v", got)
	}
}

func (f *fixture) cursor(name string) (c store.StreamCursor) {
	f.Helper()
	f.view(func(r *store.Reader) (err error) {
		c, err = r.Cursor(1, chargehand.Live, name)
		return err
	})
	return c
}

func eventCursors(f *fixture) {
	if c := f.cursor("x"); c != (store.StreamCursor{}) {
		f.Errorf("a cursor that there is not is %+v", c)
	}
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.MoveCursor(1, chargehand.Live, "x", store.StreamCursor{Number: 1}) })
	f.update(func(tx *store.Tx) error {
		c, ok, err := tx.TakeCursor(1, chargehand.Live, "x")
		if !ok || c != (store.StreamCursor{}) {
			f.Errorf("a new cursor: %v %+v", ok, c)
		}
		return errors.Join(err, tx.MoveCursor(1, chargehand.Live, "x", store.StreamCursor{Number: 3, Part: 4}))
	})
	f.update(func(tx *store.Tx) error {
		c, err := tx.LockCursor(1, chargehand.Live, "x")
		if c != (store.StreamCursor{Number: 3, Part: 4}) {
			f.Errorf("read %+v", c)
		}
		other, err2 := tx.LockCursor(1, chargehand.Live, "y")
		if other != (store.StreamCursor{}) {
			f.Errorf("another one is %+v", other)
		}
		return errors.Join(err, err2)
	})
}

func eventsBehind(f *fixture) {
	behind := func() (list []store.Stream) {
		f.view(func(r *store.Reader) (err error) {
			list, err = r.StreamsBehind("x")
			return err
		})
		return list
	}
	if list := behind(); list != nil {
		f.Errorf("without events %v are behind", list)
	}
	f.insertEvents(startMs, event("1", "a"), event("2", "a"))
	for number, want := range []int{1, 1, 0} {
		if list := behind(); len(list) != want || want == 1 && list[0] != (store.Stream{Account: 1, Environment: chargehand.Live, Last: 2, LastMs: startMs}) {
			f.Errorf("at %d, %v are behind", number, list)
		}
		f.update(func(tx *store.Tx) error {
			if _, err := tx.LockCursor(1, chargehand.Live, "x"); err != nil {
				return err
			}
			return tx.MoveCursor(1, chargehand.Live, "x", store.StreamCursor{Number: int64(number) + 1})
		})
	}
}

func eventCursorRace(f *fixture) {
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			err := f.Update(context.Background(), func(tx *store.Tx) error {
				c, err := tx.LockCursor(1, chargehand.Live, "x")
				if err != nil {
					return err
				}
				c.Number++
				return tx.MoveCursor(1, chargehand.Live, "x", c)
			})
			if err != nil {
				f.Error(err)
			}
		})
	}
	all.Wait()
	if c := f.cursor("x"); c.Number != 20 {
		f.Errorf("%d of 20 moves are there", c.Number)
	}
}

func eventUndone(f *fixture) {
	mine := errors.New("mine")
	err := f.Update(context.Background(), func(tx *store.Tx) error {
		if _, err := tx.InsertEvents([]store.Event{event("1", "a")}, startMs); err != nil {
			return err
		}
		return mine
	})
	if !errors.Is(err, mine) {
		f.Errorf("update: %v", err)
	}
	f.insertEvents(startMs, event("2", "b"))
	if got := f.events(0, 100, 10); !slices.Equal(got, []string{"1 b"}) {
		f.Errorf("read %v", got)
	}
}
