package draft

import (
	"fmt"
	"strings"

	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/value"
)

// Check says what is wrong with what was entered into one control, in a sentence; empty: nothing is.
func (c *Control) Check(d *Draft, l Local) string {
	r := &reader{Local: l}
	switch _, got := r.value(c.Field, c.Required, d, ""); {
	case len(r.wrong) > 0:
		return r.wrong[0].Text()
	case got == nothing && c.Required && !c.Field.Nullable:
		return texts[Missing]
	}
	return ""
}

// Bounds are the constraints of a field in words; empty: it has none.
func Bounds(f *form.Field) string {
	c := f.Constraints
	if c == nil {
		return ""
	}
	unit := ""
	if f.Kind == form.List || f.Kind == form.Tuple || f.Kind == form.Map || f.Kind == form.Choices || f.Kind == form.Files {
		unit = " entries"
	}
	var all []string
	for _, bound := range []struct {
		limit *any
		words string
	}{
		{c.Min, "at least %s"}, {c.ExclusiveMin, "more than %s"}, {c.Max, "at most %s"}, {c.ExclusiveMax, "less than %s"}, {c.MultipleOf, "a multiple of %s"},
		{c.MinLength, "at least %s characters"}, {c.MaxLength, "at most %s characters"}, {c.MinItems, "at least %s" + unit}, {c.MaxItems, "at most %s" + unit},
	} {
		if bound.limit != nil {
			all = append(all, fmt.Sprintf(bound.words, value.Marshal(*bound.limit)))
		}
	}
	if c.Pattern != "" {
		all = append(all, "matching "+c.Pattern)
	}
	if c.MediaType != "" {
		all = append(all, c.MediaType)
	}
	return strings.Join(all, ", ")
}
