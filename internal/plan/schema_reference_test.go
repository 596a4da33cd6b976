package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/dsl"
)

// A relative reference of a schema names a file below the folder of the operator, as the
// address of any other resource does: from an inline schema that folder, else the schema's own.
func TestRelativeReferences(t *testing.T) {
	tests := map[string]struct{ schema, want string }{
		"inline":        {`{document: {properties: {a: {$ref: types/text.json}}}}`, "types/text.json"},
		"inline, above": {`{document: {properties: {a: {$ref: ../text.json}}}}`, "text.json"},
		"fragment":      {`{document: {properties: {a: {$ref: 'types.json#/$defs/text'}}}}`, "types.json"},
		"beside":        {`{resource: {endpoint: orders/order.json}}`, "orders/text.json"},
		"opaque":        {`{resource: {endpoint: 'file:orders/order.json'}}`, "orders/text.json"},
		"path":          {`{resource: {endpoint: /srv/orders/order.json}}`, "/srv/orders/text.json"},
		"file":          {`{resource: {endpoint: 'file:///srv/orders/order.json'}}`, "file:///srv/orders/text.json"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			order := []byte(`{"properties": {"a": {"$ref": "text.json"}}}`)
			resources := map[string][]byte{
				"orders/order.json": order, "file:orders/order.json": order,
				"/srv/orders/order.json": order, "file:///srv/orders/order.json": order,
			}
			definition := "input: {schema: " + test.schema + "}\ndo: [{s: {set: {x: 1}}}]\n"
			r := check(t, definition, resources)
			if got := wantedURIs(r); !slices.Equal(got, []string{"schema " + test.want}) || r.Plan != nil {
				t.Fatalf("wanted %v, problems %v", got, r.Problems)
			}
			resources[test.want] = []byte(`{"type": "string", "$defs": {"text": {"type": "string"}}}`)
			r = check(t, definition, resources)
			if r.Plan == nil {
				t.Fatalf("problems %v, wanted %v", r.Problems, wantedURIs(r))
			}
			if problems := r.Plan.InputSchema.Validate(map[string]any{"a": true}); len(problems) != 1 || problems[0].Pointer != "/a" {
				t.Errorf("the reference has no effect: %v", problems)
			}
		})
	}
}

// What is wrong with a reference is reported without addresses that are of our own making.
func TestBrokenReferences(t *testing.T) {
	for _, schema := range []string{
		`{document: {$ref: '#/nowhere'}}`, `{document: {$ref: 'x.json#/nowhere'}}`, `{resource: {endpoint: 'x.json#anchor'}}`,
	} {
		doc, found := dsl.Parse([]byte(header + "input: {schema: " + schema + "}\ndo: [{s: {set: {x: 1}}}]\n"))
		r := Check(doc, found, Options{Resources: map[string][]byte{"x.json": []byte(`{}`), "x.json#anchor": []byte(`{}`)}})
		if len(r.Problems) != 1 || r.Problems[0].Code != CodeSchema {
			t.Fatalf("%s: %v", schema, r.Problems)
		}
		for _, insides := range []string{"urn:", "resource:", "file:", "/plan/"} {
			if strings.Contains(r.Problems[0].Detail, insides) {
				t.Errorf("%s is reported as %s", schema, r.Problems[0].Detail)
			}
		}
	}
}
