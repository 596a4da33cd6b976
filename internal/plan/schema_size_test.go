package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/dsl"
)

// TestSchemasAreBounded: a long name or address above many parts is refused, and so are patterns that repeat too much,
// wherever the schema is from. To compile these took up to a gigabyte, and a minute.
func TestSchemasAreBounded(t *testing.T) {
	name := strings.Repeat("k", 20<<10)
	below := `{"properties": {"` + name + `": {"properties": ` + leaves(2000, `{}`) + `}}}`
	var resources strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&resources, `, "r%d": {"$id": "r%[1]d"}`, i)
	}
	ids := `{"$id": "https://example.com/` + name + `/", "$defs": {` + resources.String()[2:] + `}}`
	repeated := `(?:` + strings.Repeat("ab", 400) + `){1,600}`
	for what, tt := range map[string]struct{ schema, want string }{
		"a name":         {below, "addresses"},
		"an address":     {ids, "addresses"},
		"booleans":       {strings.ReplaceAll(below, "{}", "true"), "addresses"},
		"patterns":       {`{"properties": ` + leaves(3, `{"pattern": "`+repeated+`"}`) + `}`, "patterns"},
		"names as these": {`{"patternProperties": {"` + repeated + `": true, "b` + repeated + `": true, "c` + repeated + `": true}}`, "patterns"},
		"many parts":     {`{"properties": ` + leaves(10_000, `{}`) + `}`, "objects and booleans"},
	} {
		if _, err := CompileForm(valueOf(t, tt.schema)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s in a form: %v", what, err)
		}
		for from, text := range map[string]string{
			"inline":      `{"document": ` + tt.schema + `}`,
			"external":    `{"resource": {"endpoint": "order.json"}}`,
			"referred to": `{"document": {"$ref": "order.json"}}`,
		} {
			doc, found := dsl.Parse([]byte(`{"document": {"dsl": "1.0.3", "namespace": "n", "name": "n", "version": "1.0.0"},
				"input": {"schema": ` + text + `}, "do": [{"a": {"set": {"x": 1}}}]}`))
			r := Check(doc, found, Options{Resources: map[string][]byte{"order.json": []byte(tt.schema)}})
			if problems := r.Problems.Errors(); strings.Contains(fmt.Sprint(problems), "characters") {
				t.Errorf("%s, %s: instructions are not characters: %v", what, from, problems)
			} else if len(problems) != 1 || problems[0].Code != CodeSchema || !strings.Contains(problems[0].Detail, tt.want) {
				t.Errorf("%s, %s: problems %v", what, from, problems)
			}
		}
	}
}
