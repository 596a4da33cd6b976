package service

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// repetition is a request with an Idempotency-Key, and what it made.
type repetition func(fx *fixture, i *Idempotency) (id [16]byte, replayed bool, err error)

// repetitions are all POSTs. prepare makes what a request needs.
func repetitions(n *nodes) map[string]func() repetition {
	ctx := n.t.Context()
	flow := n.a.apply(definition("flow", "1.0.0"))
	var count int
	return map[string]func() repetition{
		"create": func() repetition {
			return func(fx *fixture, i *Idempotency) ([16]byte, bool, error) {
				e, replayed, err := fx.CreateExecution(ctx, fx.p, CreateExecution{Workflow: flow.ID, Idempotency: i})
				if err != nil {
					return [16]byte{}, false, err
				}
				return e.ID, replayed, nil
			}
		},
		"batch": func() repetition {
			return func(fx *fixture, i *Idempotency) ([16]byte, bool, error) {
				b, replayed, err := fx.CreateBatch(ctx, fx.p, CreateBatch{Workflow: flow.ID, Body: parse(n.t, `{"items": [{}, {}, {}]}`), Idempotency: i})
				if err != nil {
					return [16]byte{}, false, err
				}
				return b.ID, replayed, nil
			}
		},
		"retry": func() repetition {
			done := n.a.create(flow.ID, noInput)
			n.a.finish(done.ID, `{}`)
			return func(fx *fixture, i *Idempotency) ([16]byte, bool, error) {
				e, replayed, err := fx.RetryExecution(ctx, fx.p, RetryExecution{Workflow: flow.ID, Execution: done.ID, Idempotency: i})
				if err != nil {
					return [16]byte{}, false, err
				}
				return e.ID, replayed, nil
			}
		},
		"cancel": func() repetition {
			running := n.a.create(flow.ID, noInput)
			return func(fx *fixture, i *Idempotency) ([16]byte, bool, error) {
				e, replayed, err := fx.CancelExecution(ctx, fx.p, ChangeExecution{Workflow: flow.ID, Execution: running.ID, Idempotency: i})
				if err != nil {
					return [16]byte{}, false, err
				}
				return e.ID, replayed, nil
			}
		},
		"cancel batch": func() repetition {
			batch := n.a.createBatch(flow.ID, `{"items": [{}, {}]}`)
			return func(fx *fixture, i *Idempotency) ([16]byte, bool, error) {
				b, replayed, err := fx.CancelBatch(ctx, fx.p, ChangeBatch{Workflow: flow.ID, Batch: batch.ID, Idempotency: i})
				if err != nil {
					return [16]byte{}, false, err
				}
				return b.ID, replayed, nil
			}
		},
		"apply": func() repetition {
			count++
			source := definition(fmt.Sprint("new-", count), "1.0.0")
			return func(fx *fixture, i *Idempotency) ([16]byte, bool, error) {
				a, replayed, err := fx.ApplyWorkflow(ctx, fx.p, ApplyWorkflow{Definition: source, MediaType: mediaYAML, Idempotency: i})
				if err != nil {
					return [16]byte{}, false, err
				}
				if !a.Created || a.Revision != 1 {
					n.t.Errorf("the workflow is answered as %+v", a)
				}
				return a.ID, replayed, nil
			}
		},
		"publish": func() repetition {
			count++
			version := fmt.Sprintf("2.0.%d", count)
			n.a.applyAs(n.a.p, definition("flow", version), true)
			return func(fx *fixture, i *Idempotency) ([16]byte, bool, error) {
				v, replayed, err := fx.PublishVersion(ctx, fx.p, PublishVersion{Workflow: flow.ID, Version: version, Idempotency: i})
				if err != nil {
					return [16]byte{}, false, err
				}
				return v.Workflow, replayed, nil
			}
		},
		"key": func() repetition {
			return func(fx *fixture, i *Idempotency) ([16]byte, bool, error) {
				k, replayed, err := fx.CreateKey(ctx, fx.p, CreateKey{Body: map[string]any{"name": "x"}, Idempotency: i})
				if err != nil {
					return [16]byte{}, false, err
				}
				return k.ID, replayed, nil
			}
		},
		"upload": func() repetition {
			return func(fx *fixture, i *Idempotency) ([16]byte, bool, error) {
				own := *i
				own.BodyHash = [32]byte{}
				f, replayed, err := fx.UploadFile(ctx, fx.p, UploadFile{Name: "a", Content: strings.NewReader("same"), Idempotency: &own})
				if err != nil {
					return [16]byte{}, false, err
				}
				return f.ID, replayed, nil
			}
		},
	}
}

