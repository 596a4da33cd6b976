package dsl

import (
	"fmt"
	"strings"
	"unicode"
)

var inputObject = object{hints: map[string]string{"as": `Did you mean "from"?`}}

func (d *decoder) input(at location) *Input {
	result := &Input{Pointer: at.pointer}
	d.object(at, &inputObject,
		field("schema", &result.Schema, d.schema),
		field("from", &result.From, d.transformation),
	)
	return result
}

var outputObject = object{hints: map[string]string{"from": `Did you mean "as"?`}}

// output reads an `output` or an `export`.
func (d *decoder) output(at location) *Output {
	result := &Output{Pointer: at.pointer}
	d.object(at, &outputObject,
		field("schema", &result.Schema, d.schema),
		field("as", &result.As, d.transformation),
	)
	return result
}

// transformation reads `from` and `as`: an expression, or an object with expressions.
func (d *decoder) transformation(at location) Operand {
	switch at.shape {
	case shapeText:
		return d.filledOperand(at)
	case shapeObject:
		return d.operand(at)
	}
	d.wrongType(at, "an expression or an object", quoteHint(at))
	return Operand{}
}

const schemaHint = "Put the JSON schema into `document`."

var schemaObject = object{hints: map[string]string{
	"type": schemaHint, "properties": schemaHint, "required": schemaHint, "$schema": schemaHint, "$ref": schemaHint, "items": schemaHint,
}}

func (d *decoder) schema(at location) *Schema {
	result := &Schema{Pointer: at.pointer, Format: "json"}
	d.object(at, &schemaObject,
		field("format", &result.Format, d.filled),
		field("document", &result.Document, d.operand),
		field("resource", &result.Resource, d.resource),
	)
	d.exactlyOne(at, "document", "resource")
	return result
}

var resourceObject = object{required: []string{"endpoint"},
	hints: map[string]string{"uri": `Did you mean "endpoint"?`, "url": `Did you mean "endpoint"?`},
	hint:  "Write {endpoint: …}."}

func (d *decoder) resource(at location) *Resource {
	result := &Resource{Pointer: at.pointer}
	d.object(at, &resourceObject,
		field("name", &result.Name, d.text),
		field("endpoint", &result.Endpoint, d.endpoint),
	)
	return result
}

var endpointObject = object{required: []string{"uri"},
	hints: map[string]string{"url": `Did you mean "uri"?`}}

func (d *decoder) endpoint(at location) *Endpoint {
	result := &Endpoint{Pointer: at.pointer}
	switch at.shape {
	case shapeText:
		result.URI = d.uri(at)
		return result
	case shapeObject:
	default:
		d.wrongType(at, "a URI (a text) or an object with the property `uri`", "")
		return result
	}
	d.object(at, &endpointObject,
		field("uri", &result.URI, d.uri),
		field("authentication", &result.Authentication, d.authentication),
	)
	return result
}

// uri reads a URI reference, a URI template or an expression.
func (d *decoder) uri(at location) Operand {
	operand := d.filledOperand(at)
	text := operand.Text()
	switch {
	case at.shape != shapeText:
		return Operand{}
	case d.isExpression(text):
	case strings.HasPrefix(strings.TrimSpace(text), "${"):
		d.invalid(at, fmt.Sprintf("is %s, an expression without its end.", quote(text)), "An expression is the whole text, from ${ to }.")
	case strings.TrimSpace(text) != "" && strings.ContainsFunc(text, func(char rune) bool { return unicode.IsSpace(char) || unicode.IsControl(char) }):
		d.invalid(at, fmt.Sprintf("is %s; a URI contains no white space.", quote(text)), "Write an expression as '${ … }'.")
	}
	return operand
}

var timeoutObject = object{required: []string{"after"},
	hints: map[string]string{"seconds": "Write after: {seconds: …}.", "minutes": "Write after: {minutes: …}.", "hours": "Write after: {hours: …}."}}

// timeout reads a timeout or the name of one.
func (d *decoder) timeout(at location) *Timeout {
	switch at.shape {
	case shapeText:
		result := &Timeout{Pointer: at.pointer, Name: d.filled(at)}
		if _, err := ParseDuration(result.Name); err == nil {
			d.warning(at, CodeValue, fmt.Sprintf("%s is read as the name of an entry of `use.timeouts`.", quote(result.Name)),
				"If it is a duration, write {after: "+result.Name+"}.")
		}
		return result
	case shapeObject:
		return d.inlineTimeout(at)
	}
	hint := ""
	if at.shape == shapeNumber {
		hint = "Write {after: {seconds: " + at.raw + "}}."
	}
	d.wrongType(at, "a timeout (an object) or the name of one of `use.timeouts`", hint)
	return nil
}

func (d *decoder) inlineTimeout(at location) *Timeout {
	result := &Timeout{Pointer: at.pointer}
	d.object(at, &timeoutObject, field("after", &result.After, d.duration))
	return result
}
