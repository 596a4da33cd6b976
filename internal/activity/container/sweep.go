package container

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// sweepInterval is the longest time between two sweeps.
const sweepInterval = 5 * time.Minute

// sweepSoon makes the sweep look for what is due next.
func (r *Runner) sweepSoon() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

func (r *Runner) sweepUntilStopped(ctx context.Context) {
	for ctx.Err() == nil {
		pass, cancel := context.WithTimeout(ctx, sweepInterval)
		next, err := r.sweep(pass)
		cancel()
		if err != nil && ctx.Err() == nil {
			r.cfg.Logger.Debug("sweep containers", "error", err)
		}
		timer := time.NewTimer(min(max(next, time.Second), sweepInterval))
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-r.kick:
		}
		timer.Stop()
	}
}

// sweep stops containers that no call waits for any more, and removes those whose time has
// come. It returns how long it is until the next one is due.
func (r *Runner) sweep(ctx context.Context) (next time.Duration, err error) {
	known := r.endedIDs() // before the list: one that ends meanwhile is not in it and stays known
	list, err := r.engine.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", labelKey)})
	if err != nil {
		return sweepInterval, err
	}
	r.forget(known, list.Items)
	next = sweepInterval
	for i := range list.Items {
		c := &list.Items[i]
		if r.isActive(c.ID) {
			continue
		}
		due, act, err := r.due(ctx, c)
		if err != nil {
			r.cfg.Logger.Debug("sweep a container", "container", c.ID, "error", err)
			continue
		}
		if act == nil {
			continue
		}
		if left := due.Sub(r.cfg.Now()); left > 0 {
			next = min(next, left)
			continue
		}
		if err := act(ctx, c.ID); err != nil {
			r.cfg.Logger.Warn("sweep a container", "container", c.ID, "error", err)
		}
	}
	return next, nil
}

// due tells what is to be done with a container, and when; nil: nothing.
func (r *Runner) due(ctx context.Context, c *container.Summary) (time.Time, func(context.Context, string) error, error) {
	deadline := time.UnixMilli(number(c.Labels[labelDeadline]))
	ended := c.State == container.StateExited || c.State == container.StateDead
	switch c.Labels[labelCleanup] {
	case cleanupNever:
		switch {
		case ended:
			return time.Time{}, nil, nil
		case c.State == container.StateCreated:
			return deadline, r.remove, nil
		}
		return deadline, r.halt, nil
	case cleanupEventually:
		if !ended {
			return deadline, r.remove, nil
		}
		finished, err := r.finished(ctx, c.ID)
		if err != nil {
			return time.Time{}, nil, err
		}
		after := time.Duration(number(c.Labels[labelAfter])) * time.Millisecond
		if !r.isOurs(c.ID) {
			after = max(after, r.cfg.CopyTime) // another server may still copy its files
		}
		return finished.Add(after), r.remove, nil
	}
	return deadline, r.remove, nil
}

func (r *Runner) finished(ctx context.Context, id string) (time.Time, error) {
	inspected, err := r.engine.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if cerrdefs.IsNotFound(err) {
		return r.cfg.Now(), nil
	}
	if err != nil {
		return time.Time{}, err
	}
	if inspected.Container.State == nil {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339Nano, inspected.Container.State.FinishedAt)
}

func (r *Runner) endedIDs() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.ended))
}

// forget drops of the ids those that nothing is to be done with any more.
func (r *Runner) forget(ids []string, there []container.Summary) {
	waiting := make(map[string]bool, len(there))
	for i := range there {
		waiting[there[i].ID] = there[i].Labels[labelCleanup] == cleanupEventually
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if !waiting[id] {
			delete(r.ended, id)
		}
	}
}

func (r *Runner) isActive(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active[id]
}

func (r *Runner) isOurs(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended[id]
}

// number reads a label; what is no number counts as long ago.
func number(label string) int64 {
	n, err := strconv.ParseInt(label, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
