package expr

import (
	"github.com/chargehand/chargehand/internal/value"
	"strings"
)

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
