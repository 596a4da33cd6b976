package dsl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// yamlBuilder turns the nodes of the YAML reader into ours, with aliases and merge keys
// resolved and all scalars converted to JSON types.
type yamlBuilder struct {
	builder
	anchors  map[*yaml.Node]*node // nil while its content is being built
	expanded int64                // bytes added by aliases so far
	lastLine int32
	fatal    bool
}

// readYAML returns nil if the text could not be read at all; the report says why.
func readYAML(data []byte, found *report) *node {
	if at, char := firstControl(data); at >= 0 {
		line, column := lineColumn(data, at)
		found.add(Problem{Line: line, Column: column, Code: CodeSyntax,
			Detail: fmt.Sprintf("The control character U+%04X is not allowed in YAML.", char),
			Hint:   `Remove it, or write it as an escape such as "\u0000" in a quoted text.`})
		return nil
	}
	if rest, ok := bytes.CutPrefix(data, []byte("%YAML 1.2")); ok {
		// The reader knows 1.2 but refuses its number.
		data = append([]byte("%YAML 1.1"), rest...)
	}
	reader := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	switch err := reader.Decode(&document); {
	case errors.Is(err, io.EOF):
		return &node{shape: shapeNull, line: 1, column: 1}
	case err != nil:
		found.add(yamlProblem(data, err))
		return nil
	}
	b := &yamlBuilder{builder: builder{report: found}, anchors: make(map[*yaml.Node]*node), lastLine: countLines(data)}
	root := b.build(document.Content[0], 0)
	if b.fatal {
		return nil
	}
	var second yaml.Node
	switch err := reader.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		found.add(yamlProblem(data, err))
		return nil
	default:
		b.problem(int32(second.Line), int32(second.Column), CodeDocuments,
			"A second YAML document begins here; a definition is one document.", "Remove the line with `---`.")
	}
	return root
}

func (b *yamlBuilder) build(y *yaml.Node, depth int) *node {
	if y.Kind == yaml.AliasNode {
		return b.alias(y, depth)
	}
	if y.Anchor != "" {
		b.anchors[y] = nil
	}
	n := &node{line: int32(y.Line), column: int32(y.Column), size: 2}
	if n.line > b.lastLine {
		// The reader sees an absent value at the end of a text in a line after it.
		n.line, n.column = b.lastLine, 1
	}
	switch {
	case y.Kind == yaml.ScalarNode:
		b.scalar(y, n)
	case depth == MaxLevels:
		b.tooDeep(n.line, n.column)
		b.fatal = true
	case y.Kind == yaml.SequenceNode:
		b.list(y, n, depth+1)
	default:
		b.object(y, n, depth+1)
	}
	if y.Anchor != "" {
		b.anchors[y] = n
	}
	return n
}

// alias gives the anchored node under the position of the alias.
func (b *yamlBuilder) alias(y *yaml.Node, depth int) *node {
	line, column := int32(y.Line), int32(y.Column)
	target := b.anchors[y.Alias]
	if target == nil {
		b.problem(line, column, CodeAlias,
			fmt.Sprintf("The alias %s refers to a value that contains it.", quote("*"+y.Value)), "Write the value out.")
		b.fatal = true
		return &node{line: line, column: column}
	}
	b.expanded += target.size
	switch {
	case b.expanded > MaxBytes:
		b.problem(line, column, CodeAlias,
			fmt.Sprintf("Aliases add more than %s bytes to the definition.", thousands(MaxBytes)),
			"Use fewer aliases, or a component of `use`.")
		b.fatal = true
	case depth+int(target.height) > MaxLevels:
		b.tooDeep(line, column)
		b.fatal = true
	}
	used := *target
	used.line, used.column = line, column
	return &used
}

func (b *yamlBuilder) list(y *yaml.Node, n *node, depth int) {
	n.shape = shapeList
	n.items = make([]*node, 0, len(y.Content))
	values := make([]any, 0, len(y.Content))
	for i, content := range y.Content {
		b.enterIndex(i)
		item := b.build(content, depth)
		b.leave()
		if b.fatal {
			return
		}
		n.include(item)
		n.items = append(n.items, item)
		values = append(values, item.value)
	}
	n.height++
	n.value = values
	b.checkTag(y, "!!seq")
}

