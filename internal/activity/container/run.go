package container

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/process/workspace"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
)

// cleanUpTimeout bounds the requests after the end of a container.
const cleanUpTimeout = 30 * time.Second

// folders are IN_DIR and OUT_DIR on this machine.
type folders struct{ in, out string }

// run makes a container, runs it to its end and cleans up after it as the spec says.
func (r *Runner) run(ctx context.Context, s *spec, local folders) (workspace.Outcome, *machine.Fault) {
	if err := r.removeLost(ctx, s.key); err != nil {
		return workspace.Outcome{}, r.failed(ctx, "remove the container of an earlier attempt", err)
	}
	if fault := r.ensureImage(ctx, s); fault != nil {
		return workspace.Outcome{}, fault
	}
	id, fault := r.create(ctx, s)
	if fault != nil {
		return workspace.Outcome{}, fault
	}
	started := false
	defer func() { r.cleanUp(ctx, s, id, started) }()
	copying := func(ctx context.Context) error { return r.copyIn(ctx, id, local) }
	if err := within(ctx, r.cfg.CopyTime, copying); err != nil {
		return workspace.Outcome{}, r.failed(ctx, "copy files into the container", err)
	}
	outcome, started, fault := r.process(ctx, s, id)
	if fault != nil {
		return workspace.Outcome{}, fault
	}
	if outcome.Code == 0 {
		fault = r.copyOut(ctx, id, local)
	}
	return outcome, fault
}

