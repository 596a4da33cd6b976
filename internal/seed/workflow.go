package seed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
)

// workflow is a workflow of the history with its versions, from the oldest.
type workflow struct {
	store.Workflow
	weight   int // how many of 100 executions are of it
	kind     kind
	versions []version
}

type version struct {
	revision int64
	plan     *plan.Plan
}

// kind says how executions of a workflow come to be.
type kind int

const (
	plain  kind = iota // a call and what is made of it
	loops              // some iterations
	parent             // starts another workflow
	child              // is started by another workflow only
	waits              // waits for a time
)

const (
	importing = `document: {dsl: '1.0.3', namespace: orders, name: import, version: '%s', title: Import of orders}
do:
- read: {call: http, with: {method: get, endpoint: 'https://orders.invalid/v1/orders'}}
- check: {if: '${ .refused == true }', raise: {error: {type: 'https://orders.invalid/refused', status: 422, title: Refused, detail: '${ "Order \(.n) of customer \(.customer) was refused" }'}}}
- sum: {set: {customer: '${ .customer }', total: '${ .n * 3 }'}}
`
	charging = `document: {dsl: '1.0.3', namespace: billing, name: charge, version: '%s', title: Charge a card}
do:
- charge: {call: http, with: {method: post, endpoint: 'https://billing.invalid/charges'}}
- note: {set: {charged: '${ .n }'}}
`
	syncing = `document: {dsl: '1.0.3', namespace: crm, name: sync, version: '%s'}
do:
- fetch: {call: http, with: {method: get, endpoint: 'https://crm.invalid/contacts'}}
- note: {set: {contact: '${ .customer }'}}
`
	mailing = `document: {dsl: '1.0.3', namespace: mail, name: send, version: '%s'}
do:
- send: {call: http, with: {method: post, endpoint: 'https://mail.invalid/send'}}
`
	reporting = `document: {dsl: '1.0.3', namespace: reports, name: nightly, version: '%s', title: Nightly report}
do:
- days:
    for: {each: day, in: '${ [range(.days)] }'}
    do:
    - day: {set: {day: '${ $day }'}}
- close: {call: http, with: {method: post, endpoint: 'https://reports.invalid/close'}}
`
	fulfilling = `document: {dsl: '1.0.3', namespace: orders, name: fulfil, version: '%s', title: Fulfil an order}
do:
- ship: {run: {workflow: {namespace: orders, name: ship, version: '1.0.0', input: '${ . }'}}}
- close: {call: http, with: {method: post, endpoint: 'https://orders.invalid/v1/close'}}
`
	shipping = `document: {dsl: '1.0.3', namespace: orders, name: ship, version: '%s', title: Ship a parcel}
do:
- label: {call: http, with: {method: post, endpoint: 'https://parcels.invalid/labels'}}
`
	reminding = `document: {dsl: '1.0.3', namespace: billing, name: remind, version: '%s', title: Remind of an invoice}
do:
- rest: {wait: {days: 60}}
- remind: {call: http, with: {method: post, endpoint: 'https://billing.invalid/reminders'}}
`
)

// definitions are those of the workflows. The order is that of their creation.
var definitions = []struct {
	text     string
	weight   int
	kind     kind
	versions []string
}{
	{importing, 45, plain, []string{"1.0.0", "1.1.0", "2.0.0"}},
	{charging, 20, plain, []string{"1.0.0", "1.0.1"}},
	{syncing, 15, plain, []string{"0.9.0"}},
	{mailing, 12, plain, []string{"1.0.0"}},
	{reporting, 5, loops, []string{"1.0.0", "2.0.0"}},
	{fulfilling, 2, parent, []string{"1.0.0"}},
	{shipping, 0, child, []string{"1.0.0"}},
	{reminding, 1, waits, []string{"1.0.0"}},
}

// putWorkflows makes the workflows of the history, or takes those that there are.
func putWorkflows(ctx context.Context, st *store.Store, account int64, at time.Time) ([]workflow, error) {
	list := make([]workflow, len(definitions))
	err := st.Update(ctx, func(tx *store.Tx) error {
		for i, d := range definitions {
			w := workflow{weight: d.weight, kind: d.kind}
			for _, version := range d.versions {
				if err := w.put(tx, account, fmt.Appendf(nil, d.text, version), at.UnixMilli()); err != nil {
					return err
				}
			}
			list[i] = w
		}
		return nil
	})
	return list, err
}

// put adds a version to a workflow, and publishes it.
func (w *workflow) put(tx *store.Tx, account int64, source []byte, atMs int64) error {
	document, problems := dsl.Parse(source)
	if problems.HasErrors() {
		return fmt.Errorf("parse definition: %w", problems.Err())
	}
	compiled, problems := plan.Compile(document, plan.Options{})
	if compiled == nil {
		return fmt.Errorf("compile definition: %w", problems.Err())
	}
	head := compiled.Document()
	if w.No == 0 {
		found, err := tx.WorkflowByName(account, head.Namespace, head.Name)
		switch {
		case err == nil:
			w.Workflow = found
		case errors.Is(err, store.ErrNotFound):
			w.Workflow = store.Workflow{ID: chargehand.WorkflowID(newID(atMs, rand.Uint64())), Account: account, Namespace: head.Namespace, Name: head.Name, CreatedMs: atMs}
			err = tx.InsertWorkflow(&w.Workflow)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	revision, err := tx.RevisionByVersion(w.No, head.Version, true)
	if err == nil {
		w.versions = append(w.versions, version{revision.No, compiled})
		return nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	digest := plan.SourceDigest(source, nil)
	definition := store.Definition{Account: account, Digest: digest[:], MediaType: "application/yaml", Source: source}
	if err := tx.PutDefinition(&definition); err != nil {
		return err
	}
	revision = store.Revision{Workflow: w.No, Version: head.Version, Definition: definition.No, Digest: digest[:], Title: head.Title, CreatedMs: atMs}
	if err := tx.InsertRevision(&revision); err != nil {
		return err
	}
	w.Published, w.UpdatedMs = revision.No, max(atMs, w.UpdatedMs)
	w.versions = append(w.versions, version{revision.No, compiled})
	return tx.UpdateWorkflow(&w.Workflow)
}
