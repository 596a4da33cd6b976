package expr

import (
	"github.com/chargehand/chargehand/internal/value"
	"math"
	"math/big"
	"strings"
	"unicode/utf8"
)

// natives are the built-in functions in Go, by name and number of arguments. Names with an
// underscore are for the definitions in prelude.go only.
var natives = map[string]native{
	"length/0":         fnLength,
	"utf8bytelength/0": fnUTF8ByteLength,
	"not/0":            fnNot,
	"keys/0":           fnKeys,
	"has/1":            fnHas,
	"add/0":            fnAdd,
	"type/0":           fnType,
	"error/0":          fnError,
	"error/1":          fnError,
	"contains/1":       fnContains,
	"inside/1":         fnInside,
	"indices/1":        fnIndices,
	"index/1":          fnIndex,
	"rindex/1":         fnLastIndex,
	"setpath/2":        func(r *evaluation, v Value, a []Value) (Value, error) { return r.setpath(v, a[0], a[1]) },
	"delpaths/1":       func(r *evaluation, v Value, a []Value) (Value, error) { return r.delpaths(v, a[0]) },
	"toboolean/0":      fnToBoolean,
	"tonumber/0":       fnToNumber,

	"reverse/0":    fnReverse,
	"flatten/0":    fnFlatten,
	"flatten/1":    fnFlatten,
	"transpose/0":  fnTranspose,
	"bsearch/1":    fnSearch,
	"min/0":        func(r *evaluation, v Value, _ []Value) (Value, error) { return r.extreme("min", v, v, true) },
	"max/0":        func(r *evaluation, v Value, _ []Value) (Value, error) { return r.extreme("max", v, v, false) },
	"_min_by/1":    func(r *evaluation, v Value, a []Value) (Value, error) { return r.extreme("min_by", v, a[0], true) },
	"_max_by/1":    func(r *evaluation, v Value, a []Value) (Value, error) { return r.extreme("max_by", v, a[0], false) },
	"sort/0":       func(r *evaluation, v Value, _ []Value) (Value, error) { return r.sorted("sort", v, v) },
	"_sort_by/1":   func(r *evaluation, v Value, a []Value) (Value, error) { return r.sorted("sort_by", v, a[0]) },
	"unique/0":     func(r *evaluation, v Value, _ []Value) (Value, error) { return r.unique("unique", v, v) },
	"_unique_by/1": func(r *evaluation, v Value, a []Value) (Value, error) { return r.unique("unique_by", v, a[0]) },
	"_group_by/1":  fnGroupBy,
	"to_entries/0": fnToEntries,
	"_captures/0":  fnCaptures,
	"_match/3":     fnMatch,

	"tostring/0":       func(r *evaluation, v Value, _ []Value) (Value, error) { return wrapText(r.toText(v)) },
	"tojson/0":         fnToJSON,
	"fromjson/0":       fnFromJSON,
	"startswith/1":     fnStartsWith,
	"endswith/1":       fnEndsWith,
	"ltrimstr/1":       trimmer("ltrimstr", strings.TrimPrefix),
	"rtrimstr/1":       trimmer("rtrimstr", strings.TrimSuffix),
	"trimstr/1":        trimmer("trimstr", func(s, t string) string { return strings.TrimSuffix(strings.TrimPrefix(s, t), t) }),
	"ltrim/0":          spaceTrimmer("ltrim", trimLeft),
	"rtrim/0":          spaceTrimmer("rtrim", trimRight),
	"trim/0":           spaceTrimmer("trim", strings.TrimSpace),
	"explode/0":        fnExplode,
	"implode/0":        fnImplode,
	"split/1":          fnSplit,
	"join/1":           fnJoin,
	"ascii_downcase/0": caseChanger("ascii_downcase", 'A', 'Z'),
	"ascii_upcase/0":   caseChanger("ascii_upcase", 'a', 'z'),
	"format/1":         fnFormat,

	"gmtime/0":        fnBrokenTime("gmtime"),
	"localtime/0":     fnBrokenTime("localtime"),
	"mktime/0":        fnMakeTime,
	"strftime/1":      fnFormatTime("strftime"),
	"strflocaltime/1": fnFormatTime("strflocaltime"),
	"strptime/1":      fnParseTime,
	"now/0":           fnNow,
}

func fnLength(r *evaluation, v Value, _ []Value) (Value, error) {
	switch v := v.(type) {
	case nil:
		return 0, nil
	case string:
		return utf8.RuneCountInString(v), r.scan(len(v))
	case []any:
		return len(v), nil
	case map[string]any:
		return len(v), nil
	case int:
		if v < 0 {
			return opNegate(r, v, nil)
		}
		return v, nil
	case float64:
		return math.Abs(v), nil
	case *big.Int:
		return new(big.Int).Abs(v), nil
	}
	return nil, cannotApply0("length", v)
}

