package temporal

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/chargehand/chargehand"
)

// slots is what a run knows of its right to run (DESIGN.md "Slots"). One state report is on its
// way at most; what changes meanwhile is notified by the next one.
type slots struct {
	held      bool   // it has a slot
	asked     bool   // state report number asks for one, and it has not been granted
	number    int64  // of the last state report
	phase     string // as the last state report said
	reporting workflow.Future
}

// state report tells the row what it should say, when that has changed: an execution that only
// waits gives its slot back, one that has work again asks for one.
func (r *run) reportState() {
	s := &r.slots
	if s.reporting != nil {
		return
	}
	needs := r.machine.Load().HoldsSlot()
	if needs == (s.held || s.asked) {
		return
	}
	s.number++
	s.held, s.asked = false, needs
	s.setPhase(r)
	s.reporting = r.write(reportType, stateReport{Execution: r.argument.Execution, No: r.argument.No, Number: s.number, Slot: needs, Phase: s.phase})
}

// setPhase notes the phase, and shows it to people who search in Temporal. That costs an
// action, so it is done for the installations that have the search attribute alone.
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

// receiveSettled takes in the answer of the state report that is on its way.
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
		r.failure = fmt.Errorf("state report: %w", err) // repeated without end, so an operator's hand ended it
	case answer.Final:
		r.endedElsewhere()
	case answer.Granted:
		r.granted(s.number)
	}
}

// granted takes in a slot, if it answers the state report that asked last.
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
