package graph

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/dsl"
)

var update = flag.Bool("update", false, "write the golden files")

// block is a definition in a page of the documentation.
var block = regexp.MustCompile("(?ms)^```yaml workflow[^\n]*\n(.*?)^```")

// definitions are those of a page or file that have no errors.
func definitions(t *testing.T, path string) []*dsl.Document {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	texts := [][]byte{data}
	if filepath.Ext(path) == ".md" {
		texts = nil
		for _, found := range block.FindAllSubmatch(data, -1) {
			texts = append(texts, found[1])
		}
	}
	var docs []*dsl.Document
	for _, text := range texts {
		if doc, problems := dsl.Parse(text); !problems.HasErrors() {
			docs = append(docs, doc)
		}
	}
	return docs
}

// TestGolden draws the definitions of the documentation and the examples. Each page has its golden file.
func TestGolden(t *testing.T) {
	pages, _ := filepath.Glob("../../docs/language/*.md")
	examples, _ := filepath.Glob("../../examples/*.yaml")
	drawn := 0
	for _, page := range append(pages, examples...) {
		docs := definitions(t, page)
		if len(docs) == 0 {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			var got bytes.Buffer
			for _, doc := range docs {
				g := Of(doc)
				check(t, doc, g)
				got.WriteString("%% " + doc.Namespace + "/" + doc.Name + "\n" + g.Mermaid() + "\n")
				drawn++
			}
			golden(t, strings.TrimSuffix(filepath.Base(page), filepath.Ext(page))+".mermaid", got.Bytes())
		})
	}
	if drawn < 60 {
		t.Errorf("only %d definitions were drawn", drawn)
	}
}

// TestForms holds the three forms of one definition that has every kind of task and edge.
func TestForms(t *testing.T) {
	doc := definitions(t, "testdata/everything.yaml")[0]
	g := Of(doc)
	check(t, doc, g)
	data, err := json.MarshalIndent(g, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "everything.json", append(data, '\n'))
	golden(t, "everything.mermaid", []byte(g.Mermaid()))
	golden(t, "everything.dot", []byte(g.DOT()))
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s differs (%v); look at it, then write it with -update:\n%s", path, err, got)
	}
}

// check holds a graph against its definition: every task is one node of one scope, and every edge joins two of a scope.
func check(t *testing.T, doc *dsl.Document, g *Graph) {
	t.Helper()
	tasks := map[string]*dsl.Task{}
	for _, task := range every(doc) {
		tasks[task.Pointer] = task
	}
	scopes, nodes := map[string]*Scope{}, map[string]*Node{}
	for i := range g.Scopes {
		if s := &g.Scopes[i]; scopes[s.ID] != nil {
			t.Errorf("two scopes %s", s.ID)
		} else {
			scopes[s.ID] = s
		}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		task := tasks[n.ID]
		if task == nil || nodes[n.ID] != nil {
			t.Fatalf("node %s is no task, or is there twice", n.ID)
		}
		nodes[n.ID] = n
		if line, _ := doc.Position(n.ID); n.Name != task.Name || n.Kind != task.Kind.String() || n.Line != line {
			t.Errorf("node %+v", n)
		}
		if s := scopes[n.Scope]; s == nil || !slices.Contains(s.Nodes, n.ID) {
			t.Errorf("node %s is not in its scope %s", n.ID, n.Scope)
		}
	}
	if len(nodes) != len(tasks) {
		t.Errorf("%d nodes for %d tasks", len(nodes), len(tasks))
	}
	for _, s := range g.Scopes {
		if s.Owner != nil && !nodes[*s.Owner].Container {
			t.Errorf("scope %s: its owner is no container", s.ID)
		}
	}
	leaving := map[string]int{}
	for _, e := range g.Edges {
		leaving[e.From]++
		s := scopes[e.Scope]
		if s == nil || !slices.Contains(s.Nodes, e.From) || (e.To == nil) == (e.Leaves == "") {
			t.Errorf("edge %+v", e)
			continue
		}
		if e.To != nil {
			if to := slices.Index(s.Nodes, *e.To); to < 0 || e.Back != (to <= slices.Index(s.Nodes, e.From)) {
				t.Errorf("edge %+v leads out of its scope, or not where it says", e)
			}
		}
	}
	for id, n := range nodes {
		if leaving[id] == 0 && n.Kind != "raise" {
			t.Errorf("no edge leaves %s", id)
		}
	}
}

