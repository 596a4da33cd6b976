package engine

import (
	"slices"
	"time"

	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// LongDelay is the shortest delay of a retry that is written into the row of its execution. Shorter ones are over
// before a reader could look.
const LongDelay = 5 * time.Second

var waitKinds = [...]store.WaitKind{
	machine.WaitTimer: store.WaitTimer, machine.WaitRetry: store.WaitRetry, machine.WaitEvent: store.WaitEvent, machine.WaitChild: store.WaitChild,
	machine.WaitPerson: store.WaitPerson,
}

// WaitsOf says what the row of an execution is to say of what it waits for. before is what the row says now; nowMs is
// the time of the last event. Where an execution has secrets, the types of the events may tell them, and are left out.
func WaitsOf(m *machine.Machine, nowMs int64, before store.Waits, secrets *Secrets) store.Waits {
	w := m.Waiting()
	if w.Kind == machine.WaitNone && w.Retry == nil { // mostly: it is asked after every event
		return store.Waits{}
	}
	s := store.Waits{Kind: waitKinds[w.Kind], UntilMs: w.UntilMs}
	if secrets == nil {
		s.Types = w.Types
	}
	if w.Kind == machine.WaitPerson {
		s.Task = w.Task.String()
	}
	if r := w.Retry; r != nil {
		known := before.Attempt != nil && before.Attempt.NextMs == r.NextMs
		if known || r.NextMs-nowMs >= LongDelay.Milliseconds() {
			s.Attempt = &store.Attempt{Reference: r.Reference, Number: r.Attempt, Of: r.Of, NextMs: r.NextMs}
		}
	}
	if s.Kind == store.WaitRetry && s.Attempt == nil {
		return store.Waits{}
	}
	return s
}

// SameWaits reports whether two rows say the same.
func SameWaits(a, b store.Waits) bool {
	sameAttempt := a.Attempt == b.Attempt || a.Attempt != nil && b.Attempt != nil && *a.Attempt == *b.Attempt
	return sameAttempt && a.Kind == b.Kind && a.UntilMs == b.UntilMs && a.Task == b.Task && slices.Equal(a.Types, b.Types)
}
