package service

import (
	"bytes"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/dsl/dsltest"
	"github.com/chargehand/chargehand/internal/value"
)

// T90: the deepest definition is applied and shown as JSON, which is JSON at every depth.
func TestDeepestDefinition(t *testing.T) {
	fx := newFixture(t)
	for _, nest := range dsltest.Nests() {
		document, problems := dsl.Parse([]byte(nest.Definition(dsl.MaxDepth)))
		if problems.HasErrors() {
			t.Fatal(problems.Err())
		}
		source := value.Marshal(document.Value())
		apply := func(text []byte) (*AppliedWorkflow, error) {
			got, _, err := fx.ApplyWorkflow(t.Context(), fx.p, ApplyWorkflow{Definition: text, MediaType: mediaJSON})
			return got, err
		}
		got, err := apply(source)
		if err != nil {
			t.Fatalf("%s: %v", nest.Name, err)
		}
		if shown := fx.workflow(fx.p, got.ID).Definition; !bytes.Equal(shown, source) {
			t.Errorf("%s: it is shown as %.300s", nest.Name, shown)
		}
		_, err = apply([]byte(strings.Replace(string(source), `"done":true`, `"done":true,`, 1)))
		wantCode(t, err, chargehand.CodeInvalidJSON)
	}
}