// every is each task of a definition, found without the code under test.
func every(doc *dsl.Document) []*dsl.Task {
	var all []*dsl.Task
	var walk func([]*dsl.Task)
	walk = func(list []*dsl.Task) {
		for _, t := range list {
			all = append(all, t)
			walk(t.Do)
			switch {
			case t.For != nil:
				walk(t.For.Do)
			case t.Fork != nil:
				walk(t.Fork.Branches)
			case t.Try != nil:
				walk(t.Try.Do)
				if t.Try.Catch != nil {
					walk(t.Try.Catch.Do)
				}
			case t.Listen != nil && t.Listen.Foreach != nil:
				walk(t.Listen.Foreach.Do)
			case t.Call != nil && t.Call.AsyncAPI != nil && t.Call.AsyncAPI.Subscription != nil && t.Call.AsyncAPI.Subscription.Foreach != nil:
				walk(t.Call.AsyncAPI.Subscription.Foreach.Do)
			}
		}
	}
	walk(doc.Do)
	for _, e := range doc.Use.Extensions {
		walk(e.Before)
		walk(e.After)
	}
	for _, f := range doc.Use.Functions.Entries {
		walk([]*dsl.Task{f.Value})
	}
	return all
}

// TestTextsAreData: what an author writes cannot become a part of the picture's language.
func TestTextsAreData(t *testing.T) {
	hostile := `x"]; click n0 href "javascript:alert(1)"` + ` end subgraph <script>alert(1)</script> \`
	name, _ := json.Marshal(hostile)
	doc, problems := dsl.Parse([]byte(`{"document":{"dsl":"1.0.3","namespace":"n","name":"n","version":"1.0.0"},
		"do":[{` + string(name) + `:{"do":[{"a":{"set":` + string(name) + `}}]}}]}`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	g := Of(doc)
	for _, line := range strings.Split(g.Mermaid(), "\n") {
		if strings.Count(line, `"`) > 2 || strings.Contains(line, "<script") || strings.HasPrefix(strings.TrimSpace(line), "click") {
			t.Errorf("mermaid: %s", line)
		}
	}
	for _, line := range strings.Split(g.DOT(), "\n") {
		if plain := regexp.MustCompile(`"(\\.|[^"\\])*"`).ReplaceAllString(line, ""); strings.ContainsAny(plain, `"\`) || strings.Contains(plain, "click") {
			t.Errorf("dot: %s", line)
		}
	}
}

// TestLargeDefinitions: the largest definitions take time and memory that are linear in their size.
func TestLargeDefinitions(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"document":{"dsl":"1.0.3","namespace":"n","name":"n","version":"1.0.0"},"do":[`)
	for i := range dsl.MaxTasks {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"t` + string(rune('a'+i%26)) + strings.Repeat("x", i%7) + `_` + strconv.Itoa(i) + `":{"set":{"a":1}}}`)
	}
	b.WriteString(`]}`)
	doc, problems := dsl.Parse([]byte(b.String()))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	if n := testing.AllocsPerRun(1, func() { Of(doc) }); n > 30*dsl.MaxTasks {
		t.Errorf("%.0f allocations", n)
	}
	g := Of(doc)
	if len(g.Nodes) != dsl.MaxTasks || len(g.Edges) != dsl.MaxTasks {
		t.Errorf("%d nodes, %d edges", len(g.Nodes), len(g.Edges))
	}
}

// TestDigest changes with what a layout depends on, and with nothing else.
func TestDigest(t *testing.T) {
	of := func(tasks string) string {
		doc, problems := dsl.Parse([]byte("document: {dsl: '1.0.3', namespace: n, name: n, version: '1.0.0'}\ndo: " + tasks))
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		return Of(doc).Digest
	}
	base := of("[{a: {set: {x: 1}}}, {b: {set: {x: 1}}}]")
	if of("[{a: {set: {y: 2}, timeout: {after: PT1S}}}, {b: {set: {x: 1}}}]") != base {
		t.Error("a detail changes the digest")
	}
	for _, other := range []string{
		"[{a: {set: {x: 1}}}, {c: {set: {x: 1}}}]", "[{a: {set: {x: 1}, then: end}}, {b: {set: {x: 1}}}]",
		"[{b: {set: {x: 1}}}, {a: {set: {x: 1}}}]", "[{a: {do: [{b: {set: {x: 1}}}]}}]",
	} {
		if of(other) == base {
			t.Errorf("%s has the same digest", other)
		}
	}
}
