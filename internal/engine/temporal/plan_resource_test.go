package temporal

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/chargehand/chargehand/internal/plan"
)

const resourceful = `document: {dsl: '1.0.3', namespace: test, name: resourceful, version: '1.0.0'}
do:
  - a: {call: 'https://e.org/f.yaml'}
`

// Workflow code compiles with the resources that came with the definition, also after the
// argument has been through a history.
func TestPlanWithResources(t *testing.T) {
	pins := func(text string) []byte {
		return plan.EncodePins([]plan.Pin{plan.NewPin("https://e.org/f.yaml", "application/yaml", []byte(text))})
	}
	one, two := pins("set: {x: '<&>'}"), pins("set: {x: 2}")
	sent, err := json.Marshal(argument{Digest: digestOf(resourceful, one), Definition: resourceful, Resources: one})
	if err != nil {
		t.Fatal(err)
	}
	var a argument
	if err := json.Unmarshal(sent, &a); err != nil || !bytes.Equal(a.Resources, one) {
		t.Fatalf("%v; the resources have become %s", err, a.Resources)
	}
	kept := newPlans()
	first, err := planOf(kept, a.Digest, a.Definition, a.Resources)
	if err != nil {
		t.Fatal(err)
	}
	second, err := planOf(kept, digestOf(resourceful, two), resourceful, two)
	if err != nil {
		t.Fatal(err)
	}
	if first.Digest() == second.Digest() || len(first.Pinned) != 1 {
		t.Error("two contents of a resource have one plan")
	}
	if _, got := kept.Kept(); got != 2*len(resourceful)+len(one)+len(two) {
		t.Errorf("the cache counts %d bytes, want %d", got, 2*len(resourceful)+len(one)+len(two))
	}
	for name, resources := range map[string][]byte{"missing": nil, "other": two} {
		if _, err := planOf(newPlans(), a.Digest, a.Definition, resources); err == nil {
			t.Errorf("%s resources are taken for the right ones", name)
		}
	}
	// What was started before there were resources has none in its history.
	if old, err := json.Marshal(argument{}); err != nil || bytes.Contains(old, []byte("resources")) {
		t.Errorf("%s, %v", old, err)
	}
}
