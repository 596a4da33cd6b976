package plan

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/dsl"
)

// TestReferencesOfDrafts: a reference is followed by the draft of the schema that has it, whatever the drafts of large
// documents are. $recursiveRef is one in draft 2020-12, too.
func TestReferencesOfDrafts(t *testing.T) {
	hostile := farDown(100, `{"properties": `+leaves(1500, wrongLeaf)+`}`)
	for name, tt := range map[string]struct{ small, large string }{
		"recursive":            {`{$schema: "https://json-schema.org/draft/2019-09/schema", $recursiveRef: "order.json#/x-a"}`, `{"x-a": ` + hostile + `}`},
		"recursive in 2020-12": {`{$recursiveRef: "order.json#/x-a"}`, `{"$schema": "http://json-schema.org/draft-07/schema#", "x-a": ` + hostile + `}`},
		"dynamic":              {`{$dynamicRef: "order.json#/x-a"}`, `{"$schema": "http://json-schema.org/draft-07/schema#", "x-a": ` + hostile + `}`},
		"recursive in itself":  {`{$recursiveRef: "order.json"}`, `{"$recursiveRef": "#/x-a", "x-a": ` + hostile + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			doc, found := dsl.Parse([]byte(header + "input: {schema: {document: " + tt.small + "}}\ndo: [{a: {set: {x: 1}}}]\n"))
			r := Check(doc, found, Options{Resources: map[string][]byte{"order.json": []byte(tt.large)}})
			problems := r.Problems.Errors()
			if len(problems) != 1 || !strings.Contains(problems[0].Detail, "MiB of memory") {
				t.Errorf("%d problems, %v", len(problems), problems[:min(1, len(problems))])
			}
		})
	}
}
