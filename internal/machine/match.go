package machine

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// choose finds the filter that takes an event: first those of `until`, whose events are no
// part of the output. It changes nothing.
func (m *Machine) choose(n *node, envelope map[string]any) (f *plan.EventFilter, until, ok bool) {
	m.spent = 0
	to := n.task.Listen.To
	if to.UntilEvents != nil {
		if f, ok := m.chooseOf(n, to.UntilEvents, envelope); ok {
			return f, true, true
		}
	}
	f, ok = m.chooseOf(n, to, envelope)
	return f, false, ok
}

// chooseOf is choose for one strategy. The filter is nil for `any: []`. Of `all`, an event
// takes the first open filter that matches (T59).
func (m *Machine) chooseOf(n *node, s *plan.Strategy, envelope map[string]any) (*plan.EventFilter, bool) {
	if s.Mode == dsl.StrategyAny && len(s.Filters) == 0 {
		return nil, true
	}
	for _, f := range s.Filters {
		if s.Mode == dsl.StrategyAll && n.consumption.met[f.Number] {
			continue
		}
		if m.matchesFilter(n, f, envelope) {
			return f, true
		}
	}
	return nil, false
}

func (m *Machine) matchesFilter(n *node, f *plan.EventFilter, envelope map[string]any) bool {
	x := matcher{m: m, n: n, envelope: envelope}
	if !x.matchAttributes(f, envelope) {
		return false
	}
	for i := range f.Correlations {
		if !m.correlates(n, &f.Correlations[i], envelope) {
			return false
		}
	}
	return true
}

// evalOnEvent evaluates an expression on data from outside. It changes nothing but the counters of
// steps. A failure is not the author's fault, and must not fault the task: the result is false.
// The result is also false when the filters of the task have used up the steps of one expression
// for the event: there may be 1,000 filters, and an event must be checked quickly.
func (m *Machine) evalOnEvent(n *node, s *plan.Operand, dot value.Value, locals *binding) (value.Value, bool) {
	if v, ok := s.Constant(); ok {
		return v, true
	}
	if m.spent >= expr.MaxSteps {
		return nil, false
	}
	e := &m.env
	e.node, e.position, e.locals, e.denied = n, inBody, locals, false
	v, err := s.Eval(dot, e)
	return v, err == nil && !e.denied
}

// matcher compares an attribute of an event with what a filter says (T57).
type matcher struct {
	m        *Machine
	n        *node
	constant *eventEnv   // instead of both: what is matched depends on the event alone
	own      value.Value // the attribute: `.` of expressions
	envelope map[string]any
}

func (x *matcher) matchAttributes(f *plan.EventFilter, envelope map[string]any) bool {
	for i := range f.Attributes {
		a := &f.Attributes[i]
		v := envelope[a.Name]
		if a.Name == "data" {
			v = dataOf(envelope)
		}
		x.own = v
		if !x.match(a.Match, v) {
			return false
		}
	}
	return true
}

func (x *matcher) match(want *plan.Match, v value.Value) bool {
	switch {
	case want.Operand != nil:
		return x.matchResult(want, v)
	case want.Fields != nil:
		object, ok := v.(map[string]any)
		for i := 0; ok && i < len(want.Fields); i++ {
			value, has := object[want.Fields[i].Name]
			ok = has && x.match(want.Fields[i].Match, value)
		}
		return ok
	case want.IsList:
		list, ok := v.([]any)
		ok = ok && len(list) == len(want.Items)
		for i := 0; ok && i < len(list); i++ {
			ok = x.match(want.Items[i], list[i])
		}
		return ok
	}
	text, ok := v.(string)
	if !ok || want.Pattern == nil {
		return value.Equal(want.Value, v)
	}
	return text == want.Value || want.Pattern.MatchString(text)
}

