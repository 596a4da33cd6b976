package plan

import (
	"fmt"
	"regexp"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/expr"
)

// The codes of problems of listeners.
const (
	CodeTooManyFilters   = "too_many_filters"  // more than maxFilters in one task
	CodeUnknownAttribute = "unknown_attribute" // a warning: no event can have it
	CodePattern          = "no_pattern"        // a warning: looks like a regular expression but is none
	CodeEmptyStrategy    = "empty_strategy"    // a warning: `all: []` waits for nothing
)

// maxFilters bounds the event filters of one task: every one is an entry of an index.
const maxFilters = 1_000

// Listen is a compiled listen task (docs/language/listen.md).
type Listen struct {
	To   *Strategy
	Read string // dsl.ReadData, ReadEnvelope or ReadRaw

	Filters []*EventFilter // all filters by Number: those of To, then those of its `until`
	Keys    []CorrelationKey
	Fixed   []*Operand // evaluated once, when listening starts: they depend on no event

	// EnvelopeOnly: whether an event matches depends on the event alone, and what does not match
	// now never will. So what a listen passed over is nothing to a later one.
	EnvelopeOnly bool
}

// Strategy is an event consumption strategy (T55, T56).
type Strategy struct {
	Mode        dsl.StrategyMode
	Filters     []*EventFilter // none with `any: []`: every event (T83)
	Until       *Operand       // nil if none
	UntilEvents *Strategy      // nil if none
}

// EventFilter selects events (T57, T58). All attributes and all correlations must match.
type EventFilter struct {
	Number       int // index in Listen.Filters
	Attributes   []AttributeFilter
	Correlations []Correlation
	// Timed: an expression may look at the clock.
	Timed bool
	Index FilterIndex
}

// AttributeFilter compares one attribute of an event.
type AttributeFilter struct {
	Name  string
	Match *Match
}

// Correlation is one key of a filter: what From extracts from the envelope must be the
// expectation of the key.
type Correlation struct {
	Key  int // index in Listen.Keys
	From *Operand
	// Path is the text of From if that only selects a part of the envelope, else "".
	Path string
}

// CorrelationKey is a name of a correlation. All filters of a task share its expectation (T58).
type CorrelationKey struct {
	Name   string
	Expect *Operand // nil: the first extracted value
}

// Foreach handles consumed events or messages one after another (docs/language/listen.md, T73).
type Foreach struct {
	Item, At     string
	OutputAs     *Operand
	OutputSchema *Schema
	ExportAs     *Operand
	ExportSchema *Schema
}

// listen compiles a listen task.
func (c *compiler) listen(compiled *Task, d *dsl.Listen, at location) {
	if d.To == nil {
		return // refused by the reader
	}
	l := &listenCompiler{compiler: c, listen: &Listen{Read: d.Read, EnvelopeOnly: true}, keys: map[string]int{}}
	inside := at
	if d.Foreach != nil {
		inside = at.bind(d.Foreach.Item, d.Foreach.At)
	}
	l.listen.To = l.strategy(d.To, at)
	l.listen.To.Until = c.condition(d.To.Until, inside)
	if d.To.UntilEvents != nil {
		l.listen.To.UntilEvents = l.strategy(d.To.UntilEvents, at)
	}
	if n := len(l.listen.Filters); n > maxFilters {
		c.fail(d.To.Pointer, CodeTooManyFilters,
			fmt.Sprintf("The task has %d event filters; at most %d are allowed.", n, maxFilters), "")
	}
	compiled.Listen = l.listen
	c.foreach(compiled, d.Foreach, inside)
}

// foreach compiles the body of a listen or a subscription. inside has its variables bound.
func (c *compiler) foreach(compiled *Task, d *dsl.Iterator, inside location) {
	if d == nil {
		return
	}
	f := &Foreach{Item: d.Item, At: d.At}
	compiled.Body = c.list(d.Do, inside)
	if d.Output != nil {
		f.OutputAs = c.operand(d.Output.As, inside.with(inOutput))
		f.OutputSchema = c.schema(d.Output.Schema, inside)
	}
	if d.Export != nil {
		f.ExportAs = c.operand(d.Export.As, inside.with(inExport))
		f.ExportSchema = c.schema(d.Export.Schema, inside)
	}
	compiled.Foreach = f
}