func (b *yamlBuilder) object(y *yaml.Node, n *node, depth int) {
	n.shape = shapeObject
	n.members = make([]member, 0, len(y.Content)/2)
	values := make(map[string]any, len(y.Content)/2)
	var merged []*node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		isMerge := key.Kind == yaml.ScalarNode && key.Tag == "!!merge"
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		line, column := int32(y.Content[i].Line), int32(y.Content[i].Column)
		if key.Kind != yaml.ScalarNode {
			b.problem(line, column, CodeKey, "A key must be a text, not a list or an object.",
				"If this is meant as an expression or a template, quote it.")
			n.isTorn = true
			continue
		}
		if key.Anchor != "" {
			// A key is a text, also where an alias repeats it.
			b.anchors[key] = &node{shape: shapeText, value: key.Value, line: line, column: column, size: int64(len(key.Value)) + 1}
		}
		b.enterKey(&key.Value)
		value := b.build(y.Content[i+1], depth)
		switch {
		case b.fatal:
			return
		case isMerge:
			merged = b.mergeSources(merged, value)
		default:
			b.addMember(n, values, member{key: key.Value, line: line, column: column, value: value})
		}
		b.leave()
	}
	for _, source := range merged {
		for _, m := range source.members {
			if _, exists := values[m.key]; !exists {
				n.put(values, m)
			}
		}
	}
	n.height++
	n.value = values
	b.checkTag(y, "!!map")
}

func (b *yamlBuilder) addMember(n *node, values map[string]any, m member) {
	if _, exists := values[m.key]; exists {
		b.duplicateKey(n, &m)
		return
	}
	n.put(values, m)
}

func (b *yamlBuilder) mergeSources(merged []*node, value *node) []*node {
	sources := []*node{value}
	if value.shape == shapeList {
		sources = value.items
	}
	for _, source := range sources {
		if source.shape != shapeObject {
			b.problem(source.line, source.column, CodeMerge,
				fmt.Sprintf("The merge key `<<` takes an object or a list of objects, but this is %s.", source.shape), "")
			continue
		}
		merged = append(merged, source)
	}
	return merged
}

// checkTag refuses explicit tags other than the plain one of the node's kind.
func (b *yamlBuilder) checkTag(y *yaml.Node, plain string) {
	if y.Style&yaml.TaggedStyle != 0 && y.ShortTag() != plain {
		b.badTag(y)
	}
}

func (b *yamlBuilder) badTag(y *yaml.Node) {
	b.problem(int32(y.Line), int32(y.Column), CodeTag,
		fmt.Sprintf("The tag %s does not fit here: values are JSON values.", quote(y.ShortTag())),
		"Remove the tag. Quote a value to make it a text.")
}

func (b *yamlBuilder) scalar(y *yaml.Node, n *node) {
	n.size = int64(len(y.Value)) + 1
	n.shape, n.value = shapeText, y.Value
	tag := ""
	if y.Style&yaml.TaggedStyle != 0 {
		tag = y.ShortTag()
	}
	isPlain := y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	switch tag {
	case "":
		if !isPlain {
			return
		}
	case "!!str", "!!timestamp", "!!binary":
		return
	}
	resolved, value, ok := resolvePlain(y.Value)
	if !ok {
		b.badNumber(y.Value, n.line, n.column)
		return
	}
	switch whole, isInt := value.(int); {
	case tag == "", tag == "!!null" && resolved == shapeNull, tag == "!!bool" && resolved == shapeBoolean:
	case tag == "!!float" && isInt:
		value = float64(whole)
	case (tag == "!!float" || tag == "!!int") && resolved == shapeNumber:
	default:
		b.badTag(y)
		return
	}
	if isPlain && isZeroPadded(y.Value) && digits(y.Value) == len(y.Value) {
		b.report.add(Problem{Pointer: b.pointer(), Line: y.Line, Column: y.Column, Code: CodeAmbiguousNumber, Severity: SeverityWarning,
			Detail: fmt.Sprintf("%s is read as the number %v.", y.Value, value), Hint: "Quote it if it is meant as text."})
	}
	n.shape, n.value = resolved, value
	if resolved != shapeText {
		n.raw = y.Value
	}
}

