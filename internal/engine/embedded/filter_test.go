package embedded

import (
	"testing"
	"time"

	"github.com/chargehand/chargehand"
)

// TestExpensiveFilters: filters that take long to evaluate delay neither the events that the
// execution has received before nor its cancellation.
func TestExpensiveFilters(t *testing.T) {
	fx := newFixture(t)
	fx.outside.started = make(chan callSeen, 1)
	fx.start()
	defer fx.stop()
	rev := fx.define(`
- a:
    listen:
      to:
        any:
          - with: { type: first }
          - with: { type: more, data: '${ [range(900000)] | length < 0 }' }
        until: 'false'
    foreach:
      do:
        - b: { call: http, with: { method: get, endpoint: http://x/block/never } }`)
	row := fx.listeners(rev, 1, func(int) string { return `{}` })[0]
	events := []string{envelope("first", 1, "0")}
	for i := range 400 { // about a minute of computing
		events = append(events, envelope("more", i, "0"))
	}
	fx.publish(events...)
	fx.blocked()
	if err := fx.engine.Cancel(t.Context(), row.ID, ""); err != nil {
		t.Fatal(err)
	}
	if row = fx.finalIn(row, 30*time.Second); row.Status != chargehand.Errored || row.Phase != chargehand.Cancelled {
		t.Fatalf("the listener ended as %+v", row)
	}
}
