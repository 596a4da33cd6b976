package temporal

import (
	"container/list"
	"fmt"
	"sync"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
)

// maxPlanBytes bounds the sources, with their resources, of the plans that a process keeps. A plan takes a few times
// as much memory as its source.
const maxPlanBytes = 32 << 20

// plans keeps compiled plans by the digest of their source and of the resources that are pinned
// with it; the least recently used ones are forgotten. Workflow code uses it: what it answers
// depends on these alone, never on a network. It is safe for concurrent use.
type plans struct {
	mu       sync.Mutex
	byDigest map[string]*list.Element
	recent   list.List // of *keptPlan, the latest used first
	bytes    int
	maxBytes int
}

type keptPlan struct {
	plan   *plan.Plan
	digest string
	bytes  int
}

func newPlans(maxBytes int) *plans {
	return &plans{byDigest: make(map[string]*list.Element), maxBytes: maxBytes}
}

// digestOf is the key of a definition: argument.Digest.
func digestOf(definition string, resources []byte) string {
	return plan.SourceDigestText([]byte(definition), resources)
}

// plan compiles a definition with the resources that are pinned with it, unless that has been
// done. Its error says that the definition can never be run by this binary.
func (c *plans) plan(digest, definition string, resources []byte) (*plan.Plan, error) {
	if p := c.find(digest); p != nil {
		return p, nil
	}
	if digestOf(definition, resources) != digest {
		return nil, fmt.Errorf("the definition is not the one of digest %s", digest)
	}
	pinned, err := plan.DecodePins(resources)
	if err != nil {
		return nil, err
	}
	document, problems := dsl.Parse([]byte(definition))
	if document == nil || problems.HasErrors() {
		return nil, fmt.Errorf("parse definition: %w", problems.Err())
	}
	// What was accepted once is compiled again; the activity refuses to run what the
	// installation does not allow (T80).
	compiled, problems := plan.Compile(document, plan.Options{Run: plan.AnyRun(), Resources: pinned})
	if compiled == nil {
		return nil, fmt.Errorf("compile definition: %w", problems.Err())
	}
	c.keep(&keptPlan{plan: compiled, digest: digest, bytes: len(definition) + len(resources)})
	return compiled, nil
}

func (c *plans) find(digest string) *plan.Plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	element := c.byDigest[digest]
	if element == nil {
		return nil
	}
	c.recent.MoveToFront(element)
	return element.Value.(*keptPlan).plan
}

func (c *plans) keep(p *keptPlan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byDigest[p.digest] != nil { // another workflow was first
		return
	}
	c.byDigest[p.digest] = c.recent.PushFront(p)
	c.bytes += p.bytes
	for c.bytes > c.maxBytes && c.recent.Len() > 1 {
		last := c.recent.Remove(c.recent.Back()).(*keptPlan)
		delete(c.byDigest, last.digest)
		c.bytes -= last.bytes
	}
}
