package dsl

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// header completes the chunks of testdata that are about something else.
const header = "document: {dsl: '1.0.3', namespace: test, name: test, version: '1.0.0'}\n"

var wantComment = regexp.MustCompile(`# (want|warn): (\w+): (.*?)(?: +# (?:want|warn): |$)`)

// expectation is a problem that a comment in testdata asks for.
type expectation struct {
	line     int
	severity string
	code     string
	text     string
}

// expectations reads the comments of a chunk.
func expectations(chunk []byte) []expectation {
	var wanted []expectation
	for number, line := range strings.Split(string(chunk), "\n") {
		for {
			found := wantComment.FindStringSubmatchIndex(line)
			if found == nil {
				break
			}
			severity := "error"
			if line[found[2]:found[3]] == "warn" {
				severity = "warning"
			}
			wanted = append(wanted, expectation{number + 1, severity, line[found[4]:found[5]], strings.TrimSpace(line[found[6]:found[7]])})
			line = line[found[7]:]
		}
	}
	return wanted
}

// TestGolden holds every definition in testdata against the problems named in its comments.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no testdata", err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		line := 1
		for _, chunk := range bytes.Split(data, []byte("\n---\n")) {
			name := fmt.Sprintf("%s:%d", filepath.Base(path), line)
			line += bytes.Count(chunk, []byte("\n")) + 2
			t.Run(name, func(t *testing.T) { checkChunk(t, complete(chunk)) })
		}
	}
}

var (
	hasHeader = regexp.MustCompile(`(?m)^(document:|\{|- )|^# nothing`)
	hasDo     = regexp.MustCompile(`(?m)^(do:|\{|- )|^# nothing`)
)

func complete(chunk []byte) []byte {
	chunk = append(bytes.Clone(chunk), '\n')
	if !hasHeader.Match(chunk) {
		chunk = append(chunk, header...)
	}
	if !hasDo.Match(chunk) {
		chunk = append(chunk, "do: []\n"...)
	}
	return chunk
}

func checkChunk(t *testing.T, chunk []byte) {
	document, problems := Parse(chunk)
	wanted := expectations(chunk)
	for _, problem := range problems {
		at := slices.IndexFunc(wanted, func(e expectation) bool {
			return e.line == problem.Line && e.code == problem.Code && e.severity == problem.Severity.String() &&
				strings.Contains(problem.Detail+" "+problem.Hint, e.text)
		})
		if at < 0 {
			t.Errorf("unexpected %s %s at %q: %s", problem.Severity, problem.Code, problem.Pointer, problem)
			continue
		}
		wanted = slices.Delete(wanted, at, at+1)
	}
	for _, e := range wanted {
		t.Errorf("line %d: missing %s %s with %q", e.line, e.severity, e.code, e.text)
	}
	checkPositions(t, chunk, document, problems)
}

// checkPositions checks what holds for all problems: they are sorted, their positions are in
// the text, and pointers and positions agree wherever the pointer alone tells the position.
func checkPositions(t *testing.T, data []byte, document *Document, problems Problems) {
	t.Helper()
	text := strings.TrimPrefix(string(data), "\uFEFF")
	lines, yamlLines := lineLengths(text), lineLengths(yamlBreaks.Replace(text))
	for i, problem := range problems {
		if !isInside(problem, lines) && !isInside(problem, yamlLines) {
			t.Errorf("%s at %q is outside of the text", problem, problem.Pointer)
		}
		if i > 0 && (problem.Line < problems[i-1].Line ||
			problem.Line == problems[i-1].Line && problem.Column < problems[i-1].Column) {
			t.Errorf("%s stands after %s", problem, problems[i-1])
		}
		if problem.Detail == "" || problem.Code == "" {
			t.Errorf("problem at %q has no code or no detail", problem.Pointer)
		}
		if document == nil || positionIsFree[problem.Code] {
			continue
		}
		if line, column := document.Position(problem.Pointer); line != problem.Line || column != problem.Column {
			t.Errorf("%s at %q, but the pointer is at %d:%d", problem, problem.Pointer, line, column)
		}
	}
}

// positionIsFree lists the codes whose problems may stand elsewhere than at their pointer: at
// the second of two keys, inside a key that is too long, in a merged object.
var positionIsFree = map[string]bool{
	CodeDuplicateKey: true, CodeKey: true, CodeDocuments: true, CodeName: true, CodeUnknown: true,
	CodeMerge: true, CodeAmbiguousNumber: true, CodeTag: true, CodeNumber: true, CodeAlias: true,
}

// yamlBreaks makes line feeds of the other line breaks of YAML 1.1, by which its reader counts.
var yamlBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

func lineLengths(text string) []int {
	var lengths []int
	for _, line := range strings.Split(text, "\n") {
		lengths = append(lengths, utf8.RuneCountInString(line))
	}
	return lengths
}

func isInside(problem Problem, lines []int) bool {
	return problem.Line >= 1 && problem.Line <= len(lines) && problem.Column >= 1 && problem.Column <= lines[problem.Line-1]+1
}
