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

	"github.com/chargehand/chargehand/internal/servertest"
	"github.com/chargehand/chargehand/internal/value"
)

// The reference for authors (docs/language) is held to what the program does: every block of
// YAML or JSON in it is part of an example that is deployed and run. The first word behind
// the fence is the language, the second says what the block is:
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
const referenceFolder = "../../docs/language"

// guides are further pages whose examples are tested.
var guides = []string{"../../docs/tutorials/first-workflow.md", "../../docs/how-to/use-secrets.md"}

// plainPages are pages of the reference that hold lists, and no example.
var plainPages = []string{"conformance.md", "decisions.md", "problems.md"}

// block is a fenced block of a page.
type block struct {
	line           int
	language, kind string
	name           string // of a file or a secret
	text           string
}

// docExample is a definition and the blocks that follow it.
type docExample struct {
	block
	with []block
}

func (e *docExample) first(kind string) (string, bool) {
	for _, b := range e.with {
		if b.kind == kind {
			return b.text, true
		}
	}
	return "", false
}

func (e *docExample) all(kind string) (list []block) {
	for _, b := range e.with {
		if b.kind == kind {
			list = append(list, b)
		}
	}
	return list
}

// outcomes are the kinds of blocks that say what comes of a definition.
var outcomes = []string{"output", "error", "problems", "run"}

