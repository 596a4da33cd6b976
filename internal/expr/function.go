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
