package service

import (
	"context"
	"fmt"
	"strconv"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/cloudevent"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

const maxEvents = 1_000 // in one request

// PublishEvents is a request to store events.
type PublishEvents struct {
	// Body is an event in the JSON format of CloudEvents 1.0; with Batch an array of at most
	// 1,000 of them, which may be empty.
	Body        value.Value
	Batch       bool
	Idempotency *Idempotency
}

// PublishEvents stores events in the environment of the principal, all of them or none, and
// hands them to the executions and schedules that listen. They are durable when it returns nil.
// An event whose source and id are known already is accepted and not stored again. An answer to a human task is not
// stored: it answers the task. Events of the types of the service itself are refused.
// Codes: invalid_body, too_many_items, payload_too_large, quota_exceeded, and those of the Idempotency-Key; for an
// answer those of AnswerHumanTask.
func (s *Service) PublishEvents(ctx context.Context, p *Principal, r PublishEvents) (replayed bool, err error) {
	type nothing struct{}
	_, replayed, err = guarded(ctx, s, p, r.Idempotency, func(c *idempotencyGuard) (_ nothing, err error) {
		events, err := ReadEvents(r.Body, r.Batch)
		if err == nil {
			err = s.checkTypes(events, r.Batch)
		}
		if err != nil {
			return nothing{}, err
		}
		for i, event := range events {
			if id, ok := AnsweredTask(event); !ok {
				continue
			} else if !r.Batch {
				return nothing{}, s.answerByEvent(ctx, p, id, event, c)
			}
			return nothing{}, badBody(chargehand.FieldError{Pointer: pointer(strconv.Itoa(i), "type"), Code: "not_in_a_batch",
				Detail: "The event is an answer to a human task, which is published by itself."})
		}
		if len(events) > 0 {
			if err := s.admitEvents(p, len(events)); err != nil {
				return nothing{}, err
			}
			room := s.admission(p)
			defer func() { room.end(err == nil) }()
			if err := room.take(ctx, amount{events: int64(len(events))}); err != nil {
				return nothing{}, err
			}
			starter, err := s.starter(ctx, p)
			if err != nil {
				return nothing{}, err
			}
			from := engine.Publisher{Account: p.AccountNo, Environment: p.Environment, Starter: starter}
			if err := s.engine.Publish(ctx, from, events); err != nil {
				return nothing{}, storageError(err)
			}
			if p.Environment == chargehand.Live && !s.shared { // on a shared database the node with the lease reads every 250 ms
				s.schedules.Notify()
			}
		}
		if c == nil {
			return nothing{}, nil
		}
		// An event is known by its source and id. If a crash before this line makes the client publish
		// it again, it is stored once all the same.
		return nothing{}, s.update(ctx, func(tx *store.Tx) error { return c.record(tx, statusAccepted, "events", [16]byte{}) })
	}, func(*idempotencyGuard) (nothing, error) { return nothing{}, nil })
	return replayed, err
}

// ReadEvents checks the body of PublishEvents and returns its events.
// Codes: invalid_body, too_many_items, payload_too_large.
func ReadEvents(body value.Value, batch bool) ([]map[string]any, error) {
	list := []any{body}
	if batch {
		var ok bool
		if list, ok = body.([]any); !ok {
			return nil, badBody(chargehand.FieldError{Code: "not_an_array", Detail: "A batch of events must be a JSON array, not " + value.KindOf(body) + "."})
		}
		if len(list) > maxEvents {
			return nil, chargehand.NewError(chargehand.CodeTooManyItems,
				fmt.Sprintf("The batch has %d events; at most %d are allowed. Send several batches.", len(list), maxEvents))
		}
	}
	events := make([]map[string]any, len(list))
	var wrong []chargehand.FieldError
	for i, v := range list {
		var at []string
		if batch {
			at = []string{strconv.Itoa(i)}
		}
		given, ok := v.(map[string]any)
		if !ok {
			wrong = append(wrong, chargehand.FieldError{Pointer: pointer(at...), Code: "not_an_object", Detail: "An event must be a JSON object, not " + value.KindOf(v) + "."})
		}
		var problems []cloudevent.Problem
		if ok {
			events[i], problems = cloudevent.Check(given)
		}
		for _, p := range problems {
			path := at
			if p.Name != "" {
				path = append(path[:len(path):len(path)], p.Name)
			}
			wrong = append(wrong, chargehand.FieldError{Pointer: pointer(path...), Code: p.Code, Detail: p.Detail})
		}
		if len(wrong) >= maxFields {
			break
		}
	}
	if len(wrong) > 0 {
		return nil, badBody(wrong...)
	}
	for i, event := range events {
		if _, p := cloudevent.Size(event); p != nil {
			at := ""
			if batch {
				at = "/" + strconv.Itoa(i)
			}
			return nil, chargehand.NewError(chargehand.CodePayloadTooLarge, p.Detail, chargehand.FieldError{Pointer: at, Code: p.Code, Detail: p.Detail})
		}
	}
	return events, nil
}

// deleteEvents deletes events that are past their time. It takes up to sweepRows of
// all streams together.
func (s *Service) deleteEvents(ctx context.Context) (n int, err error) {
	var streams []store.Stream
	err = s.view(ctx, func(r *store.Reader) (err error) {
		streams, err = r.Streams()
		return err
	})
	for i := 0; i < len(streams) && n < sweepRows && err == nil; i++ {
		before, deleted := s.now().Add(-s.retention.Events).UnixMilli(), 0
		err = s.update(ctx, func(tx *store.Tx) (err error) {
			deleted, err = tx.DeleteEvents(streams[i].Account, streams[i].Environment, before, sweepRows-n)
			return err
		})
		n += deleted
	}
	return n, err
}