func fnUTF8ByteLength(_ *evaluation, v Value, _ []Value) (Value, error) {
	if s, ok := v.(string); ok {
		return len(s), nil
	}
	return nil, cannotApply0("utf8bytelength", v)
}

func fnNot(_ *evaluation, v Value, _ []Value) (Value, error) { return !value.Truthy(v), nil }

func fnType(_ *evaluation, v Value, _ []Value) (Value, error) { return typeName(v), nil }

func fnError(_ *evaluation, v Value, args []Value) (Value, error) {
	if len(args) > 0 {
		v = args[0]
	}
	return nil, &failure{kind: raisedValue, v: v}
}

func fnKeys(r *evaluation, v Value, _ []Value) (Value, error) {
	switch v := v.(type) {
	case []any:
		if err := r.list(len(v)); err != nil {
			return nil, err
		}
		list := make([]any, len(v))
		for i := range list {
			list[i] = i
		}
		return list, r.alloc(8 * len(v))
	case map[string]any:
		if err := r.keys(2 * len(v)); err != nil {
			return nil, err
		}
		list := make([]any, len(v))
		for i, k := range value.SortedKeys(v) {
			list[i] = k
		}
		return list, r.alloc(16 * len(v))
	}
	return nil, cannotApply0("keys", v)
}

// entries are the values of an array or an object, the latter in the order of its keys.
func (r *evaluation) entries(v Value) ([]any, bool, error) {
	switch v := v.(type) {
	case []any:
		return v, true, nil
	case map[string]any:
		if err := r.keys(2 * len(v)); err != nil {
			return nil, true, err
		}
		list := make([]any, len(v))
		for i, k := range value.SortedKeys(v) {
			list[i] = v[k]
		}
		return list, true, nil
	}
	return nil, false, nil
}

func fnHas(_ *evaluation, v Value, args []Value) (Value, error) {
	switch v := v.(type) {
	case nil:
		return false, nil
	case []any:
		if i, ok := toInt(args[0]); ok {
			return 0 <= i && i < len(v), nil
		}
	case map[string]any:
		if k, ok := args[0].(string); ok {
			_, found := v[k]
			return found, nil
		}
	}
	return nil, cannotApply1("has", v, args[0])
}

func fnAdd(r *evaluation, v Value, _ []Value) (Value, error) {
	list, ok, err := r.entries(v)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, cannotApply0("add", v)
	}
	s := sum{run: r}
	for _, w := range list {
		if err := s.add(w); err != nil {
			return nil, err
		}
	}
	return s.result(), nil
}

// sum adds values up. Texts, arrays and objects grow in place as long as they are its own.
type sum struct {
	run    *evaluation
	value  Value
	text   []byte
	list   []any
	object map[string]any
}

func (s *sum) result() Value {
	switch {
	case s.text != nil:
		return string(s.text)
	case s.list != nil:
		return s.list
	case s.object != nil:
		return s.object
	}
	return s.value
}

func (s *sum) add(v Value) error {
	if err := s.run.step(); err != nil {
		return err
	}
	if s.value == nil && s.text == nil && s.list == nil && s.object == nil {
		return s.start(v)
	}
	switch w := v.(type) {
	case nil:
		return nil
	case string:
		if s.text != nil {
			return s.appendText(w)
		}
	case []any:
		if s.list != nil {
			return s.appendList(w)
		}
	case map[string]any:
		if s.object != nil {
			return s.copyObject(w)
		}
	}
	w, err := opAdd(s.run, s.result(), v)
	s.value, s.text, s.list, s.object = w, nil, nil, nil
	return err
}

func (s *sum) start(v Value) error {
	switch v := v.(type) {
	case string:
		s.text = []byte{}
		return s.appendText(v)
	case []any:
		s.list = []any{}
		return s.appendList(v)
	case map[string]any:
		s.object = map[string]any{}
		return s.copyObject(v)
	}
	s.value = v
	return nil
}

func (s *sum) appendText(w string) error {
	if len(s.text)+len(w) > cap(s.text) {
		size := max(64, 2*(len(s.text)+len(w)))
		if err := s.run.text(min(size, MaxValueBytes)); err != nil {
			return err
		}
	}
	if len(s.text)+len(w) > MaxValueBytes {
		return s.run.text(len(s.text) + len(w))
	}
	s.text = append(s.text, w...)
	return s.run.scan(len(w))
}

func (s *sum) appendList(w []any) error {
	if len(s.list)+len(w) > MaxEntries {
		return s.run.list(len(s.list) + len(w))
	}
	if len(s.list)+len(w) > cap(s.list) {
		if err := s.run.list(min(2*(len(s.list)+len(w)), MaxEntries)); err != nil {
			return err
		}
	}
	s.list = append(s.list, w...)
	return s.run.work(len(w))
}

func (s *sum) copyObject(w map[string]any) error {
	if len(s.object)+len(w) > MaxEntries {
		return s.run.object(len(s.object) + len(w))
	}
	if err := s.run.alloc(128 * len(w)); err != nil {
		return err
	}
	for k, v := range w {
		s.object[k] = v
	}
	return s.run.work(2 * len(w))
}

