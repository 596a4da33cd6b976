package plan

import (
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
