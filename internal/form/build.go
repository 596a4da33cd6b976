package form

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/markdown"
	"github.com/chargehand/chargehand/internal/value"
)

// maxHelp bounds the bytes of descriptions that are read as Markdown.
const maxHelp = 32 << 10

// Order tells where a location of the schema, a JSON pointer into it, is in the text of the definition: a smaller
// number is further ahead. Two with the same number are in alphabetical order.
type Order func(pointer string) int

// Of is the outline of a schema: the properties of an object, or one field with the pointer "" for any other schema.
// order may be nil.
func Of(schema value.Value, order Order) []Field {
	b := &builder{root: schema, order: order, help: maxHelp, fields: MaxFields, open: map[string]int{}}
	f, ok := b.field(location{schema: schema}, "", "", 0)
	switch {
	case !ok:
		return []Field{}
	case f.Kind == Object && f.Items == nil && !f.Nullable:
		return f.Fields
	}
	return []Field{f}
}

type builder struct {
	root   value.Value
	order  Order
	help   int            // bytes of descriptions that may still be read
	fields int            // fields that there may still be
	open   map[string]int // references whose fields are being built, and how often
}

// maxInside is how often a schema that refers to itself is drawn inside itself.
const maxInside = 2

// location is a schema and its JSON pointer.
type location struct {
	schema value.Value
	at     string
}

func (p location) under(name string) location {
	object, _ := p.schema.(map[string]any)
	return location{schema: object[name], at: p.at + "/" + jsonpointer.Escape(name)}
}

func (p location) entry(i int) location {
	list, _ := p.schema.([]any)
	return location{schema: list[i], at: p.at + "/" + strconv.Itoa(i)}
}

// field is the field of a value; false if the schema allows none.
func (b *builder) field(p location, pointer, name string, depth int) (Field, bool) {
	if p.schema == false {
		return Field{}, false
	}
	b.fields--
	s, known := b.resolve(p)
	f := Field{Pointer: pointer, Kind: JSON}
	b.describe(&f, s, name)
	object, _ := p.schema.(map[string]any)
	ref, _ := object["$ref"].(string)
	if !known || depth > MaxDepth || b.fields < 0 || (ref != "" && b.open[ref] >= maxInside) {
		return f, true
	}
	b.open[ref]++
	defer func() { b.open[ref]-- }()
	b.shape(&f, s, depth)
	return f, true
}

// describe sets what every kind of field has.
func (b *builder) describe(f *Field, s schema, name string) {
	if f.Title = s.text("title"); f.Title == "" {
		f.Title = titleOf(name)
	}
	f.HelpHTML = b.html(s.text("description"))
	f.ReadOnly = s.all["readOnly"] == true
	if v, ok := s.all["default"]; ok {
		f.Default = &v
	}
	if examples, ok := s.all["examples"].([]any); ok && len(examples) > 0 {
		f.Example = &examples[0]
	}
}

func (b *builder) html(description string) string {
	if description == "" {
		return ""
	}
	if b.help -= len(description); b.help < 0 {
		return markdown.Plain(description)
	}
	return markdown.HTML(description)
}

