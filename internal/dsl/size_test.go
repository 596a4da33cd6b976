package dsl_test

import (
	"testing"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/dsl/dsltest"
)

// BenchmarkSize reads definitions of every shape at n and at 10 n.
func BenchmarkSize(b *testing.B) {
	for _, shape := range dsltest.Shapes() {
		for name, n := range map[string]int{"n": shape.N, "10n": 10 * shape.N} {
			data := []byte(shape.Definition(n))
			b.Run(shape.Name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if _, problems := dsl.Parse(data); problems.HasErrors() {
						b.Fatal(problems.Err())
					}
				}
			})
		}
	}
}
