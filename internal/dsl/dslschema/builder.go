package dslschema

import (
	"bytes"
	"encoding/json"
)

// schema is a JSON Schema whose keywords keep their order: editors offer properties in it.
type schema []keyword

type keyword struct {
	key   string
	value any
}

// MarshalJSON writes the keywords in their order.
func (s schema) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	text.WriteByte('{')
	for i, k := range s {
		if i > 0 {
			text.WriteByte(',')
		}
		key, err := json.Marshal(k.key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(k.value)
		if err != nil {
			return nil, err
		}
		text.Write(key)
		text.WriteByte(':')
		text.Write(value)
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}

// with adds a keyword.
func (s schema) with(key string, value any) schema {
	return append(s[:len(s):len(s)], keyword{key, value})
}

func property(name string, value schema) keyword { return keyword{name, value} }

func typed(name, about string) schema {
	s := schema{{"type", name}}
	if about == "" {
		return s
	}
	return schema{{"description", about}, s[0]}
}

// text takes any text, filled one that is not blank.
func text(about string) schema   { return typed("string", about) }
func filled(about string) schema { return text(about).with("pattern", `\S`) }

// anything takes any value.
func anything(about string) schema { return schema{{"description", about}} }

// open takes an object with any properties.
func open(about string) schema { return typed("object", about) }

func choice(about string, names ...string) schema { return text(about).with("enum", names) }

func flag(about string, otherwise bool) schema {
	return typed("boolean", about).with("default", otherwise)
}

func whole(about string, low, high int) schema {
	return typed("integer", about).with("minimum", low).with("maximum", high)
}

func list(about string, items schema) schema { return typed("array", about).with("items", items) }

// named takes an object of named parts.
func named(about string, part schema) schema {
	return open(about).with("propertyNames", ref("name", "")).with("additionalProperties", part)
}

// namedItems takes a list of objects, each with one name.
func namedItems(about string, part schema) schema {
	return list(about, named("", part).with("minProperties", 1).with("maxProperties", 1))
}

func ref(name, about string) schema {
	s := schema{{"$ref", "#/$defs/" + name}}
	if about == "" {
		return s
	}
	return schema{{"description", about}, s[0]}
}

// either takes what one of the schemas takes.
func either(about string, schemas ...schema) schema {
	return schema{{"description", about}, {"anyOf", schemas}}
}

// closed takes an object with these properties only.
func closed(about string, required []string, properties ...keyword) schema {
	s := open(about)
	if len(required) > 0 {
		s = s.with("required", required)
	}
	return s.with("properties", schema(properties)).with("additionalProperties", false)
}

// one asks for exactly one property of an object, which has no others.
func (s schema) one() schema { return s.with("minProperties", 1).with("maxProperties", 1) }

func has(names ...string) schema { return schema{{"required", names}} }

// oneOf asks for exactly one of the properties.
func oneOf(names ...string) []schema {
	schemas := make([]schema, len(names))
	for i, name := range names {
		schemas[i] = has(name)
	}
	return schemas
}

// secretOr asks for {use: …} alone, or for the required properties.
func (s schema) secretOr(required ...string) schema {
	return s.with("if", has("use")).with("then", schema{{"maxProperties", 1}}).with("else", has(required...))
}

// equals takes an object in which a property has that value.
func equals(name, value string) schema {
	return has(name).with("properties", schema{{name, schema{{"const", value}}}})
}