// listenCompiler compiles the filters of one task.
type listenCompiler struct {
	*compiler
	listen *Listen
	keys   map[string]int
	timed  bool // an expression of the filter at hand may look at the clock
}

func (l *listenCompiler) strategy(d *dsl.Strategy, at location) *Strategy {
	s := &Strategy{Mode: d.Mode, Filters: make([]*EventFilter, 0, len(d.Filters))}
	for _, filter := range d.Filters {
		s.Filters = append(s.Filters, l.filter(filter, at))
	}
	if d.Mode == dsl.StrategyAll {
		l.listen.EnvelopeOnly = false // a filter that is satisfied lets pass what it matches
		if len(d.Filters) == 0 {
			l.warn(d.Pointer, CodeEmptyStrategy, "`all: []` waits for no event at all.", "`any: []` takes every event.")
		}
	}
	return s
}

func (l *listenCompiler) filter(d *dsl.EventFilter, at location) *EventFilter {
	f := &EventFilter{Number: len(l.listen.Filters)}
	l.listen.Filters = append(l.listen.Filters, f)
	l.timed = false
	attributes, _ := d.With.Value.(map[string]any)
	for _, name := range attributeOrder(attributes) {
		pointer := d.With.Pointer + pointerTo(name)
		if !attributeName.MatchString(name) {
			l.warn(pointer, CodeUnknownAttribute, fmt.Sprintf("No event has an attribute %q.", name),
				"The names of attributes consist of lower-case letters and digits.")
		}
		m := l.match(dsl.Operand{Pointer: pointer, Value: attributes[name]}, at)
		f.Attributes = append(f.Attributes, AttributeFilter{Name: name, Match: m})
	}
	for i := range d.Correlate.Entries {
		e := &d.Correlate.Entries[i]
		f.Correlations = append(f.Correlations, l.correlation(e, at))
	}
	f.Timed = l.timed
	f.Index = l.indexOf(attributes, at)
	return f
}

// attributeName is what events can be called by. `data` is one like the others here.
var attributeName = regexp.MustCompile(`^[a-z0-9]+$`)

func (l *listenCompiler) correlation(e *dsl.Entry[dsl.Correlation], at location) Correlation {
	l.listen.EnvelopeOnly = false
	key, known := l.keys[e.Name]
	if !known {
		key = len(l.listen.Keys)
		l.keys[e.Name] = key
		l.listen.Keys = append(l.listen.Keys, CorrelationKey{Name: e.Name})
	}
	if expect := l.expression(e.Value.Expect, at); expect != nil {
		shared := &l.listen.Keys[key].Expect
		switch {
		case *shared == nil:
			*shared = expect
		case (*shared).source != expect.source:
			l.warn(e.Value.Expect.Pointer, CodeDoubtful, fmt.Sprintf(
				"The correlation %q has another `expect` already; all filters of a task share the first one.", e.Name),
				"Give different correlations different names.")
		}
	}
	correlation := Correlation{Key: key, From: l.expression(e.Value.From, at)}
	l.noteTime(correlation.From)
	if from := correlation.From; from != nil && from.expression != nil && from.expression.IsPath() {
		correlation.Path = from.source
	}
	return correlation
}

// clock finds expressions that may look at the clock (T14).
var clock = regexp.MustCompile(`\bnow\b`)

func (l *listenCompiler) noteTime(s *Operand) {
	if s != nil && clock.MatchString(s.source) {
		l.timed = true
	}
}

// sourceOf is the text of an expression without its ${ }.
func sourceOf(text string) string {
	if source, ok := expr.Unwrap(text); ok {
		return source
	}
	return text
}
