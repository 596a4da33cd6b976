package embedded

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// fullOr is the number of an attack at its full size, or a smaller one for every day.
func fullOr(full, everyday int) int {
	if os.Getenv("CHARGEHAND_FULL") == "1" {
		return full
	}
	return everyday
}

func (w *world) publishIn(env chargehand.Environment, events ...string) {
	w.t.Helper()
	envelopes := make([]map[string]any, len(events))
	for i, text := range events {
		envelopes[i] = parseInput(w.t, text).(map[string]any)
	}
	if err := w.engine.Publish(context.Background(), w.account.No, env, envelopes); err != nil {
		w.t.Fatal(err)
	}
}

// parked waits until so many executions wait for events.
func (w *world) parked(n int) {
	w.t.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for {
		var counts store.StateCounts
		w.view(func(r *store.Reader) (err error) {
			counts, err = r.CountUnfinished()
			return err
		})
		if counts[store.StateParked] >= int64(n) {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%v, and %d should wait", counts, n)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// eventAlone is what an event takes to end its listener, on this machine as it is loaded now.
func (w *world) eventAlone(listener int64) time.Duration {
	w.t.Helper()
	row := w.run(listener, `{}`)
	began := time.Now()
	w.publishIn(chargehand.Live, envelope("other", 2_000_000, "1"))
	w.final(row)
	return time.Since(began)
}

// TestListenersDoNotStopOthers: while many listeners of one workflow look at many events that are not for them, the
// events of other workflows and of the other environment arrive, and the listeners can be cancelled.
func TestListenersDoNotStopOthers(t *testing.T) {
	for name, filter := range map[string]string{
		"equality":         "${ .x == 77 }",
		"fixed value":      "${ .x == $input.never }",
		"of the event":     "${ .x > 77 }",
		"costly":           "${ [range(3000)] | length == 77 }",
		"of the execution": "${ .x > ($input.never | length) + 77 }",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.start()
			defer w.stop()
			listeners, events := fullOr(10_000, 100), fullOr(5_000, 1_000)
			rev := w.define("- a: { listen: { to: { one: { with: { type: org.sec.never, data: '" + filter + "' } } } } }")
			inputs := make([]string, listeners)
			for i := range inputs {
				inputs[i] = `{"never":"never"}`
			}
			batch := w.batch(rev, 100, inputs)
			w.parked(listeners)
			other := w.define("- a: { listen: { to: { one: { with: { type: other } } } } }")
			alone := w.eventAlone(other)
			live, test := w.run(other, `{}`), w.runTest(other, `{}`)
			w.parked(listeners + 2)

			for from := 0; from < events; from += 1_000 {
				page := make([]string, 1_000)
				for i := range page {
					page[i] = envelope("org.sec.never", from+i, `{"x":1}`)
				}
				w.publishIn(chargehand.Live, page...)
			}
			began := time.Now()
			w.publishIn(chargehand.Live, envelope("other", 1_000_000, "1"))
			w.publishIn(chargehand.Test, envelope("other", 1_000_000, "1"))
			w.final(test)
			tested := time.Since(began)
			w.final(live)
			both := time.Since(began)
			t.Logf("the event of test arrived after %v, that of live after %v; alone, one takes %v", tested, both, alone)
			atMost := fairTime + 50*alone
			if tested > atMost || both > atMost {
				t.Errorf("they may take %v", atMost)
			}

			began = time.Now()
			if err := w.engine.CancelBatch(t.Context(), batch.ID, ""); err != nil {
				t.Fatal(err)
			}
			took := time.Since(began)
			t.Logf("%d listeners were cancelled within %v", listeners, took)
			if took > time.Second+time.Duration(listeners)*5*time.Millisecond {
				t.Errorf("to cancel %d listeners took %v", listeners, took)
			}
			if b := w.finalBatch(batch); b.Failed != int64(listeners) {
				t.Errorf("the batch is %+v", b)
			}
		})
	}
}
