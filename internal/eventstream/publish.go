package eventstream

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// Publication is an event on its way into the stream of an environment.
type Publication struct {
	Event  value.Value // the envelope: a CloudEvent as an object
	Dedupe [16]byte    // the same for what is the same event
	Origin chargehand.ExecutionID
}

// Received is an event from outside. Source and id tell it from others, as CloudEvents says.
func Received(event map[string]any) Publication {
	source, _ := event["source"].(string)
	id, _ := event["id"].(string)
	return Publication{Event: event, Dedupe: dedupe("http", []byte(source), []byte(id))}
}

// Emitted is the event of a Publish command. However often it is published, it is stored once.
func Emitted(execution chargehand.ExecutionID, command machine.CommandID, event value.Value) Publication {
	number := binary.BigEndian.AppendUint64(nil, uint64(command))
	return Publication{Event: event, Dedupe: dedupe("emit", execution[:], number), Origin: execution}
}

func dedupe(kind string, parts ...[]byte) (short [16]byte) {
	h := sha256.New()
	h.Write([]byte(kind))
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	copy(short[:], h.Sum(nil))
	return short
}

// Rows makes the rows of publications, to be inserted by store.Tx.InsertEvents. What is
// too large for a row is in the blob store afterwards. Errors: store.ErrUnavailable.
func Rows(ctx context.Context, blobs engine.Blobs, account int64, env chargehand.Environment, list []Publication) ([]store.Event, error) {
	events := make([]store.Event, len(list))
	for i, p := range list {
		envelope, _ := p.Event.(map[string]any)
		e := &events[i]
		*e = store.Event{Account: account, Environment: env, Dedupe: p.Dedupe, Origin: p.Origin}
		e.Type, _ = envelope["type"].(string)
		e.Data = engine.Inline(p.Event)
		if err := engine.Externalize(ctx, blobs, &e.Data); err != nil {
			return nil, fmt.Errorf("store event: %w", err)
		}
	}
	return events, nil
}

// Publish stores events durably and returns how many of them were new. The caller then notifies the Matcher.
// Errors: store.ErrUnavailable.
func Publish(
	ctx context.Context, st *store.Store, blobs engine.Blobs, from engine.Publisher, list []Publication, nowMs int64,
) (added int, err error) {
	events, err := Rows(ctx, blobs, from.Account, from.Environment, list)
	if err != nil {
		return 0, err
	}
	for i := range events {
		events[i].Starter = from.Starter
	}
	err = st.Update(ctx, func(tx *store.Tx) (err error) {
		if from.Execution != nil {
			if err := engine.LimitEvents(tx, from.Execution, events); err != nil {
				return err
			}
		}
		added, err = tx.InsertEvents(events, nowMs)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("publish events: %w", err)
	}
	return added, nil
}
