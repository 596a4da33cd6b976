package conformance

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/handbook"
	"github.com/chargehand/chargehand/internal/servertest"
	"github.com/chargehand/chargehand/internal/value"
)

// Definitions on the pages of the documentation are held to what the program does: each is part of an
// example that is deployed and run. The first word behind the fence is the language, the second says what
// the block is; package handbook says which others there are:
//
//	workflow        a definition, deployed and run; the blocks that follow belong to it
//	definition      a definition that is only deployed
//	file NAME       an external resource; every example of the reference can read it
//	secret NAME     the value of a secret
//	input           the input; default {}
//	event           an event that is published when the execution waits
//	warnings        what the deployment warns of; default none
//	output          the exact output
//	error           the exact error
//	problems        why the definition is refused
//	run             the exact output of a run that the workflow starts by itself
const referenceFolder = "docs/language/"

// plainPages are pages of the reference that hold lists, and no example.
var plainPages = []string{referenceFolder + "conformance.md", referenceFolder + "decisions.md", referenceFolder + "problems.md"}

// docExample is a definition and the blocks that follow it.
type docExample struct {
	handbook.Block
	with []handbook.Block
}

func (e *docExample) first(kind string) (string, bool) {
	for _, b := range e.with {
		if b.Kind == kind {
			return b.Text, true
		}
	}
	return "", false
}

func (e *docExample) all(kind string) (list []handbook.Block) {
	for _, b := range e.with {
		if b.Kind == kind {
			list = append(list, b)
		}
	}
	return list
}

// outcomes are the kinds of blocks that say what comes of a definition.
var outcomes = []string{"output", "error", "problems", "run"}

// docPages are the pages of the documentation, by their path.
func docPages(t *testing.T) map[string]handbook.Page {
	t.Helper()
	list, err := handbook.Pages(servertest.Root())
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]handbook.Page{}
	for _, page := range list {
		pages[page.Name] = page
	}
	return pages
}

// examplesOf groups the blocks of a page.
func examplesOf(list []handbook.Block) (examples []*docExample, files []handbook.Block, err error) {
	for _, b := range list {
		switch {
		case b.Kind == "workflow" || b.Kind == "definition":
			examples = append(examples, &docExample{Block: b})
		case b.Kind == "file" && b.Name != "":
			files = append(files, b)
		case slices.Contains([]string{"sh", "text", "mermaid"}, b.Language), slices.Contains([]string{"save", "sample", "elsewhere"}, b.Kind):
			// Package handbook tests these.
		case len(examples) == 0 || !slices.Contains([]string{"secret", "input", "event", "warnings", "output", "error", "problems", "run"}, b.Kind):
			return nil, nil, fmt.Errorf("line %d: no test runs a block %q", b.Line, strings.TrimSpace(b.Language+" "+b.Kind))
		default:
			last := examples[len(examples)-1]
			last.with = append(last.with, b)
		}
	}
	for _, e := range examples {
		found := 0
		for _, kind := range outcomes {
			found += len(e.all(kind))
		}
		if (e.Kind == "workflow") != (found == 1) {
			return nil, nil, fmt.Errorf("line %d: a %s with %d outcomes", e.Line, e.Kind, found)
		}
	}
	return examples, files, nil
}

// TestConformanceReference deploys and runs the examples of the reference on the built binary.
func TestConformanceReference(t *testing.T) {
	pages := map[string][]*docExample{}
	root := t.TempDir()
	names := map[string]string{}
	for page, read := range docPages(t) {
		examples, files, err := examplesOf(read.Blocks)
		if err != nil {
			t.Errorf("%s: %v", page, err)
			continue
		}
		isRun := func(e *docExample) bool { return e.Kind == "workflow" }
		if strings.HasPrefix(page, referenceFolder) && !slices.Contains(plainPages, page) && !slices.ContainsFunc(examples, isRun) {
			t.Errorf("%s has no example that is tested", page)
		}
		for _, f := range files {
			writeFile(t, filepath.Join(root, filepath.FromSlash(f.Name)), f.Text)
		}
		for _, e := range examples {
			name := documentName.FindString(e.Text)
			if other, taken := names[name]; taken {
				t.Errorf("%s, line %d: %s has an example with the same %q", page, e.Line, other, name)
			}
			names[name] = page
		}
		pages[page] = examples
	}
	outside := newStandIn(t)
	outside.join(t, newPeers(t))
	args := append(outside.flags(), "--allow-run", strings.Join(allowed, ","), "--resource-root", root, "--lifecycle-events", "task")
	h := binary{servertest.Start(t, servertest.Options{Args: args})}
	t.Run("page", func(t *testing.T) {
		for page, examples := range pages {
			t.Run(strings.TrimSuffix(page, ".md"), func(t *testing.T) {
				t.Parallel()
				for _, e := range examples {
					if err := e.perform(newScenario(t, h, outside)); err != nil {
						t.Errorf("%s, line %d: %v", page, e.Line, err)
					}
				}
			})
		}
	})
}

var documentName = regexp.MustCompile(`(?m)^  name: .*$`)

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Errorf("two examples have the file %s", filepath.Base(path))
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (e *docExample) perform(s *scenario) error {
	if want, ok := e.first("problems"); ok {
		if err := s.refuse(e.Text); err != nil {
			return err
		}
		list, _ := s.refusal["errors"].([]any)
		return equals(codesAndPointers(list), want)
	}
	for _, secret := range e.all("secret") {
		if err := s.giveSecret(secret.Name, secret.Text); err != nil {
			return err
		}
	}
	if err := s.deploy(e.Text); err != nil {
		return err
	}
	warnings, _ := e.first("warnings")
	if warnings == "" {
		warnings = "[]"
	}
	if err := equals(codesAndPointers(s.warnings), warnings); err != nil {
		return fmt.Errorf("warnings: %w", err)
	}
	if e.Kind == "definition" {
		return nil
	}
	return e.run(s)
}

