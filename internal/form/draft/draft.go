package draft

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/value"
)

// MaxControls bounds the controls that one form is drawn with. A value that needs more of them is edited as JSON.
const MaxControls = 2000

// Draft is what a person has entered into a field. What the kind of the field does not use stays empty.
type Draft struct {
	Text    string        // of texts, numbers, times and JSON; "true", "false" or "" of booleans
	Chosen  []int         // numbers of the options, or of the alternative
	Files   []value.Value // references to stored files
	Inside  []Draft       // of Fields, in their order; those that are lacking are as Start has them
	Entries []Entry       // of Items
	Given   bool          // of objects: the value that the form began with has it
}

// Entry is an entry of a list, or a named one of a map.
type Entry struct {
	Name  string // of maps and objects
	Draft Draft
}

// Local is where the person is, as far as it says what a time means. The zero value is UTC.
type Local struct {
	Zone *time.Location // nil: UTC
	Now  time.Time      // times of a day have the offset that the zone has then
}

func (p Local) zone() *time.Location {
	if p.Zone == nil {
		return time.UTC
	}
	return p.Zone
}

// Whole is the field of the whole value that an outline describes.
func Whole(outline []form.Field) form.Field {
	if len(outline) == 1 && outline[0].Pointer == "" {
		whole := outline[0]
		whole.Required = true
		return whole
	}
	return form.Field{Kind: form.Object, Required: true, Fields: outline}
}

// Open is the form of an outline with what it begins with: the data, and the defaults of what the data lacks. data may
// be nil. A form that would have more than MaxControls is one field of the kind JSON.
func Open(outline []form.Field, data value.Value, p Local) (form.Field, Draft) {
	whole := Whole(outline)
	fill := filler{Local: p, left: maxDrafts}
	var d Draft
	if data == nil {
		d = fill.start(&whole)
	} else {
		d = fill.of(&whole, data, true)
	}
	if fill.left >= 0 {
		if _, ok := Controls(&whole, &d, p); ok {
			return whole, d
		}
	}
	whole = form.Field{Kind: form.JSON, Title: whole.Title, HelpHTML: whole.HelpHTML, Required: true}
	if data == nil {
		return whole, Draft{}
	}
	return whole, Draft{Text: indented(data)}
}

// Start is what a field has when its form opens: its default, or nothing. A default that has more parts than a form
// may have is left out.
func Start(f *form.Field) Draft {
	fill := filler{left: maxDrafts}
	d := fill.start(f)
	if fill.left < 0 {
		fill.left = maxDrafts
		d = fill.blank(f)
	}
	return d
}

// inside is what was entered into one of the Fields.
func (d *Draft) inside(i int) *Draft {
	if i < len(d.Inside) {
		return &d.Inside[i]
	}
	return &Draft{}
}

// Add appends an entry to a list or map.
func (d *Draft) Add(f *form.Field) {
	if f.Items != nil {
		d.Entries = append(d.Entries, Entry{Draft: Start(f.Items)})
	}
}

// Remove takes out the entry with a number from 0.
func (d *Draft) Remove(i int) {
	if i >= 0 && i < len(d.Entries) {
		d.Entries = slices.Delete(d.Entries, i, i+1)
	}
}

// Of is what a person would have entered to get a value. What does not fit into the field is not in it. It is false
// for a value with more parts than a form may have.
func Of(f *form.Field, v value.Value, p Local) (Draft, bool) {
	fill := filler{Local: p, left: maxDrafts}
	d := fill.of(f, v, false)
	return d, fill.left >= 0
}

// maxDrafts bounds the drafts of one form, those of fields that are hidden too.
const maxDrafts = 10 * MaxControls

// filler makes drafts of values.
type filler struct {
	Local
	left int // drafts that there may still be; below 0: there were too many, and what was made is of no use
}

func (p *filler) start(f *form.Field) (d Draft) {
	if f.Default != nil {
		return p.of(f, *f.Default, true)
	}
	if p.left--; p.left < 0 {
		return d
	}
	if only := f.Kind == form.Choice && f.Required && len(f.Options) == 1; only || f.Kind == form.OneOf {
		d.Chosen = []int{0}
	}
	for i := range f.Fields {
		d.Inside = append(d.Inside, p.start(&f.Fields[i]))
	}
	return d
}

// blank is start without the defaults: nothing was entered.
func (p *filler) blank(f *form.Field) (d Draft) {
	if p.left--; p.left < 0 {
		return d
	}
	if f.Kind == form.OneOf {
		d.Chosen = []int{0}
	}
	for i := range f.Fields {
		d.Inside = append(d.Inside, p.blank(&f.Fields[i]))
	}
	return d
}

