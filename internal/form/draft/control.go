package draft

import (
	"strconv"

	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/value"
)

// Role says what a control is.
type Role int

// The roles of controls.
const (
	Leaf    Role = iota // a field that is filled in
	Group               // the heading of an object, list, tuple or map; what is in it follows, one deeper
	Entered             // the heading of an entry of the group above; what is in it follows
	Variant             // the choice of an alternative; what is in the chosen one follows
)

// Control is one line of a form as it is drawn: a field, or a heading.
type Control struct {
	// Key tells the control from all others of the form; Decode reads texts by it.
	Key     string
	Pointer string // JSON pointer of the value; of an entry without a name, of where it will be
	Role    Role
	Field   *form.Field // of an entry: Items of the group
	Draft   *Draft      // what was entered: changing it changes the form
	Depth   int
	Within  string // key of the innermost entry that it is in; its heading is outside; empty: it is in none

	Required bool // it must be filled in, by what other fields have now
	There    bool // by what other fields have now it is shown, and so is all that holds it

	Holder *form.Field // what it is directly in: an object, tuple or oneof, or of an entry the group; nil: nothing
	Entry  *Entry      // of an entry: with its name; otherwise nil
	Number int         // of an entry: from 0
	Named  bool        // of an entry: it has a name
}

// Extensible reports whether entries can be added to a group.
func (c *Control) Extensible() bool {
	return c.Role == Group && c.Field.Items != nil && !c.Field.ReadOnly
}

// EntryKey is what the key of an entry has beside that of its group. Numbers begin at 0.
func EntryKey(number int) string { return entryToken + strconv.Itoa(number) }

// NameKey is the key of the name of an entry that has one.
func (c *Control) NameKey() string { return c.Key + nameToken }

// Controls are what a form is drawn with, from top to bottom. Fields that conditions hide are among them, with There
// false; alternatives that are not chosen are not. It is false for more than MaxControls: then they are not all.
func Controls(whole *form.Field, d *Draft, p Local) ([]Control, bool) {
	w := &walker{Local: p}
	if whole.Kind == form.Object && whole.Items == nil && whole.Title == "" && whole.HelpHTML == "" {
		w.inside(Control{Field: whole, Draft: d, Depth: -1, There: true}, "")
	} else {
		w.field(Control{Field: whole, Draft: d, Required: whole.Required, There: true}, "")
	}
	return w.all, !w.over
}

type walker struct {
	Local
	all  []Control
	over bool
}

func (w *walker) add(c Control) {
	if len(w.all) >= MaxControls {
		w.over = true
		return
	}
	w.all = append(w.all, c)
}

// field adds a field with all that is in it. at is the pointer of the entry that pointers in the field begin at.
func (w *walker) field(c Control, at string) {
	f, d := c.Field, c.Draft
	if w.over {
		return
	}
	c.Pointer = at + f.Pointer
	switch f.Kind {
	case form.Object, form.List, form.Tuple, form.Map:
		c.Role = Group
		w.add(c)
		w.inside(c, at)
		for i := range d.Entries {
			w.entry(&c, i, at)
		}
	case form.OneOf:
		c.Role = Variant
		w.add(c)
		if i := chosen(f, d); i >= 0 {
			expand(d, f)
			w.field(Control{
				Key: c.Key + alternativeToken + strconv.Itoa(i), Field: &f.Fields[i], Draft: &d.Inside[i], Depth: c.Depth + 1, Required: c.Required, There: c.There, Holder: f,
				Within: c.Within,
			}, at)
		}
	default:
		w.add(c)
	}
}

