package draft

import (
	"slices"

	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/value"
)

// State says whether a field of an object is there, and whether it must be filled in, by what the others have.
type State struct{ There, Required bool }

// States are those of the fields of an object, in their order. at is the pointer of the entry that pointers in the
// object begin at; empty, unless it is within a list or map.
func States(object *form.Field, d *Draft, at string, p Local) []State {
	return (&reader{Local: p}).states(object, d, at)
}

func (r *reader) states(f *form.Field, d *Draft, at string) []State {
	states := make([]State, len(f.Fields))
	s := &conditions{of: f, draft: d, at: at, reader: reader{Local: r.Local}, known: make([]known, len(f.Fields))}
	for i := range f.Fields {
		inner := &f.Fields[i]
		states[i] = State{There: s.there(i), Required: inner.Required || inner.RequiredWhen != nil && s.holds(inner.RequiredWhen)}
	}
	return states
}

// conditions evaluates those of the fields of one object, each once. A field that is not there has no value, whatever
// was entered into it before.
type conditions struct {
	of     *form.Field
	draft  *Draft
	at     string
	reader reader
	known  []known
}

type known struct {
	asked, there bool
	read, given  bool
	value        value.Value
}

func (s *conditions) there(i int) bool {
	k := &s.known[i]
	if !k.asked {
		k.asked, k.there = true, true // two fields that depend on each other are there
		if when := s.of.Fields[i].When; when != nil {
			k.there = s.holds(when)
		}
	}
	return k.there
}

func (s *conditions) holds(c *form.Condition) bool {
	i := slices.IndexFunc(s.of.Fields, func(f form.Field) bool { return f.Pointer == c.Pointer })
	if i < 0 {
		return c.Absent != c.Not
	}
	v, given := s.value(i)
	met := given
	switch {
	case len(c.Values) > 0:
		met = given && slices.ContainsFunc(c.Values, func(w value.Value) bool { return value.Equal(v, w) }) || !given && c.Absent
	case c.Absent:
		met = !given
	}
	return met != c.Not
}

func (s *conditions) value(i int) (value.Value, bool) {
	if !s.there(i) {
		return nil, false
	}
	k := &s.known[i]
	if !k.read {
		k.read = true
		v, got := s.reader.value(&s.of.Fields[i], s.of.Fields[i].Required, s.draft.inside(i), s.at)
		s.reader.wrong = nil
		k.value, k.given = v, got == given
	}
	return k.value, k.given
}
