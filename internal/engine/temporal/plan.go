package temporal

import (
	"fmt"

	"github.com/chargehand/chargehand/internal/plan"
)

// newPlans makes the cache of plans for workflow code. A plan depends on the definition and its pinned resources alone.
func newPlans() *plan.Cache { return plan.NewCache(plan.Limits{}, 0) }

// digestOf is the key of a definition: argument.Digest.
func digestOf(definition string, resources []byte) string {
	return plan.SourceDigestText([]byte(definition), resources)
}

// planOf returns the plan of the definition that a workflow was started with. Its error says that the definition can
// never be run by this binary.
func planOf(plans *plan.Cache, digest, definition string, resources []byte) (*plan.Plan, error) {
	if p, found := plans.Find(digest); found {
		return p, nil
	}
	if digestOf(definition, resources) != digest {
		return nil, fmt.Errorf("the definition is not the one of digest %s", digest)
	}
	return plans.Plan(digest, []byte(definition), resources)
}
