package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/dsl/dsltest"
)

// BenchmarkSize compiles definitions of every shape at n and at 10 n.
func BenchmarkSize(b *testing.B) {
	for _, shape := range dsltest.Shapes() {
		for name, n := range map[string]int{"n": shape.N, "10n": 10 * shape.N} {
			doc, problems := dsl.Parse([]byte(shape.Definition(n)))
			if problems.HasErrors() {
				b.Fatal(problems.Err())
			}
			b.Run(shape.Name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if p, problems := Compile(doc, Options{}); p == nil {
						b.Fatal(problems.Err())
					}
				}
			})
		}
	}
}

// manyResources is a definition with n schemas from elsewhere, and what they are.
func manyResources(n int) (definition string, opt Options) {
	var b strings.Builder
	b.WriteString(header + "do:\n")
	opt.Resources = map[string][]byte{}
	for i := range n {
		uri := fmt.Sprintf("https://example.com/schema%d.json", i)
		opt.Resources[uri] = []byte(`{"type": "object", "properties": {"number": {"type": "integer"}}}`)
		fmt.Fprintf(&b, "- task%d: {set: {number: %d}, output: {schema: {resource: {endpoint: '%s'}}}}\n", i, i, uri)
	}
	return b.String(), opt
}

// BenchmarkResources compiles definitions with external resources, 64 at most.
func BenchmarkResources(b *testing.B) {
	for name, n := range map[string]int{"n": MaxResources / 10, "10n": MaxResources} {
		definition, opt := manyResources(n)
		doc, problems := dsl.Parse([]byte(definition))
		if problems.HasErrors() {
			b.Fatal(problems.Err())
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r := Check(doc, nil, opt); r.Plan == nil {
					b.Fatal(r.Problems.Err(), r.Wanted)
				}
			}
		})
	}
}

func TestResourcesUpToTheLimit(t *testing.T) {
	for _, n := range []int{MaxResources, MaxResources + 1} {
		definition, opt := manyResources(n)
		doc, problems := dsl.Parse([]byte(definition))
		r := Check(doc, problems, opt)
		if n <= MaxResources && r.Plan == nil || n > MaxResources && (len(r.Problems) != 1 || r.Problems[0].Code != CodeTooManyResources) {
			t.Errorf("%d resources: %v, wanted %v", n, r.Problems, r.Wanted)
		}
	}
}
