package embedded

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// fullOr is the number of an attack at its full size, or a smaller one for every day.
func fullOr(full, everyday int) int {
	if os.Getenv("CHARGEHAND_FULL") == "1" && !raceDetector {
		return full
	}
	return everyday
}

func (fx *fixture) publishIn(env chargehand.Environment, events ...string) {
	fx.t.Helper()
	envelopes := make([]map[string]any, len(events))
	for i, text := range events {
		envelopes[i] = parseInput(fx.t, text).(map[string]any)
	}
	from := engine.Publisher{Account: fx.account.No, Environment: env}
	if err := fx.engine.Publish(context.Background(), from, envelopes); err != nil {
		fx.t.Fatal(err)
	}
}

// parked waits until so many executions wait for events.
func (fx *fixture) parked(n int) {
	fx.t.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for {
		var counts store.StateCounts
		fx.view(func(r *store.Reader) (err error) {
			counts, err = r.CountUnfinished()
			return err
		})
		if counts[store.StateParked] >= int64(n) {
			return
		}
		if time.Now().After(deadline) {
			fx.t.Fatalf("%v, and %d should wait", counts, n)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// eventAlone is what an event takes to end its listener, on this machine as it is loaded now.
func (fx *fixture) eventAlone(listener int64) time.Duration {
	fx.t.Helper()
	row := fx.run(listener, `{}`)
	began := time.Now()
	fx.publishIn(chargehand.Live, envelope("other", 2_000_000, "1"))
	fx.final(row)
	return time.Since(began)
}

// TestLongListenersDoNotStopOthers: while many listeners of one workflow look at many events that are not for them, the
// events of other workflows and of the other environment arrive, and the listeners can be cancelled. It compares times:
// so its full size is not for the race detector, which makes filters ten times as slow.
func TestLongListenersDoNotStopOthers(t *testing.T) {
	for name, filter := range map[string]string{
		"equality":         "${ .x == 77 }",
		"fixed value":      "${ .x == $input.never }",
		"of the event":     "${ .x > 77 }",
		"costly":           "${ [range(3000)] | length == 77 }",
		"of the execution": "${ .x > ($input.never | length) + 77 }",
	} {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t)
			fx.start()
			defer fx.stop()
			listeners, events := fullOr(10_000, 100), fullOr(5_000, 1_000)
			rev := fx.define("- a: { listen: { to: { one: { with: { type: org.sec.never, data: '" + filter + "' } } } } }")
			inputs := make([]string, listeners)
			for i := range inputs {
				inputs[i] = `{"never":"never"}`
			}
			batch := fx.batch(rev, 100, inputs)
			fx.parked(listeners)
			other := fx.define("- a: { listen: { to: { one: { with: { type: other } } } } }")
			alone := fx.eventAlone(other)
			live, test := fx.run(other, `{}`), fx.runTest(other, `{}`)
			fx.parked(listeners + 2)

			for from := 0; from < events; from += 1_000 {
				page := make([]string, 1_000)
				for i := range page {
					page[i] = envelope("org.sec.never", from+i, `{"x":1}`)
				}
				fx.publishIn(chargehand.Live, page...)
			}
			began := time.Now()
			fx.publishIn(chargehand.Live, envelope("other", 1_000_000, "1"))
			fx.publishIn(chargehand.Test, envelope("other", 1_000_000, "1"))
			fx.final(test)
			tested := time.Since(began)
			fx.final(live)
			both := time.Since(began)
			t.Logf("the event of test arrived after %v, that of live after %v; alone, one takes %v", tested, both, alone)
			atMost := fairTime + 50*alone
			if tested > atMost || both > atMost {
				t.Errorf("they may take %v", atMost)
			}

			began = time.Now()
			if err := fx.engine.CancelBatch(t.Context(), batch.ID, ""); err != nil {
				t.Fatal(err)
			}
			took := time.Since(began)
			t.Logf("%d listeners were cancelled within %v", listeners, took)
			if took > atMost+time.Duration(listeners)*5*time.Millisecond {
				t.Errorf("to cancel %d listeners took %v", listeners, took)
			}
			if b := fx.finalBatch(batch); b.Failed != int64(listeners) {
				t.Errorf("the batch is %+v", b)
			}
		})
	}
}