// sameKeyAtOnce: the second waits for the first and is answered as it was; with another body it is refused.
func sameKeyAtOnce(n *nodes) {
	all := repetitions(n)
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for round := range 45 {
		name := names[round%len(names)]
		request := all[name]()
		i := key(fmt.Sprint("k", round), "/"+name, "body")
		var ids [2][16]byte
		var replayed [2]bool
		a, b := n.each(
			func() (err error) { ids[0], replayed[0], err = request(n.a, i); return err },
			func() (err error) { ids[1], replayed[1], err = request(n.b, i); return err },
		)
		if a != nil || b != nil {
			n.t.Fatalf("%s: %v, %v", name, a, b)
		}
		if ids[0] != ids[1] || replayed[0] == replayed[1] {
			n.t.Fatalf("%s: made %x and %x, replayed %v", name, ids[0], ids[1], replayed)
		}
		if name == "upload" {
			continue // the body is the content
		}
		_, _, err := request(n.b, key(fmt.Sprint("k", round), "/"+name, "other"))
		wantCode(n.t, err, chargehand.CodeIdempotencyKeyReused)
	}
	if got := n.count(`SELECT COUNT(*) FROM idempotency`); got != 45 {
		n.t.Errorf("%d requests are remembered", got)
	}
}

// repeatedAfterACrash: a node dies behind the transaction; another one answers the repetition.
func repeatedAfterACrash(n *nodes) {
	for name, prepare := range repetitions(n) {
		request := prepare()
		i := key("k", "/"+name, "body")
		if id, _, err := n.dying(request, i); err == nil && id == [16]byte{} {
			n.t.Fatalf("%s: nothing is answered", name)
		}
		before := n.count(`SELECT COUNT(*) FROM idempotency`)
		if _, replayed, err := request(n.b, i); err != nil || !replayed {
			n.t.Errorf("%s: replayed %v, %v", name, replayed, err)
		}
		if after := n.count(`SELECT COUNT(*) FROM idempotency`); after != before {
			n.t.Errorf("%s: %d requests are remembered, then %d", name, before, after)
		}
	}
}

// dying makes a request on a node that loses the database with its first commit of a
// remembered request, so that nothing behind it happens.
func (n *nodes) dying(request repetition, i *Idempotency) ([16]byte, bool, error) {
	dies := n.a.node(nil)
	dies.db.DB = &diesAfter{DB: dies.db.DB, dead: &dies.db.broken, done: func() bool {
		return n.count(`SELECT COUNT(*) FROM idempotency`) > 0 && n.remembered(i)
	}}
	dies.engine = &fakeEngine{rows: dies.rows, now: n.a.now, watched: map[[16]byte]chan struct{}{}}
	dies.Service.engine = dies.engine
	return request(dies, i)
}

func (n *nodes) remembered(i *Idempotency) bool {
	hash := i.hash(n.a.p)
	err := n.a.rows.View(n.t.Context(), func(r *store.Reader) error {
		_, err := r.FindIdempotency(hash[:], 0)
		return err
	})
	return err == nil
}

// diesAfter is a database that is out of reach as soon as something is done.
type diesAfter struct {
	store.DB
	dead interface{ Store(bool) }
	done func() bool
}

func (d *diesAfter) Update(ctx context.Context, fn func(store.Conn) error) error {
	err := d.DB.Update(ctx, fn)
	if d.done() {
		d.dead.Store(true)
	}
	return err
}
