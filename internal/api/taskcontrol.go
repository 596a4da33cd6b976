package api

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/form/draft"
	"github.com/chargehand/chargehand/internal/page"
	"github.com/chargehand/chargehand/internal/value"
)

// drawer turns the controls of a form, which are a list, into the fields of the page, which are inside each other. What
// is wrong with them goes into the summary, in the order of the form.
type drawer struct {
	*taskForm
	page *page.Task
	at   int // number of the next control
}

// maxRadios is how many options are all in view. Of more, one is chosen from a list.
const maxRadios = 6

// inside draws the controls that are deeper than depth, up to one that is not.
func (d *drawer) inside(depth int) (fields []page.Control) {
	for d.at < len(d.controls) && d.controls[d.at].Depth > depth {
		if field, shown := d.next(nil); shown {
			fields = append(fields, field)
		}
	}
	return fields
}

// next draws the next control with what is in it. holder is the entry that it is in, if nothing else is.
func (d *drawer) next(holder *page.Control) (page.Control, bool) {
	c, number := &d.controls[d.at], d.at
	if !c.There || c.Field.ReadOnly {
		wrong := d.hide(c.Depth)
		if !c.There {
			return page.Control{}, false
		}
		return d.readOnly(c, number, wrong), true
	}
	d.at++
	f := page.Control{
		ID: controlID(number), Name: page.TaskField + c.Key, Title: d.title(c, number), Help: apart(c.Field.HelpHTML), Required: c.Required,
		Error: d.wrong[number], Focus: d.focus != "" && d.focus == c.Key && d.focusRole == c.Role,
	}
	summarized := f.Error
	switch c.Role {
	case draft.Group:
		f.Draw, f.Mark, f.Hint = page.DrawGroup, c.Field.Items != nil, d.bounds(c.Field)
		if c.Extensible() {
			f.Add = c.Key
		}
	case draft.Entered:
		f.Draw, f.Mark, f.Required, f.Remove = page.DrawEntry, true, true, c.Key
		if c.Field.Kind != form.Object || c.Field.Items != nil { // what the entry is follows
			f.Help = ""
		}
		if c.Named {
			f.EntryName = &page.Pair{Name: page.TaskField + c.NameKey(), Value: c.Entry.Name}
		}
	case draft.Variant:
		f.Draw = page.DrawVariant
		for i := range c.Field.Fields {
			title := d.alternative(c.Field.Fields[i].Title)
			f.Options = append(f.Options, page.Choice{Value: fmt.Sprint(i), Title: title, Chosen: slices.Contains(c.Draft.Chosen, i)})
		}
	default:
		d.leaf(&f, c)
		if f.Upload != nil {
			summarized = joined(f.Error, f.Upload.Error)
		}
	}
	if holder != nil && f.Title == "" {
		f.Title = holder.Title
	}
	if f.Title == "" {
		f.Title = d.word("whole")
	}
	if summarized != "" {
		d.page.Wrong = append(d.page.Wrong, page.Wrong{ID: f.ID, Title: f.Title, Text: summarized})
	}
	for c.Role != draft.Leaf && d.at < len(d.controls) && d.controls[d.at].Depth > c.Depth {
		in := &f
		if c.Role != draft.Entered {
			in = nil
		}
		if field, shown := d.next(in); shown {
			f.Inside = append(f.Inside, field)
		}
	}
	return f, true
}

func controlID(number int) string { return fmt.Sprint("f", number) }

// hide keeps what was entered into the next control, and into what is in it, in hidden inputs. It returns what is wrong
// with that.
func (d *drawer) hide(depth int) (wrong string) {
	for first := true; d.at < len(d.controls) && (first || d.controls[d.at].Depth > depth); d.at++ {
		first, wrong = false, joined(wrong, d.wrong[d.at])
		values := d.controls[d.at].Values()
		for _, key := range slices.Sorted(maps.Keys(values)) {
			for _, text := range values[key] {
				d.page.Hidden = append(d.page.Hidden, page.Pair{Name: page.TaskField + key, Value: text})
			}
		}
	}
	return wrong
}

