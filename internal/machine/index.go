package machine

import (
	"crypto/sha256"
	"math"
	"math/big"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/chargehand/chargehand/internal/cloudevent"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/plan"
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
type PathFilter struct{ path *expr.Expression }

// CompilePath compiles the Path of a filter, which is not "". Errors are *expr.CompileError.
func CompilePath(text string) (PathFilter, error) {
	path, err := expr.Compile(text, nil)
	return PathFilter{path}, err
}

// Key is the hash of what an envelope has at the path, to be compared with Filter.Key. It
// reports false if there is nothing: then no filter with this path lets the event through.
func (f PathFilter) Key(envelope expr.Value) ([32]byte, bool) {
	v, err := f.path.Eval(envelope, noEnv{})
	if err != nil || v == nil {
		return [32]byte{}, false
	}
	return FilterKey(v), true
}

// noEnv has no variables.
type noEnv struct{}

func (noEnv) Variable(string) expr.Value { return nil }
func (noEnv) NowMs() int64               { return 0 }

// FilterKey is the SHA-256 of the canonical JSON of a value, in which numbers that are equal
// are written the same.
func FilterKey(v expr.Value) [32]byte { return sha256.Sum256(expr.Marshal(plainNumbers(v))) }

// plainNumbers writes floats that are integers as such.
func plainNumbers(v expr.Value) expr.Value {
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
func filtersOf(l *plan.Listen, c *consumption) []Filter {
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
			entry := filterOf(l, f, c)
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

func filterOf(l *plan.Listen, f *plan.EventFilter, c *consumption) Filter {
	var entry Filter
	for _, a := range f.Attributes {
		if a.Name != "type" {
			continue
		}
		switch m := a.Match; {
		case m.Slot == nil:
			entry.Type, _ = m.Value.(string)
		case m.Fixed >= 0:
			entry.Type, _ = c.fixed[m.Fixed].(string)
			entry.Exact = entry.Type != ""
		}
	}
	for _, one := range f.Correlations {
		if one.Path == "" || l.Keys[one.Key].Expect == nil || c.expected[one.Key].value == nil {
			continue
		}
		if len(one.Path) > MaxFilterText {
			continue
		}
		entry.Path, entry.Key = one.Path, FilterKey(c.expected[one.Key].value)
		break
	}
	if len(entry.Type) > MaxFilterText {
		entry.Type, entry.Exact = "", false
	}
	return entry
}
