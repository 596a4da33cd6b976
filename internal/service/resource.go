package service

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// The bounds of the external resources of one definition, beside plan.MaxResources and
// plan.MaxResourceBytes.
const (
	maxResourceSum   = 16 << 20 // bytes of all of them
	maxResourceTime  = 30 * time.Second
	maxResourceReads = 8 // at once
)

// Resource is an external resource as it was read.
type Resource struct {
	Content   []byte
	MediaType string
}

// FetchFunc reads an external resource (T69). Authentication is in the shape that activities
// take; nil: none. Its errors are texts for the author of the definition, without secrets.
type FetchFunc func(ctx context.Context, uri string, authentication value.Value) (Resource, error)

// compilation is what came of a definition that is applied or checked now.
type compilation struct {
	document *dsl.Document // nil if the text is no YAML or JSON at all
	plan     *plan.Plan    // nil if there are errors
	problems dsl.Problems
	readable bool   // false: the text is no YAML or JSON at all
	pins     []byte // the resources that plan was compiled with (plan.EncodePins)
}

// compile reads and compiles a definition that is applied now, and fetches what it needs from
// outside, round after round, because a function may call others. It reports everything that is wrong
// at once; a resource that cannot be fetched is a problem of the definition. Without mayFetch nothing
// is fetched, and each resource that was not checked is a warning. Nothing is stored. The error is
// that of ctx.
func (s *Service) compile(ctx context.Context, source []byte, mayFetch bool) (*compilation, error) {
	document, found := dsl.Parse(source)
	c := &compilation{document: document, problems: found, readable: !errors.Is(found.Err(), dsl.ErrSyntax)}
	if document == nil {
		return c, nil
	}
	g := &gathering{fetch: s.fetch, document: document, resources: map[string][]byte{}, pins: map[string]plan.Pin{}, failed: map[string]bool{}}
	var result plan.Result
	fetching, cancel := context.WithTimeout(ctx, maxResourceTime)
	defer cancel()
	for {
		result = plan.Check(document, found, s.plans.with(g.resources))
		if !mayFetch {
			g.leaveUnchecked(result.Wanted)
			break
		}
		if !g.gather(fetching, result.Wanted) {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.problems = append(result.Problems, g.problems...)
	c.problems.Sort()
	if result.Plan != nil && len(g.problems) == 0 {
		c.plan = result.Plan
		var pins []plan.Pin
		for _, p := range result.Plan.Pinned {
			pins = append(pins, g.pins[p.Key])
		}
		c.pins = plan.EncodePins(pins)
	}
	return c, nil
}

// gathering collects the resources of one definition.
type gathering struct {
	fetch    FetchFunc
	document *dsl.Document

	mu        sync.Mutex
	resources map[string][]byte
	pins      map[string]plan.Pin
	failed    map[string]bool
	problems  dsl.Problems
	bytes     int
}

// leaveUnchecked warns of what is wanted. Nothing is fetched, so that there is one round.
func (g *gathering) leaveUnchecked(wanted []plan.Wanted) {
	for _, w := range wanted {
		g.problems = append(g.problems, g.document.WarningAt(w.Pointer, plan.CodeResourceUnchecked,
			fmt.Sprintf("The %s %s is read when the definition is applied; it was not checked.", w.Kind, w.URI),
			"With the scope workflows:write it is fetched and checked here too."))
	}
}

// gather fetches what is wanted, several at a time, and reports whether anything was new.
func (g *gathering) gather(ctx context.Context, wanted []plan.Wanted) bool {
	var missing []plan.Wanted
	for _, w := range wanted {
		if !g.failed[w.Key] {
			missing = append(missing, w)
		}
	}
	permits := make(chan struct{}, maxResourceReads)
	var reading sync.WaitGroup
	for _, w := range missing {
		permits <- struct{}{}
		reading.Go(func() {
			defer func() { <-permits }()
			g.one(ctx, w)
		})
	}
	reading.Wait()
	return len(missing) > 0
}

func (g *gathering) one(ctx context.Context, w plan.Wanted) {
	r, err := g.read(ctx, w)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		g.fail(w, fmt.Sprintf("A %s cannot be fetched: %s.", w.Kind, err), hintFor(ctx, w))
		return
	}
	if g.bytes += len(r.Content); g.bytes > maxResourceSum {
		g.fail(w, fmt.Sprintf("The external resources have more than %d bytes in all.", maxResourceSum), "Leave some out, or make them smaller.")
		return
	}
	g.resources[w.Key] = r.Content
	g.pins[w.Key] = plan.NewPin(w.Key, r.MediaType, r.Content)
}

// read reads one resource, unless the definition has too much already.
func (g *gathering) read(ctx context.Context, w plan.Wanted) (Resource, error) {
	if g.fetch == nil {
		return Resource{}, fmt.Errorf("this server reads nothing from outside, so not %s", w.URI)
	}
	g.mu.Lock()
	full := g.bytes > maxResourceSum
	g.mu.Unlock()
	if full {
		return Resource{}, fmt.Errorf("the others have more than %d bytes already", maxResourceSum)
	}
	return g.fetch(ctx, w.URI, w.Authentication)
}

func hintFor(ctx context.Context, w plan.Wanted) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Sprintf("All resources of a definition together may take %s.", maxResourceTime)
	}
	return "It is read when the definition is applied, and kept with it: check the address, and apply the definition again."
}

// fail notes a problem. The caller holds the mutex, or works alone.
func (g *gathering) fail(w plan.Wanted, detail, hint string) {
	g.failed[w.Key] = true
	g.problems = append(g.problems, g.document.ErrorAt(w.Pointer, plan.CodeResourceMissing, detail, hint))
}