func fnContains(r *evaluation, v Value, args []Value) (Value, error) { return r.contains(v, args[0]) }

func fnInside(r *evaluation, v Value, args []Value) (Value, error) { return r.contains(args[0], v) }

func (r *evaluation) contains(v, part Value) (Value, error) {
	if err := r.step(); err != nil {
		return nil, err
	}
	if err := r.push(1); err != nil {
		return nil, err
	}
	defer r.pop(1)
	switch a := v.(type) {
	case string:
		if b, ok := part.(string); ok {
			return strings.Contains(a, b), r.work((len(a) + len(b)) / 8)
		}
	case []any:
		if b, ok := part.([]any); ok {
			return r.containsAll(a, b)
		}
	case map[string]any:
		if b, ok := part.(map[string]any); ok {
			return r.containsEntries(a, b)
		}
	default:
		if isNumber(v) && isNumber(part) {
			return equalFloats(r, v, part), nil
		}
		if typeOrder(v) == typeOrder(part) && typeOrder(v) < 3 {
			return true, nil
		}
	}
	return nil, cannotApply1("contains", v, part)
}

// equalFloats is equality of numbers, where NaN equals nothing.
func equalFloats(r *evaluation, a, b Value) bool { return r.compare(a, b) == 0 }

func (r *evaluation) containsAll(list, parts []any) (Value, error) {
next:
	for _, part := range parts {
		for _, v := range list {
			found, err := r.contains(v, part)
			if err != nil {
				if _, ok := err.(*failure); !ok {
					return nil, err
				}
				continue
			}
			if found == true {
				continue next
			}
		}
		return false, nil
	}
	return true, nil
}

func (r *evaluation) containsEntries(object, parts map[string]any) (Value, error) {
	if len(object) < len(parts) {
		return false, nil
	}
	if err := r.keys(len(parts)); err != nil {
		return nil, err
	}
	for _, k := range value.SortedKeys(parts) {
		v, ok := object[k]
		if !ok {
			return false, nil
		}
		found, err := r.contains(v, parts[k])
		if _, ok := err.(*failure); err != nil && !ok {
			return nil, err
		}
		if err != nil || found != true {
			return false, nil
		}
	}
	return true, nil
}

// eachIndex finds part in v for indices, index and rindex.
func (r *evaluation) eachIndex(name string, v, part Value, found func(int) bool) error {
	switch a := v.(type) {
	case []any:
		list, ok := part.([]any)
		if !ok {
			list = []any{part}
		}
		if len(list) == 0 {
			return nil
		}
		return r.occurrences(a, list, found)
	case string:
		if s, ok := part.(string); ok {
			if s == "" {
				return nil
			}
			return r.occurrencesOfText(a, s, found)
		}
	}
	return cannotApply1(name, v, part)
}

func fnIndices(r *evaluation, v Value, args []Value) (Value, error) {
	if v == nil {
		return nil, nil
	}
	list := []any{}
	err := r.eachIndex("indices", v, args[0], func(i int) bool {
		list = append(list, i)
		return len(list) <= MaxEntries
	})
	if err != nil {
		return nil, err
	}
	return r.indexList(list)
}

// indexList accounts for a list of numbers after it was gathered, which was slow enough.
func (r *evaluation) indexList(list []any) (Value, error) {
	if err := r.alloc(24 * len(list)); err != nil {
		return nil, err
	}
	return list, r.list(len(list))
}

func fnIndex(r *evaluation, v Value, args []Value) (Value, error) {
	if v == nil {
		return nil, nil
	}
	var index Value
	err := r.eachIndex("index", v, args[0], func(i int) bool { index = i; return false })
	return index, err
}

func fnLastIndex(r *evaluation, v Value, args []Value) (Value, error) {
	if v == nil {
		return nil, nil
	}
	var index Value
	err := r.eachIndex("rindex", v, args[0], func(i int) bool { index = i; return true })
	return index, err
}

func fnToBoolean(_ *evaluation, v Value, _ []Value) (Value, error) {
	switch v := v.(type) {
	case bool:
		return v, nil
	case string:
		if v == "true" || v == "false" {
			return v == "true", nil
		}
		return nil, because0("toboolean", v, failText("invalid boolean"))
	}
	return nil, cannotApply0("toboolean", v)
}

func fnToNumber(r *evaluation, v Value, _ []Value) (Value, error) {
	if isNumber(v) {
		return v, nil
	}
	s, ok := v.(string)
	if !ok {
		return nil, cannotApply0("tonumber", v)
	}
	if err := r.work(len(s) / 4); err != nil {
		return nil, err
	}
	n, ok, err := r.parseNumber(s)
	if !ok && err == nil {
		err = because0("tonumber", v, failText("invalid number"))
	}
	return n, err
}
