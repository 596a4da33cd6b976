package draft

import (
	"slices"
	"strconv"

	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/value"
)

// Code says what is wrong with what was entered.
type Code string

// The codes of Wrong.
const (
	Missing     Code = "missing"   // it must be filled in
	NoNumber    Code = "number"    // it is no number
	NoInteger   Code = "integer"   // it is no whole number
	Ambiguous   Code = "ambiguous" // 1,500 is one and a half for some people, and fifteen hundred for others
	NoJSON      Code = "json"
	NoDate      Code = "date"
	NoTime      Code = "time"
	NoDateTime  Code = "datetime"
	BadName     Code = "name"      // the name of an entry is empty, there twice, or that of another field
	NoSuchValue Code = "no_option" // it is none of the options
)

// texts are the codes in words.
var texts = map[Code]string{
	Missing: "Fill this in.", NoNumber: "This is not a number.", NoInteger: "This is not a whole number.",
	Ambiguous: "Write a decimal point, and nothing between thousands, such as 1500 or 1.5.", NoJSON: "This is not JSON.",
	NoDate: "This is not a date such as 2026-01-31.", NoTime: "This is not a time of day such as 09:30.",
	NoDateTime:  "This is not a date with a time, such as 2026-01-31 09:30.",
	BadName:     "A name is empty, or there is another entry or field with it.",
	NoSuchValue: "This is none of the options.",
}

// Wrong is one thing that is wrong with what was entered.
type Wrong struct {
	Pointer string // JSON pointer of the value
	Code    Code
	Detail  string // of JSON, what is wrong with it and where; otherwise empty
}

// Text is the sentence that says what is wrong.
func (w Wrong) Text() string {
	if w.Detail != "" {
		return texts[w.Code] + " " + w.Detail
	}
	return texts[w.Code]
}

// Read is the value of what was entered into a form, and what is wrong with it, in the order of the form. The value is
// whole only if nothing is wrong.
func Read(whole *form.Field, d *Draft, p Local) (value.Value, []Wrong) {
	r := &reader{Local: p}
	v, got := r.value(whole, whole.Required, d, "")
	if got == nothing && whole.Required && !whole.Nullable {
		r.complain(whole.Pointer, Missing)
	}
	return v, r.wrong
}

// found says what there is of a value.
type found int

const (
	nothing found = iota // nothing was entered
	given
	broken // what was entered is no value, and the reader has complained
)

type reader struct {
	Local
	wrong []Wrong
}

func (r *reader) complain(pointer string, code Code) found {
	r.wrong = append(r.wrong, Wrong{Pointer: pointer, Code: code})
	return broken
}

// value reads a field. at is the pointer of the entry that pointers in the field begin at; required may differ from
// that of the field, by a condition.
func (r *reader) value(f *form.Field, required bool, d *Draft, at string) (value.Value, found) {
	pointer := at + f.Pointer
	switch f.Kind {
	case form.Choice:
		if len(d.Chosen) == 0 {
			return nil, nothing
		}
		if i := d.Chosen[0]; i >= 0 && i < len(f.Options) {
			return f.Options[i].Value, given
		}
		return nil, r.complain(pointer, NoSuchValue)
	case form.Choices:
		return r.choices(f, required, d, pointer)
	case form.File:
		if len(d.Files) == 0 {
			return nil, nothing
		}
		return d.Files[0], given
	case form.Files:
		if len(d.Files) == 0 && !required {
			return nil, nothing
		}
		return append([]any{}, d.Files...), given
	case form.Object, form.Map:
		return r.object(f, required, d, at)
	case form.List, form.Tuple:
		return r.list(f, required, d, at)
	case form.OneOf:
		i := 0
		if len(d.Chosen) > 0 {
			i = d.Chosen[0]
		}
		if i < 0 || i >= len(f.Fields) {
			return nil, r.complain(pointer, NoSuchValue)
		}
		return r.value(&f.Fields[i], required, d.inside(i), at)
	}
	return r.leaf(f, required, d.Text, pointer)
}

func (r *reader) choices(f *form.Field, required bool, d *Draft, pointer string) (value.Value, found) {
	list := []any{}
	for _, i := range slices.Sorted(slices.Values(d.Chosen)) {
		if i < 0 || i >= len(f.Options) {
			return nil, r.complain(pointer, NoSuchValue)
		}
		list = append(list, f.Options[i].Value)
	}
	if len(list) == 0 && !required {
		return nil, nothing
	}
	return list, given
}