// matchResult: true is a match, false and null are none, all else is compared. Texts are not
// patterns here: they may be data.
func (x *matcher) matchResult(want *plan.Match, v value.Value) bool {
	var result value.Value
	switch {
	case x.constant != nil:
		var ok bool
		if result, ok = x.constant.evalOnEvent(want.Operand, x.own); !ok {
			return false
		}
	case want.Fixed >= 0:
		result = x.n.consumption.fixed[want.Fixed]
	default:
		locals := x.n.locals.bind(plan.EventVariable, x.envelope)
		var ok bool
		if result, ok = x.m.evalOnEvent(x.n, want.Operand, x.own, locals); !ok {
			return false
		}
	}
	switch result {
	case true:
		return true
	case false, nil:
		return false
	}
	return holds(v, result)
}

// holds reports whether a value is equal to another one or, if that is an object, has its
// properties.
func holds(v, want value.Value) bool {
	part, ok := want.(map[string]any)
	if !ok {
		return value.Equal(v, want)
	}
	whole, ok := v.(map[string]any)
	if !ok {
		return false
	}
	//workflowcheck:ignore asks for all of them
	for name, value := range part {
		if own, has := whole[name]; !has || !holds(own, value) {
			return false
		}
	}
	return true
}

// readEvent is the form of an event that the task reads (T65).
func readEvent(read string, envelope map[string]any) value.Value {
	switch read {
	case dsl.ReadEnvelope:
		return envelope
	case dsl.ReadRaw:
		return rawOf(envelope)
	default:
		return dataOf(envelope)
	}
}

// dataOf is the data of an event: binary data as what its media type says, if that can be
// read, else as base64.
func dataOf(envelope map[string]any) value.Value {
	if data, ok := envelope["data"]; ok {
		return data
	}
	encoded, text, ok := decoded(envelope)
	if !ok {
		return encoded
	}
	if mediaType(envelope) == mediaJSON {
		v, err := value.Parse([]byte(text), value.Limits{})
		if err != nil {
			return encoded
		}
		return v
	}
	return text
}

// rawOf is the data of an event as it was received: text, or base64 where it is none. The
// text of JSON that came within an envelope is its canonical one.
func rawOf(envelope map[string]any) value.Value {
	data, ok := envelope["data"]
	if !ok {
		encoded, text, ok := decoded(envelope)
		if !ok {
			return encoded
		}
		return text
	}
	if text, ok := data.(string); ok && mediaType(envelope) != mediaJSON {
		return text
	}
	if data == nil {
		return nil
	}
	return string(value.Marshal(data))
}

// decoded gives the text of binary data, if it is text by its media type and its bytes.
func decoded(envelope map[string]any) (encoded value.Value, text string, ok bool) {
	encoded = envelope["data_base64"]
	source, isText := encoded.(string)
	if !isText || mediaType(envelope) == mediaOther {
		return encoded, "", false
	}
	data, err := base64.StdEncoding.DecodeString(source)
	if err != nil || !utf8.Valid(data) {
		return encoded, "", false
	}
	return encoded, string(data), true
}

type mediaKind uint8

const (
	mediaOther mediaKind = iota
	mediaText
	mediaJSON
)

// mediaType tells what the data of an event is. CloudEvents says that it is JSON if nothing
// else is said; binary data without a type is anything.
func mediaType(envelope map[string]any) mediaKind {
	name, _ := envelope["datacontenttype"].(string)
	name, _, _ = strings.Cut(name, ";")
	name = strings.ToLower(strings.TrimSpace(name))
	_, binary := envelope["data_base64"]
	switch {
	case name == "":
		if binary {
			return mediaOther
		}
		return mediaJSON
	case strings.HasSuffix(name, "/json"), strings.HasSuffix(name, "+json"):
		return mediaJSON
	case strings.HasPrefix(name, "text/"), strings.HasSuffix(name, "/xml"), strings.HasSuffix(name, "+xml"),
		strings.HasSuffix(name, "/yaml"), strings.HasSuffix(name, "+yaml"), name == "application/javascript":
		return mediaText
	}
	return mediaOther
}
