package plan

import (
	"fmt"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/lru"
)

// maxCachedBytes is the default of NewCache. A plan takes a few times as much memory as its source.
const maxCachedBytes = 32 << 20

// Cache keeps the compiled plans of stored definitions that were used most recently, by the text of
// SourceDigest. A plan that it compiles depends on the definition, its pinned resources and the limits
// alone, never on a network or a clock. It is safe for concurrent use.
type Cache struct {
	limits Limits
	plans  *lru.Cache[string, *Plan]
}

// NewCache makes a cache of plans that are compiled with limits. maxBytes bounds their sources with their
// resources; 0 stands for 32 MiB.
func NewCache(limits Limits, maxBytes int) *Cache {
	if maxBytes == 0 {
		maxBytes = maxCachedBytes
	}
	return &Cache{limits: limits, plans: lru.New[string, *Plan](lru.Bounds{Size: maxBytes}, nil)}
}

// Find returns the plan of a digest, if it is kept.
func (c *Cache) Find(digest string) (*Plan, bool) { return c.plans.Get(digest) }

// Plan returns the plan of a stored definition and compiles it, unless it is kept. An error says that this
// binary can never run the definition.
func (c *Cache) Plan(digest string, source, pins []byte) (*Plan, error) {
	if p, found := c.Find(digest); found {
		return p, nil
	}
	p, _, err := Recompile(source, pins, c.limits)
	if err != nil {
		return nil, err
	}
	return c.Add(digest, len(source)+len(pins), p), nil
}

// Add keeps a plan whose source and pins have so many bytes. It returns the one that is kept: another caller may
// have been first.
func (c *Cache) Add(digest string, bytes int, p *Plan) *Plan { return c.plans.Add(digest, p, bytes) }

// Kept is the number of plans that are kept, and the bytes of their sources and resources.
func (c *Cache) Kept() (plans, bytes int) { return c.plans.Len(), c.plans.Size() }

// Recompile compiles a stored definition: with the resources that are pinned with it and no others. Every kind of
// process is allowed, because what was accepted once must compile again; the activity refuses to run
// what the installation does not allow (T80).
func Recompile(source, pins []byte, limits Limits) (*Plan, dsl.Problems, error) {
	resources, err := DecodePins(pins)
	if err != nil {
		return nil, nil, err
	}
	document, problems := dsl.Parse(source)
	if document == nil || problems.HasErrors() {
		return nil, nil, fmt.Errorf("parse definition: %w", problems.Err())
	}
	compiled, more := Compile(document, Options{Run: AnyRun(), Limits: limits, Resources: resources})
	if compiled == nil {
		return nil, nil, fmt.Errorf("compile definition: %w", more.Err())
	}
	problems = append(problems, more...)
	problems.Sort()
	return compiled, problems, nil
}
