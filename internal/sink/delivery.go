package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// round takes a page of every stream that has something to deliver. again: there is more.
func (s *delivery) round(ctx context.Context) (again bool, err error) {
	var streams []store.SinkStream
	err = s.config.Store.View(ctx, func(r *store.Reader) (err error) {
		streams, err = r.SinkStreams(s.name)
		return err
	})
	if err != nil {
		return false, err
	}
	var behind int64
	failing := false
	nowMs := s.config.Now().UnixMilli()
	for _, stream := range streams {
		behind += max(0, stream.Last-stream.Number)
		failing = failing || stream.FailingMs != 0
	}
	s.behind.Store(behind)
	s.failing.Store(failing)
	for _, stream := range streams {
		if stream.Number >= stream.Last || stream.DueMs > nowMs {
			continue
		}
		if mine, err := s.keep(ctx); err != nil || !mine {
			return false, err
		}
		at := stream.Sink
		more, err := s.page(ctx, &at)
		if err != nil {
			return false, err
		}
		behind -= at.Number - stream.Number
		s.behind.Store(max(0, behind))
		again = again || more
	}
	return again, nil
}

// keep takes the lease of the sink, or prolongs it in time. mine is false if it is another
// process's.
func (s *delivery) keep(ctx context.Context) (mine bool, err error) {
	now := s.config.Now()
	if age := now.Sub(s.leased); age >= 0 && age < leaseAge {
		return true, nil
	}
	err = s.config.Store.Update(ctx, func(tx *store.Tx) error {
		return tx.TakeLease(store.SinkLease(s.name), s.node, now.UnixMilli(), now.Add(leaseTime).UnixMilli())
	})
	if errors.Is(err, store.ErrConflict) {
		return false, nil
	}
	if err == nil {
		s.leased = now
	}
	return err == nil, err
}

// page delivers up to a page of one stream and notes how far it got. again: there may be more
// that can be delivered now.
func (s *delivery) page(ctx context.Context, at *store.Sink) (again bool, err error) {
	events, last, err := s.read(ctx, *at)
	if err != nil {
		return false, err
	}
	s.skipDeleted(at, events, last)
	var failure error
	for i := range events {
		e := &events[i]
		if e.Origin != (chargehand.ExecutionID{}) && s.target.takes(e.Type) {
			if mine, err := s.keep(ctx); err != nil || !mine {
				break
			}
			if failure = s.deliver(ctx, e); failure != nil {
				break
			}
			s.succeeded(at)
		}
		at.Number = e.Number
	}
	if failure != nil && ctx.Err() == nil { // what is cut off by the end of the process is no failure
		s.failed(at, failure)
	}
	note, done := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer done()
	err = s.config.Store.Update(note, func(tx *store.Tx) error { return tx.MoveSink(at) })
	if errors.Is(err, store.ErrConflict) { // another process got further
		s.leased, err = time.Time{}, nil
	}
	return failure == nil && at.Number < last, err
}

// read reads the next events of a stream, and how far it goes.
func (s *delivery) read(ctx context.Context, at store.Sink) (events []store.Event, last int64, err error) {
	err = s.config.Store.View(ctx, func(r *store.Reader) error {
		stream, err := r.Stream(at.Account, at.Environment)
		if err != nil {
			return err
		}
		last, events = stream.Last, nil
		size := 0
		return r.Events(at.Account, at.Environment, at.Number, last, pageEvents, func(e *store.Event) (bool, error) {
			events = append(events, *e)
			size += len(e.Data.Inline)
			return size < pageBytes, nil
		})
	})
	return events, last, err
}

// skipDeleted goes to the first event that is still there, and tells of those that are not.
// Numbers have no gaps but where events were deleted.
func (s *delivery) skipDeleted(at *store.Sink, events []store.Event, last int64) {
	next := last + 1
	if len(events) > 0 {
		next = events[0].Number
	}
	if n := next - 1 - at.Number; n > 0 {
		s.dropped.Add(n)
		s.log.Warn("events were deleted before a sink could be sent those that are for it", "environment", at.Environment.String(), "events", n)
		at.Number = next - 1
	}
}

func (s *delivery) succeeded(at *store.Sink) {
	if at.FailingMs != 0 {
		s.log.Info("a sink takes events again", "environment", at.Environment.String())
	}
	at.Failures, at.FailingMs, at.DueMs = 0, 0, 0
}

// failed decides when to try again.
func (s *delivery) failed(at *store.Sink, failure error) {
	s.failures.Add(1)
	at.Failures++
	nowMs := s.config.Now().UnixMilli()
	pause := longestPause
	if at.Failures < 12 {
		pause = min(pause, firstPause<<(at.Failures-1))
	}
	at.DueMs = nowMs + pause.Milliseconds()
	if at.Failures >= maxFailures && at.FailingMs == 0 {
		at.FailingMs = nowMs
		s.log.Warn("a sink does not take an event; it is tried on, and events are kept as long as all are",
			"environment", at.Environment.String(), "number", at.Number+1, "error", failure)
	}
}

// deliver sends one event. One whose content is gone counts as deleted.
func (s *delivery) deliver(ctx context.Context, e *store.Event) error {
	data, err := engine.ReadPayload(ctx, s.config.Blobs, e.Data)
	if unrecoverable := (*engine.Unrecoverable)(nil); errors.Is(err, store.ErrNotFound) || errors.As(err, &unrecoverable) {
		s.dropped.Add(1)
		s.log.Error("the content of an event for a sink is missing or damaged", "environment", e.Environment.String(), "number", e.Number, "error", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the event: %w", err)
	}
	ctx, done := context.WithTimeout(ctx, requestTime)
	defer done()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.target.url.String(), bytes.NewReader(data))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/cloudevents+json; charset=utf-8")
	r.Header.Set("Chargehand-Environment", e.Environment.String())
	r.Header.Set("User-Agent", s.config.UserAgent)
	if user := s.target.url.User; user != nil {
		password, _ := user.Password()
		r.SetBasicAuth(user.Username(), password)
	}
	answer, err := s.config.Transport.RoundTrip(r) // which follows no redirect
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	// The connection is used again only if the answer was read.
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10))
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return fmt.Errorf("the sink answers %d", answer.StatusCode)
	}
	s.delivered.Add(1)
	return nil
}
