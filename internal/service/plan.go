package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/lru"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	maxRevisions = 16384 // revisions of which the digest of the definition is kept
	maxPositions = 4096  // positions that are kept
)

// Plans finds compiled plans by the number of the revision. Revisions with equal definitions share a
// plan. It implements engine.Plans and is safe for concurrent use.
type Plans struct {
	db       *store.Store
	options  plan.Options
	compiled *plan.Cache

	digests   *lru.Cache[int64, string]    // of the definition of each revision, as plan.Cache takes it
	positions *lru.Cache[position, [2]int] // of the tasks at which executions failed: line and column
}

// position is a JSON pointer into the definition of a revision.
type position struct {
	revision int64
	pointer  string
}

// NewPlans returns an empty cache over the revisions of db. The options count for what is
// applied; what was applied before is run as far as an activity allows it (T80).
func NewPlans(db *store.Store, options plan.Options) *Plans {
	return &Plans{
		db: db, options: options, compiled: plan.NewCache(options.Limits, 0),
		digests:   lru.New[int64, string](lru.Bounds{Entries: maxRevisions}, nil),
		positions: lru.New[position, [2]int](lru.Bounds{Entries: maxPositions}, nil),
	}
}

// Plan returns the plan of a revision. Errors: store.ErrNotFound, store.ErrUnavailable.
func (c *Plans) Plan(ctx context.Context, revisionNo int64) (*plan.Plan, error) {
	if digest, known := c.digests.Get(revisionNo); known {
		if p, found := c.compiled.Find(digest); found {
			return p, nil
		}
	}
	definition, err := c.definition(ctx, revisionNo)
	if err != nil {
		return nil, fmt.Errorf("read definition: %w", err)
	}
	digest := hex.EncodeToString(definition.Digest)
	compiled, err := c.compiled.Plan(digest, definition.Source, definition.Resources)
	if err != nil {
		return nil, fmt.Errorf("compile stored definition of revision %d: %w", revisionNo, err)
	}
	c.digests.Put(revisionNo, digest, 0)
	return compiled, nil
}

// definition reads the definition of a revision.
func (c *Plans) definition(ctx context.Context, revisionNo int64) (definition store.Definition, err error) {
	err = c.db.View(ctx, func(r *store.Reader) error {
		revision, err := r.RevisionByNo(revisionNo)
		if err == nil {
			definition, err = r.Definition(revision.Definition)
		}
		return err
	})
	return definition, err
}

// add keeps the plan of a revision that was just applied.
func (c *Plans) add(revisionNo int64, digest [sha256.Size]byte, bytes int, p *plan.Plan) {
	key := hex.EncodeToString(digest[:])
	c.compiled.Add(key, bytes, p)
	c.digests.Put(revisionNo, key, 0)
}

// Position is the line and column in the source of a revision that a JSON pointer leads to, counted
// from 1; zero if the revision is gone. The text of definitions is not kept in memory, so it is read and
// parsed once for every pointer that was ever asked for.
func (c *Plans) Position(ctx context.Context, revisionNo int64, pointer string) (line, column int, err error) {
	at := position{revisionNo, pointer}
	if known, ok := c.positions.Get(at); ok {
		return known[0], known[1], nil
	}
	definition, err := c.definition(ctx, revisionNo)
	if errors.Is(err, store.ErrNotFound) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read definition: %w", err)
	}
	if document, _ := dsl.Parse(definition.Source); document != nil {
		line, column = document.Position(pointer)
	}
	c.positions.Put(at, [2]int{line, column}, 0)
	return line, column, nil
}

// with is what the installation allows, with resources.
func (c *Plans) with(resources map[string][]byte) plan.Options {
	options := c.options
	options.Resources = resources
	return options
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