// titleOf makes a title of the name of a property: "orderId" and "order_id" become "Order id".
func titleOf(name string) string {
	var out strings.Builder
	lower := false // the character before was a small letter or a digit
	for _, r := range name {
		switch {
		case r == '_' || r == '-':
			r = ' '
		case unicode.IsUpper(r) && lower:
			out.WriteByte(' ')
			lower = false
			out.WriteRune(unicode.ToLower(r))
			continue
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
		out.WriteRune(r)
	}
	title := strings.TrimSpace(out.String())
	if first, size := utf8.DecodeRuneInString(title); size > 0 {
		title = string(unicode.ToUpper(first)) + title[size:]
	}
	return title
}

// shape finds the kind of a field and what belongs to it.
func (b *builder) shape(f *Field, s schema, depth int) {
	types, nullable := s.types()
	f.Nullable = nullable
	if options, ok := b.options(s); ok {
		f.Kind, f.Options = Choice, options
		return
	}
	if b.alternatives(f, s, types, depth) {
		return
	}
	if s.text("format") == "file-ref" {
		f.Kind, f.Constraints = File, s.constraints("contentMediaType")
		return
	}
	if len(types) != 1 {
		return // any value, or several types without a form of their own
	}
	switch types[0] {
	case "string":
		f.Kind = textKind(s)
		f.Constraints = s.constraints("minLength", "maxLength", "pattern", "contentMediaType")
	case "integer":
		f.Kind = Integer
		f.Constraints = s.constraints("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
	case "number":
		f.Kind = Number
		f.Constraints = s.constraints("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
	case "boolean":
		f.Kind = Boolean
	case "array":
		b.array(f, s, depth)
	case "object":
		b.object(f, s, depth)
	}
}

func textKind(s schema) Kind {
	switch s.text("format") {
	case "date":
		return Date
	case "time":
		return Time
	case "date-time":
		return DateTime
	case "email", "idn-email":
		return Email
	case "uri", "iri":
		return URI
	}
	if length, ok := number(s.all["maxLength"]); (ok && length > 255) || strings.HasPrefix(s.text("contentMediaType"), "text/") {
		return LongText
	}
	return Text
}

// options are the values of an enum, of a const, or of a choice among constants.
func (b *builder) options(s schema) ([]Option, bool) {
	if constant, ok := s.all["const"]; ok {
		return []Option{{Value: constant, Title: valueText(constant)}}, true
	}
	if values, ok := s.all["enum"].([]any); ok && len(values) > 0 && len(values) <= MaxOptions {
		options := make([]Option, len(values))
		for i, v := range values {
			options[i] = Option{Value: v, Title: valueText(v)}
		}
		return options, true
	}
	for _, name := range []string{"oneOf", "anyOf"} {
		list, _ := s.all[name].([]any)
		if len(list) == 0 || len(list) > MaxOptions {
			continue
		}
		options := make([]Option, 0, len(list))
		for i := range list {
			one, _ := b.resolve(s.at(name).entry(i))
			constant, ok := one.all["const"]
			if !ok {
				break
			}
			title := one.text("title")
			if title == "" {
				title = valueText(constant)
			}
			options = append(options, Option{Value: constant, Title: title, HelpHTML: b.html(one.text("description"))})
		}
		if len(options) == len(list) {
			return options, true
		}
	}
	return nil, false
}

// valueText shows a value to choose.
func valueText(v value.Value) string {
	if text, ok := v.(string); ok {
		return text
	}
	return string(value.Marshal(v))
}

// alternatives are the fields of oneOf and anyOf. One that is null makes the rest nullable, and a single rest is drawn
// as itself.
func (b *builder) alternatives(f *Field, s schema, types []string, depth int) bool {
	for _, name := range []string{"oneOf", "anyOf"} {
		list, _ := s.all[name].([]any)
		if len(list) == 0 {
			continue
		}
		if len(list) > MaxOptions || s.all["properties"] != nil {
			return true // both at once have no form
		}
		var rest []location
		for i := range list {
			one, _ := b.resolve(s.at(name).entry(i))
			if only, null := one.types(); null && len(only) == 0 {
				f.Nullable = true
			} else {
				rest = append(rest, s.at(name).entry(i))
			}
		}
		if len(rest) == 1 {
			if inner, known := b.resolve(rest[0]); known {
				if f.HelpHTML == "" {
					f.HelpHTML = b.html(inner.text("description"))
				}
				nullable := f.Nullable
				b.shape(f, inner, depth)
				f.Nullable = f.Nullable || nullable
			}
			return true
		}
		f.Kind = OneOf
		for i, p := range rest {
			if one, ok := b.field(p, f.Pointer, "", depth+1); ok {
				if one.Title == "" {
					one.Title = strconv.Itoa(i + 1)
				}
				f.Fields = append(f.Fields, one)
			}
		}
		return true
	}
	return false
}

// array sets the kind of a field whose value is a list.
func (b *builder) array(f *Field, s schema, depth int) {
	f.Constraints = s.constraints("minItems", "maxItems", "uniqueItems")
	prefix, _ := s.all["prefixItems"].([]any)
	for i := range prefix {
		if entry, ok := b.field(s.at("prefixItems").entry(i), f.Pointer+"/"+strconv.Itoa(i), strconv.Itoa(i+1), depth+1); ok {
			least, _ := number(s.all["minItems"])
			entry.Required = i < int(least)
			f.Fields = append(f.Fields, entry)
		}
	}
	items, given := s.all["items"]
	if !given && len(prefix) == 0 || items == false {
		if f.Kind = JSON; len(prefix) > 0 {
			f.Kind = Tuple
		}
		return
	}
	if len(prefix) > 0 {
		f.Kind = Tuple
		if given {
			f.Items = b.item(s.at("items"), depth)
		}
		return
	}
	item := b.item(s.at("items"), depth)
	switch {
	case item == nil:
		f.Kind = JSON
	case item.Kind == Choice && s.all["uniqueItems"] == true:
		f.Kind, f.Options = Choices, item.Options
	case item.Kind == File:
		f.Kind = Files
		if item.Constraints != nil && item.Constraints.MediaType != "" {
			if f.Constraints == nil {
				f.Constraints = &Constraints{}
			}
			f.Constraints.MediaType = item.Constraints.MediaType
		}
	default:
		f.Kind, f.Items = List, item
	}
}

// item is the field of an entry of a list or map; its pointer begins anew.
func (b *builder) item(p location, depth int) *Field {
	item, ok := b.field(p, "", "", depth+1)
	if !ok {
		return nil
	}
	return &item
}

// object sets the kind of a field whose value is an object.
func (b *builder) object(f *Field, s schema, depth int) {
	properties := b.properties(s)
	further, given := s.all["additionalProperties"]
	if len(properties) == 0 {
		if given && further != false {
			f.Kind, f.Items = Map, b.item(s.at("additionalProperties"), depth)
		} else if given {
			f.Kind, f.Fields = Object, []Field{}
		}
		f.Constraints = s.constraints("minProperties", "maxProperties")
		return
	}
	f.Kind, f.Fields = Object, []Field{}
	for _, p := range properties {
		field, ok := b.field(p.location, f.Pointer+"/"+jsonpointer.Escape(p.name), p.name, depth+1)
		if !ok {
			continue
		}
		field.Required = p.required
		field.When, field.RequiredWhen = p.when.at(f.Pointer), p.requiredWhen.at(f.Pointer)
		f.Fields = append(f.Fields, field)
	}
	if given && further != false {
		f.Items = b.item(s.at("additionalProperties"), depth)
	}
}

// sorted puts properties into the order of x-order, of the definition, or of the alphabet.
func (b *builder) sorted(properties []property, s schema) {
	wanted := map[string]int{}
	if names, ok := s.all["x-order"].([]any); ok {
		for i, n := range names {
			if name, ok := n.(string); ok {
				wanted[name] = i - len(names)
			}
		}
	}
	slices.SortStableFunc(properties, func(x, y property) int {
		if c := cmp.Compare(wanted[x.name], wanted[y.name]); c != 0 {
			return c
		}
		if b.order != nil {
			if c := cmp.Compare(b.order(x.location.at), b.order(y.location.at)); c != 0 {
				return c
			}
		}
		return strings.Compare(x.name, y.name)
	})
}