// readOnly draws a control that is shown and not entered.
func (d *drawer) readOnly(c *draft.Control, number int, wrong string) page.Control {
	v, _ := draft.Read(c.Field, c.Draft, d.local)
	shown := d.shown(v)
	f := page.Control{
		ID: controlID(number), Draw: page.DrawReadOnly, Title: d.title(c, number), Help: apart(c.Field.HelpHTML), Shown: &shown, Error: wrong,
	}
	if f.Title == "" {
		f.Title = d.word("whole")
	}
	if f.Error != "" {
		d.page.Wrong = append(d.page.Wrong, page.Wrong{ID: f.ID, Title: f.Title, Text: f.Error})
	}
	return f
}

// alternative is the title of an alternative, which may be its number alone.
func (d *drawer) alternative(title string) string {
	if strings.Trim(title, "0123456789") == "" {
		return strings.TrimSpace(d.word("option") + " " + title)
	}
	return title
}

// title is that of a control. An entry has the one of its group, with its number.
func (d *drawer) title(c *draft.Control, number int) string {
	if c.Role != draft.Entered {
		if c.Holder != nil && c.Holder.Kind == form.OneOf {
			return d.alternative(c.Field.Title)
		}
		return c.Field.Title
	}
	of := d.word("row")
	for i := number - 1; i >= 0; i-- {
		if group := &d.controls[i]; group.Role == draft.Group && group.Field == c.Holder && c.Depth == group.Depth+1 {
			if group.Field.Title != "" {
				of = group.Field.Title
			}
			break
		}
	}
	return fmt.Sprint(of, " ", len(c.Holder.Fields)+c.Number+1)
}

// leaf draws a field that is filled in.
func (d *drawer) leaf(f *page.Control, c *draft.Control) {
	f.Value, f.Hint = c.Draft.Text, d.bounds(c.Field)
	switch c.Field.Kind {
	case form.Choice:
		d.choice(f, c)
	case form.Choices:
		f.Draw, f.Mark = page.DrawBoxes, true
		f.Options = options(f, c)
	case form.Boolean:
		d.boolean(f, c)
	case form.File, form.Files:
		d.files(f, c)
	case form.LongText:
		f.Draw = page.DrawLong
	case form.JSON:
		f.Draw, f.Hint = page.DrawCode, joined(d.word("json"), f.Hint)
	default:
		d.input(f, c.Field)
	}
}

// options are those of a choice.
func options(f *page.Control, c *draft.Control) []page.Choice {
	list := make([]page.Choice, len(c.Field.Options))
	for i, o := range c.Field.Options {
		list[i] = page.Choice{
			ID: fmt.Sprint(f.ID, "-", i), Value: fmt.Sprint(i), Title: o.Title, Help: apart(o.HelpHTML), Chosen: slices.Contains(c.Draft.Chosen, i),
		}
	}
	return list
}

func (d *drawer) choice(f *page.Control, c *draft.Control) {
	f.Options = options(f, c)
	none := page.Choice{ID: f.ID + "-none", Title: d.word("none"), Chosen: len(c.Draft.Chosen) == 0}
	if len(f.Options) <= maxRadios {
		f.Draw, f.Mark = page.DrawRadios, true
		if !c.Required {
			f.Options = append(f.Options, none)
		}
		return
	}
	f.Draw = page.DrawSelect
	if c.Required {
		none.Title = d.word("choose")
	}
	f.Options = slices.Insert(f.Options, 0, none)
}

// boolean draws a box where there must be an answer, and three options where there need not be one.
func (d *drawer) boolean(f *page.Control, c *draft.Control) {
	if c.Required {
		f.Draw = page.DrawCheck
		return
	}
	f.Draw, f.Mark = page.DrawRadios, true
	for i, o := range []struct{ value, title string }{{"true", "yes"}, {"false", "no"}, {"", "none"}} {
		f.Options = append(f.Options, page.Choice{ID: fmt.Sprint(f.ID, "-", i), Value: o.value, Title: d.word(o.title), Chosen: c.Draft.Text == o.value})
	}
}

