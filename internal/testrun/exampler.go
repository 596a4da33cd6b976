package testrun

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/value"
)

// exampler makes up the value of a schema. Only what is inside of root is referred to.
type exampler struct {
	root  value.Value
	made  int // values, and alternatives that were looked into
	bytes int // of texts, names and given values, each as often as it occurs
}

// The bounds of an example.
const (
	maxExampleDepth  = 16
	maxExampleItems  = 100
	maxExampleValues = 10_000
	maxExampleBytes  = 1 << 20
)

// over tells that the example is too large: it is not whole.
func (e *exampler) over() bool { return e.made > maxExampleValues || e.bytes > maxExampleBytes }

// tooLarge says why there is no example of something that is over.
func (e *exampler) tooLarge(what string) string {
	if e.bytes > maxExampleBytes {
		return fmt.Sprintf("an example of %s would have more than %d MiB", what, maxExampleBytes>>20)
	}
	return fmt.Sprintf("an example of %s would have more than %d values", what, maxExampleValues)
}

// given is a value that the schema has.
func (e *exampler) given(v value.Value) value.Value {
	e.bytes += value.Size(v)
	return v
}

// body is the body of an answer: an example that the document gives, or one of its schema.
func (e *exampler) body(response map[string]any) (value.Value, bool) {
	if examples, _ := response["examples"].(map[string]any); examples["application/json"] != nil { // Swagger 2.0
		return examples["application/json"], true
	}
	if schema, has := response["schema"]; has {
		return e.of(schema, 0), true
	}
	content, _ := response["content"].(map[string]any)
	for _, media := range value.SortedKeys(content) {
		if media != "application/json" && !strings.HasSuffix(media, "+json") {
			continue
		}
		one := e.resolve(content[media])
		if v, has := one["example"]; has {
			return v, true
		}
		examples, _ := one["examples"].(map[string]any)
		for _, name := range value.SortedKeys(examples) {
			if v, has := e.resolve(examples[name])["value"]; has {
				return v, true
			}
		}
		if schema, has := one["schema"]; has {
			return e.of(schema, 0), true
		}
	}
	return nil, false
}

// resolve follows references inside of the document.
func (e *exampler) resolve(v value.Value) map[string]any {
	for range maxExampleDepth {
		object, _ := v.(map[string]any)
		reference, isReference := object["$ref"].(string)
		pointer, local := strings.CutPrefix(reference, "#")
		if !isReference || !local {
			return object
		}
		v = e.root
		for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
			if pointer == "" {
				break
			}
			inner, _ := v.(map[string]any)
			v = inner[jsonpointer.Unescape(token)]
		}
	}
	return nil
}

// of makes up a value. Whether it fits, and is not over, is for the caller to check.
func (e *exampler) of(schema value.Value, depth int) value.Value {
	if e.over() {
		return nil
	}
	e.made++
	s := e.resolve(schema)
	if depth > maxExampleDepth || s == nil {
		return nil
	}
	for _, name := range []string{"const", "example", "default"} {
		if v, has := s[name]; has {
			return e.given(v)
		}
	}
	for _, name := range []string{"examples", "enum"} {
		if list, _ := s[name].([]any); len(list) > 0 {
			return e.given(list[0])
		}
	}
	for _, name := range []string{"oneOf", "anyOf"} {
		if list, _ := s[name].([]any); len(list) > 0 {
			return e.of(merged(s, e.resolve(list[0]), name), depth+1)
		}
	}
	if list, _ := s["allOf"].([]any); len(list) > 0 {
		all := s
		for _, one := range list {
			all = merged(all, e.resolve(one), "allOf")
		}
		return e.of(all, depth+1)
	}
	switch typeOf(s) {
	case "object":
		return e.object(s, depth)
	case "array":
		return e.list(s, depth)
	case "string":
		return e.text(s)
	case "integer":
		return exampleNumber(s, true)
	case "number":
		return exampleNumber(s, false)
	case "boolean":
		return true
	}
	return nil
}

