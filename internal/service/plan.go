package service

import (
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
)

// maxPlanBytes bounds the sources, with their resources, of the plans that are kept. A plan
// takes a few times as much memory as its source.
const maxPlanBytes = 32 << 20

// Plans finds compiled plans by the number of the revision. Plans of equal definitions are
// compiled once; the least recently used ones are forgotten. It implements engine.Plans and
// is safe for concurrent use.
type Plans struct {
	db      *store.Store
	options plan.Options

	mu         sync.Mutex
	byRevision map[int64]*list.Element
	byDigest   map[[sha256.Size]byte]*list.Element // by the digest of the definition
	recent     list.List                           // of *cachedPlan, the latest used first
	bytes      int
	maxBytes   int

	positions map[position][2]int // of places at which executions failed: line and column
}

// position is a place in the definition of a revision.
type position struct {
	revision int64
	pointer  string
}

// maxPositions bounds the positions that are kept.
const maxPositions = 4096

type cachedPlan struct {
	plan      *plan.Plan
	digest    [sha256.Size]byte
	bytes     int
	revisions []int64
}

// NewPlans returns an empty cache over the revisions of db. The options count for what is
// applied; what was applied before is run as far as an activity allows it (T80).
func NewPlans(db *store.Store, options plan.Options) *Plans {
	return &Plans{
		db: db, options: options, maxBytes: maxPlanBytes,
		byRevision: make(map[int64]*list.Element), byDigest: make(map[[sha256.Size]byte]*list.Element),
	}
}

// Plan returns the plan of a revision. Errors: store.ErrNotFound, store.ErrUnavailable.
func (c *Plans) Plan(ctx context.Context, revisionNo int64) (*plan.Plan, error) {
	if p := c.cached(revisionNo); p != nil {
		return p, nil
	}
	var definition store.Definition
	var digest [sha256.Size]byte
	err := c.db.View(ctx, func(r *store.Reader) error {
		revision, err := r.RevisionByNo(revisionNo)
		if err != nil {
			return err
		}
		definition, err = r.Definition(revision.Definition)
		copy(digest[:], definition.Digest)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read definition: %w", err)
	}
	if p := c.share(revisionNo, digest); p != nil {
		return p, nil
	}
	compiled, _, err := c.recompile(&definition)
	if err != nil {
		return nil, fmt.Errorf("compile stored definition of revision %d: %w", revisionNo, err)
	}
	return c.add(revisionNo, digest, len(definition.Source)+len(definition.Resources), compiled), nil
}

// Position is where a JSON pointer stands in the source of a revision, from 1. Nothing keeps the
// text of definitions in memory, so it is read and parsed once for every place that was ever asked
// for. Zero if the revision is gone.
func (c *Plans) Position(ctx context.Context, revisionNo int64, pointer string) (line, column int, err error) {
	at := position{revisionNo, pointer}
	c.mu.Lock()
	known, ok := c.positions[at]
	c.mu.Unlock()
	if ok {
		return known[0], known[1], nil
	}
	var definition store.Definition
	err = c.db.View(ctx, func(r *store.Reader) error {
		revision, err := r.RevisionByNo(revisionNo)
		if err == nil {
			definition, err = r.Definition(revision.Definition)
		}
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read definition: %w", err)
	}
	if document, _ := dsl.Parse(definition.Source); document != nil {
		line, column = document.Position(pointer)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.positions == nil || len(c.positions) >= maxPositions {
		c.positions = map[position][2]int{}
	}
	c.positions[at] = [2]int{line, column}
	return line, column, nil
}

// recompile compiles a stored definition: with the resources that are pinned with it and
// nothing else, and whatever kinds of processes are allowed now, because the activity refuses
// to run what is not (T80).
func (c *Plans) recompile(definition *store.Definition) (*plan.Plan, dsl.Problems, error) {
	resources, err := plan.DecodePins(definition.Resources)
	if err != nil {
		return nil, nil, err
	}
	document, problems := dsl.Parse(definition.Source)
	if document == nil || problems.HasErrors() {
		return nil, nil, problems.Err()
	}
	compiled, more := plan.Compile(document, plan.Options{Run: plan.AnyRun(), Limits: c.options.Limits, Resources: resources})
	if compiled == nil {
		return nil, nil, more.Err()
	}
	problems = append(problems, more...)
	problems.Sort()
	return compiled, problems, nil
}

// with is what the installation allows, with resources.
func (c *Plans) with(resources map[string][]byte) plan.Options {
	options := c.options
	options.Resources = resources
	return options
}

// cached finds a plan by its revision and counts the use.
func (c *Plans) cached(revisionNo int64) *plan.Plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	element := c.byRevision[revisionNo]
	if element == nil {
		return nil
	}
	c.recent.MoveToFront(element)
	return element.Value.(*cachedPlan).plan
}

// share finds a plan of an equal definition for another revision.
func (c *Plans) share(revisionNo int64, digest [sha256.Size]byte) *plan.Plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	element := c.byDigest[digest]
	if element == nil {
		return nil
	}
	cached := element.Value.(*cachedPlan)
	if c.byRevision[revisionNo] == nil {
		cached.revisions = append(cached.revisions, revisionNo)
		c.byRevision[revisionNo] = element
	}
	return cached.plan
}

// add keeps a plan and returns the one that is kept: another caller may have been first.
func (c *Plans) add(revisionNo int64, digest [sha256.Size]byte, bytes int, p *plan.Plan) *plan.Plan {
	if first := c.share(revisionNo, digest); first != nil {
		return first
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if element := c.byDigest[digest]; element != nil {
		return element.Value.(*cachedPlan).plan
	}
	element := c.recent.PushFront(&cachedPlan{plan: p, digest: digest, bytes: bytes, revisions: []int64{revisionNo}})
	c.byRevision[revisionNo], c.byDigest[digest] = element, element
	c.bytes += bytes
	for c.bytes > c.maxBytes && c.recent.Len() > 1 {
		c.forget(c.recent.Back())
	}
	return p
}

func (c *Plans) forget(element *list.Element) {
	cached := c.recent.Remove(element).(*cachedPlan)
	for _, no := range cached.revisions {
		delete(c.byRevision, no)
	}
	delete(c.byDigest, cached.digest)
	c.bytes -= cached.bytes
}

// fieldErrors shows problems of a definition to callers.
func fieldErrors(problems dsl.Problems) []chargehand.FieldError {
	list := make([]chargehand.FieldError, 0, len(problems))
	for _, p := range problems[:min(len(problems), maxFields)] {
		detail := p.Detail
		if p.Hint != "" {
			detail += " " + p.Hint
		}
		list = append(list, chargehand.FieldError{Pointer: p.Pointer, Code: p.Code, Detail: detail, Line: p.Line, Column: p.Column})
	}
	return list
}
