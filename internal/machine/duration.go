package machine

import (
	"fmt"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// maxTimeMs is the last moment that a timer can be due: the end of the year 9999. What lies
// behind it never comes.
const maxTimeMs = 253402300799999

// dueTime is the moment that lies the given duration after now. instance names the component
// at fault; "" stands for the node's task.
func (m *Machine) dueTime(n *node, d *plan.Duration, where position, dot value.Value, instance string) (int64, *Fault) {
	span, err := d.Span, error(nil)
	if d.Operand != nil {
		span, err = m.span(n, d, where, dot, n.locals, dotOf(where))
	}
	if err != nil {
		if instance == "" {
			instance = n.reference()
		}
		return 0, m.evalFault(err, d.Path, instance)
	}
	return addSpan(m.nowMs, span), nil
}

// delayMs is the length of an optional duration of a retry policy; `.` is the error (T72).
func (m *Machine) delayMs(n *node, d *plan.Duration, value value.Value, locals *binding) (int64, *Fault) {
	if d == nil {
		return 0, nil
	}
	span, err := d.Span, error(nil)
	if d.Operand != nil {
		span, err = m.span(n, d, inBody, value, locals, "the error")
	}
	if err != nil {
		return 0, m.evalFault(err, d.Path, n.reference())
	}
	return addSpan(m.nowMs, span) - m.nowMs, nil
}

// dotOf says what `.` is in a duration that does not belong to a retry (T72).
func dotOf(where position) string {
	switch where {
	case inTaskInput:
		return "the raw input of the task"
	case inWorkflowInput:
		return "the input of the workflow"
	}
	return "the input of the task"
}

// span evaluates a duration by expression. Its error shows the value that the expression
// yielded and says what `.` is there, because authors mix that up (T97).
func (m *Machine) span(n *node, d *plan.Duration, where position, dot value.Value, locals *binding, dotText string) (dsl.Span, error) {
	v, err := m.evaluate(n, d.Operand, where, dot, locals)
	if err != nil {
		return dsl.Span{}, err
	}
	if text, ok := v.(string); ok {
		if span, err := dsl.ParseDuration(text); err == nil {
			return span, nil
		}
	}
	return dsl.Span{}, &expr.EvalError{Detail: fmt.Sprintf("a duration must be ISO 8601 text such as PT30S, but the expression yields %s; here . is %s",
		shortText(v), dotText)}
}

// maxShown bounds a value that an error shows, in bytes.
const maxShown = 120

// shortText is a value as JSON, shortened.
func shortText(v value.Value) string {
	text := string(value.Marshal(v))
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "…"
}

// AddSpan is the moment that lies a span after another one, in milliseconds since 1970, as all
// durations are counted (T52); at most the end of the year 9999.
func AddSpan(ms int64, s dsl.Span) int64 { return addSpan(ms, s) }

// addSpan adds months by the calendar, in UTC, then milliseconds (T52). A day that the
// month does not have becomes the month's last.
func addSpan(ms int64, s dsl.Span) int64 {
	if s.Months > 0 {
		const maxMonths = 12 * 10000
		if s.Months > maxMonths {
			return maxTimeMs
		}
		from := time.UnixMilli(ms).UTC()
		first := time.Date(from.Year(), from.Month()+time.Month(s.Months), 1,
			from.Hour(), from.Minute(), from.Second(), from.Nanosecond(), time.UTC)
		lastDay := first.AddDate(0, 1, -1).Day()
		ms = first.AddDate(0, 0, min(from.Day(), lastDay)-1).UnixMilli()
	}
	if ms > maxTimeMs-s.Milliseconds {
		return maxTimeMs
	}
	return ms + s.Milliseconds
}
