package dsl

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

const (
	// MaxBytes bounds the text of a definition.
	MaxBytes = 1 << 20
	// MaxDepth bounds how many tasks stand inside each other (T90), and how many objects and
	// lists do in a value.
	MaxDepth = 256
	// MaxLevels bounds how many objects and lists stand inside each other in the whole text.
	// A task takes three to six of them, so that authors meet MaxDepth first.
	MaxLevels = 2048
	// MaxTasks bounds the tasks of a definition.
	MaxTasks = 10_000
	// MaxBranches bounds the branches of one fork.
	MaxBranches = 1_000
)

// Document is a definition that was read. All of it is immutable and may be shared by
// goroutines. If Parse reported errors, parts may be missing.
type Document struct {
	DSL       string
	Namespace string
	Name      string
	Version   string
	Title     string
	Summary   string
	Tags      map[string]any
	Metadata  map[string]any

	Input    *Input
	Output   *Output
	Use      Use
	Do       []*Task
	Timeout  *Timeout
	Schedule *Schedule
	Evaluate Evaluate

	root *node
}

// Value is the whole definition as JSON value, for $workflow.definition. It must not be changed.
func (d *Document) Value() any { return d.root.value }

// Position is where a JSON pointer of the definition stands, from 1: the key of a property,
// the beginning of an item. A place that is not in the text has the position of the nearest
// location above it. The cost is linear in the number of keys on the way.
func (d *Document) Position(pointer string) (line, column int) { return d.root.find(pointer) }

// ErrorAt makes an error for a location in the definition.
func (d *Document) ErrorAt(pointer, code, detail, hint string) Problem {
	line, column := d.Position(pointer)
	return Problem{Pointer: pointer, Line: line, Column: column, Code: code, Detail: detail, Hint: hint}
}

// WarningAt makes a warning for a location in the definition.
func (d *Document) WarningAt(pointer, code, detail, hint string) Problem {
	problem := d.ErrorAt(pointer, code, detail, hint)
	problem.Severity = SeverityWarning
	return problem
}

// Parse reads a definition in YAML or JSON. The document is nil if the text could not be read
// at all: it is neither YAML nor JSON, too large or too deep. Otherwise it holds whatever
// could be decoded, and is complete if there are no errors. Problems.Err makes a Go error.
func Parse(data []byte) (*Document, Problems) {
	found := &report{}
	root := read(data, found)
	if root == nil {
		return nil, found.sorted()
	}
	d := &decoder{report: found, root: root}
	document := d.document(location{node: root, line: root.line, column: root.column})
	document.root = root
	return document, found.sorted()
}

// ReadText reads any text in YAML or JSON, which need not be a definition, with the limits of one: of the document,
// Value and the positions count. It is nil if the text could not be read at all.
func ReadText(data []byte) (*Document, Problems) {
	found := &report{}
	root := read(data, found)
	if root == nil {
		return nil, found.sorted()
	}
	return &Document{root: root}, found.sorted()
}

