package testrecord

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/chargehand/chargehand/internal/value"
)

// lineWidth is the width up to which a value stays on its line.
const lineWidth = 100

// plain are keys that need no quotes, and mean nothing else in YAML.
var plain = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

func keyText(name string) string {
	if plain.MatchString(name) && !reserved(name) {
		return name
	}
	return quote(name)
}

// quote writes a text as JSON does, which YAML reads as the same.
func quote(text string) string { return string(value.Marshal(text)) }

// word are texts that need no quotes: YAML reads them as texts.
var word = regexp.MustCompile(`^(\./)?[A-Za-z][A-Za-z0-9_./@-]*$`)

func wordText(text string) string {
	if word.MatchString(text) && !reserved(text) {
		return text
	}
	return quote(text)
}

// reserved reports whether some reader of YAML takes a word for something else than a text.
func reserved(text string) bool {
	switch strings.ToLower(text) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return true
	}
	return false
}

// property is a property of an object whose order matters.
type property struct {
	name  string
	value any // a value, an ordered object, or a list of either
}

type ordered []property

// flow writes a value on one line.
func flow(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case ordered:
		b.WriteByte('{')
		for i, p := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(keyText(p.name) + ": ")
			flow(b, p.value)
		}
		b.WriteByte('}')
	case map[string]any:
		flow(b, sorted(v))
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			flow(b, item)
		}
		b.WriteByte(']')
	case string:
		b.WriteString(wordText(v))
	default:
		b.Write(value.Marshal(v))
	}
}

func sorted(object map[string]any) ordered {
	list := make(ordered, 0, len(object))
	for _, name := range value.SortedKeys(object) {
		list = append(list, property{name, object[name]})
	}
	return list
}

// block writes a value behind "name:" or "-", on the same line if it fits, else below it. indent is that of the line.
func block(b *bytes.Buffer, v any, indent int) {
	var line bytes.Buffer
	flow(&line, v)
	if m, is := v.(map[string]any); is {
		v = sorted(m)
	}
	object, isObject := v.(ordered)
	list, isList := v.([]any)
	if line.Len()+indent <= lineWidth || !isObject && !isList || len(object)+len(list) == 0 {
		b.WriteByte(' ')
		b.Write(line.Bytes())
		b.WriteByte('\n')
		return
	}
	b.WriteByte('\n')
	if isObject {
		properties(b, object, indent+2)
		return
	}
	for _, item := range list {
		var one bytes.Buffer
		block(&one, item, indent+2)
		text := one.String()
		if strings.HasPrefix(text, "\n") { // its first line stands behind the hyphen
			text = " " + strings.TrimLeft(text, "\n ")
		}
		b.WriteString(strings.Repeat(" ", indent+2) + "-" + text)
	}
}

// properties writes those of an object, each on a line of its own.
func properties(b *bytes.Buffer, object ordered, indent int) {
	for _, p := range object {
		b.WriteString(strings.Repeat(" ", indent) + keyText(p.name) + ":")
		block(b, p.value, indent)
	}
}
