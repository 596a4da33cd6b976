package temporal

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/lru"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// origin holds what the executions of a revision have in common. It never changes.
type origin struct {
	account    chargehand.AccountID
	workflow   chargehand.WorkflowID
	definition string
	resources  []byte     // pinned with it
	digest     string     // of both, in hex
	secret     *plan.Plan // nil if it declares no secrets
}

const (
	maxOriginBytes = 32 << 20
	maxBatchIDs    = 4096
	// rowBytes is the size of an entry without its texts.
	rowBytes = 256
)

// origins reads the origins of executions, and caches those that were used last. It is safe for concurrent use.
type origins struct {
	store   *store.Store
	plans   engine.Plans
	byNo    *lru.Cache[int64, origin]             // by revision
	batches *lru.Cache[int64, chargehand.BatchID] // by number
}

func newOrigins(st *store.Store, plans engine.Plans) *origins {
	return &origins{
		store: st, plans: plans,
		byNo:    lru.New[int64, origin](lru.Bounds{Size: maxOriginBytes}, nil),
		batches: lru.New[int64, chargehand.BatchID](lru.Bounds{Entries: maxBatchIDs}, nil),
	}
}

// of finds the origin of a revision. Errors: store.ErrNotFound, store.ErrUnavailable.
func (o *origins) of(ctx context.Context, revision int64) (origin, error) {
	if found, ok := o.byNo.Get(revision); ok {
		return found, nil
	}
	var got origin
	err := o.store.View(ctx, func(r *store.Reader) error {
		v, err := r.RevisionByNo(revision)
		if err != nil {
			return err
		}
		d, err := r.Definition(v.Definition)
		if err != nil {
			return err
		}
		w, err := r.WorkflowByNo(v.Workflow)
		if err != nil {
			return err
		}
		a, err := r.AccountByNo(w.Account)
		if err != nil {
			return err
		}
		got = origin{
			account: a.ID, workflow: w.ID, definition: string(d.Source), resources: d.Resources,
			digest: hex.EncodeToString(d.Digest),
		}
		return nil
	})
	if err != nil {
		return origin{}, fmt.Errorf("read definition: %w", err)
	}
	if o.plans != nil {
		p, err := o.plans.Plan(ctx, revision)
		switch {
		case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrNotFound), ctx.Err() != nil:
			return origin{}, fmt.Errorf("read definition: %w", err)
		case err != nil:
			return got, nil // the workflow finds the same error, and ends
		}
		if p.UsesSecrets() {
			got.secret = p
		}
	}
	o.byNo.Add(revision, got, len(got.definition)+len(got.resources)+rowBytes)
	return got, nil
}

// batch finds the id of a batch; empty for none.
func (o *origins) batch(ctx context.Context, no int64) (string, error) {
	if no == 0 {
		return "", nil
	}
	if id, ok := o.batches.Get(no); ok {
		return id.String(), nil
	}
	var b store.Batch
	err := o.store.View(ctx, func(r *store.Reader) (err error) {
		b, err = r.BatchByNo(no)
		return err
	})
	if err != nil {
		return "", err
	}
	o.batches.Add(no, b.ID, 0)
	return b.ID.String(), nil
}

// started makes the argument and attributes of the workflow of a row. The row has its input, or says that it is in the
// blob store. Errors: *engine.Unrecoverable.
func (r *relay) started(ctx context.Context, row *store.Execution) (started, error) {
	o, err := r.origins.of(ctx, row.Revision)
	if err != nil {
		return started{}, missing("definition", err)
	}
	batch, err := r.origins.batch(ctx, row.Batch)
	if err != nil {
		return started{}, missing("batch", err)
	}
	input, err := engine.ReadPayload(ctx, r.Blobs, row.Input)
	if err != nil {
		return started{}, missing("input", err)
	}
	at, err := r.position(ctx, row)
	if err != nil {
		return started{}, err
	}
	secrets, err := r.pin(ctx, row, o.secret)
	if err != nil {
		return started{}, err
	}
	return started{
		argument: argument{
			Execution: row.ID, No: row.No, Account: o.account, Environment: row.Environment, Revision: row.Machine,
			Runtime: r.Runtime, Digest: o.digest, Definition: o.definition, Resources: o.resources,
			StartedMs: row.StartedMs, Input: input, Queue: r.Queue,
			Lifecycle: r.Lifecycle, Metadata: r.Metadata, Confidential: secrets != nil, Secrets: secrets,
			Suspended: row.Phase == chargehand.Suspended, Position: at, TellsWaits: true, TellsEnd: true,
		},
		attributes: attributes{
			Account: o.account.String(), Environment: row.Environment.String(), Workflow: o.workflow.String(), Batch: batch,
			Phase: chargehand.Running.String(),
		},
	}, nil
}

// position reads the position of a row; nil: it has none. Errors: *engine.Unrecoverable.
func (r *relay) position(ctx context.Context, row *store.Execution) (*position, error) {
	if row.RetryOf.IsZero() {
		return nil, nil
	}
	p, err := r.Plans.Plan(ctx, row.Revision)
	if err != nil {
		return nil, missing("definition", err)
	}
	event, err := engine.ReadPosition(ctx, r.Store, r.Blobs, r.Sealer, row, p)
	if err != nil || event == nil {
		return nil, err
	}
	at := machine.PositionOf(*event)
	return &position{Task: at.Task, Input: value.Marshal(at.Input), Context: value.Marshal(at.Context)}, nil
}

// event is the first event of an execution with a position.
func (p *position) event(timeMs int64) (machine.Event, error) {
	limits := value.Limits{Depth: value.MaxDepth}
	input, err := value.Parse(p.Input, limits)
	if err != nil {
		return machine.Event{}, err
	}
	data, err := value.Parse(p.Context, limits)
	if err != nil {
		return machine.Event{}, err
	}
	at := machine.Position{Task: p.Task, TaskData: machine.TaskData{Input: input, Context: data}}
	return at.Event(timeMs), nil
}

// errEnded says that an execution has ended before it was started.
var errEnded = errors.New("the execution has ended")

// pin pins the secrets that a plan declares, unless an earlier attempt has, and returns the pinned ones as JSON. A nil
// plan declares none. Errors: errEnded, *engine.Unrecoverable.
func (r *relay) pin(ctx context.Context, row *store.Execution, p *plan.Plan) ([]byte, error) {
	if p == nil {
		return nil, nil
	}
	var secrets *engine.Secrets
	err := r.Store.Update(ctx, func(tx *store.Tx) error {
		now, err := tx.LockExecution(row.No)
		if errors.Is(err, store.ErrNotFound) || err == nil && now.State == store.StateEnded {
			return errEnded
		}
		if err == nil {
			secrets, err = engine.PinSecrets(tx, row, p, r.Sealer)
		}
		return err
	})
	if err != nil {
		return nil, engine.SecretsError("secrets", err)
	}
	values := make(map[string]any, len(secrets.Values()))
	for name, value := range secrets.Values() {
		values[name] = value
	}
	return value.Marshal(values), nil
}

func missing(what string, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return engine.Unreadable(what, err)
	}
	return err
}
