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
	register := func() { f.update(func(tx *store.Tx) error { return tx.RegisterSink("a") }) }
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
		f.update(func(tx *store.Tx) error { return tx.RegisterSink(name) })
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
