package rehearse_test

import (
	"testing"

	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/rehearse"
	"github.com/chargehand/chargehand/internal/value"
)

// epoch is the time of the first event.
const epoch = 1769860800000

// A machine that is restored before each event, and one that lives on, come to the same end at the same time.
func TestCrash(t *testing.T) {
	const definition = "do: [{a: {wait: PT1S}}, {guard: {try: [{ask: " + call + "}], catch: {retry: {delay: PT5S, limit: {attempt: {count: 2}}}, do: [{b: {set: {n: 1}}}]}}}, {tell: {emit: {event: {with: {type: t}}}}}]"
	fault := &machine.Fault{Type: machine.ErrCommunication, Status: 503}
	var results []rehearse.Result
	for _, crash := range []bool{false, true} {
		got, err := play(t, rehearse.Config{Crash: crash}, definition, map[string]rehearse.Answer{"ask": {Fault: fault}})
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, got)
	}
	one, other := results[0], results[1]
	if one.EndMs != epoch+11_000 || other.EndMs != one.EndMs || other.Phase != one.Phase || !value.Equal(one.Output, other.Output) ||
		len(one.Timeline) != len(other.Timeline) || len(one.Published) != 1 || !value.Equal(one.Published[0], other.Published[0]) {
		t.Errorf("without a crash %+v, with crashes %+v", one, other)
	}
}
