package service

import (
	"context"
	"time"
)

// await calls read until it reports that there is nothing more to wait for, again at every
// change of the execution or batch with that id, and for at most wait. What read has found
// last is the answer, also when the time is over or ctx ends: never an empty one.
func (s *Service) await(ctx context.Context, id [16]byte, wait time.Duration, read func(context.Context) (done bool, err error)) error {
	if wait = min(wait, s.limits.Wait); wait <= 0 {
		_, err := read(ctx)
		return err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		changed, stop := s.engine.Watch(id)
		done, err := read(context.WithoutCancel(ctx))
		if err != nil || done {
			stop()
			return err
		}
		over := false
		select {
		case <-changed:
		case <-timer.C:
			over = true
		case <-ctx.Done():
			over = true
		}
		stop()
		if over {
			return nil
		}
	}
}