// within bounds requests to the engine. A request that the engine does not answer in time fails as such.
func within(ctx context.Context, limit time.Duration, ask func(ctx context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := ask(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w within %s", errNoAnswer, limit)
	}
	return err
}

var errNoAnswer = errors.New("the container engine did not finish this")

// failed is the fault of a request to the engine that went wrong.
func (r *Runner) failed(ctx context.Context, doing string, err error) *machine.Fault {
	if ctx.Err() != nil {
		return stopped()
	}
	r.cfg.Logger.Error(doing, "error", err)
	return engineFault(doing, err)
}

// removeLost removes what an earlier run of the same call left.
func (r *Runner) removeLost(ctx context.Context, key string) error {
	return within(ctx, r.cfg.PrepareTime, func(ctx context.Context) error {
		list, err := r.engine.ContainerList(ctx, client.ContainerListOptions{
			All: true, Filters: client.Filters{}.Add("label", labelKey+"="+key),
		})
		if err != nil {
			return err
		}
		for _, c := range list.Items {
			if err := r.remove(ctx, c.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// remove removes a container whatever it does. One that is gone or going is no error.
func (r *Runner) remove(ctx context.Context, id string) error {
	_, err := r.engine.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if cerrdefs.IsNotFound(err) || cerrdefs.IsConflict(err) { // conflict: its removal is in progress
		return nil
	}
	return err
}

func (r *Runner) ensureImage(ctx context.Context, s *spec) *machine.Fault {
	image := s.create.Config.Image
	if s.pull != pullAlways {
		err := r.inspectImage(ctx, image)
		switch {
		case err == nil:
			return nil
		case cerrdefs.IsInvalidArgument(err):
			return configuration(fmt.Sprintf("the image %q: %s", excerpt.Clip(strings.TrimSpace(image), clipBytes), excerpt.Clip(strings.TrimSpace(err.Error()), clipBytes)))
		case !cerrdefs.IsNotFound(err):
			return r.failed(ctx, "look for the image", err)
		case s.pull == pullNever:
			return configuration(fmt.Sprintf("the engine has no image %q, and pullPolicy is never", excerpt.Clip(strings.TrimSpace(image), clipBytes)))
		}
	}
	pullCtx, cancel := context.WithTimeout(ctx, r.cfg.PullTime)
	defer cancel()
	err := r.pull(pullCtx, image)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return stopped()
	case pullCtx.Err() != nil:
		f := runtimeFault("Image could not be pulled", fmt.Sprintf("the image %q was not pulled within %s", excerpt.Clip(strings.TrimSpace(image), clipBytes), r.cfg.PullTime))
		f.Retryable = true
		return f
	case cerrdefs.IsNotFound(err), cerrdefs.IsInvalidArgument(err), cerrdefs.IsUnauthorized(err), cerrdefs.IsPermissionDenied(err):
		return configuration(fmt.Sprintf("the image %q cannot be pulled: %s", excerpt.Clip(strings.TrimSpace(image), clipBytes), excerpt.Clip(strings.TrimSpace(err.Error()), clipBytes)))
	}
	f := runtimeFault("Image could not be pulled", fmt.Sprintf("the image %q could not be pulled: %s", excerpt.Clip(strings.TrimSpace(image), clipBytes), excerpt.Clip(strings.TrimSpace(err.Error()), clipBytes)))
	f.Retryable = true
	return f
}

func (r *Runner) inspectImage(ctx context.Context, image string) error {
	return within(ctx, r.cfg.PrepareTime, func(ctx context.Context) error {
		_, err := r.engine.ImageInspect(ctx, image)
		return err
	})
}

func (r *Runner) pull(ctx context.Context, image string) error {
	progress, err := r.engine.ImagePull(ctx, image, client.ImagePullOptions{})
	if err != nil {
		return err
	}
	defer progress.Close()
	return progress.Wait(ctx)
}

func (r *Runner) create(ctx context.Context, s *spec) (id string, fault *machine.Fault) {
	var created client.ContainerCreateResult
	err := within(ctx, r.cfg.PrepareTime, func(ctx context.Context) (err error) {
		created, err = r.engine.ContainerCreate(ctx, s.create)
		return err
	})
	switch {
	case err == nil:
		r.mark(created.ID, true)
		return created.ID, nil
	case errors.Is(err, errNoAnswer), ctx.Err() != nil:
		// Whether there is one is not known. It carries the key, and is not started.
		r.removeUnknown(ctx, s.key)
		return "", r.failed(ctx, "create the container", err)
	case cerrdefs.IsConflict(err):
		return "", configuration(fmt.Sprintf("there is already a container with the name %q: containers stay after their end unless lifetime.cleanup "+
			"says otherwise; remove it, or make the name different in each execution", s.create.Name))
	case cerrdefs.IsInvalidArgument(err), cerrdefs.IsNotFound(err):
		return "", configuration("the engine refuses the container: " + excerpt.Clip(strings.TrimSpace(err.Error()), clipBytes))
	}
	return "", r.failed(ctx, "create the container", err)
}

func (r *Runner) removeUnknown(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
	defer cancel()
	if err := r.removeLost(ctx, key); err != nil {
		r.cfg.Logger.Warn("a container that was never started stays", "error", err)
	}
}

// process starts the container and waits for its end. started tells that it ran.
func (r *Runner) process(ctx context.Context, s *spec, id string) (outcome workspace.Outcome, started bool, fault *machine.Fault) {
	var out *output
	err := within(ctx, r.cfg.PrepareTime, func(ctx context.Context) (err error) {
		out, err = r.attach(ctx, s, id)
		return err
	})
	if err != nil {
		return outcome, false, r.failed(ctx, "attach to the container", err)
	}
	defer out.close()
	err = within(ctx, r.cfg.PrepareTime, func(ctx context.Context) error {
		_, err := r.engine.ContainerStart(ctx, id, client.ContainerStartOptions{})
		return err
	})
	switch {
	case errors.Is(err, errNoAnswer), err != nil && ctx.Err() != nil:
		return outcome, true, r.failed(ctx, "start the container", err) // perhaps it did start
	case err != nil:
		return outcome, false, configuration("the container cannot be started: " + excerpt.Clip(strings.TrimSpace(err.Error()), clipBytes))
	}
	code, err := r.wait(ctx, id, out)
	out.close()
	outcome.Code, outcome.Stdout, outcome.Stderr = code, out.stdout.Bytes(), out.stderr.Bytes()
	var limit *process.LimitError
	switch {
	case ctx.Err() != nil:
		return outcome, true, stopped()
	case errors.As(err, &limit):
		return outcome, true, workspace.RunFault(r.cfg.Logger, err, outcome.Stderr)
	case err != nil:
		return outcome, true, r.failed(ctx, "wait for the container", err)
	}
	if code != 0 && r.outOfMemory(ctx, id) {
		return outcome, true, workspace.RunFault(r.cfg.Logger, r.limit(process.LimitMemory), outcome.Stderr)
	}
	return outcome, true, nil
}

// outOfMemory reports whether the kernel ended the container. Where the engine cannot tell,
// the exit code has to do.
func (r *Runner) outOfMemory(ctx context.Context, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, cleanUpTimeout)
	defer cancel()
	inspected, err := r.engine.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	return err == nil && inspected.Container.State != nil && inspected.Container.State.OOMKilled
}

func (r *Runner) limit(which process.Limit) error {
	return &process.LimitError{Limit: which, Limits: r.cfg.Limits}
}

// drainTime bounds the time that output takes to arrive after the process has ended.
const drainTime = 10 * time.Second

// wait waits until the process has ended and its output has arrived.
func (r *Runner) wait(ctx context.Context, id string, out *output) (code int, err error) {
	limited, cancel := context.WithTimeout(ctx, r.cfg.Limits.Time)
	defer cancel()
	waiting := r.engine.ContainerWait(limited, id, client.ContainerWaitOptions{})
	for drained := out.done; ; {
		select {
		case answer := <-waiting.Result:
			if answer.Error != nil && answer.Error.Message != "" {
				return 0, errors.New(answer.Error.Message)
			}
			return int(answer.StatusCode), r.drain(ctx, out)
		case err := <-waiting.Error:
			if limited.Err() != nil && ctx.Err() == nil {
				err = r.limit(process.LimitTime)
			}
			return 0, err
		case <-drained:
			if errors.Is(out.err, errOutput) {
				return 0, r.limit(process.LimitOutput)
			}
			drained = nil // the process closed its output; its end is still to come
		}
	}
}

func (r *Runner) drain(ctx context.Context, out *output) error {
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-out.done:
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return fmt.Errorf("its output did not end within %s after it had", drainTime)
	}
	if errors.Is(out.err, errOutput) {
		return r.limit(process.LimitOutput)
	}
	return out.err
}

// cleanUp stops what still runs, also after ctx was cancelled, and removes the container if
// it is time.
func (r *Runner) cleanUp(ctx context.Context, s *spec, id string, started bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.Limits.Grace+cleanUpTimeout)
	defer cancel()
	var err error
	if s.cleanup == cleanupAlways || !started {
		err = r.stopAndRemove(ctx, id, started)
	} else {
		err = r.halt(ctx, id)
	}
	if err != nil {
		r.cfg.Logger.Warn("clean up after a container; the sweep will try again", "container", id, "error", err)
	}
	r.mark(id, false)
	if s.cleanup == cleanupEventually {
		r.sweepSoon()
	}
}

func (r *Runner) stopAndRemove(ctx context.Context, id string, started bool) error {
	if started {
		if err := r.halt(ctx, id); err != nil {
			r.cfg.Logger.Warn("stop a container", "container", id, "error", err)
		}
	}
	return r.remove(ctx, id)
}

// halt stops a container: the signal that the image asks for, then after the grace SIGKILL.
// One that has ended already is no error.
func (r *Runner) halt(ctx context.Context, id string) error {
	grace := graceSeconds(r.cfg.Limits.Grace)
	_, err := r.engine.ContainerStop(ctx, id, client.ContainerStopOptions{Timeout: &grace})
	if cerrdefs.IsNotFound(err) || cerrdefs.IsNotModified(err) {
		return nil
	}
	return err
}

// mark notes that a Run works with a container, or that it is done with it.
func (r *Runner) mark(id string, active bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if active {
		r.active[id] = true
		return
	}
	delete(r.active, id)
	r.ended[id] = true
}