// merged is a schema with what an alternative of it adds; without is the keyword that has it.
func merged(a, b map[string]any, without string) map[string]any {
	all := map[string]any{}
	for name, v := range a {
		if name != without {
			all[name] = v
		}
	}
	for name, v := range b {
		switch was := all[name].(type) {
		case map[string]any:
			if more, ok := v.(map[string]any); ok && name == "properties" {
				v = merged(was, more, "")
			}
		case []any:
			if more, ok := v.([]any); ok && name == "required" {
				v = slices.Concat(was, more)
			}
		}
		all[name] = v
	}
	return all
}

// typeOf is the type of the values, as far as the schema says.
func typeOf(s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if name, _ := one.(string); name != "null" {
				return name
			}
		}
		return "null"
	}
	for name, kind := range map[string]string{"properties": "object", "required": "object", "items": "array", "pattern": "string", "minimum": "number"} {
		if s[name] != nil {
			return kind
		}
	}
	return "object"
}

// object has the properties that a schema names, as far as they end.
func (e *exampler) object(s map[string]any, depth int) value.Value {
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	object := map[string]any{}
	for _, name := range value.SortedKeys(properties) {
		if depth < maxExampleDepth/2 || slices.Contains(required, any(name)) {
			e.bytes += len(name)
			object[name] = e.of(properties[name], depth+1)
		}
	}
	for _, one := range required {
		if name, _ := one.(string); object[name] == nil && properties[name] == nil {
			e.bytes += len(name)
			object[name] = e.of(s["additionalProperties"], depth+1)
		}
	}
	return object
}

func (e *exampler) list(s map[string]any, depth int) value.Value {
	n := max(1, wholeOf(s["minItems"], 0))
	if most := wholeOf(s["maxItems"], n); most < n {
		n = most
	}
	list := []any{}
	for range min(n, maxExampleItems) {
		list = append(list, e.of(s["items"], depth+1))
	}
	return list
}

// exampleTexts are texts of the formats that forms and APIs use.
var exampleTexts = map[string]string{
	"date-time": "2026-01-31T12:00:00Z", "date": "2026-01-31", "time": "12:00:00Z", "duration": "PT1H", "email": "person@example.org",
	"idn-email": "person@example.org", "uri": "https://example.org/", "uri-reference": "/example", "url": "https://example.org/", "iri": "https://example.org/",
	"hostname": "example.org", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uuid": "00000000-0000-4000-8000-000000000000", "byte": "ZXhhbXBsZQ==",
}

func (e *exampler) text(s map[string]any) value.Value {
	format, _ := s["format"].(string)
	if text, known := exampleTexts[format]; known {
		return text
	}
	text, least := "example", wholeOf(s["minLength"], 0)
	if e.bytes += min(max(least, len(text)), maxExampleBytes+1); e.over() {
		return nil // a text of its length is not made
	}
	if least > len(text) {
		text += strings.Repeat("x", least-len(text))
	}
	return text[:min(len(text), max(0, wholeOf(s["maxLength"], len(text))))]
}

func exampleNumber(s map[string]any, whole bool) value.Value {
	low, high := floatOf(s["minimum"], math.Inf(-1)), floatOf(s["maximum"], math.Inf(1))
	step := 1.0
	if !whole {
		step = 0.5
	}
	if above, has := s["exclusiveMinimum"]; has {
		low = floatOf(above, 0) + step
	}
	if below, has := s["exclusiveMaximum"]; has {
		high = floatOf(below, 0) - step
	}
	n := min(max(1, low), high)
	if of := floatOf(s["multipleOf"], 0); of > 0 {
		n = math.Ceil(n/of) * of
	}
	if whole || n == math.Trunc(n) && math.Abs(n) < 1<<53 {
		return int(n)
	}
	return n
}

func wholeOf(v value.Value, otherwise int) int {
	if n, ok := v.(int); ok {
		return n
	}
	return otherwise
}

func floatOf(v value.Value, otherwise float64) float64 {
	switch n := v.(type) {
	case int:
		return float64(n)
	case float64:
		return n
	}
	return otherwise
}
