package dslschema

import (
	"encoding/json"
	"slices"
	"sync"
)

// Text is the schema as indented JSON. It must not be changed.
var Text = sync.OnceValue(func() []byte {
	text, err := json.MarshalIndent(root(), "", "  ")
	if err != nil {
		panic("dslschema: " + err.Error()) // texts, numbers and lists only
	}
	return append(text, '\n')
})

func root() schema {
	return schema{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "Workflow definition"},
		{"description", "A workflow definition as Chargehand reads it: the language of the Open Workflow Specification, version 1.0."},
		{"type", "object"},
		{"required", []string{"document", "do"}},
		{"properties", schema{
			property("document", ref("document", "What the workflow is: its name, version and language.")),
			property("input", ref("input", "What the workflow takes, and how it is prepared for the first task.")),
			property("use", ref("use", "Parts that tasks name: authentications, errors, functions, retries, secrets, timeouts and more.")),
			property("do", ref("tasks", "The tasks, in the order in which they run.")),
			property("timeout", ref("timeout", "The time that an execution takes at most; then it ends in error.")),
			property("output", ref("output", "What an execution gives back, made of the output of the last task.")),
			property("schedule", ref("schedule", "When the workflow starts by itself: at times, after a pause, or by events.")),
			property("evaluate", ref("evaluate", "How expressions are read.")),
		}},
		{"$defs", slices.Concat(documentParts(), dataParts(), taskParts(), eventParts(), callParts(), runParts(), useParts())},
	}
}

const (
	labelPattern    = `^[0-9A-Za-z]([0-9A-Za-z-]{0,61}[0-9A-Za-z])?$`
	versionPattern  = `^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)` + releasePattern + buildPattern + `$`
	releasePattern  = `(-(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?`
	buildPattern    = `(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?`
	variablePattern = `^[A-Za-z_][0-9A-Za-z_]{0,254}$`
)

func documentParts() schema {
	return schema{
		{"document", closed("What the workflow is.", []string{"dsl", "namespace", "name", "version"},
			property("dsl", ref("version", "The version of the language: 1.0.0 to 1.0.3.").with("pattern", `^1\.0\.`).with("default", "1.0.3")),
			property("namespace", ref("label", "The namespace of the workflow: letters, digits and dashes.")),
			property("name", ref("label", "The name of the workflow in its namespace: letters, digits and dashes.")),
			property("version", ref("version", "The version of the workflow, such as 1.0.0. Quote it.").with("default", "1.0.0")),
			property("title", text("What people read as the name of the workflow.")),
			property("summary", text("What the workflow does, in Markdown.")),
			property("tags", open("Keys and values that lists of workflows are filtered by.")),
			property("metadata", open("Anything else to keep with the workflow.")),
		)},
		{"evaluate", closed("How expressions are read.", nil,
			property("language", filled("The language of expressions: jq.").with("default", "jq")),
			property("mode", choice("strict: an expression is written in ${ }. loose: every text is an expression.", "strict", "loose").with("default", "strict")),
		)},
		{"schedule", closed("When the workflow starts by itself.", nil,
			property("every", ref("duration", "Start again and again, with this time from start to start.")),
			property("cron", filled("Start at the times of this cron expression, in UTC.").with("examples", []string{"0 8 * * 1-5"})),
			property("after", ref("duration", "Start again this long after the end of the execution before.")),
			property("on", ref("strategy", "Start when these events have come in; they are the input.")),
			property("read", choice("With on: what of an event is the input: its data, the whole event, or the raw text.", "data", "envelope", "raw").with("default", "data")),
		).with("dependentRequired", map[string][]string{"read": {"on"}})},
		{"name", text("A name: at most 255 bytes, not blank.").with("pattern", `\S`).with("maxLength", 255)},
		{"label", text("Letters, digits and dashes, at most 63, neither first nor last a dash.").with("pattern", labelPattern)},
		{"version", text("A semantic version, such as 1.0.0.").with("pattern", versionPattern).with("maxLength", 255)},
	}
}

func dataParts() schema {
	return schema{
		{"expression", filled("An expression in jq, with or without ${ }.")},
		{"operand", either("A value: an object, in which texts in ${ } are expressions, or one expression.", filled(""), open(""))},
		{"values", either("An object of texts, numbers and booleans, or an expression that yields one.", text(""),
			open("").with("additionalProperties", schema{{"type", []string{"string", "number", "boolean"}}}))},
		{"map", either("An object, or an expression that yields one.", text(""), open(""))},
		{"uri", filled("An address: a URI, a URI template with {names}, or an expression in ${ }.")},
		{"variable", text("The name of a variable, without $.").with("pattern", variablePattern)},
		{"duration", either("A length of time: an object, an ISO 8601 text such as PT30S, or an expression in ${ }.",
			filled("").with("examples", []string{"PT30S", "PT15M", "P1D"}), ref("units", ""))},
		{"units", closed("A length of time; the parts are added up.", nil,
			property("days", atLeast0("Days of 24 hours.")),
			property("hours", atLeast0("Hours.")),
			property("minutes", atLeast0("Minutes.")),
			property("seconds", atLeast0("Seconds.")),
			property("milliseconds", atLeast0("Milliseconds.")),
		).with("minProperties", 1)},
		{"input", closed("What comes in.", nil,
			property("schema", ref("schema", "What the input must be like; any other is refused.")),
			property("from", ref("operand", "What is made of the input.")),
		)},
		{"output", closed("What goes out.", nil,
			property("schema", ref("schema", "What the result must be like; any other is an error.")),
			property("as", ref("operand", "What is made of the output.")),
		)},
		{"schema", closed("A schema for data.", nil,
			property("format", filled("The format of the schema: json.").with("default", "json")),
			property("document", anything("The JSON Schema itself, draft 2020-12.")),
			property("resource", ref("resource", "Where the schema is read from.")),
		).with("oneOf", oneOf("document", "resource"))},
		{"resource", closed("A document that is read from an address.", []string{"endpoint"},
			property("name", text("What people read as its name.")),
			property("endpoint", ref("endpoint", "Its address.")),
		)},
		{"endpoint", either("An address, or an object with the address and how to authenticate there.", ref("uri", ""), ref("address", ""))},
		{"address", closed("An address and how to authenticate there.", []string{"uri"},
			property("uri", ref("uri", "The address.")),
			property("authentication", ref("authentication", "How to authenticate at the address.")),
		)},
		{"timeout", either("The time that it takes at most, or the name of an entry of use.timeouts.", filled(""), ref("timeLimit", ""))},
		{"timeLimit", closed("The time that it takes at most.", []string{"after"},
			property("after", ref("duration", "The time after which it ends in error.")),
		)},
	}
}

func atLeast0(about string) schema { return typed("integer", about).with("minimum", 0) }