// What the inputs of browsers for times can show. Another text would be lost in them.
var (
	dateShape     = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	timeShape     = regexp.MustCompile(`^[0-9]{2}:[0-9]{2}$`)
	dateTimeShape = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}$`)
)

// input draws a text of one line. Numbers are texts, because browsers drop what is no number before it is sent.
func (d *drawer) input(f *page.Control, field *form.Field) {
	if strings.ContainsAny(f.Value, "\n\r") { // which an input drops
		f.Draw = page.DrawLong
		return
	}
	f.Draw, f.Type = page.DrawInput, "text"
	timed := func(kind, help string, shape *regexp.Regexp) {
		f.Hint = joined(d.word(help), f.Hint)
		if f.Value == "" || shape.MatchString(f.Value) {
			f.Type = kind
		}
	}
	switch field.Kind {
	case form.Date:
		timed("date", "date", dateShape)
	case form.Time:
		timed("time", "time", timeShape)
	case form.DateTime:
		timed("datetime-local", "datetime", dateTimeShape)
	case form.Integer, form.Number:
		// Some phones have no sign beside digits.
		if c := field.Constraints; c != nil && (isPositive(c.Min) || isPositive(c.ExclusiveMin)) {
			f.Mode = "decimal"
			if field.Kind == form.Integer {
				f.Mode = "numeric"
			}
		}
	case form.Email:
		f.Mode = "email"
	case form.URI:
		f.Mode = "url"
	}
}

// isPositive reports whether a bound is 0 or more.
func isPositive(bound *any) bool {
	if bound == nil {
		return false
	}
	switch n := (*bound).(type) {
	case int:
		return n >= 0
	case float64:
		return n >= 0
	}
	return false
}

// files draws uploads. A file that was chosen is there as a reference to it.
func (d *drawer) files(f *page.Control, c *draft.Control) {
	f.Draw, f.Mark, f.Hint = page.DrawFiles, true, ""
	u := &page.Upload{
		ID: f.ID + "-files", Name: page.TaskUpload + f.Name, Kept: f.Name, Many: c.Field.Kind == form.Files, Required: c.Required, Help: d.bounds(c.Field),
		Error: d.uploadWrong[f.Name],
	}
	if of := c.Field.Constraints; of != nil {
		u.Accept = of.MediaType
	}
	for i, file := range c.Draft.Files {
		kept := page.Kept{ID: fmt.Sprint(u.ID, "-", i), Value: string(value.Marshal(file)), Name: d.word("files")}
		object, _ := file.(map[string]any)
		if name, ok := object["name"].(string); ok && name != "" {
			kept.Name = name
		}
		if size, ok := object["size"].(int); ok {
			kept.Size = page.Size(d.lang, int64(size))
		}
		u.Files = append(u.Files, kept)
	}
	delete(d.uploadWrong, f.Name)
	f.Upload = u
}

// bounds are the constraints of a field in words; empty: it has none.
func (d *drawer) bounds(f *form.Field) string {
	c := f.Constraints
	if c == nil {
		return ""
	}
	text := func(bound *any) string { return string(value.Marshal(*bound)) }
	var all []string
	least, most := "least-items", "most-items"
	switch {
	case f.Kind == form.Files:
		most = "max-files"
	case c.Min != nil && c.Max != nil:
		all = append(all, d.words("between", text(c.Min), text(c.Max)))
		c = &form.Constraints{ExclusiveMin: c.ExclusiveMin, ExclusiveMax: c.ExclusiveMax, MultipleOf: c.MultipleOf}
	}
	for _, bound := range []struct {
		limit *any
		words string
	}{
		{c.Min, "from"}, {c.ExclusiveMin, "above"}, {c.Max, "to"}, {c.ExclusiveMax, "below"}, {c.MultipleOf, "multiple"},
		{c.MinLength, "least-length"}, {c.MaxLength, "length"}, {c.MinItems, least}, {c.MaxItems, most},
	} {
		if bound.limit != nil {
			all = append(all, d.words(bound.words, text(bound.limit)))
		}
	}
	if c.Pattern != "" {
		all = append(all, d.words("pattern", c.Pattern))
	}
	if c.MediaType != "" && (f.Kind == form.File || f.Kind == form.Files) {
		all = append(all, d.words("accept", c.MediaType))
	}
	return strings.Join(all, " ")
}
