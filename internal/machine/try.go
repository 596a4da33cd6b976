package machine

import (
	"encoding/binary"
	"slices"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// maxBackoffMs is where growing delays stop growing (T20). A longer delay that the author
// wrote stays as it is.
const maxBackoffMs = 60 * 60 * 1000

// tryState is what a try knows beyond other tasks.
type tryState struct {
	attempt      int  // from 1
	handling     bool // `catch.do` runs
	limitMs      int64
	limitTimer   CommandID
	attemptTimer CommandID
	fault        *Fault // the caught one, while handling
	calls        callKeys
}

// beginTry starts the clock of `limit.duration` and the first attempt (T19).
func (m *Machine) beginTry(n *node) *node {
	n.try = &tryState{}
	m.inheritKeys(n)
	if r := n.task.Catch.Retry; r != nil && r.Duration != nil {
		due, f := m.dueTime(n, r.Duration, inBody, n.input, "")
		if f != nil {
			return m.fail(n, f)
		}
		n.try.limitMs = due
		n.try.limitTimer = m.startTimer(n, useRetryTimeout, due)
	}
	return m.attempt(n)
}

// attempt runs the guarded list from the transformed input of the try (T21).
func (m *Machine) attempt(n *node) *node {
	n.try.attempt++
	n.try.calls.runs = nil
	if n.try.attempt > 1 {
		m.tellTask(n.entry, "retried", "retriedAt", nil)
	}
	if r := n.task.Catch.Retry; r != nil && r.AttemptDuration != nil {
		due, f := m.dueTime(n, r.AttemptDuration, inBody, n.input, "")
		if f != nil {
			return m.fail(n, f)
		}
		n.try.attemptTimer = m.startTimer(n, useAttemptTimeout, due)
	}
	n.list, n.at, n.data = n.task.Body, 0, n.input
	n.childAttempt = n.try.attempt
	n.files = nil
	return n
}

// tryDone ends a try whose list, guarded or handler, came to its end. `catch.then` is for
// the error path only (T24).
func (m *Machine) tryDone(n *node) *node {
	m.stopTimer(&n.try.attemptTimer)
	m.stopTimer(&n.try.limitTimer)
	then := n.task.Then
	if c := n.task.Catch; n.try.handling && c.Then.Kind != dsl.FlowNone {
		then = c.Then
	}
	return m.complete(n, n.data, then)
}

// interruptAttempt ends the running attempt with a timeout error (T19, T77).
func (m *Machine) interruptAttempt(n *node, detail string, final bool) *node {
	m.why = WithdrawnTimeout
	m.withdrawChildren(n)
	m.why = 0
	m.ready = slices.DeleteFunc(m.ready, func(r *node) bool { return r == n }) // it may wait for a Continued
	m.stopTimer(&n.delay)
	next, f := m.catch(n, timeoutFault(detail, n.reference()), final)
	if f != nil {
		return m.fail(n, f)
	}
	return next
}

// catch decides what a try does with an error of its guarded list (docs/language/try.md): it leaves the
// error to the tasks above, retries, runs the list of its catch, or ends without error. A returned fault
// passes to the tasks above; if it is nil, the returned node is the one to step next. final excludes a retry.
func (m *Machine) catch(n *node, f *Fault, final bool) (*node, *Fault) {
	c := n.task.Catch
	m.stopTimer(&n.try.attemptTimer)
	if !matches(c.Filter, f) {
		return nil, f
	}
	value := f.Value()
	locals := n.locals.bind(c.As, value)
	wanted, bad := m.both(n, c.When, c.ExceptWhen, value, locals)
	if bad != nil {
		return nil, bad
	}
	if !wanted {
		return nil, f
	}
	if c.Retry != nil && !final {
		due, again, bad := m.retryAt(n, c.Retry, value, locals)
		if bad != nil {
			return nil, bad
		}
		if again {
			m.decided(n.task, BranchCatch, 1)
			if due <= m.nowMs {
				return m.attempt(n), nil
			}
			n.delay = m.startTimer(n, useRetry, due)
			return nil, nil
		}
	}
	return m.handle(n, f, locals)
}

// handle is the end of the attempts (T21, T22, T78).
func (m *Machine) handle(n *node, f *Fault, locals *binding) (*node, *Fault) {
	c := n.task.Catch
	m.decided(n.task, BranchCatch, 0)
	if c.Retry != nil && c.Do == nil && c.Then.Kind == dsl.FlowNone {
		return nil, f
	}
	m.stopTimer(&n.try.limitTimer)
	n.files = nil
	n.try.handling, n.try.fault = true, f
	n.childAttempt = n.attempt
	n.data = n.input
	if c.Do == nil {
		return m.tryDone(n), nil
	}
	n.inner = locals
	n.list, n.at = c.Do, 0
	return n, nil
}

// both evaluates `when` and `exceptWhen` on an error (T23): both must allow.
func (m *Machine) both(n *node, when, except *plan.Operand, v value.Value, locals *binding) (bool, *Fault) {
	if when != nil {
		v, f := m.evalWith(n, when, inBody, v, locals)
		if f != nil || !value.Truthy(v) {
			return false, f
		}
	}
	if except != nil {
		v, f := m.evalWith(n, except, inBody, v, locals)
		if f != nil || value.Truthy(v) {
			return false, f
		}
	}
	return true, nil
}

// retryAt tells whether the policy allows another attempt, and when it is due. A delay that
// would end after `limit.duration` is not begun.
func (m *Machine) retryAt(n *node, r *plan.Retry, value value.Value, locals *binding) (int64, bool, *Fault) {
	retries := n.try.attempt // the number of the retry that would come next, from 1
	if r.AttemptCount >= 0 && retries > r.AttemptCount {
		return 0, false, nil
	}
	wanted, f := m.both(n, r.When, r.ExceptWhen, value, locals)
	if f != nil || !wanted {
		return 0, false, f
	}
	delay, f := m.delayMs(n, r.Delay, value, locals)
	if f != nil {
		return 0, false, f
	}
	delay = grownDelay(r.Backoff, delay, retries)
	jitter, f := m.jitterMs(n, r, retries, value, locals)
	if f != nil {
		return 0, false, f
	}
	due := m.nowMs + delay + jitter
	if n.try.limitMs != 0 && due >= n.try.limitMs {
		return 0, false, nil
	}
	return due, true, nil
}

// grownDelay applies the backoff to the delay before the given retry (T20).
func grownDelay(b dsl.Backoff, delayMs int64, retry int) int64 {
	limit := max(delayMs, maxBackoffMs)
	switch b {
	case dsl.BackoffLinear:
		if delayMs > 0 && int64(retry) > limit/delayMs {
			return limit
		}
		return min(delayMs*int64(retry), limit)
	case dsl.BackoffExponential:
		for i := 1; i < retry && delayMs > 0 && delayMs < limit; i++ {
			delayMs *= 2
		}
		return min(delayMs, limit)
	default:
		return delayMs
	}
}

// jitterMs is a uniform value from the policy's range, the same on every replay (T20).
func (m *Machine) jitterMs(n *node, r *plan.Retry, retry int, value value.Value, locals *binding) (int64, *Fault) {
	from, f := m.delayMs(n, r.JitterFrom, value, locals)
	if f != nil {
		return 0, f
	}
	to, f := m.delayMs(n, r.JitterTo, value, locals)
	if f != nil {
		return 0, f
	}
	if to <= from {
		return from, nil
	}
	sum := m.derive(n, "jitter", retry)
	return from + int64(binary.BigEndian.Uint64(sum[:8])%uint64(to-from+1)), nil
}

// matches compares an error with the static filter of a catch; types by meaning (T1).
func matches(filter *plan.Filter, f *Fault) bool {
	if filter == nil {
		return true
	}
	text := func(want *string, got string) bool { return want == nil || *want == got }
	return text(filter.Type, plan.NormalizeErrorType(f.Type)) &&
		(filter.Status == nil || *filter.Status == f.Status) &&
		text(filter.Instance, f.Instance) &&
		text(filter.Title, f.Title) &&
		text(filter.Detail, f.Detail)
}
