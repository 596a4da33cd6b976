package dsl_test

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/dsl/dsltest"
	"github.com/chargehand/chargehand/internal/value"
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

// T90: tasks are nested up to 256 deep, however many levels of the text that takes, in YAML as
// in JSON; the next one is refused where it stands.
func TestTaskDepth(t *testing.T) {
	for _, nest := range dsltest.Nests() {
		t.Run(nest.Name, func(t *testing.T) {
			document, problems := dsl.Parse([]byte(nest.Definition(dsl.MaxDepth)))
			if problems.HasErrors() {
				t.Fatal("256 nested tasks are refused:", problems.Err())
			}
			again, problems := dsl.Parse(value.Marshal(document.Value()))
			if problems.HasErrors() || !value.Equal(again.Value(), document.Value()) {
				t.Error("256 nested tasks are refused as JSON:", problems.Err())
			}
			document, problems = dsl.Parse([]byte(nest.Definition(dsl.MaxDepth + 1)))
			last := problems[len(problems)-1]
			if line, column := document.Position(last.Pointer); last.Code != dsl.CodeTooDeep || !strings.HasSuffix(last.Pointer, "/t256") ||
				last.Line != 259 || last.Line != line || last.Column != column ||
				!strings.HasPrefix(last.Detail, "The tasks are nested more than 256 levels deep here.") {
				t.Errorf("257 nested tasks: %s at %s", last, last.Pointer)
			}
		})
	}
	function := strings.Repeat("{do: [{t: ", dsl.MaxDepth) + "{set: {x: 1}}" + strings.Repeat("}]}", dsl.MaxDepth)
	if _, problems := dsl.ParseFunction([]byte(function), "f"); len(problems) != 1 || problems[0].Code != dsl.CodeTooDeep {
		t.Errorf("a function of 257 nested tasks: %.300v", problems)
	}
}
