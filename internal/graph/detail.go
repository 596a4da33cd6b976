package graph

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/value"
)

// maxText is how many bytes of an author's text a graph shows in one place.
const maxText = 120

// short cuts a text to one line of at most maxText bytes.
func short(text string) string { return excerpt.Line(strings.TrimSpace(text), maxText) }

// shown is an operand as one line: a text as it is written, anything else as JSON.
func shown(o dsl.Operand) string {
	if !o.Present() {
		return ""
	}
	if text, ok := o.Value.(string); ok {
		return short(text)
	}
	return short(string(value.Marshal(o.Value)))
}

// words joins what is not empty.
func words(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
}

// describe says what a task does: the type of a call or process, and one line.
func describe(t *dsl.Task) (kind, detail string) {
	switch {
	case t.Call != nil:
		return describeCall(t.Call)
	case t.Run != nil:
		return describeRun(t.Run)
	case t.Emit != nil:
		return "", attribute(t.Emit.With, "type")
	case t.For != nil:
		detail = "each " + t.For.Each + " in " + shown(t.For.In)
		if t.For.While.Present() {
			detail += " while " + shown(t.For.While)
		}
		return "", short(detail)
	case t.Fork != nil:
		if t.Fork.Compete {
			return "", "the first branch wins"
		}
		return "", "all branches"
	case t.Listen != nil:
		return "", short(strategyText(t.Listen.To))
	case t.Raise != nil:
		if e := t.Raise.Error; e != nil {
			return "", words(shown(e.Status), shown(e.Type))
		}
		return "", short(t.Raise.Name)
	case t.Set.Present():
		if fields, ok := t.Set.Value.(map[string]any); ok {
			return "", short(strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
		}
		return "", shown(t.Set)
	case t.Try != nil:
		if c := t.Try.Catch; c != nil && c.Retry != nil {
			return "", short(retryText(c.Retry))
		}
	case t.Wait != nil:
		return "", durationText(t.Wait)
	}
	return "", ""
}

func describeCall(c *dsl.Call) (kind, detail string) {
	switch {
	case c.HTTP != nil:
		detail = strings.ToUpper(shown(c.HTTP.Method)) + " " + endpointText(c.HTTP.Endpoint)
	case c.OpenAPI != nil:
		detail = shown(c.OpenAPI.OperationID)
	case c.GRPC != nil:
		detail = c.GRPC.Service + "/" + c.GRPC.Method
	case c.AsyncAPI != nil && c.AsyncAPI.Operation != "":
		detail = c.AsyncAPI.Operation
	case c.AsyncAPI != nil:
		detail = c.AsyncAPI.Channel
	case c.A2A != nil:
		detail = c.A2A.Method
	case c.MCP != nil:
		detail = c.MCP.Method
	case c.Custom():
		return "function", short(c.Function)
	}
	return c.Function, short(detail)
}

func describeRun(r *dsl.Run) (kind, detail string) {
	switch {
	case r.Container != nil:
		return "container", shown(r.Container.Image)
	case r.Script != nil:
		return "script", short(r.Script.Language)
	case r.Shell != nil:
		return "shell", shown(r.Shell.Command)
	case r.Workflow != nil:
		return "workflow", short(r.Workflow.Namespace + "/" + r.Workflow.Name)
	}
	return "", ""
}

func endpointText(e *dsl.Endpoint) string {
	if e == nil {
		return ""
	}
	return shown(e.URI)
}

// attribute is one attribute of an event.
func attribute(with dsl.Operand, name string) string {
	if attributes, ok := with.Value.(map[string]any); ok && attributes[name] != nil {
		return shown(dsl.Operand{Pointer: with.Pointer, Value: attributes[name]})
	}
	return ""
}

// strategyText names the events that a task listens for.
func strategyText(s *dsl.Strategy) string {
	if s == nil {
		return ""
	}
	types := make([]string, len(s.Filters))
	for i, f := range s.Filters {
		if types[i] = attribute(f.With, "type"); types[i] == "" {
			types[i] = shown(f.With)
		}
	}
	text := strings.Join(types, ", ")
	switch {
	case s.Mode == dsl.StrategyAll && len(types) != 1:
		text = words("all of", text)
	case s.Mode == dsl.StrategyAny && len(types) == 0:
		text = "every event"
	case s.Mode == dsl.StrategyAny && len(types) != 1:
		text = words("any of", text)
	}
	if s.Until.Present() {
		text += " until " + shown(s.Until)
	} else if s.UntilEvents != nil {
		text += " until " + strategyText(s.UntilEvents)
	}
	return text
}

// caughtText says which errors are caught.
func caughtText(c *dsl.Catch) string {
	filter := ""
	if e := c.Errors; e != nil {
		filter = words(shown(e.Status), errorName(shown(e.Type)), shown(e.Title))
	}
	text := words("on error", filter)
	if c.When.Present() {
		text += " when " + shown(c.When)
	}
	if c.ExceptWhen.Present() {
		text += " unless " + shown(c.ExceptWhen)
	}
	return short(text)
}

// errorName is the last part of the address of an error type, which is what authors know it by.
func errorName(uri string) string { return uri[strings.LastIndexByte(uri, '/')+1:] }

func retryText(r *dsl.Retry) string {
	if r.Name != "" {
		return "retry " + r.Name
	}
	text := "retry"
	if r.Limit.AttemptCount != nil {
		text += " ×" + strconv.Itoa(*r.Limit.AttemptCount)
	}
	if r.Delay != nil {
		text += ", " + durationText(r.Delay)
	}
	switch r.Backoff {
	case dsl.BackoffLinear:
		text += ", linear"
	case dsl.BackoffExponential:
		text += ", exponential"
	}
	return text
}

func timeoutText(t *dsl.Timeout) string {
	if t == nil {
		return ""
	}
	if t.After != nil {
		return durationText(t.After)
	}
	return short(t.Name)
}

// durationText is a length of time such as "1 h 30 min".
func durationText(d *dsl.Duration) string {
	if !d.Constant() {
		return shown(d.Expression)
	}
	var parts []string
	rest := d.Span.Milliseconds
	for _, unit := range []struct {
		length int64
		name   string
	}{
		{24 * time.Hour.Milliseconds(), "d"},
		{time.Hour.Milliseconds(), "h"},
		{time.Minute.Milliseconds(), "min"},
		{time.Second.Milliseconds(), "s"},
		{1, "ms"},
	} {
		if n := rest / unit.length; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, unit.name))
			rest %= unit.length
		}
	}
	if m := d.Span.Months; m == 1 {
		parts = append([]string{"1 month"}, parts...)
	} else if m > 0 {
		parts = append([]string{fmt.Sprintf("%d months", m)}, parts...)
	}
	if len(parts) == 0 {
		return "0 s"
	}
	return strings.Join(parts, " ")
}
