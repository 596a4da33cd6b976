package dsl

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/jsonpointer"
)

// freePaths match the pointers below which any value may stand.
var freePaths = regexp.MustCompile(`^/document/(tags|metadata)/` +
	`|/metadata/` +
	`|/schema/document(/|$)` +
	`|/set/` +
	`|/(from|as)/` +
	`|/body(/|$)` +
	`|/run/workflow/input(/|$)` +
	`|/for/in/` +
	`|/(payload|parameters|ports|volumes|variables)/` +
	`|/with/arguments/` +
	`|/(script|shell)/arguments/[A-Za-z-]+$` +
	`|/message/(headers|payload)(/|$)` +
	`|/event/with/(data|extension|priority|extra)(/|$)` +
	`|/with/(data|extension)(/|$)`)

// builtInCalls take what the language says; the arguments of every other function are its own.
var builtInCalls = []string{"http", "grpc", "openapi", "asyncapi", "a2a", "mcp"}

// functionArguments are the pointers of the arguments of calls to functions, below which any value may stand.
func functionArguments(value any, pointer string) (pointers []string) {
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			pointers = append(pointers, functionArguments(item, fmt.Sprintf("%s/%d", pointer, i))...)
		}
	case map[string]any:
		if name, ok := value["call"].(string); ok && !slices.Contains(builtInCalls, name) {
			pointers = append(pointers, pointer+"/with/")
		}
		for key, item := range value {
			pointers = append(pointers, functionArguments(item, pointer+"/"+jsonpointer.Escape(key))...)
		}
	}
	return pointers
}

// mixedPaths are those where the grammar allows more than one type: pointer → types.
var mixedPaths = []struct {
	pointer *regexp.Regexp
	shapes  string
}{
	{regexp.MustCompile(`/set$`), "text"},
	{regexp.MustCompile(`/(from|as)$`), "text object"},
	{regexp.MustCompile(`(^|/)timeout$|/retry$|/raise/error$`), "text object"},
	{regexp.MustCompile(`/endpoint$|/server$`), "text"},
	{regexp.MustCompile(`/for/in$`), "text list"},
	{regexp.MustCompile(`/until$`), "text object"},
	{regexp.MustCompile(`/arguments$`), "list object"},
	{regexp.MustCompile(`/(headers|query|environment|options)/[^/]*$|/arguments/[^/]*$`), "text number boolean"},
	{regexp.MustCompile(`/(headers|query|environment|parameters)$`), "object"},
}

func isAllowed(pointer string, s shape) bool {
	if freePaths.MatchString(pointer) {
		return true
	}
	for _, path := range mixedPaths {
		if path.pointer.MatchString(pointer) && strings.Contains(path.shapes, strings.TrimPrefix(strings.TrimPrefix(s.String(), "a "), "an ")) {
			return true
		}
	}
	return false
}

// mutations are one value of each type.
var mutations = []struct {
	shape shape
	value any
}{
	{shapeNull, nil}, {shapeBoolean, true}, {shapeNumber, 5}, {shapeNumber, 0.5}, {shapeText, "text"}, {shapeList, []any{}}, {shapeObject, map[string]any{}},
}

func shapeOf(value any) shape {
	switch value.(type) {
	case nil:
		return shapeNull
	case bool:
		return shapeBoolean
	case string:
		return shapeText
	case []any:
		return shapeList
	case map[string]any:
		return shapeObject
	}
	return shapeNumber
}

// TestMutations replaces each node of valid definitions by a value of each other type: there
// is a problem at the node or above it, unless the grammar allows the other type there.
func TestMutations(t *testing.T) {
	definitions := validDefinitions(t)
	mutants := 0
	for name, data := range definitions {
		document, problems := Parse(data)
		if document == nil || len(problems) > 0 {
			continue
		}
		root := document.Value()
		free := functionArguments(root, "")
		mutate(root, "", func(value any) { root = value }, func(pointer string, s shape) {
			mutants++
			text, err := json.Marshal(root)
			if err != nil {
				t.Fatal(err)
			}
			mutant, problems := Parse(text)
			checkPositions(t, text, mutant, problems)
			if isAllowed(pointer, s) || hasProblemAt(problems, pointer) || slices.ContainsFunc(free, func(f string) bool { return strings.HasPrefix(pointer, f) }) {
				return
			}
			t.Errorf("%s: %s as %s gives no problem there, but %v", name, pointer, s, problems)
		})
	}
	t.Logf("%d mutants of %d definitions", mutants, len(definitions))
	if mutants < 50_000 {
		t.Errorf("only %d mutants", mutants)
	}
}

// validDefinitions are the definitions of the tests of this package, of the scenarios of the language
// and of its documentation, by a name that says where each stands.
func validDefinitions(t testing.TB) map[string][]byte {
	t.Helper()
	definitions := map[string][]byte{"everything": []byte(everything)}
	for _, path := range glob(t, filepath.Join("testdata", "*.yaml")) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, chunk := range strings.Split(string(data), "\n---\n") {
			definitions[fmt.Sprintf("%s %d", filepath.Base(path), i)] = complete([]byte(chunk))
		}
	}
	for _, path := range glob(t, filepath.Join("..", "conformance", "features", "*.feature")) {
		for i, text := range scenarioDefinitions(t, path) {
			definitions[fmt.Sprintf("%s %d", filepath.Base(path), i)] = []byte(text)
		}
	}
	for _, path := range glob(t, filepath.Join("..", "..", "docs", "language", "*.md")) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range documentedWorkflow.FindAllSubmatch(data, -1) {
			definitions[fmt.Sprintf("%s %d", filepath.Base(path), i)] = block[1]
		}
	}
	return definitions
}

// documentedWorkflow is an example of the reference (internal/conformance runs them).
var documentedWorkflow = regexp.MustCompile("(?ms)^```yaml workflow$(.*?)^```$")

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s names no file: %v", pattern, err)
	}
	return paths
}

func hasProblemAt(problems Problems, pointer string) bool {
	for _, problem := range problems {
		if problem.Severity == SeverityError && (pointer == problem.Pointer || strings.HasPrefix(pointer, problem.Pointer+"/")) {
			return true
		}
	}
	return false
}

// mutate calls visit with each node in turn replaced by each other type.
func mutate(value any, pointer string, replace func(any), visit func(pointer string, s shape)) {
	for _, m := range mutations {
		if m.shape != shapeOf(value) {
			replace(m.value)
			visit(pointer, m.shape)
		}
	}
	replace(value)
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			mutate(item, fmt.Sprintf("%s/%d", pointer, i), func(other any) { value[i] = other }, visit)
		}
	case map[string]any:
		for key, item := range value {
			mutate(item, pointer+"/"+jsonpointer.Escape(key), func(other any) { value[key] = other }, visit)
		}
	}
}