func referencePages(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(referenceFolder, "*.md"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	pages := map[string]string{}
	for _, path := range append(paths, guides...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		page := filepath.Base(path)
		if slices.Contains(guides, path) {
			page = "docs/" + page // the reference has pages of the same names
		}
		pages[page] = string(text)
	}
	return pages
}

// blocks reads the fenced blocks of a page.
func blocks(text string) ([]block, error) {
	var list []block
	var open *block
	for i, line := range strings.Split(text, "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			words := append(strings.Fields(info), "", "", "")
			open = &block{line: i + 1, language: words[0], kind: words[1], name: words[2]}
		case fence:
			list = append(list, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: the block does not end", open.line)
	}
	return list, nil
}

// examplesOf groups the blocks of a page.
func examplesOf(text string) (examples []*docExample, files []block, err error) {
	list, err := blocks(text)
	if err != nil {
		return nil, nil, err
	}
	for _, b := range list {
		switch {
		case b.kind == "workflow" || b.kind == "definition":
			examples = append(examples, &docExample{block: b})
		case b.kind == "file" && b.name != "":
			files = append(files, b)
		case b.kind == "" && b.language != "yaml" && b.language != "json":
		case len(examples) == 0 || !slices.Contains([]string{"secret", "input", "event", "warnings", "output", "error", "problems", "run"}, b.kind):
			return nil, nil, fmt.Errorf("line %d: nobody tests a block %q", b.line, strings.TrimSpace(b.language+" "+b.kind))
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
		if (e.kind == "workflow") != (found == 1) {
			return nil, nil, fmt.Errorf("line %d: a %s with %d outcomes", e.line, e.kind, found)
		}
	}
	return examples, files, nil
}

// TestConformanceReference deploys and runs the examples of the reference on the built binary.
func TestConformanceReference(t *testing.T) {
	pages := map[string][]*docExample{}
	root := t.TempDir()
	names := map[string]string{}
	for page, text := range referencePages(t) {
		examples, files, err := examplesOf(text)
		if err != nil {
			t.Errorf("%s: %v", page, err)
			continue
		}
		isRun := func(e *docExample) bool { return e.kind == "workflow" }
		if !slices.Contains(plainPages, page) && !slices.ContainsFunc(examples, isRun) {
			t.Errorf("%s has no example that is tested", page)
		}
		for _, f := range files {
			writeFile(t, filepath.Join(root, filepath.FromSlash(f.name)), f.text)
		}
		for _, e := range examples {
			name := documentName.FindString(e.text)
			if other, taken := names[name]; taken {
				t.Errorf("%s, line %d: %s has an example with the same %q", page, e.line, other, name)
			}
			names[name] = page
		}
		pages[page] = examples
	}
	world := newStandIn(t)
	world.join(t, newPeers(t))
	args := append(world.flags(), "--allow-run", strings.Join(allowed, ","), "--resource-root", root, "--lifecycle-events", "task")
	h := binary{servertest.Start(t, servertest.Options{Args: args})}
	t.Run("page", func(t *testing.T) {
		for page, examples := range pages {
			t.Run(strings.TrimSuffix(page, ".md"), func(t *testing.T) {
				t.Parallel()
				for _, e := range examples {
					if err := e.perform(newScenario(t, h, world)); err != nil {
						t.Errorf("%s, line %d: %v", page, e.line, err)
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
		if err := s.refuse(e.text); err != nil {
			return err
		}
		list, _ := s.refusal["errors"].([]any)
		return equals(places(list), want)
	}
	for _, secret := range e.all("secret") {
		if err := s.giveSecret(secret.name, secret.text); err != nil {
			return err
		}
	}
	if err := s.deploy(e.text); err != nil {
		return err
	}
	warnings, _ := e.first("warnings")
	if warnings == "" {
		warnings = "[]"
	}
	if err := equals(places(s.warnings), warnings); err != nil {
		return fmt.Errorf("warnings: %w", err)
	}
	if e.kind == "definition" {
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
		if err := s.publish(event.text); err != nil {
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

// places keeps of problems what the reference tells: their codes and where they are.
func places(problems []any) []any {
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
	explained := column(referencePages(t)["problems.md"])
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
	told := column(referencePages(t)["decisions.md"])
	for line := range strings.Lines(string(list)) {
		tag, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(tag, "T") && !slices.Contains(told, tag) {
			t.Errorf("decisions.md does not list %s", tag)
		}
	}
	for i, tag := range told {
		if slices.Index(told, tag) != i {
			t.Errorf("decisions.md lists %s twice", tag)
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)\s]*)?\)`)

// TestDocsLinks follows the links between pages, and finds pages that none leads to.
func TestDocsLinks(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"../../*.md", "../../examples/*.md", "../../docs/*.md", "../../docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	reached := map[string]bool{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(found[1], ":") {
				continue
			}
			target := filepath.Join(filepath.Dir(page), filepath.FromSlash(found[1]))
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link %s leads nowhere", page, found[1])
			}
			reached[target] = true
			if heading := strings.TrimPrefix(found[2], "#"); heading != "" && !hasHeading(target, heading) {
				t.Errorf("%s: %s has no heading %q", page, found[1], heading)
			}
		}
	}
	for _, page := range pages {
		if strings.HasPrefix(page, "../../docs/") && !reached[page] {
			t.Errorf("no link leads to %s", page)
		}
	}
}

// hasHeading reports whether a page has a heading with an anchor, as GitHub makes them.
func hasHeading(page, anchor string) bool {
	text, err := os.ReadFile(page)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		title, ok := strings.CutPrefix(strings.TrimLeft(strings.TrimSpace(line), "#"), " ")
		if !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		made := notInAnchor.ReplaceAllString(strings.ToLower(title), "")
		if strings.ReplaceAll(made, " ", "-") == anchor {
			return true
		}
	}
	return false
}

var notInAnchor = regexp.MustCompile("[^a-z0-9 _-]")

// TestDocsBlocks checks that the reader of pages finds what nobody tests.
func TestDocsBlocks(t *testing.T) {
	definition := "```yaml workflow\na: 1\n```\n"
	for name, c := range map[string]struct {
		text string
		good bool
	}{
		"a workflow with its output":    {definition + "```json output\n1\n```\n", true},
		"a shell line":                  {"```sh\nls\n```\n", true},
		"a workflow without an outcome": {definition, false},
		"a workflow with two outcomes":  {definition + "```json output\n1\n```\n```json error\n1\n```\n", false},
		"a block that nobody tests":     {"```yaml\na: 1\n```\n", false},
		"an outcome of nothing":         {"```json output\n1\n```\n", false},
		"a block without an end":        {"```sh\nls\n", false},
	} {
		if _, _, err := examplesOf(c.text); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := places([]any{map[string]any{"code": "x", "pointer": "/y", "line": 3}}); !value.Equal(got, []any{map[string]any{"code": "x", "pointer": "/y"}}) {
		t.Errorf("places: %v", got)
	}
}
