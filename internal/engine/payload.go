package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// Blobs keeps payloads that are too large for a row (store.InlineBytes). Implementations are
// safe for concurrent use.
type Blobs interface {
	// Put makes data durable and reserves it (store.Tx.ReserveBlob), so that it stays for an hour
	// without a reference. It does not keep data. It returns the SHA-256 of data. Errors: store.ErrUnavailable.
	Put(ctx context.Context, data []byte) (digest []byte, err error)
	// Get reads what Put has stored. Errors: store.ErrNotFound, store.ErrUnavailable, ErrCorrupt.
	Get(ctx context.Context, digest []byte) ([]byte, error)
}

// Inline is the payload of a value, in the row. Externalize moves it to the blob store if it is large.
func Inline(v value.Value) store.Payload {
	data := value.Marshal(v)
	return store.Payload{Inline: data, Size: int64(len(data))}
}

// Externalize moves a payload above store.InlineBytes to the blob store.
func Externalize(ctx context.Context, blobs Blobs, p *store.Payload) error {
	if len(p.Inline) <= store.InlineBytes {
		return nil
	}
	digest, err := blobs.Put(ctx, p.Inline)
	if err != nil {
		return err
	}
	p.Blob, p.Size, p.Inline = digest, int64(len(p.Inline)), nil
	return nil
}

// ReadPayload reads a payload from its row or from the blob store. Errors: *Unrecoverable: it is sealed and cannot be
// opened; store.ErrUnavailable: not yet, because its key is not known here; those of Blobs.
func ReadPayload(ctx context.Context, blobs Blobs, p store.Payload) ([]byte, error) {
	switch {
	case errors.Is(p.Damage, secret.ErrUnknownKey):
		return nil, fmt.Errorf("%w: read payload: %w", store.ErrUnavailable, p.Damage)
	case p.Damage != nil:
		return nil, Unreadable("payload", p.Damage)
	}
	if p.Blob == nil {
		return p.Inline, nil
	}
	data, err := blobs.Get(ctx, p.Blob)
	if errors.Is(err, ErrCorrupt) {
		return nil, Unreadable("payload", err)
	}
	return data, err
}

// ErrCorrupt says that what is stored cannot be read, now or later.
var ErrCorrupt = errors.New("stored data is damaged")

// ReadInput is the raw input of an execution; {} where none was given (T16). Errors: *Unrecoverable, those of Blobs.
func ReadInput(ctx context.Context, blobs Blobs, row *store.Execution) (value.Value, error) {
	if row.Input.Blob == nil && len(row.Input.Inline) == 0 && row.Input.Damage == nil {
		return map[string]any{}, nil
	}
	return readValue(ctx, blobs, row.Input, "input")
}

func readValue(ctx context.Context, blobs Blobs, p store.Payload, what string) (value.Value, error) {
	data, err := ReadPayload(ctx, blobs, p)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	v, err := value.Parse(data, value.Limits{Depth: value.MaxDepth})
	if err != nil {
		return nil, Unreadable(what, err)
	}
	return v, nil
}
