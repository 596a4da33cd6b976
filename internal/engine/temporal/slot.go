package temporal

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// slots is what a run knows about its slot (DESIGN.md "Slots"). At most one state report is in flight; the next one
// carries what has changed meanwhile.
type slots struct {
	held      bool        // it has a slot
	asked     bool        // the last state report asked for one, which has not been granted
	number    int64       // of the last state report
	phase     string      // in the last state report
	waits     store.Waits // in the last state report
	person    bool        // in the last state report: it needs a person
	reporting workflow.Future
}

// reportState sends a state report when the state has changed: an execution that only waits gives its slot back, and
// an execution that has work again asks for a slot. One whose slot stays as it is tells what it waits for from now on,
// and whether that is a person.
func (r *run) reportState() {
	s := &r.slots
	if s.reporting != nil {
		return
	}
	if !r.tasks.idle() { // the rows of tasks come first
		return
	}
	needs := r.machine.Load().HoldsSlot()
	person := !needs && r.machine.NeedsPerson()
	waits := engine.WaitsOf(r.machine, r.timeMs, s.waits, r.secrets)
	keep := needs == (s.held || s.asked)
	if keep && person == s.person && !r.tellsWaits(waits) {
		return
	}
	s.number++
	s.person = person
	if !keep {
		s.held, s.asked = false, needs
	}
	s.setPhase(r)
	s.waits = waits
	s.reporting = r.write(reportType, stateReport{
		Execution: r.argument.Execution, No: r.argument.No, Number: s.number, Slot: needs, Keep: keep, Phase: s.phase, Person: person,
		Waiting: waits.Kind, Waits: waits,
	})
}

// tellsWaits reports whether a state report is worth it that says only what the execution waits for. While it waits for
// a slot, none is sent, because the grant answers the report that asked. Of a short wait that follows another one of
// its kind, the row does not tell.
func (r *run) tellsWaits(waits store.Waits) bool {
	before := r.slots.waits
	if !r.argument.TellsWaits || r.slots.asked || engine.SameWaits(waits, before) {
		return false
	}
	before.UntilMs = waits.UntilMs
	return !engine.SameWaits(waits, before) || waits.UntilMs-r.timeMs >= engine.LongDelay.Milliseconds()
}

// setPhase notes the phase, and writes it to the search attribute. That costs an action of Temporal, so only
// installations that have the search attribute do it.
func (s *slots) setPhase(r *run) {
	phase := r.machine.Phase().String()
	if s.phase == phase {
		return
	}
	s.phase = phase
	if workflow.GetTypedSearchAttributes(r.ctx).ContainsKey(phaseKey) {
		if err := workflow.UpsertTypedSearchAttributes(r.ctx, phaseKey.ValueSet(phase)); err != nil {
			panic(fmt.Errorf("set search attribute: %w", err)) // the attribute's type is ours
		}
	}
}

// receiveReported takes in the answer to the state report in flight.
func (r *run) receiveReported() {
	s := &r.slots
	if s.reporting == nil || !s.reporting.IsReady() {
		return
	}
	var answer stateAnswer
	err := s.reporting.Get(r.ctx, &answer)
	s.reporting = nil
	switch {
	case err != nil:
		// The activity repeats without end, so an operator has ended it.
		r.failure = fmt.Errorf("report the state of the execution: %w", err)
	case answer.Final:
		r.endedElsewhere()
	case answer.Granted:
		r.granted(s.number)
	}
}

// granted takes in a slot, if the grant answers the last state report.
func (r *run) granted(number int64) {
	if s := &r.slots; s.asked && number == s.number {
		s.held, s.asked = true, false
	}
}

// parsePhase is the inverse of Phase.String.
func parsePhase(name string) (chargehand.Phase, error) {
	for p := chargehand.Pending; p <= chargehand.Completed; p++ {
		if p.String() == name {
			return p, nil
		}
	}
	return 0, fmt.Errorf("unknown phase %q", name)
}
