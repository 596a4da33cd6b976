package service

import (
	"context"
	"time"
)

// await calls read until it reports that there is nothing more to wait for, again at every
// change of the execution or batch with that id, and for at most wait. What read has found
// last is the answer, also when the time is over or ctx ends: never an empty one.
func (s *Service) await(ctx context.Context, id [16]byte, wait time.Duration, read func(context.Context) (done bool, err error)) error {
	return s.awaitSince(ctx, id, nil, wait, read)
}

// watch is a watch of the engine (engine.Engine.Watch).
type watch struct {
	changed <-chan struct{}
	stop    func()
}

// awaitSince is await for one who knows that there was something to wait for when since began: it reads only after a
// change since then, or at the end. since nil: read tells.
func (s *Service) awaitSince(
	ctx context.Context, id [16]byte, since *watch, wait time.Duration, read func(context.Context) (done bool, err error),
) error {
	if wait = min(wait, s.limits.Wait); wait <= 0 {
		_, err := read(ctx)
		return err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		w := since
		if w == nil {
			w = s.watch(id)
			done, err := read(context.WithoutCancel(ctx))
			if err != nil || done {
				w.stop()
				return err
			}
		}
		over := false
		select {
		case <-w.changed:
		case <-timer.C:
			over = true
		case <-ctx.Done():
			over = true
		}
		w.stop()
		if over {
			if since == nil {
				return nil
			}
			_, err := read(context.WithoutCancel(ctx))
			return err
		}
		since = nil
	}
}

func (s *Service) watch(id [16]byte) *watch {
	changed, stop := s.engine.Watch(id)
	return &watch{changed, stop}
}
