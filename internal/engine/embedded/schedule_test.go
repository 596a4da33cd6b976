package embedded

import (
	"testing"

	"github.com/chargehand/chargehand"
)

// Items that end or wait at once make the scheduler read ahead. What it has read but cannot give
// a slot to must not be taken for started.
func TestBatchGoesOnAfterItemsWithoutSlots(t *testing.T) {
	tests := map[string]string{
		"end":  "set: {}, then: end",
		"wait": "wait: { milliseconds: 1 }, then: end",
	}
	for name, first := range tests {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t)
			fx.start()
			defer fx.stop()
			rev := fx.define(`
- which: { switch: [{ call: { when: .n >= 3, then: call } }] }
- first: { ` + first + ` }
- call: { call: http, with: { method: get, endpoint: http://x/slow/10 } }`)
			b := fx.finalBatch(fx.batch(rev, 3, numbered(8)))
			if b.Status != chargehand.BatchCompleted || b.Finished != 8 {
				t.Fatalf("%+v", b)
			}
		})
	}
}
