package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// The document is written in an order that people read it in: what it is comes first, then the
// routes as the table has them, then the schemas; fields stand as in the types of view.go.

// member is one member of a JSON object, which keeps its place.
type member struct {
	name  string
	value any
}

type members []member

// MarshalJSON writes the members in their order.
func (m members) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	out.WriteByte('{')
	for i, each := range m {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := encoder.Encode(each.name); err != nil {
			return nil, err
		}
		out.WriteByte(':')
		if err := encoder.Encode(each.value); err != nil {
			return nil, err
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// readMembers reads one JSON value and keeps the order of objects.
func readMembers(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		m := members{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			value, err := readMembers(d)
			if err != nil {
				return nil, err
			}
			m = append(m, member{name.(string), value})
		}
		_, err = d.Token()
		return m, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			value, err := readMembers(d)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = d.Token()
		return list, err
	}
	return token, nil
}

// keywords is the order of the members that OpenAPI and JSON Schema define; others follow.
var keywords = []string{
	"openapi", "info", "servers", "operationId", "tags", "$ref", "title", "summary", "name", "in", "version", "type", "format",
	"description", "required", "contact", "license", "security", "get", "post", "put", "patch", "delete",
	"parameters", "requestBody", "headers", "schema", "example", "examples", "value", "content", "responses", "enum", "items",
	"properties", "paths", "components",
}

// medias is the order of media types; others follow. Generated clients send the first.
var medias = []string{"application/octet-stream", "application/yaml", "application/json", eventMedia}

// rank is the place of a name in a list, and behind it for others.
func rank(list []string, name string) int {
	if i := slices.Index(list, name); i >= 0 {
		return i
	}
	return len(list)
}

// arrange puts a value of the document in order; key is the name under which it stands, schema
// the name of the schema in which it stands.
func (w *documentWriter) arrange(value any, key, schema string) {
	list, _ := value.([]any)
	for _, each := range list {
		w.arrange(each, "", schema)
	}
	m, _ := value.(members)
	var names []string
	switch key {
	case "example", "value", "default": // data, as it was written
		return
	case "paths":
		for _, e := range endpoints() {
			names = append(names, e.path)
		}
	case "content":
		names = medias
		slices.SortStableFunc(m, func(a, b member) int { return strings.Compare(b.name, a.name) }) // */* last
		slices.Reverse(m)
		slices.SortStableFunc(m, func(a, b member) int { return cmp.Compare(strings.Count(a.name, "*"), strings.Count(b.name, "*")) })
	case "properties":
		names = w.fields(schema)
	case "responses", "schemas", "examples", "securitySchemes":
		names = nil
	case "headers":
		names = []string{"X-Request-Id"}
	default:
		names = keywords
	}
	slices.SortStableFunc(m, func(a, b member) int { return cmp.Compare(rank(names, a.name), rank(names, b.name)) })
	for _, each := range m {
		if key == "schemas" {
			schema = each.name
		}
		w.arrange(each.value, each.name, schema)
	}
}

// fields lists the fields of a schema in the order of its type.
func (w *documentWriter) fields(schema string) (names []string) {
	t := w.registry.TypeFromRef("#/components/schemas/" + schema)
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && !f.Anonymous {
			names = append(names, name)
		}
	}
	return names
}

// text is the document in order.
func (w *documentWriter) text() ([]byte, error) {
	text, err := json.Marshal(w.doc)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	document, err := readMembers(d)
	if err != nil {
		return nil, err
	}
	w.arrange(document, "", "")
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	err = json.Compact(&compact, out.Bytes())
	return compact.Bytes(), err
}
