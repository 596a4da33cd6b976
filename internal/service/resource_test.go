package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// library is what FetchFunc finds outside.
type library struct {
	mu      sync.Mutex
	content map[string]string
	asked   []string
	most    atomic.Int64 // reads at once
	reading atomic.Int64
	busy    chan struct{} // gets a value when the maximum of reads is under way
	wait    chan struct{} // closed: reads continue
}

func (l *library) fetch(ctx context.Context, uri string, _ value.Value) (Resource, error) {
	now := l.reading.Add(1)
	defer l.reading.Add(-1)
	for most := l.most.Load(); now > most && !l.most.CompareAndSwap(most, now); most = l.most.Load() {
	}
	if l.wait != nil {
		if now == maxResourceReads && l.busy != nil {
			l.busy <- struct{}{}
		}
		select {
		case <-l.wait:
		case <-ctx.Done():
			return Resource{}, ctx.Err()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, uri)
	text, ok := l.content[uri]
	if !ok {
		return Resource{}, fmt.Errorf("the resource %s cannot be read: the server answered 404", uri)
	}
	return Resource{Content: []byte(text), MediaType: "application/yaml"}, nil
}

func (l *library) put(uri, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.content[uri] = text
}

func newLibraryFixture(t *testing.T) (*fixture, *library) {
	l := &library{content: map[string]string{
		"https://e.org/schema.json": `{"type": "object", "required": ["n"]}`,
		"https://e.org/f.yaml":      "do:\n  - inner: {call: 'https://e.org/g.yaml'}\n",
		"https://e.org/g.yaml":      "set: {said: hello}\n",
	}}
	return newFixture(t, func(c *Config) { c.Fetch = l.fetch }), l
}

const resourceful = `document: {dsl: '1.0.3', namespace: test, name: resourceful, version: '1.0.0'}
input: {schema: {resource: {endpoint: 'https://e.org/schema.json'}}}
do:
  - say: {call: 'https://e.org/f.yaml'}
`

// What a definition names is fetched, pinned, and counts as its content (T36, T69, T87).
func TestResourcesArePinned(t *testing.T) {
	fx, l := newLibraryFixture(t)
	first := fx.apply([]byte(resourceful))
	if len(l.asked) != 3 || first.Revision != 1 {
		t.Fatalf("asked for %v; applied %+v", l.asked, first)
	}
	if again := fx.apply([]byte(resourceful)); again.Revision != 1 || again.Created {
		t.Errorf("nothing has changed, but there is %+v", again)
	}
	l.put("https://e.org/g.yaml", "set: {said: bye}\n")
	if changed := fx.apply([]byte(resourceful)); changed.Revision != 2 {
		t.Errorf("a resource has changed, but the revision is %d", changed.Revision)
	}
	asked := len(l.asked)
	l.content = map[string]string{} // nothing can be fetched any more

	// Another process, or this one after a restart, compiles what is stored.
	fresh := NewPlans(fx.rows, plan.Options{})
	fx.create(first.ID, map[string]any{"n": 1})
	revision := fx.engine.starts[len(fx.engine.starts)-1].Row.Revision
	p, err := fresh.Plan(t.Context(), revision)
	if err != nil {
		t.Fatal(err)
	}
	if p.Digest() != fx.engine.starts[len(fx.engine.starts)-1].Plan.Digest() || len(p.Pinned) != 3 || p.InputSchema == nil {
		t.Errorf("the stored definition is another: %+v", p.Pinned)
	}
	if len(l.asked) != asked {
		t.Errorf("a stored definition asked for %v", l.asked[asked:])
	}
	if _, bytes := fresh.compiled.Kept(); bytes <= len(resourceful) {
		t.Errorf("resources do not count in the cache: %d bytes", bytes)
	}
}

// What cannot be fetched is a problem of the definition, told with all others, and nothing is
// stored.
func TestMissingResources(t *testing.T) {
	fx, l := newLibraryFixture(t)
	delete(l.content, "https://e.org/g.yaml")
	source := strings.Replace(resourceful, "do:\n", "do:\n  - wrong: {sett: {a: 1}}\n  - odd: {set: {a: '${ ] }'}}\n", 1)
	_, _, err := fx.ApplyWorkflow(t.Context(), fx.p, ApplyWorkflow{Definition: []byte(source), MediaType: mediaYAML})
	var refused *chargehand.Error
	if !errors.As(err, &refused) || refused.Code != chargehand.CodeDefinitionInvalid {
		t.Fatalf("got %v", err)
	}
	found := map[string]chargehand.FieldError{}
	for _, f := range refused.Fields {
		found[f.Code] = f
	}
	missing := found[plan.CodeResourceMissing]
	if missing.Pointer != "/do/2/say/call" || missing.Line != 6 || missing.Column == 0 || !strings.Contains(missing.Detail, "answered 404") {
		t.Errorf("the missing resource is reported as %+v; all: %+v", missing, refused.Fields)
	}
	if len(found) != 3 || found[plan.CodeExpression].Line != 5 {
		t.Errorf("reported are %+v", refused.Fields)
	}
	checked, err := fx.ValidateWorkflow(t.Context(), fx.p, []byte(resourceful))
	if err != nil || checked.Valid || len(checked.Errors) != 1 || checked.Errors[0].Code != plan.CodeResourceMissing {
		t.Errorf("validation says %+v, %v", checked, err)
	}
	if page, err := fx.ListWorkflows(t.Context(), fx.p, ListWorkflows{Limit: 10}); err != nil || len(page.Data) != 0 {
		t.Errorf("stored are %+v, %v", page, err)
	}
}

// A key that may only read workflows does not make the server send requests, nor read files.
func TestOnlyWritersFetch(t *testing.T) {
	fx, l := newLibraryFixture(t)
	reader := *fx.p
	reader.Scopes = PresetRun
	source := strings.Replace(resourceful, "https://e.org/schema.json", "schema.json", 1)
	checked, err := fx.ValidateWorkflow(t.Context(), &reader, []byte(source))
	if err != nil || !checked.Valid || len(checked.Errors) != 0 || len(checked.Warnings) != 2 {
		t.Fatalf("validation says %+v, %v", checked, err)
	}
	for i, line := range []int{2, 4} {
		if f := checked.Warnings[i]; f.Code != plan.CodeResourceUnchecked || f.Line != line || !strings.Contains(f.Detail, "workflows:write") {
			t.Errorf("warning %d is %+v", i, f)
		}
	}
	if len(l.asked) != 0 {
		t.Errorf("asked for %v", l.asked)
	}
	writer := reader
	writer.Scopes |= ScopeWorkflowsWrite
	if checked, err := fx.ValidateWorkflow(t.Context(), &writer, []byte(resourceful)); err != nil || !checked.Valid || len(checked.Warnings) != 0 || len(l.asked) != 3 {
		t.Errorf("validation says %+v, %v after reading %v", checked, err, l.asked)
	}
}

// Many resources are read several at a time, and bounded in their sum.
func TestResourcesAreBounded(t *testing.T) {
	fx, l := newLibraryFixture(t)
	l.wait, l.busy = make(chan struct{}), make(chan struct{}, 100)
	source := "document: {dsl: '1.0.3', namespace: test, name: many, version: '1.0.0'}\ndo:\n"
	big := "// " + strings.Repeat("x", 1<<20-8)
	for i := range 20 {
		uri := fmt.Sprintf("https://e.org/%d.js", i)
		l.content[uri] = big
		source += fmt.Sprintf("  - s%d: {run: {script: {language: js, source: {endpoint: '%s'}}}}\n", i, uri)
	}
	done := make(chan *Validation)
	go func() {
		checked, err := fx.ValidateWorkflow(t.Context(), fx.p, []byte(source))
		if err != nil {
			t.Error(err)
		}
		done <- checked
	}()
	<-l.busy
	close(l.wait)
	checked := <-done
	if l.most.Load() != maxResourceReads {
		t.Errorf("%d were read at once, want %d", l.most.Load(), maxResourceReads)
	}
	if checked.Valid || len(checked.Errors) != 4 || !strings.Contains(checked.Errors[0].Detail, "16777216 bytes") {
		t.Errorf("validation says %+v", checked)
	}

	// Without a fetcher, a definition that needs something is refused and says so.
	plain := newFixture(t)
	if checked, err := plain.ValidateWorkflow(t.Context(), plain.p, []byte(resourceful)); err != nil || checked.Valid || len(checked.Errors) != 2 {
		t.Errorf("validation says %+v, %v", checked, err)
	}
}

// The fetching ends when the client does not wait for the answer any more.
func TestFetchingEndsWithItsCaller(t *testing.T) {
	fx, l := newLibraryFixture(t)
	l.wait = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := fx.ValidateWorkflow(ctx, fx.p, []byte(resourceful)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