// of is Of; with defaults, what an object lacks is as start has it.
func (p *filler) of(f *form.Field, v value.Value, defaults bool) (d Draft) {
	if p.left--; p.left < 0 {
		return d
	}
	switch f.Kind {
	case form.Choice:
		d.Chosen = numbersOf(f, []any{v})
	case form.Choices:
		list, _ := v.([]any)
		d.Chosen = numbersOf(f, list)
	case form.File:
		if _, ok := v.(map[string]any); ok {
			d.Files = []value.Value{v}
		}
	case form.Files:
		list, _ := v.([]any)
		d.Files = slices.Clone(list)
	case form.Object, form.Map:
		p.object(&d, f, v, defaults)
	case form.List, form.Tuple:
		p.list(&d, f, v, defaults)
	case form.OneOf:
		p.alternative(&d, f, v, defaults)
	default:
		d.Text = p.textOf(f, v)
	}
	return d
}

// lacking is what a field has that a value says nothing about.
func (p *filler) lacking(f *form.Field, defaults bool) Draft {
	if defaults {
		return p.start(f)
	}
	return p.blank(f)
}

// numbersOf are the numbers of the options with some values.
func numbersOf(f *form.Field, values []any) (numbers []int) {
	for _, v := range values {
		i := slices.IndexFunc(f.Options, func(o form.Option) bool { return value.Equal(o.Value, v) })
		if i >= 0 && !slices.Contains(numbers, i) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

func (p *filler) object(d *Draft, f *form.Field, v value.Value, defaults bool) {
	object, _ := v.(map[string]any)
	d.Given = object != nil
	known := map[string]bool{}
	for i := range f.Fields {
		inner := &f.Fields[i]
		name := lastToken(inner.Pointer)
		known[name] = true
		if given, there := object[name]; there {
			d.Inside = append(d.Inside, p.of(inner, given, defaults))
		} else {
			d.Inside = append(d.Inside, p.lacking(inner, defaults))
		}
	}
	if f.Items == nil {
		return
	}
	for _, name := range value.SortedKeys(object) {
		if p.left < 0 {
			return
		}
		if !known[name] {
			d.Entries = append(d.Entries, Entry{Name: name, Draft: p.of(f.Items, object[name], defaults)})
		}
	}
}

func (p *filler) list(d *Draft, f *form.Field, v value.Value, defaults bool) {
	list, _ := v.([]any)
	for i := range f.Fields {
		if i < len(list) {
			d.Inside = append(d.Inside, p.of(&f.Fields[i], list[i], defaults))
		} else {
			d.Inside = append(d.Inside, p.lacking(&f.Fields[i], defaults))
		}
	}
	if f.Items == nil || len(list) < len(f.Fields) {
		return
	}
	for _, each := range list[len(f.Fields):] {
		if p.left < 0 {
			return
		}
		d.Entries = append(d.Entries, Entry{Draft: p.of(f.Items, each, defaults)})
	}
}

// alternative finds the alternative that the whole value fits into; the first one, if none has.
func (p *filler) alternative(d *Draft, f *form.Field, v value.Value, defaults bool) {
	d.Chosen = []int{0}
	for i := range f.Fields {
		d.Inside = append(d.Inside, p.start(&f.Fields[i]))
	}
	for i := range f.Fields {
		alternative := f.Fields[i]
		alternative.Required = true
		filled := p.of(&alternative, v, false)
		if p.left < 0 {
			return
		}
		if again, wrong := Read(&alternative, &filled, p.Local); len(wrong) == 0 && value.Equal(again, v) {
			d.Chosen[0], d.Inside[i] = i, filled
			return
		}
	}
	if len(f.Fields) > 0 {
		d.Inside[0] = p.of(&f.Fields[0], v, defaults)
	}
}

// textOf is a value as a person writes it; empty if it has no text.
func (p Local) textOf(f *form.Field, v value.Value) string {
	if f.Kind == form.JSON {
		return indented(v)
	}
	switch v := v.(type) {
	case nil, []any, map[string]any:
		return ""
	case bool:
		return strconv.FormatBool(v)
	case string:
		switch f.Kind {
		case form.DateTime:
			return p.momentText(v)
		case form.Time:
			return p.timeText(v)
		case form.Boolean:
			return ""
		}
		return v
	}
	return string(value.Marshal(v))
}

// lastToken is the name of the property, or the number of the entry, that a pointer ends with.
func lastToken(pointer string) string {
	return jsonpointer.Unescape(pointer[strings.LastIndexByte(pointer, '/')+1:])
}