// countLines counts by the line breaks of YAML 1.1, as the reader does.
func countLines(data []byte) int32 {
	lines := int32(1)
	for at, c := range data {
		switch {
		case c == '\n',
			c == '\r' && !bytes.HasPrefix(data[at:], []byte("\r\n")),
			c == 0xC2 && bytes.HasPrefix(data[at:], []byte("\u0085")),
			c == 0xE2 && (bytes.HasPrefix(data[at:], []byte("\u2028")) || bytes.HasPrefix(data[at:], []byte("\u2029"))):
			lines++
		}
	}
	return lines
}

// firstControl finds the first character that YAML does not allow, or returns -1.
func firstControl(data []byte) (int, rune) {
	for at := 0; at < len(data); {
		char, size := rune(data[at]), 1
		if char >= utf8.RuneSelf {
			char, size = utf8.DecodeRune(data[at:])
		}
		switch {
		case char >= ' ' && char < 0x7F, char == '\n', char == '\t', char == '\r', char == 0x85:
		case char < 0xA0, char == 0xFEFF && at > 0, char == 0xFFFE, char == 0xFFFF:
			return at, char
		}
		at += size
	}
	return -1, 0
}

// maxLocatedBytes bounds the texts in which a syntax error is located by trying prefixes.
const maxLocatedBytes = 64 << 10

// yamlProblem makes a problem of an error of the YAML reader. That tells the line in which
// the surrounding construct begins, if any; the place itself is the first line with which the
// text so far fails in the same way.
func yamlProblem(data []byte, err error) Problem {
	line := 1
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if _, scanErr := fmt.Sscanf(message, "line %d: ", &line); scanErr == nil {
		message = message[strings.Index(message, ": ")+2:]
	}
	if strings.HasPrefix(message, "exceeded max depth") {
		return Problem{Line: line, Column: 1, Code: CodeTooDeep,
			Detail: fmt.Sprintf("The text has more than %s levels of nesting.", thousands(MaxLevels)), Hint: tooDeepHint}
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(data) <= maxLocatedBytes {
		line = locate(data, lines, err.Error())
	}
	line = min(max(line, 1), len(lines))
	text := lines[line-1]
	column := 1 + len(text) - len(bytes.TrimLeft(text, " "))
	return Problem{Line: line, Column: column, Code: CodeSyntax,
		Detail: fmt.Sprintf("The text is not valid YAML: %s.", message), Hint: yamlHint(message)}
}

// locate finds, by bisection, the first line with which the text read so far gives message.
func locate(data []byte, lines [][]byte, message string) int {
	ends := make([]int, len(lines)+1)
	for i, text := range lines {
		ends[i+1] = ends[i] + len(text)
	}
	low, high := 1, len(lines)
	for low < high {
		middle := (low + high) / 2
		if failsWith(data[:ends[middle]], message) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

func failsWith(data []byte, message string) bool {
	reader := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		if err := reader.Decode(&document); err != nil {
			return err.Error() == message
		}
	}
}

func yamlHint(message string) string {
	switch {
	case strings.Contains(message, "mapping values are not allowed"):
		return "Quote a text that contains a colon followed by a space, and check the indentation."
	case strings.Contains(message, "did not find expected key"),
		strings.Contains(message, "did not find expected '-'"),
		strings.Contains(message, "block sequence entries are not allowed"),
		strings.Contains(message, "could not find expected ':'"):
		return "Check the indentation, and quote texts that contain quotes, braces or colons."
	case strings.Contains(message, "cannot start any token"):
		return "Indent with spaces, not tabs, and quote texts that begin with @, %, | or a backtick."
	case strings.Contains(message, "unexpected end of stream"):
		return "Close the quote."
	case strings.Contains(message, "expected ',' or"):
		return "Close the bracket or brace, and quote expressions inside it."
	case strings.Contains(message, "escape"):
		return "Use single quotes for texts with backslashes."
	case strings.Contains(message, "unknown anchor"), strings.Contains(message, "alphabetic or numeric"):
		return "Quote a text that begins with * or &."
	}
	return ""
}