// run starts the workflow, unless it starts by itself, and compares what comes of it.
func (e *docExample) run(s *scenario) error {
	own, isOwn := e.first("run")
	if !isOwn {
		if input, ok := e.first("input"); ok {
			if err := s.giveInput(input); err != nil {
				return err
			}
		}
		if err := s.start(); err != nil {
			return err
		}
		if len(e.all("event")) > 0 {
			if err := s.awaitPhase("waiting"); err != nil {
				return err
			}
		}
	}
	for _, event := range e.all("event") {
		if err := s.publish(event.Text); err != nil {
			return err
		}
	}
	if isOwn {
		return s.otherEnds(own)
	}
	if err := s.await(); err != nil {
		return err
	}
	if output, ok := e.first("output"); ok {
		return s.completesWith(output)
	}
	fault, _ := e.first("error")
	return s.faultsWith(fault, true)
}

// codesAndPointers keeps the parts of problems that the reference documents: their codes and where they are.
func codesAndPointers(problems []any) []any {
	list := make([]any, 0, len(problems))
	for _, p := range problems {
		one, _ := p.(map[string]any)
		list = append(list, map[string]any{"code": one["code"], "pointer": one["pointer"]})
	}
	return list
}

// TestDocsProblems compares the codes of problems in the code with the page that explains them.
func TestDocsProblems(t *testing.T) {
	var inCode []string
	for _, files := range []string{"../dsl/*.go", "../plan/*.go", "../expr/template.go"} {
		inCode = append(inCode, problemCodes(t, files)...)
	}
	slices.Sort(inCode)
	inCode = slices.Compact(inCode)
	explained := column(docPages(t)[referenceFolder+"problems.md"].Text)
	for _, code := range inCode {
		if n := strings.Count(" "+strings.Join(explained, " ")+" ", " "+code+" "); n != 1 {
			t.Errorf("problems.md explains %s %d times", code, n)
		}
	}
	for _, code := range explained {
		if !slices.Contains(inCode, code) {
			t.Errorf("problems.md explains %s, which no check reports", code)
		}
	}
	if !slices.IsSorted(explained) {
		t.Error("the codes in problems.md are not sorted")
	}
}

var firstColumn = regexp.MustCompile("(?m)^\\| `?([A-Za-z0-9_]+)`? \\|")

// column is the first column of the tables of a page, without their heads.
func column(page string) []string {
	var list []string
	for _, found := range firstColumn.FindAllStringSubmatch(page, -1) {
		if found[1] != "Code" && found[1] != "No" {
			list = append(list, found[1])
		}
	}
	return list
}

// problemCodes are the values of the constants that are called Code… in some files.
func problemCodes(t *testing.T, files string) []string {
	t.Helper()
	paths, err := filepath.Glob(files)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Code") {
				return true
			}
			if value, ok := spec.Values[0].(*ast.BasicLit); ok && value.Kind == token.STRING {
				if text, err := strconv.Unquote(value.Value); err == nil {
					codes = append(codes, text)
				}
			}
			return true
		})
	}
	if len(codes) == 0 {
		t.Errorf("%s has no codes", files)
	}
	return codes
}

// TestDocsDecisions compares the decisions that can be observed (features/coverage.txt) with
// the page that lists them.
func TestDocsDecisions(t *testing.T) {
	list, err := os.ReadFile(filepath.Join("features", "coverage.txt"))
	if err != nil {
		t.Fatal(err)
	}
	documented := column(docPages(t)[referenceFolder+"decisions.md"].Text)
	for line := range strings.Lines(string(list)) {
		tag, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(tag, "T") && !slices.Contains(documented, tag) {
			t.Errorf("decisions.md does not list %s", tag)
		}
	}
	for i, tag := range documented {
		if slices.Index(documented, tag) != i {
			t.Errorf("decisions.md lists %s twice", tag)
		}
	}
}

// TestDocsBlocks checks that the reader of pages finds blocks that no test runs.
func TestDocsBlocks(t *testing.T) {
	const definition = "```yaml workflow\na: 1\n```\n"
	for name, c := range map[string]struct {
		text string
		good bool
	}{
		"a workflow with its output":    {definition + "```json output\n1\n```\n", true},
		"a shell line":                  {"```sh\nls\n```\n", true},
		"a workflow without an outcome": {definition, false},
		"a workflow with two outcomes":  {definition + "```json output\n1\n```\n```json error\n1\n```\n", false},
		"a block that no test runs":     {"```yaml\na: 1\n```\n", false},
		"an outcome of nothing":         {"```json output\n1\n```\n", false},
		"output of a command":           {"```text output\n1\n```\n", true},
	} {
		list, err := handbook.Blocks(c.text)
		if err == nil {
			_, _, err = examplesOf(list)
		}
		if (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := codesAndPointers([]any{map[string]any{"code": "x", "pointer": "/y", "line": 3}}); !value.Equal(got, []any{map[string]any{"code": "x", "pointer": "/y"}}) {
		t.Errorf("places: %v", got)
	}
}