// object reads the fields of an object that are there, and its further entries. One that need not be there is not
// there, and lacks nothing, until something is entered into it.
func (r *reader) object(f *form.Field, required bool, d *Draft, at string) (value.Value, found) {
	if !required && !d.Given && untouched(f, d) {
		return nil, nothing
	}
	object, mark := map[string]any{}, len(r.wrong)
	names := map[string]bool{}
	for i, state := range r.states(f, d, at) {
		inner := &f.Fields[i]
		name := lastToken(inner.Pointer)
		names[name] = true
		if !state.There {
			continue
		}
		switch v, got := r.value(inner, state.Required, d.inside(i), at); {
		case got == given:
			object[name] = v
		case got == nothing && state.Required && inner.Nullable:
			object[name] = nil
		case got == nothing && state.Required:
			r.complain(at+inner.Pointer, Missing)
		}
	}
	for i := range d.Entries {
		r.entry(f, &d.Entries[i], object, names, at)
	}
	if len(object) == 0 && !required && !slices.ContainsFunc(r.wrong[mark:], func(w Wrong) bool { return w.Code != Missing }) {
		r.wrong = r.wrong[:mark]
		return nil, nothing
	}
	if len(r.wrong) > mark {
		return object, broken
	}
	return object, given
}

// entry reads an entry with a name into an object.
func (r *reader) entry(f *form.Field, e *Entry, object map[string]any, names map[string]bool, at string) {
	pointer := at + f.Pointer + "/" + jsonpointer.Escape(e.Name)
	if e.Name == "" || names[e.Name] {
		r.complain(pointer, BadName)
		return
	}
	names[e.Name] = true
	if f.Items == nil {
		return
	}
	switch v, got := r.value(f.Items, true, &e.Draft, pointer); got {
	case given:
		object[e.Name] = v
	case nothing:
		object[e.Name] = emptyOf(f.Items)
	}
}

// list reads the entries of a list. Empty ones at the end of a tuple are not there.
func (r *reader) list(f *form.Field, required bool, d *Draft, at string) (value.Value, found) {
	list, mark := []any{}, len(r.wrong)
	filled := 0 // fields up to the last one into which something was entered
	kinds := make([]found, len(f.Fields))
	for i := range f.Fields {
		v, got := r.value(&f.Fields[i], f.Fields[i].Required, d.inside(i), at)
		list, kinds[i] = append(list, v), got
		if got != nothing || len(d.Entries) > 0 {
			filled = i + 1
		}
	}
	if filled == 0 && len(d.Entries) == 0 && !required {
		r.wrong = r.wrong[:mark]
		return nil, nothing
	}
	for i := range f.Fields {
		switch inner := &f.Fields[i]; {
		case kinds[i] != nothing, i >= filled && !inner.Required:
		case inner.Nullable:
			filled = max(filled, i+1) // null, as it is in the list
		default:
			r.complain(at+inner.Pointer, Missing)
		}
	}
	list = list[:filled]
	for i := range d.Entries {
		if f.Items == nil {
			break
		}
		v, got := r.value(f.Items, true, &d.Entries[i].Draft, at+f.Pointer+"/"+strconv.Itoa(len(f.Fields)+i))
		if got == nothing {
			v = emptyOf(f.Items)
		}
		list = append(list, v)
	}
	if len(r.wrong) > mark {
		return list, broken
	}
	return list, given
}

// emptyOf is an entry into which nothing was entered. The server says if that cannot be.
func emptyOf(f *form.Field) value.Value {
	if f.Kind == form.Text || f.Kind == form.LongText {
		return ""
	}
	return nil
}

// untouched reports whether an object is as it was when its form opened, and has no default of its own.
func untouched(f *form.Field, d *Draft) bool {
	if f.Default != nil {
		return false
	}
	start, fill := Start(f), filler{left: maxDrafts}
	blank := fill.blank(f)
	return same(d, &start) || same(d, &blank)
}

// same reports whether the same was entered. What is lacking inside is empty.
func same(a, b *Draft) bool {
	if a.Text != b.Text || !slices.Equal(a.Chosen, b.Chosen) || len(a.Entries) != len(b.Entries) ||
		!slices.EqualFunc(a.Files, b.Files, value.Equal) {
		return false
	}
	for i := range max(len(a.Inside), len(b.Inside)) {
		if !same(a.inside(i), b.inside(i)) {
			return false
		}
	}
	for i := range a.Entries {
		if a.Entries[i].Name != b.Entries[i].Name || !same(&a.Entries[i].Draft, &b.Entries[i].Draft) {
			return false
		}
	}
	return true
}
