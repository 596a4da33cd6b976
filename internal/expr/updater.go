package expr

import (
	"maps"
	"reflect"
	"slices"
)

// updater changes parts of a value without touching the original: what lies on the way is
// copied once and changed in place after that.
type updater struct {
	run   *evaluation
	owned map[uintptr]Value // the copies, by address; they are kept, so no address is used twice
}

// hole marks a place that is to be deleted.
type hole struct{}

func address(v Value) uintptr { return reflect.ValueOf(v).Pointer() }

func (u *updater) own(v Value) { u.owned[address(v)] = v }

func (u *updater) owns(v Value) bool {
	_, ok := u.owned[address(v)]
	return ok
}

// disown is called before a part is shown to the expression, which may keep it. A slice
// shares the memory of its array without having its address.
func (u *updater) disown(v Value, keys []any) {
	switch v.(type) {
	case []any, map[string]any:
		isSlice := func(key Value) bool { _, ok := key.(map[string]any); return ok }
		if u.owns(v) || slices.ContainsFunc(keys, isSlice) {
			u.owned = map[uintptr]Value{} // clearing would take as long as it ever held entries
		}
	}
}

func (r *evaluation) setpath(v Value, keys, w Value) (Value, error) {
	list, ok := keys.([]any)
	if !ok {
		return nil, cannotApply1("setpath", v, keys)
	}
	u := updater{run: r}
	return u.set(v, list, w)
}

func (u *updater) set(v Value, keys []any, w Value) (Value, error) {
	result, err := u.update(v, keys, w)
	if err != nil {
		return nil, because2("setpath", v, keys, w, err)
	}
	return result, nil
}

// update returns v with w at the path.
func (u *updater) update(v Value, keys []any, w Value) (Value, error) {
	if len(keys) == 0 {
		return w, nil
	}
	if err := u.run.step(); err != nil {
		return nil, err
	}
	if err := u.run.push(1); err != nil {
		return nil, err
	}
	defer u.run.pop(1)
	if v == (hole{}) {
		return v, nil
	}
	switch key := keys[0].(type) {
	case string:
		object, ok := v.(map[string]any)
		if !ok && v != nil {
			return nil, notObject(v)
		}
		return u.updateObject(object, key, keys[1:], w)
	case map[string]any:
		list, ok := v.([]any)
		if !ok && v != nil {
			return nil, notArray(v)
		}
		return u.updateSlice(list, key, keys[1:], w)
	}
	if i, ok := toInt(keys[0]); ok {
		list, ok := v.([]any)
		if !ok && v != nil {
			return nil, notArray(v)
		}
		return u.updateEntry(list, i, keys[1:], w)
	}
	if _, ok := v.([]any); ok {
		return nil, notArrayIndex(keys[0])
	}
	return nil, notKey(keys[0])
}

// unchangedObject is the result of deleting a path that does not exist in the object.
func unchangedObject(v map[string]any) Value {
	if v == nil {
		return nil
	}
	return v
}

func unchangedList(v []any) Value {
	if v == nil {
		return nil
	}
	return v
}

func (u *updater) updateObject(v map[string]any, key string, keys []any, w Value) (Value, error) {
	old, ok := v[key]
	if !ok && w == (hole{}) {
		return unchangedObject(v), nil
	}
	changed, err := u.update(old, keys, w)
	if err != nil {
		return nil, err
	}
	if v != nil && u.owned != nil && u.owns(v) {
		if !ok {
			if err := u.run.growObject(len(v)); err != nil {
				return nil, err
			}
		}
		v[key] = changed
		return v, nil
	}
	if err := u.run.object(len(v) + 1); err != nil {
		return nil, err
	}
	object := make(map[string]any, len(v)+1)
	maps.Copy(object, v)
	object[key] = changed
	if u.owned != nil {
		u.own(object)
	}
	return object, nil
}

