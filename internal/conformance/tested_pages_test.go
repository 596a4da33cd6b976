package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/app"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/handbook"
	"github.com/chargehand/chargehand/internal/testrun"
	"github.com/chargehand/chargehand/internal/value"
)

const (
	// pageTests has tests of definitions on pages, by page and name of the workflow: PAGE/NAME.test.yaml.
	pageTests = "testdata/pages"
	// shownTest is the test that is given what the page shows: input, secrets and events, and what comes out.
	shownTest = "as the page shows"
)

// TestPagesHaveTests runs a test (`chargehand test`) of every definition on the pages, so that readers can take each
// into a test of theirs. What a page shows of it is its test, called shownTest. The mocks that it needs, and further
// tests, are in pageTests. A definition with neither an outcome on its page nor a file there fails, and so does a file
// of no definition. Definitions that pages save are run by package handbook.
func TestPagesHaveTests(t *testing.T) {
	root, pages := t.TempDir(), map[string][]*docExample{}
	for page, read := range docPages(t) {
		examples, files, err := examplesOf(read.Blocks)
		if err != nil {
			t.Fatalf("%s: %v", page, err)
		}
		for _, f := range files {
			writeFile(t, filepath.Join(root, filepath.FromSlash(f.Name)), f.Text)
		}
		pages[page] = examples
	}
	local := &app.Test{ResourceRoot: root}
	defer local.Close()
	used := map[string]bool{}
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		folder := filepath.Join(pageTests, filepath.FromSlash(strings.TrimSuffix(strings.TrimPrefix(page, "docs/"), ".md")))
		children := map[string]string{} // the definitions before it on the page, by namespace and name
		for _, e := range pages[page] {
			full, name, err := e.names()
			if err != nil {
				t.Fatalf("%s, line %d: %v", page, e.Line, err)
			}
			path := filepath.Join(folder, name+testrun.Suffix)
			t.Run(strings.TrimSuffix(page, ".md")+"/"+name, func(t *testing.T) {
				stored, err := os.ReadFile(path)
				if used[path] = err == nil; err != nil {
					stored = nil
				}
				file, err := e.testFile(stored, children)
				if err != nil {
					t.Fatalf("line %d: %v (%s)", e.Line, err, path)
				}
				e.test(t, local, file, children)
			})
			if _, refused := e.first("problems"); !refused {
				children[full] = e.Text
			}
		}
	}
	err := filepath.WalkDir(pageTests, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !used[path] {
			t.Errorf("%s is of no definition on a page", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// names are namespace/name of the workflow, and its name.
func (e *docExample) names() (full, name string, err error) {
	v, err := decode(e.Text)
	root, _ := v.(map[string]any)
	document, _ := root["document"].(map[string]any)
	name, _ = document["name"].(string)
	if err != nil || name == "" {
		return "", "", fmt.Errorf("the definition has no name: %v", err)
	}
	return fmt.Sprintf("%v/%s", document["namespace"], name), name, nil
}

// testFile is the test file of a definition: the stored one (nil: there is none), whose shownTest is completed by what
// the page shows.
func (e *docExample) testFile(stored []byte, children map[string]string) (map[string]any, error) {
	file := map[string]any{}
	if stored != nil {
		v, err := decode(string(stored))
		if err != nil {
			return nil, err
		}
		file, _ = v.(map[string]any)
	}
	tests, _ := file["tests"].([]any)
	i := slices.IndexFunc(tests, func(one any) bool { return one.(map[string]any)["name"] == shownTest })
	switch {
	case e.Kind == "definition" && len(tests) == 0:
		return nil, errors.New("the page shows nothing of what it does, and no file tests it")
	case e.Kind == "workflow" && i < 0 && stored != nil:
		return nil, fmt.Errorf("no test of the file is called %q", shownTest)
	case e.Kind == "workflow" && i < 0:
		i, tests = 0, []any{map[string]any{"name": shownTest}}
	}
	if i >= 0 {
		if err := e.complete(tests[i].(map[string]any)); err != nil {
			return nil, err
		}
	}
	file["tests"] = tests
	if defaults, _ := file["defaults"].(map[string]any); len(children) > 0 {
		all := map[string]any{}
		for i, full := range slices.Sorted(maps.Keys(children)) {
			all[full] = childFile(i)
		}
		defaults = maps.Clone(defaults)
		if defaults == nil {
			defaults = map[string]any{}
		}
		defaults["children"], file["defaults"] = all, defaults
	}
	return file, nil
}

func childFile(i int) string { return fmt.Sprintf("child%d.yaml", i) }

// complete puts what the page shows into a test, but for what the test says itself.
func (e *docExample) complete(test map[string]any) error {
	expect, _ := test["expect"].(map[string]any)
	if expect == nil {
		expect = map[string]any{}
	}
	test["expect"] = expect
	put := func(object map[string]any, name, text string) error {
		if _, given := object[name]; given || text == "" {
			return nil
		}
		v, err := decode(text)
		object[name] = v
		return err
	}
	for _, one := range []struct {
		object     map[string]any
		name, kind string
	}{{test, "input", "input"}, {expect, "output_equals", "output"}, {expect, "output_equals", "run"}, {expect, "error", "error"}} {
		text, _ := e.first(one.kind)
		if err := put(one.object, one.name, text); err != nil {
			return err
		}
	}
	secrets := map[string]any{}
	for _, secret := range e.all("secret") {
		if err := put(secrets, secret.Name, secret.Text); err != nil {
			return err
		}
	}
	if len(secrets) > 0 {
		test["secrets"] = secrets
	}
	codes := []any{}
	if text, warns := e.first("warnings"); warns {
		v, err := decode(text)
		if err != nil {
			return err
		}
		for _, one := range v.([]any) {
			codes = append(codes, one.(map[string]any)["code"])
		}
	}
	if expect["warnings"] == nil {
		expect["warnings"] = codes
	}
	if _, starts := e.first("run"); starts || test["script"] != nil {
		return nil // the events of the page start the workflow: they are the input
	}
	script := []any{}
	for i, event := range e.all("event") {
		v, err := decode(event.Text)
		if err != nil {
			return err
		}
		script = append(script, map[string]any{"at": fmt.Sprintf("PT0.%03dS", i), "event": v})
	}
	if len(script) > 0 {
		test["script"] = script
	}
	return nil
}

// test runs a test file of the definition. A definition that the page shows as refused must be refused for the same
// problems, in the same lines.
func (e *docExample) test(t *testing.T, local *app.Test, file map[string]any, children map[string]string) {
	t.Helper()
	tests, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]byte{"main.yaml": []byte(e.Text), "main.test.yaml": tests}
	for i, full := range slices.Sorted(maps.Keys(children)) {
		texts[childFile(i)] = []byte(children[full])
	}
	runner, err := local.Runner(testrun.Config{CI: true, Strict: true, Crash: true, Jobs: 1, ReadFile: func(path string) ([]byte, error) {
		if text, ok := texts[path]; ok {
			return text, nil
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}})
	if err != nil {
		t.Fatal(err)
	}
	report, err := runner.Run(t.Context(), []string{"main.test.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	wrong, refused := e.first("problems")
	if !refused {
		if n := report.Counts; n.Tests == 0 || n.Passed != n.Tests {
			t.Errorf("%s", describe(report))
		}
		return
	}
	want, err := decode(wrong)
	if err != nil {
		t.Fatal(err)
	}
	doc, _ := dsl.ReadText([]byte(e.Text))
	var expected, got []string
	for _, one := range want.([]any) {
		problem := one.(map[string]any)
		line := 1
		if pointer, _ := problem["pointer"].(string); doc != nil {
			line, _ = doc.Position(pointer)
		}
		expected = append(expected, fmt.Sprintf("%v in line %d", problem["code"], line))
	}
	for _, p := range report.Files[0].Problems {
		got = append(got, fmt.Sprintf("%s in line %d", p.Code, p.Line))
	}
	slices.Sort(expected)
	slices.Sort(got)
	if !slices.Equal(expected, got) {
		t.Errorf("refused for %v, and the page says %v", got, expected)
	}
}

// TestPagesWithoutTests: definitions that no test runs are found.
func TestPagesWithoutTests(t *testing.T) {
	example := func(kind string, with ...string) *docExample {
		e := &docExample{}
		e.Kind, e.Text = kind, "document: {namespace: n, name: x}\ndo: []\n"
		for i := 0; i < len(with); i += 2 {
			e.with = append(e.with, handbook.Block{Kind: with[i], Text: with[i+1]})
		}
		return e
	}
	const other = "tests: [{name: other}]"
	const shown = "tests: [{name: as the page shows, mocks: {a: {returns: 1}}, expect: {tasks: {a: {times: 1}}}}]"
	for name, c := range map[string]struct {
		e            *docExample
		stored, want string // a file; empty: an error
	}{
		"nothing at all":       {example("definition"), "", ""},
		"a file of its own":    {example("definition"), other, `{"tests":[{"name":"other"}]}`},
		"an outcome":           {example("workflow", "input", "{n: 1}", "output", "2"), "", `{"tests":[{"expect":{"output_equals":2,"warnings":[]},"input":{"n":1},"name":"as the page shows"}]}`},
		"not that of the page": {example("workflow", "output", "2"), other, ""},
		"with mocks": {example("workflow", "event", "{type: t}", "output", "2"), shown,
			`{"tests":[{"expect":{"output_equals":2,"tasks":{"a":{"times":1}},"warnings":[]},"mocks":{"a":{"returns":1}},"name":"as the page shows","script":[{"at":"PT0.000S","event":{"type":"t"}}]}]}`},
	} {
		var stored []byte
		if c.stored != "" {
			stored = []byte(c.stored)
		}
		file, err := c.e.testFile(stored, nil)
		if (err != nil) != (c.want == "") || err == nil && string(value.Marshal(file)) != c.want {
			t.Errorf("%s: %s, %v", name, value.Marshal(file), err)
		}
	}
	withChild, err := example("definition").testFile([]byte(other), map[string]string{"n/before": "x"})
	if err != nil || string(value.Marshal(withChild)) != `{"defaults":{"children":{"n/before":"child0.yaml"}},"tests":[{"name":"other"}]}` {
		t.Errorf("with a definition before it: %s, %v", value.Marshal(withChild), err)
	}
}
