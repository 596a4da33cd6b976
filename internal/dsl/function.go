package dsl

import "fmt"

// ParseFunction reads the document of a function: one task, in YAML or JSON (docs/language/functions.md).
// The document that it returns has no properties but Use.Functions, with that task under the
// given name and the pointer ""; pointers lead into the function's own document. It is nil
// if there are errors.
func ParseFunction(data []byte, name string) (*Document, Problems) {
	found := &report{}
	root := read(data, found)
	if root == nil {
		return nil, found.sorted()
	}
	d := &decoder{report: found, root: root}
	document := &Document{Evaluate: Evaluate{Language: "jq"}, root: root}
	task := d.namedTask(location{node: root, line: root.line, column: root.column}, name)
	if task != nil {
		if task.Then.Flow != FlowNone { // T37
			task.Then = Directive{}
			d.warning(location{node: root, pointer: "/then", line: root.line, column: root.column}, CodeIgnoredDirective,
				fmt.Sprintf("The `then` of function %s is ignored.", quote(name)), "")
		}
		d.checkInnerTargets(task, nil)
		document.Use.Functions.add(name, "", task)
	}
	problems := found.sorted()
	if problems.HasErrors() {
		return nil, problems
	}
	return document, problems
}

// ParseValue reads any YAML or JSON document as a value: an external schema, for example.
// Errors are those of texts that are too large, too deep or neither YAML nor JSON.
func ParseValue(data []byte) (any, error) {
	found := &report{}
	root := read(data, found)
	if root != nil {
		d := &decoder{report: found, root: root}
		d.checkDepth(location{node: root, line: root.line, column: root.column})
	}
	if problems := found.sorted(); root == nil || problems.HasErrors() {
		return nil, problems.Err()
	}
	return root.value, nil
}

// Suggest is `Did you mean "x"?` for the candidate that is most like name, or "".
func Suggest(name string, candidates []string) string {
	if len(candidates) > maxCandidates {
		candidates = candidates[:maxCandidates]
	}
	return suggest(name, candidates)
}