func (u *updater) updateEntry(v []any, i int, keys []any, w Value) (Value, error) {
	at := clamp(i, -1, len(v))
	if at < 0 || at >= len(v) {
		if w == (hole{}) {
			return unchangedList(v), nil
		}
		if at < 0 {
			return nil, &failure{kind: withPlainPreview, name: "array index should not be negative", v: i}
		}
		if i >= MaxEntries {
			return nil, u.run.list(MaxEntries + 1)
		}
		at = i
	}
	var old Value
	if at < len(v) {
		old = v[at]
	}
	changed, err := u.update(old, keys, w)
	if err != nil {
		return nil, err
	}
	if v != nil && u.owned != nil && u.owns(v) && at < cap(v) {
		if at >= len(v) {
			v = v[:at+1]
		}
		v[at] = changed
		return v, nil
	}
	size, room := max(len(v), at+1), 0
	if u.owned != nil && at >= len(v) && len(v) > 0 {
		room = size // it is growing, so it will keep growing
	}
	if err := u.run.list(min(size+room, MaxEntries)); err != nil {
		return nil, err
	}
	list := make([]any, size, size+room)
	copy(list, v)
	list[at] = changed
	if u.owned != nil {
		u.own(list)
	}
	return list, nil
}

func (u *updater) updateSlice(v []any, key map[string]any, keys []any, w Value) (Value, error) {
	start, ok := key["start"]
	end, ok2 := key["end"]
	if !ok || !ok2 {
		return nil, notSlice(key)
	}
	from, to, bad, ok := sliceRange(len(v), start, end)
	if !ok {
		return nil, notArrayIndex(bad)
	}
	if from == to && w == (hole{}) {
		return unchangedList(v), nil
	}
	changed, err := u.update(v[from:to:to], keys, w)
	if err != nil {
		return nil, err
	}
	var part []any
	switch changed := changed.(type) {
	case []any:
		part = changed
	case hole:
		part = make([]any, to-from)
		for i := range part {
			part[i] = hole{}
		}
	default:
		return nil, notArray(changed)
	}
	if err := u.run.list(len(v) - (to - from) + len(part)); err != nil {
		return nil, err
	}
	list := slices.Concat(v[:from], part, v[to:])
	if list == nil {
		list = []any{}
	}
	if u.owned != nil {
		u.own(list)
	}
	return list, nil
}

func (r *evaluation) delpaths(v, paths Value) (Value, error) {
	list, ok := paths.([]any)
	if !ok {
		return nil, cannotApply1("delpaths", v, paths)
	}
	u := updater{run: r, owned: map[uintptr]Value{}}
	return u.deletePaths(v, list)
}

// deletePaths makes holes first and closes them at the end, so that no index moves before.
// Paths are sorted, so that a whole part is deleted before its own parts.
func (u *updater) deletePaths(v Value, paths []any) (Value, error) {
	if len(paths) == 0 {
		return v, nil
	}
	if err := u.run.list(len(paths)); err != nil {
		return nil, err
	}
	sorted := slices.Clone(paths)
	slices.SortFunc(sorted, u.run.compare)
	if err := u.run.work(len(paths)); err != nil {
		return nil, err
	}
	result := v
	for _, keys := range sorted {
		list, ok := keys.([]any)
		if !ok {
			return nil, because1("delpaths", v, paths, notArray(keys))
		}
		var err error
		if result, err = u.update(result, list, hole{}); err != nil {
			if _, ok := err.(*failure); !ok {
				return nil, err
			}
			return nil, because1("delpaths", v, paths, err)
		}
	}
	return u.close(result)
}

// close removes the holes. Only copies can have some.
func (u *updater) close(v Value) (Value, error) {
	switch v := v.(type) {
	case hole:
		return nil, nil
	case map[string]any:
		if !u.owns(v) {
			return v, nil
		}
		if err := u.run.work(len(v)); err != nil {
			return nil, err
		}
		for k, w := range v {
			if w == (hole{}) {
				delete(v, k)
			} else if closed, err := u.close(w); err != nil {
				return nil, err
			} else {
				v[k] = closed
			}
		}
	case []any:
		if !u.owns(v) {
			return v, nil
		}
		if err := u.run.work(len(v)); err != nil {
			return nil, err
		}
		kept := v[:0]
		for _, w := range v {
			if w == (hole{}) {
				continue
			}
			closed, err := u.close(w)
			if err != nil {
				return nil, err
			}
			kept = append(kept, closed)
		}
		clear(v[len(kept):])
		return kept, nil
	}
	return v, nil
}
