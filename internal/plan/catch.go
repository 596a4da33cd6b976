package plan

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/value"
)

// catch compiles what a try does with errors. Its conditions see the error variable (T11, T23).
func (c *compiler) catch(d *dsl.Catch, at location, index map[string]int) *Catch {
	if d == nil {
		return &Catch{As: "error"}
	}
	inside := at.bind(d.As)
	compiled := &Catch{
		As:         d.As,
		Filter:     c.filter(d.Errors),
		When:       c.expression(d.When, inside),
		ExceptWhen: c.expression(d.ExceptWhen, inside),
		Retry:      c.namedRetry(d.Retry, inside),
		Then:       c.flow(d.Then, index),
	}
	if d.HasDo {
		compiled.Do = c.list(d.Do, inside)
	}
	return compiled
}

func (c *compiler) filter(f *dsl.ErrorFilter) *Filter {
	if f == nil {
		return nil
	}
	text := func(s dsl.Operand) *string {
		if !s.Present() {
			return nil
		}
		value := s.Text()
		return &value
	}
	compiled := &Filter{
		Type: text(f.Type), Instance: text(f.Instance), Title: text(f.Title), Detail: text(f.Detail),
	}
	if compiled.Type != nil {
		*compiled.Type = NormalizeErrorType(*compiled.Type)
		c.unmatchable(f.Type, *compiled.Type)
	}
	if status, ok := f.Status.Value.(int); ok {
		compiled.Status = &status
	}
	return compiled
}

// unmatchable warns of a type that no standard error has, because it is no absolute address (T93).
func (c *compiler) unmatchable(s dsl.Operand, normalized string) {
	if u, err := url.Parse(normalized); err == nil && u.IsAbs() {
		return
	}
	hint := "Write the full address, such as " + errorAddress + "runtime."
	name := normalized[strings.LastIndexByte(normalized, '/')+1:]
	if suggested := nearest(name, slices.Sorted(maps.Keys(errorTypes))); suggested != "" {
		hint = "Write " + errorAddress + suggested + "."
	}
	c.warn(s.Pointer, CodeErrorType,
		fmt.Sprintf("The type %q is no absolute address; no standard error ever has it.", shortened(s.Text())), hint)
}

// nearest is the candidate that is most like a name, or "".
func nearest(name string, candidates []string) string {
	for _, candidate := range candidates {
		if strings.Contains(strings.ToLower(name), candidate) {
			return candidate
		}
	}
	suggested := strings.TrimPrefix(dsl.Suggest(name, candidates), "Did you mean ")
	return strings.Trim(suggested, `"?`)
}

func (c *compiler) namedRetry(r *dsl.Retry, at location) *Retry {
	if r == nil || r.Name == "" {
		return c.retry(r, at)
	}
	named, ok := lookUp(c, &c.doc.Use.Retries, r.Name, r.Pointer, "retry policy", "use.retries")
	if !ok {
		return nil
	}
	return reuse(c, named.Pointer, at, func() *Retry { return c.retry(named, at) })
}

// retry compiles a policy. `.` in its durations is the error (T72), so its operands see what the
// catch's conditions see; limits are set before there is an error and do not.
func (c *compiler) retry(r *dsl.Retry, at location) *Retry {
	if r == nil {
		return nil
	}
	compiled := &Retry{
		When:         c.expression(r.When, at),
		ExceptWhen:   c.expression(r.ExceptWhen, at),
		Delay:        c.duration(r.Delay, at),
		Backoff:      r.Backoff,
		JitterFrom:   c.duration(r.JitterFrom, at),
		JitterTo:     c.duration(r.JitterTo, at),
		AttemptCount: -1,
	}
	if r.Limit.AttemptCount != nil {
		compiled.AttemptCount = *r.Limit.AttemptCount
	}
	outside := at
	if len(outside.locals) > 0 {
		outside.locals = outside.locals[:len(outside.locals)-1]
	}
	compiled.AttemptDuration = c.duration(r.Limit.AttemptDuration, outside)
	compiled.Duration = c.duration(r.Limit.Duration, outside)
	return compiled
}

// raise compiles the error of a raise, inline or by name.
func (c *compiler) raise(r *dsl.Raise, at location) *Operand {
	definition := r.Error
	if definition == nil {
		named, ok := lookUp(c, &c.doc.Use.Errors, r.Name, r.Pointer, "error", "use.errors")
		if !ok {
			return nil
		}
		return reuse(c, named.Pointer, at, func() *Operand { return c.errorTemplate(named, at) })
	}
	return c.errorTemplate(definition, at)
}

// errorTemplate compiles an error definition. The author's `instance` does not count (T34).
func (c *compiler) errorTemplate(e *dsl.Error, at location) *Operand {
	object := map[string]any{}
	for name, s := range map[string]dsl.Operand{"type": e.Type, "status": e.Status, "title": e.Title, "detail": e.Detail} {
		if s.Present() {
			object[name] = s.Value
		}
	}
	return c.value(dsl.Operand{Pointer: e.Pointer, Value: value.Value(object)}, at)
}

// errorTypes are the names of the standard errors.
var errorTypes = map[string]bool{
	"configuration": true, "validation": true, "expression": true, "authentication": true,
	"authorization": true, "timeout": true, "communication": true, "runtime": true,
}

// errorAddress is what the types of the standard errors begin with (T1).
const errorAddress = "https://open-workflow-specification.org/spec/1.0.0/errors/"

// NormalizeErrorType brings the ways to write a standard error type into one form: both
// hosts, with and without "www.", http and https, and the path shapes that the
// specification's texts use (T1). Every other type stays as it is.
func NormalizeErrorType(text string) string {
	slash := strings.LastIndexByte(text, '/')
	if slash < 0 || !errorTypes[text[slash+1:]] {
		return text
	}
	rest := text[:slash]
	if scheme, after, ok := strings.Cut(rest, "://"); ok {
		if scheme != "http" && scheme != "https" {
			return text
		}
		host, path, _ := strings.Cut(after, "/")
		switch strings.TrimPrefix(host, "www.") {
		case "open-workflow-specification.org", "serverlessworkflow.io":
		default:
			return text
		}
		rest = path
	} else {
		rest = strings.TrimPrefix(rest, "/")
	}
	switch rest {
	case "spec/1.0.0/errors", "dsl/errors/types", "errors", "errors/types":
		return errorAddress + text[slash+1:]
	}
	return text
}
