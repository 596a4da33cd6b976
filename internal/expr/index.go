package expr

import (
	"math"
	"math/big"
	"strings"
	"unicode/utf8"
)

// index is v[key]: the entry of an object or array, the places of a sub-array, a slice, or
// a character of a text.
func (r *evaluation) index(v, key Value) (Value, error) {
	switch k := key.(type) {
	case string:
		switch v := v.(type) {
		case map[string]any:
			return v[k], nil
		case nil:
			return nil, nil
		}
		return nil, notObject(v)
	case int:
		return r.indexNumber(v, k)
	case float64, *big.Int:
		n, _ := toInt(k)
		return r.indexNumber(v, n)
	case []any:
		switch v := v.(type) {
		case []any:
			return r.indices(v, k)
		case nil:
			return nil, nil
		}
		return nil, notArray(v)
	case map[string]any:
		if v == nil {
			return nil, nil
		}
		start, ok := k["start"]
		end, ok2 := k["end"]
		if !ok || !ok2 {
			return nil, notSlice(k)
		}
		return r.slice(v, start, end)
	}
	switch v.(type) {
	case []any:
		return nil, notArrayIndex(key)
	case string:
		return nil, notStringIndex(key)
	}
	return nil, notKey(key)
}

func (r *evaluation) indexNumber(v Value, i int) (Value, error) {
	switch v := v.(type) {
	case []any:
		if i = clamp(i, -1, len(v)); 0 <= i && i < len(v) {
			return v[i], nil
		}
		return nil, nil
	case string:
		if err := r.scan(2 * len(v)); err != nil {
			return nil, err
		}
		length := utf8.RuneCountInString(v)
		if i = clamp(i, -1, length); i < 0 || i >= length {
			return nil, nil
		}
		start := byteOffset(v, i)
		_, size := utf8.DecodeRuneInString(v[start:])
		return v[start : start+size], nil
	case nil:
		return nil, nil
	}
	return nil, notArray(v)
}

// clamp counts a negative index from the end and keeps the result within the range.
func clamp(i, least, length int) int {
	if i < 0 {
		i += length
	}
	return min(max(i, least), length)
}

// byteOffset is where the n-th character of s starts.
func byteOffset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

func (r *evaluation) slice(v, start, end Value) (Value, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case []any:
		from, to, bad, ok := sliceRange(len(v), start, end)
		if !ok {
			return nil, notArrayIndex(bad)
		}
		return v[from:to:to], nil
	case string:
		if err := r.scan(3 * len(v)); err != nil {
			return nil, err
		}
		from, to, bad, ok := sliceRange(utf8.RuneCountInString(v), start, end)
		if !ok {
			return nil, notStringIndex(bad)
		}
		first := byteOffset(v, from)
		return v[first : first+byteOffset(v[first:], to-from)], nil
	}
	return nil, notArray(v)
}

// sliceRange turns the bounds of a slice into offsets; a bound that is no number is bad.
func sliceRange(length int, start, end Value) (from, to int, bad Value, ok bool) {
	to = length
	if start != nil {
		i, ok := roundedInt(start, math.Floor)
		if !ok {
			return 0, 0, start, false
		}
		from = clamp(i, 0, length)
	}
	if end != nil {
		i, ok := roundedInt(end, ceilingEnd)
		if !ok {
			return 0, 0, end, false
		}
		to = max(clamp(i, from, length), from)
	}
	return from, to, nil, true
}

// ceilingEnd rounds the end of a slice up; what rounds to nothing leaves the end open.
func ceilingEnd(f float64) float64 {
	if -1 < f && f < 0 || f != f {
		return math.Inf(1)
	}
	return math.Ceil(f)
}

func roundedInt(v Value, round func(float64) float64) (int, bool) {
	if f, ok := v.(float64); ok {
		return floatToInt(round(f)), true
	}
	return toInt(v)
}

// indices are the indexes at which part begins in list.
func (r *evaluation) indices(list, part []any) (Value, error) {
	starts := []any{}
	if len(part) == 0 {
		return starts, nil
	}
	err := r.occurrences(list, part, func(i int) bool {
		starts = append(starts, i)
		return true
	})
	if err != nil {
		return nil, err
	}
	return r.indexList(starts)
}

// occurrences calls found with every place of part in list, until it returns false.
func (r *evaluation) occurrences(list, part []any, found func(int) bool) error {
	for i := 0; i+len(part) <= len(list); i++ {
		if err := r.step(); err != nil {
			return err
		}
		if r.compareArrays(list[i:i+len(part)], part) == 0 && !r.exhausted() && !found(i) {
			break
		}
	}
	return r.work(0)
}

// occurrencesOfText is the same for texts; places are counted in characters.
func (r *evaluation) occurrencesOfText(s, part string, found func(int) bool) error {
	index := 0
	for at := 0; ; {
		i := strings.Index(s[at:], part)
		passed := i
		if i < 0 {
			passed = len(s) - at
		}
		if err := r.work(1 + (passed+len(part))/8); err != nil || i < 0 {
			return err
		}
		index += utf8.RuneCountInString(s[at : at+i])
		if !found(index) {
			return nil
		}
		_, size := utf8.DecodeRuneInString(s[at+i:])
		at, index = at+i+size, index+1
	}
}
