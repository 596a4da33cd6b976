package expr

import (
	"github.com/chargehand/chargehand/internal/value"
	"slices"
)

func fnReverse(r *evaluation, v Value, _ []Value) (Value, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, cannotApply0("reverse", v)
	}
	if err := r.list(len(list)); err != nil {
		return nil, err
	}
	reversed := slices.Clone(list)
	slices.Reverse(reversed)
	if reversed == nil {
		reversed = []any{}
	}
	return reversed, nil
}

func fnFlatten(r *evaluation, v Value, args []Value) (Value, error) {
	list, ok, err := r.entries(v)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, cannotApply0("flatten", v)
	}
	depth := -1.0
	if len(args) > 0 {
		if depth, ok = toFloat(args[0]); !ok {
			return nil, cannotApply0("flatten", args[0])
		}
		if depth < 0 || depth != depth {
			return nil, &failure{kind: withPlainPreview, name: "flatten depth should not be negative", v: args[0]}
		}
	}
	flat := []any{}
	err = r.flatten(&flat, list, depth)
	return flat, err
}

func (r *evaluation) flatten(flat *[]any, list []any, depth float64) error {
	if err := r.push(1); err != nil {
		return err
	}
	defer r.pop(1)
	for _, v := range list {
		if part, ok := v.([]any); ok && depth != 0 {
			if err := r.step(); err != nil {
				return err
			}
			if err := r.flatten(flat, part, depth-1); err != nil {
				return err
			}
			continue
		}
		if len(*flat) == MaxEntries {
			return r.list(MaxEntries + 1)
		}
		if err := r.alloc(48); err != nil {
			return err
		}
		*flat = append(*flat, v)
	}
	return nil
}

func fnTranspose(r *evaluation, v Value, _ []Value) (Value, error) {
	rows, ok := v.([]any)
	if !ok {
		return nil, cannotApply0("transpose", v)
	}
	width := 0
	for _, row := range rows {
		list, ok := row.([]any)
		if !ok {
			return nil, cannotApply0("transpose", v)
		}
		width = max(width, len(list))
	}
	if err := r.work(len(rows)); err != nil {
		return nil, err
	}
	if err := r.list(width); err != nil {
		return nil, err
	}
	columns := make([]any, width)
	for i := range columns {
		if err := r.list(len(rows)); err != nil {
			return nil, err
		}
		column := make([]any, len(rows))
		for j, row := range rows {
			if list := row.([]any); i < len(list) {
				column[j] = list[i]
			}
		}
		columns[i] = column
	}
	return columns, nil
}

func fnSearch(r *evaluation, v Value, args []Value) (Value, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, cannotApply1("bsearch", v, args[0])
	}
	i, found := slices.BinarySearchFunc(list, args[0], r.compare)
	if !found {
		i = -i - 1
	}
	return i, r.work(8)
}

// keyed checks the arguments of the functions that order a list by keys of its entries.
func keyed(name string, v, keys Value, byItself bool) (list, by []any, err error) {
	list, ok := v.([]any)
	if !ok {
		if byItself {
			return nil, nil, cannotApply0(name, v)
		}
		return nil, nil, cannotApply1(name, v, keys)
	}
	by, ok = keys.([]any)
	if !ok {
		return nil, nil, cannotApply1(name, v, keys)
	}
	if len(list) != len(by) {
		return nil, nil, because1(name, v, keys, failText("length mismatch"))
	}
	return list, by, nil
}

func (r *evaluation) extreme(name string, v, keys Value, least bool) (Value, error) {
	list, by, err := keyed(name, v, keys, name == "min" || name == "max")
	if err != nil || len(list) == 0 {
		return nil, err
	}
	best := 0
	for i := 1; i < len(by); i++ {
		if err := r.step(); err != nil {
			return nil, err
		}
		if r.compare(by[best], by[i]) > 0 == least {
			best = i
		}
	}
	return list[best], nil
}

type sortItem struct{ value, key Value }

func (r *evaluation) sortItems(name string, v, keys Value) ([]sortItem, error) {
	list, by, err := keyed(name, v, keys, name == "sort" || name == "unique")
	if err != nil {
		return nil, err
	}
	if err := r.alloc(32 * len(list)); err != nil {
		return nil, err
	}
	if err := r.work(sortCost(len(list))); err != nil {
		return nil, err
	}
	items := make([]sortItem, len(list))
	for i := range items {
		items[i] = sortItem{list[i], by[i]}
	}
	slices.SortStableFunc(items, func(a, b sortItem) int {
		if r.exhausted() {
			return 0
		}
		return r.compare(a.key, b.key)
	})
	return items, r.work(0)
}

func (r *evaluation) sorted(name string, v, keys Value) (Value, error) {
	items, err := r.sortItems(name, v, keys)
	if err != nil {
		return nil, err
	}
	if err := r.list(len(items)); err != nil {
		return nil, err
	}
	list := make([]any, len(items))
	for i, item := range items {
		list[i] = item.value
	}
	return list, nil
}

func (r *evaluation) unique(name string, v, keys Value) (Value, error) {
	items, err := r.sortItems(name, v, keys)
	if err != nil {
		return nil, err
	}
	if err := r.list(len(items)); err != nil {
		return nil, err
	}
	list := make([]any, 0, len(items))
	for i, item := range items {
		if i == 0 || r.compare(items[i-1].key, item.key) != 0 {
			list = append(list, item.value)
		}
	}
	return list, r.work(len(items))
}

func fnGroupBy(r *evaluation, v Value, args []Value) (Value, error) {
	items, err := r.sortItems("group_by", v, args[0])
	if err != nil {
		return nil, err
	}
	if err := r.alloc(80 * len(items)); err != nil {
		return nil, err
	}
	groups := []any{}
	var group []any
	for i, item := range items {
		if i > 0 && r.compare(items[i-1].key, item.key) != 0 {
			groups, group = append(groups, group), nil
		}
		group = append(group, item.value)
	}
	if group != nil {
		groups = append(groups, group)
	}
	return groups, r.work(len(items))
}

func fnToEntries(r *evaluation, v Value, _ []Value) (Value, error) {
	object, ok := v.(map[string]any)
	if !ok {
		// As with keys[] as $k | .[$k]: an array gives its indices.
		list, isList := v.([]any)
		if !isList {
			return nil, cannotApply0("keys", v)
		}
		return r.listEntries(list)
	}
	if err := r.keys(len(object)); err != nil {
		return nil, err
	}
	if err := r.list(len(object)); err != nil {
		return nil, err
	}
	entries := make([]any, 0, len(object))
	for _, k := range value.SortedKeys(object) {
		if err := r.object(2); err != nil {
			return nil, err
		}
		entries = append(entries, map[string]any{"key": k, "value": object[k]})
	}
	return entries, nil
}

func (r *evaluation) listEntries(list []any) (Value, error) {
	if err := r.list(len(list)); err != nil {
		return nil, err
	}
	entries := make([]any, 0, len(list))
	for i, v := range list {
		if err := r.object(2); err != nil {
			return nil, err
		}
		entries = append(entries, map[string]any{"key": i, "value": v})
	}
	return entries, nil
}
