package temporal

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// Payloads keeps payloads that are too large for a history in the blob store: Temporal's
// history then holds only the digest of a content. The content belongs to the execution and is
// deleted with it. It implements converter.StorageDriver, which is experimental: the version of the SDK is
// pinned, and the format below is ours. It is safe for concurrent use.
type Payloads struct {
	store *store.Store
	blobs engine.Blobs
}

// NewPayloads returns the driver over a store and its blobs.
func NewPayloads(db *store.Store, blobs engine.Blobs) *Payloads { return &Payloads{db, blobs} }

var _ converter.StorageDriver = (*Payloads)(nil)

// Name implements converter.StorageDriver. It is in histories: it never changes.
func (p *Payloads) Name() string { return "chargehand" }

// Type implements converter.StorageDriver.
func (p *Payloads) Type() string { return "chargehand.blob" }

const digestField = "sha256"

// Store implements converter.StorageDriver. It writes the content first and then the row that keeps it; Temporal gets
// the digest only after that. Errors: store.ErrUnavailable.
func (p *Payloads) Store(
	ctx converter.StorageDriverStoreContext, payloads []*commonpb.Payload,
) ([]converter.StorageDriverClaim, error) {
	execution, err := target(ctx.Target)
	if err != nil {
		return nil, err
	}
	references := make([]converter.StorageDriverClaim, len(payloads))
	digests := make([][]byte, len(payloads))
	for i, payload := range payloads {
		data, err := proto.Marshal(payload)
		if err != nil {
			return nil, fmt.Errorf("encode payload: %w", err)
		}
		err = ctx.GetLimiter().Permit(ctx.Context, payload, func() (err error) {
			return patiently(ctx.Context, func() (err error) {
				digests[i], err = p.blobs.Put(ctx.Context, data)
				return err
			})
		})
		if err != nil {
			return nil, fmt.Errorf("store payload: %w", err)
		}
		object := map[string]string{digestField: hex.EncodeToString(digests[i])}
		references[i] = converter.StorageDriverClaim{ClaimData: object}
	}
	err = patiently(ctx.Context, func() error {
		return p.store.Update(ctx.Context, func(tx *store.Tx) error {
			row, err := tx.FindExecution(execution)
			if err != nil {
				return err
			}
			for _, digest := range digests {
				if err := tx.KeepExecutionBlob(row.No, digest); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("keep payload: %w", err)
	}
	return references, nil
}

// storageTimeout is how long an outage of the stores may last before an attempt of an activity counts as lost. It is
// well below heartbeatTimeout, because the attempt sends no heartbeats meanwhile.
const storageTimeout = 10 * time.Second

// patiently repeats an operation while it fails because a store is unavailable.
func patiently(ctx context.Context, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, storageTimeout)
	defer cancel()
	return retryWhile(ctx, func(err error) bool { return errors.Is(err, store.ErrUnavailable) }, try)
}

// target is the execution whose workflow a payload belongs to.
func target(t converter.StorageDriverTargetInfo) (id chargehand.ExecutionID, err error) {
	w, ok := t.(converter.StorageDriverWorkflowInfo)
	if !ok {
		return id, errors.New("store payload: it does not belong to a workflow")
	}
	if err := id.UnmarshalText([]byte(w.WorkflowID)); err != nil {
		return id, fmt.Errorf("store payload: the workflow %q is none of an execution", w.WorkflowID)
	}
	return id, nil
}

// Retrieve implements converter.StorageDriver. Errors: store.ErrNotFound,
// store.ErrUnavailable.
func (p *Payloads) Retrieve(
	ctx converter.StorageDriverRetrieveContext, references []converter.StorageDriverClaim,
) ([]*commonpb.Payload, error) {
	payloads := make([]*commonpb.Payload, len(references))
	for i, reference := range references {
		digest, err := hex.DecodeString(reference.ClaimData[digestField])
		if err != nil || len(digest) == 0 {
			return nil, errors.New("read payload: the history names no content")
		}
		err = ctx.GetLimiter().Permit(ctx.Context, reference, func() (err error) {
			payloads[i], err = p.read(ctx.Context, digest)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return payloads, nil
}

func (p *Payloads) read(ctx context.Context, digest []byte) (*commonpb.Payload, error) {
	var data []byte
	err := patiently(ctx, func() (err error) {
		data, err = p.blobs.Get(ctx, digest)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read payload %x: %w", digest, err)
	}
	payload := new(commonpb.Payload)
	if err := proto.Unmarshal(data, payload); err != nil {
		return nil, fmt.Errorf("read payload %x: %w", digest, err)
	}
	return payload, nil
}