// inside adds the fields of an object or tuple.
func (w *walker) inside(c Control, at string) {
	f, d := c.Field, c.Draft
	if len(f.Fields) == 0 {
		return
	}
	expand(d, f)
	states := make([]State, len(f.Fields))
	for i := range states {
		states[i] = State{There: true, Required: f.Fields[i].Required}
	}
	if f.Kind == form.Object {
		states = States(f, d, at, w.Local)
	}
	for i := range f.Fields {
		inner := &f.Fields[i]
		w.field(Control{
			Key: c.Key + "/" + jsonpointer.Escape(lastToken(inner.Pointer)), Field: inner, Draft: &d.Inside[i], Depth: c.Depth + 1,
			Required: states[i].Required, There: c.There && states[i].There, Holder: f, Within: c.Within,
		}, at)
	}
}

// entry adds an entry of a group. Its own heading stands for that of an object.
func (w *walker) entry(group *Control, i int, at string) {
	f, e := group.Field, &group.Draft.Entries[i]
	if f.Items == nil {
		return
	}
	c := Control{
		Key: group.Key + EntryKey(i), Role: Entered, Field: f.Items, Draft: &e.Draft, Depth: group.Depth + 1, There: group.There,
		Holder: f, Entry: e, Number: i, Within: group.Within, Named: f.Kind == form.Object || f.Kind == form.Map,
	}
	token := strconv.Itoa(len(f.Fields) + i)
	if c.Named {
		token = jsonpointer.Escape(e.Name)
	}
	c.Pointer = at + f.Pointer + "/" + token
	w.add(c)
	c.Within = c.Key
	if f.Items.Kind == form.Object && f.Items.Items == nil {
		w.inside(c, c.Pointer)
		return
	}
	w.field(Control{Key: c.Key, Field: f.Items, Draft: &e.Draft, Depth: c.Depth + 1, There: c.There, Holder: f, Within: c.Key}, c.Pointer)
}

// expand gives every one of the Fields its own draft, so that they can be changed.
func expand(d *Draft, f *form.Field) {
	for i := len(d.Inside); i < len(f.Fields); i++ {
		d.Inside = append(d.Inside, Start(&f.Fields[i]))
	}
}

// chosen is the number of the alternative; below 0: no alternative has it.
func chosen(f *form.Field, d *Draft) int {
	i := 0
	if len(d.Chosen) > 0 {
		i = d.Chosen[0]
	}
	if i < 0 || i >= len(f.Fields) {
		return -1
	}
	return i
}

// Find is the control that is to show what is wrong with the value at a pointer: the one of that value, else of what
// holds it; nil: no control that is shown has to do with it.
func Find(controls []Control, pointer string) (best *Control) {
	for i := range controls {
		c := &controls[i]
		if !c.There || !within(pointer, c.Pointer) || best != nil && len(c.Pointer) < len(best.Pointer) {
			continue
		}
		best = c // of several with one pointer the innermost: it comes later
	}
	return best
}

// within reports whether the value at a pointer is the one at another pointer, or in it.
func within(pointer, of string) bool {
	return len(pointer) >= len(of) && pointer[:len(of)] == of && (len(pointer) == len(of) || pointer[len(of)] == '/')
}

// Values are the texts of a control, by their keys, as Decode reads them. A key that begins them with an empty text
// says that the control is there although nothing was chosen or entered.
func (c *Control) Values() map[string][]string {
	values := []string{}
	d := c.Draft
	switch {
	case c.Role == Entered:
		values = append(values, "")
	case c.Role == Group && c.Field.Items == nil:
		return nil
	case c.Role == Group:
		values = append(values, "")
	case c.Role == Variant:
		values = append(values, strconv.Itoa(max(chosen(c.Field, d), 0)))
	case c.Field.Kind == form.Choice, c.Field.Kind == form.Choices:
		values = append(values, "")
		for _, i := range d.Chosen {
			values = append(values, strconv.Itoa(i))
		}
	case c.Field.Kind == form.File, c.Field.Kind == form.Files:
		values = append(values, "")
		for _, file := range d.Files {
			values = append(values, string(value.Marshal(file)))
		}
	default:
		values = append(values, d.Text)
	}
	all := map[string][]string{c.Key: values}
	if c.Named {
		all[c.NameKey()] = []string{c.Entry.Name}
	}
	return all
}