// read makes nodes of the text, or returns nil.
func read(data []byte, found *report) *node {
	if len(data) > MaxBytes {
		found.add(Problem{Line: 1, Column: 1, Code: CodeTooLarge,
			Detail: fmt.Sprintf("The definition has %s bytes; at most %s are allowed.", thousands(len(data)), thousands(MaxBytes)),
			Hint:   "Move parts into workflows of their own or into external resources."})
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if !utf8.Valid(data) {
		line, column := lineColumn(data, firstInvalid(data))
		found.add(Problem{Line: line, Column: column, Code: CodeSyntax,
			Detail: "The text is not UTF-8.", Hint: "Save it as UTF-8."})
		return nil
	}
	if start := bytes.TrimLeft(data, " \t\r\n"); len(start) == 0 || start[0] != '{' {
		return readYAML(data, found)
	}
	root, problem := readJSON(data, found)
	if problem == nil {
		return root
	}
	// Not JSON, but perhaps YAML in braces. If it is neither, the text looks like JSON.
	attempt := &report{}
	if root = readYAML(data, attempt); root == nil && attempt.errors[0].Code == CodeSyntax {
		*found = report{}
		found.add(*problem)
		return nil
	}
	*found = *attempt
	return root
}

func firstInvalid(data []byte) int {
	for at := 0; at < len(data); {
		char, size := utf8.DecodeRune(data[at:])
		if char == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return len(data)
}

// lineColumn is the position of an offset, from 1, in characters.
func lineColumn(data []byte, offset int) (line, column int) {
	before := data[:offset]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

var rootKeys = []string{"document", "input", "use", "do", "timeout", "output", "schedule", "evaluate"}

// document decodes the root. Unknown keys are a warning only there (docs/language/document.md).
func (d *decoder) document(at location) *Document {
	document := &Document{Evaluate: Evaluate{Language: "jq"}}
	if at.shape != shapeObject {
		hint := ""
		if at.shape == shapeNull {
			hint = "The text is empty."
		}
		d.wrongType(at, "an object with the properties `document` and `do`", hint)
		return document
	}
	if evaluate, ok := at.get("evaluate"); ok {
		document.Evaluate = d.evaluate(evaluate)
		d.loose = document.Evaluate.Mode == Loose
	}
	for i := range at.members {
		m := &at.members[i]
		value := at.property(m)
		switch m.key {
		case "document":
			d.header(value, document)
		case "input":
			document.Input = d.input(value)
		case "use":
			d.use(value, &document.Use)
		case "do":
			document.Do = d.taskList(value)
		case "timeout":
			document.Timeout = d.timeout(value)
		case "output":
			document.Output = d.output(value)
		case "schedule":
			document.Schedule = d.schedule(value)
		case "evaluate":
		default:
			d.checkDepth(value)
			d.warning(keyLocation(at, m), CodeUnknown,
				fmt.Sprintf("The definition has an unknown property %s, which means nothing here.", quote(m.key)),
				suggest(m.key, rootKeys))
		}
	}
	d.require(at, "document")
	d.require(at, "do")
	return document
}

var headerObject = object{
	required: []string{"dsl", "namespace", "name", "version"},
	hints: map[string]string{
		"description": `Did you mean "summary"?`,
		"id":          `Did you mean "name"?`,
		"specVersion": `Did you mean "dsl"?`,
		"author":      "Put it into `metadata`.",
	},
}

func (d *decoder) header(at location, document *Document) {
	d.object(at, &headerObject,
		field("dsl", &document.DSL, d.dslVersion),
		field("namespace", &document.Namespace, d.workflowName),
		field("name", &document.Name, d.workflowName),
		field("version", &document.Version, d.version),
		field("title", &document.Title, d.text),
		field("summary", &document.Summary, d.text),
		field("tags", &document.Tags, d.metadata),
		field("metadata", &document.Metadata, d.metadata),
	)
}

func (d *decoder) evaluate(at location) Evaluate {
	result := Evaluate{Pointer: at.pointer, Language: "jq"}
	d.object(at, &object{},
		field("language", &result.Language, d.filled),
		property{"mode", func(value location) {
			if d.oneOf("strict", "loose")(value) == "loose" {
				result.Mode = Loose
			}
		}},
	)
	return result
}

func (d *decoder) schedule(at location) *Schedule {
	result := &Schedule{Pointer: at.pointer}
	d.object(at, &object{},
		field("every", &result.Every, d.duration),
		field("cron", &result.Cron, d.filledOperand),
		field("after", &result.After, d.duration),
		property{"on", func(value location) { result.On = d.strategy(value, false) }},
		property{"read", func(value location) {
			result.Read = d.oneOf(ReadData, ReadEnvelope, ReadRaw)(value)
			if !at.has("on") {
				d.problem(value, CodeConflict, `"read" is only allowed together with "on".`, "")
			}
		}},
	)
	return result
}
