package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/dsl"
)

// TestAddressesAreBounded: a long name or address above many parts is refused, wherever the schema is from. To compile
// these took up to 600 MB, and a minute.
func TestAddressesAreBounded(t *testing.T) {
	name := strings.Repeat("k", 20<<10)
	below := `{"properties": {"` + name + `": {"properties": ` + leaves(2000, `{}`) + `}}}`
	var resources strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&resources, `, "r%d": {"$id": "r%[1]d"}`, i)
	}
	ids := `{"$id": "https://example.com/` + name + `/", "$defs": {` + resources.String()[2:] + `}}`
	for what, schema := range map[string]string{"a name": below, "an address": ids, "booleans": strings.ReplaceAll(below, "{}", "true")} {
		if _, err := CompileForm(valueOf(t, schema)); err == nil || !strings.Contains(err.Error(), "addresses") {
			t.Errorf("%s in a form: %v", what, err)
		}
		for from, text := range map[string]string{
			"inline":      `{"document": ` + schema + `}`,
			"external":    `{"resource": {"endpoint": "order.json"}}`,
			"referred to": `{"document": {"$ref": "order.json"}}`,
		} {
			doc, found := dsl.Parse([]byte(`{"document": {"dsl": "1.0.3", "namespace": "n", "name": "n", "version": "1.0.0"},
				"input": {"schema": ` + text + `}, "do": [{"a": {"set": {"x": 1}}}]}`))
			r := Check(doc, found, Options{Resources: map[string][]byte{"order.json": []byte(schema)}})
			if problems := r.Problems.Errors(); len(problems) != 1 || problems[0].Code != CodeSchema || !strings.Contains(problems[0].Detail, "addresses") {
				t.Errorf("%s, %s: problems %v", what, from, problems)
			}
		}
	}
}
