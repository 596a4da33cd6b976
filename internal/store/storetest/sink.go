package storetest

import (
	"errors"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var sinkTests = map[string]func(*fixture){
	"from now on": sinkFromNowOn,
	"moved":       sinkMoved,
	"deleted":     sinkDeleted,
}

// emitted stores n more events of a stream, the numbers of which begin behind after.
func (f *fixture) emitted(env chargehand.Environment, after, n int) {
	f.Helper()
	var events []store.Event
	for i := range n {
		events = append(events, store.Event{Account: 1, Environment: env, Dedupe: [16]byte{byte(after + i + 1)}, Type: "a", Data: inline(`{}`)})
	}
	f.update(func(tx *store.Tx) error {
		_, err := tx.InsertEvents(events, startMs)
		return err
	})
}

func (f *fixture) sinkStreams(name string) (list []store.SinkStream) {
	f.Helper()
	f.view(func(r *store.Reader) (err error) {
		list, err = r.SinkStreams(name)
		return err
	})
	return list
}

// sinkFromNowOn: what is there already is not delivered; a stream that begins later is from its
// first event on, also after the sink was registered again.
func sinkFromNowOn(f *fixture) {
	f.emitted(chargehand.Live, 0, 3)
	register := func() { f.update(func(tx *store.Tx) error { return tx.RegisterSink("a", startMs) }) }
	register()
	f.emitted(chargehand.Live, 3, 1)
	f.emitted(chargehand.Test, 0, 2)
	register()
	want := []store.SinkStream{
		{Sink: store.Sink{Name: "a", Account: 1, Environment: chargehand.Live, Number: 3}, Last: 4},
		{Sink: store.Sink{Name: "a", Account: 1, Environment: chargehand.Test}, Last: 2},
	}
	slices.SortFunc(want, func(a, b store.SinkStream) int { return int(a.Environment) - int(b.Environment) })
	if got := f.sinkStreams("a"); !slices.Equal(got, want) {
		f.Errorf("got %+v, want %+v", got, want)
	}
}

// sinkMoved: a sink does not go back, and others do not move with it.
func sinkMoved(f *fixture) {
	for _, name := range []string{"a", "b"} {
		f.update(func(tx *store.Tx) error { return tx.RegisterSink(name, startMs) })
	}
	f.emitted(chargehand.Live, 0, 3)
	moved := store.Sink{Name: "a", Account: 1, Environment: chargehand.Live, Number: 2, Failures: 3, FailingMs: 4, DueMs: 5}
	f.update(func(tx *store.Tx) error { return tx.MoveSink(&moved) })
	behind := moved
	behind.Number = 1
	err := f.Update(f.Context(), func(tx *store.Tx) error { return tx.MoveSink(&behind) })
	if !errors.Is(err, store.ErrConflict) {
		f.Errorf("going back: %v", err)
	}
	if got := f.sinkStreams("a"); len(got) != 1 || got[0] != (store.SinkStream{Sink: moved, Last: 3}) {
		f.Errorf("moved: %+v", got)
	}
	if got := f.sinkStreams("b"); len(got) != 1 || got[0].Number != 0 {
		f.Errorf("the other one: %+v", got)
	}
}

// sinkDeleted: what no process has registered for long is forgotten, and nothing else is.
func sinkDeleted(f *fixture) {
	f.emitted(chargehand.Live, 0, 3)
	for i, name := range []string{"unused", "used", "renewed"} {
		f.update(func(tx *store.Tx) error {
			return errors.Join(tx.RegisterSink(name, startMs+int64(i)), tx.TakeLease(store.SinkLease(name), [16]byte{1}, startMs, startMs+10))
		})
	}
	for _, at := range []int64{5, 0} { // a clock that is set back changes nothing
		f.update(func(tx *store.Tx) error { return tx.RegisterSink("renewed", startMs+at) })
	}
	leases := f.metaCount()
	// "used" was registered by a version that did not note it.
	err := f.db.Update(f.Context(), func(c store.Conn) error {
		_, err := c.Exec(`UPDATE sink SET used_ms = 0 WHERE name = 'used'`)
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	deleted := 0
	f.update(func(tx *store.Tx) (err error) {
		deleted, err = tx.DeleteSinks(startMs+5, startMs+20)
		return err
	})
	if deleted != 1 {
		f.Errorf("deleted %d, want 1", deleted)
	}
	if n := f.number(`SELECT COUNT(*) FROM sink WHERE name = 'unused'`); n != 0 || f.metaCount() != leases-1 {
		f.Errorf("%d rows of it and %d leases are left", n, f.metaCount())
	}
	if n := f.number(`SELECT COUNT(*) FROM sink`); n != 4 {
		f.Errorf("%d rows are left of the others, want 4", n)
	}
	f.emitted(chargehand.Live, 3, 1)
	f.update(func(tx *store.Tx) error { return tx.RegisterSink("unused", startMs+30) })
	if got := f.sinkStreams("unused"); len(got) != 1 || got[0].Number != 4 {
		f.Errorf("registered again: %+v", got)
	}
}
