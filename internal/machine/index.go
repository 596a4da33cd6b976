package machine

import (
	"crypto/sha256"
	"errors"
	"math"
	"math/big"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/chargehand/chargehand/internal/cloudevent"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// TypeFilter is the compiled form of Filter.Type. It is immutable.
type TypeFilter struct {
	text    string
	dotted  bool // its only patterns are dots
	pattern *regexp.Regexp
}

// CompileType compiles the Type of a filter. A text that is no regular expression is compared
// as it is. Most types have dots, so these cost no regular expression.
func CompileType(text string) TypeFilter {
	plain := strings.ReplaceAll(text, ".", "")
	if regexp.QuoteMeta(plain) == plain && utf8.ValidString(text) {
		return TypeFilter{text: text, dotted: plain != text}
	}
	pattern, err := plan.CompilePattern(text)
	if err != nil {
		pattern = nil
	}
	return TypeFilter{text: text, pattern: pattern}
}

// Costly reports whether it took a regular expression, so that it is worth being kept.
func (f TypeFilter) Costly() bool { return f.pattern != nil }

// Pattern reports whether types besides the text itself may match, and what all of those begin with.
func (f TypeFilter) Pattern() (prefix string, is bool) {
	if f.dotted {
		prefix, _, _ = strings.Cut(f.text, ".")
		return prefix, true
	}
	if f.pattern == nil {
		return "", false
	}
	if alone, err := regexp.Compile(f.text); err == nil { // what f.pattern has around it hides the prefix
		prefix, _ = alone.LiteralPrefix()
	}
	return prefix, true
}

// Lets reports whether an event of the given type may match.
func (f TypeFilter) Lets(eventType string) bool {
	return f.text == "" || f.text == eventType || f.dotted && matchesDots(f.text, eventType) || f.pattern != nil && f.pattern.MatchString(eventType)
}

// matchesDots reports whether a text matches a regular expression that has no operators but dots, each
// of which stands for one character that is no line break.
func matchesDots(pattern, text string) bool {
	for _, want := range pattern {
		got, size := utf8.DecodeRuneInString(text)
		if size == 0 || got != want && (want != '.' || got == '\n') {
			return false
		}
		text = text[size:]
	}
	return text == ""
}

// PathFilter is the compiled form of Filter.Path. It is immutable.
type PathFilter struct {
	path     *expr.Expression
	ofData   bool              // path is one on the data of the event, not on its envelope
	constant *plan.EventFilter // instead of path
}

// The first character of a Filter.Path tells what it is, unless it is a path on the envelope.
const (
	dataPath       = "@" // a path on the data follows
	constantFilter = "?" // a plan.FilterIndex.Constant follows; the key is ConstantKey for an event that it matches
)

// ConstantKey is the key of events that match what depends on the event alone.
var ConstantKey = FilterKey(true)

// CompilePath compiles the Path of a filter, which is not "". Errors: it is none.
func CompilePath(text string) (PathFilter, error) {
	if constant, is := strings.CutPrefix(text, constantFilter); is {
		f, err := plan.CompileFilter(constant)
		return PathFilter{constant: f}, err
	}
	text, ofData := strings.CutPrefix(text, dataPath)
	path, err := expr.Compile(text, nil)
	return PathFilter{path: path, ofData: ofData}, err
}

// Key is the hash of what an envelope has at the path, to be compared with Filter.Key. It
// reports false if there is nothing: then no filter with this path lets the event through.
// steps bounds what expressions may take, and is reduced by what they took. If they needed
// more, unsure is true, and the event gets through.
func (f PathFilter) Key(envelope value.Value, steps *int) (key [32]byte, has, unsure bool) {
	if f.constant != nil {
		object, _ := envelope.(map[string]any)
		env := &eventEnv{envelope: object, steps: *steps}
		x := matcher{constant: env, envelope: object}
		has := x.matchAttributes(f.constant, object)
		*steps = env.steps
		return ConstantKey, has || env.short, env.short
	}
	if object, ok := envelope.(map[string]any); ok && f.ofData {
		envelope = dataOf(object)
	}
	v, err := f.path.Eval(envelope, noEnv{})
	if err != nil || v == nil {
		return [32]byte{}, false, false
	}
	return FilterKey(v), true, false
}

// Constant reports whether the filter consists of expressions and the like on the event, which may take long.
func (f PathFilter) Constant() bool { return f.constant != nil }

// noEnv has no variables.
type noEnv struct{}

func (noEnv) Variable(string) value.Value { return nil }
func (noEnv) NowMs() int64                { return 0 }

// eventEnv has the event, and knows how many steps are left.
type eventEnv struct {
	envelope map[string]any
	steps    int
	short    bool // more steps would have been needed
}

func (e *eventEnv) Variable(name string) value.Value {
	if name == plan.EventVariable {
		return e.envelope
	}
	return nil
}

func (e *eventEnv) NowMs() int64    { return 0 }
func (e *eventEnv) StepLimit() int  { return e.steps }
func (e *eventEnv) Spent(steps int) { e.steps -= steps }

// evalOnEvent is Machine.look for what depends on the event alone.
func (e *eventEnv) evalOnEvent(s *plan.Operand, dot value.Value) (value.Value, bool) {
	if e.steps <= 0 {
		e.short = true
		return nil, false
	}
	v, err := s.Eval(dot, e)
	var failed *expr.EvalError
	if errors.As(err, &failed) && failed.Limit && e.steps <= 0 {
		e.short = true
	}
	return v, err == nil
}

// FilterKey is the SHA-256 of the canonical JSON of a value, in which numbers that are equal
// are written the same.
func FilterKey(v value.Value) [32]byte { return sha256.Sum256(value.Marshal(plainNumbers(v))) }

// plainNumbers writes floats that are integers as such.
func plainNumbers(v value.Value) value.Value {
	switch v := v.(type) {
	case float64:
		if v != math.Trunc(v) {
			return v
		}
		whole, _ := big.NewFloat(v).Int(nil)
		if whole.IsInt64() {
			return int(whole.Int64())
		}
		return whole
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = plainNumbers(item)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		//workflowcheck:ignore copies into a map
		for name, item := range v {
			object[name] = plainNumbers(item)
		}
		return object
	default:
		return v
	}
}

// MaxFilterText bounds each text of a filter in bytes: databases index them. No type of an event
// is longer; a pattern or a path may be, and then lets everything through.
const MaxFilterText = cloudevent.MaxAttributeBytes

// filtersOf makes the index entries of a listen whose fixed expressions and expectations
// are known. Every event that one of its filters matches gets through one of them.
func (m *Machine) filtersOf(n *node) []Filter {
	l := n.task.Listen
	strategies := []*plan.Strategy{l.To}
	if l.To.UntilEvents != nil {
		strategies = append(strategies, l.To.UntilEvents)
	}
	var filters []Filter
	seen := map[Filter]bool{}
	for _, s := range strategies {
		if len(s.Filters) == 0 {
			return []Filter{{}} // `any: []`
		}
		for _, f := range s.Filters {
			entry := m.filterOf(n, f)
			if entry == (Filter{}) {
				return []Filter{entry}
			}
			if !seen[entry] {
				seen[entry] = true
				filters = append(filters, entry)
			}
		}
	}
	return filters
}

func (m *Machine) filterOf(n *node, f *plan.EventFilter) Filter {
	var entry Filter
	c := n.consumption
	for _, a := range f.Attributes {
		if a.Name != "type" {
			continue
		}
		switch one := a.Match; {
		case one.Operand == nil:
			entry.Type, _ = one.Value.(string)
		case one.Fixed >= 0:
			entry.Type, _ = c.fixed[one.Fixed].(string)
			entry.Exact = entry.Type != ""
		}
	}
	if len(entry.Type) > MaxFilterText {
		entry.Type, entry.Exact = "", false
	}
	entry.Path, entry.Key = m.pathOf(n, f)
	return entry
}

// pathOf finds what tells most of the events of its type apart from those of a filter: a value that the execution
// waits for, else what depends on the event alone.
func (m *Machine) pathOf(n *node, f *plan.EventFilter) (path string, key [32]byte) {
	c := n.consumption
	for _, one := range f.Correlations {
		if one.Path == "" || n.task.Listen.Keys[one.Key].Expect == nil || c.expected[one.Key].value == nil || len(one.Path) > MaxFilterText {
			continue
		}
		return one.Path, FilterKey(c.expected[one.Key].value)
	}
	for _, one := range f.Index.Equals {
		v, ok := m.evalOnEvent(n, one.Value, nil, n.locals)
		if ok && comparable(v) && len(dataPath+one.Path) <= MaxFilterText {
			return dataPath + one.Path, FilterKey(v)
		}
	}
	if text := constantFilter + f.Index.Constant; f.Index.Constant != "" && len(text) <= MaxFilterText {
		return text, ConstantKey
	}
	return "", key
}

// comparable reports whether all that is equal to a value has its key. Integers above that are equal to numbers
// that are written otherwise; null is equal to what is not there.
func comparable(v value.Value) bool {
	const exact = 1 << 53
	switch v := v.(type) {
	case string, bool:
		return true
	case int:
		return -exact < v && v < exact
	case float64:
		return -exact < v && v < exact
	}
	return false
}
