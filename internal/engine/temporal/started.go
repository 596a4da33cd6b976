package temporal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/temporal"

	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// startedTime is the longest time between Temporal's record that a task has started and its arrival at the worker.
	// A task that has not arrived so long after the worker's last poll never arrives.
	startedTime = 500 * time.Millisecond
	// returnTime bounds the search for tasks that a stop has lost. A task that the search does not find is lost when
	// its heartbeat is missed.
	returnTime = 5 * time.Second
	// returnsAtOnce is the number of workflows that are described at once.
	returnsAtOnce = 8
	// attemptTime is how long an attempt is remembered after its end, at least: until Temporal
	// knows its outcome, or has missed its heartbeats.
	attemptTime = reportTimeout + heartbeatTimeout
)

// errNotBegun is the error of an attempt that no worker has begun.
func errNotBegun() error {
	return sdk.NewNonRetryableApplicationError("the worker stopped before the task began", codeNotBegun, nil)
}

// isNotBegun reports whether an attempt has not begun, and may be made again as if nothing had happened.
func isNotBegun(err error) bool {
	var failed *sdk.ApplicationError
	return errors.As(err, &failed) && failed.Type() == codeNotBegun
}

// workerName is the identity of a worker, which no other has ever had.
func workerName() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%d@%s@%s", os.Getpid(), host, rand.Text())
}

// attemptID names an attempt of an activity.
type attemptID struct{ run, activity string }

func attemptOf(info activity.Info) attemptID {
	return attemptID{run: info.WorkflowExecution.RunID, activity: info.ActivityID}
}

// startedAttempts knows which attempts a worker has begun, for as long as Temporal may take them for
// running. It is safe for concurrent use.
type startedAttempts struct {
	mu      sync.Mutex
	closed  bool
	running map[attemptID]struct{}
	ended   map[attemptID]struct{}
	older   map[attemptID]struct{} // attempts that ended before turned
	turned  time.Time
}

// begin reports false if the attempt must not begin any more.
func (l *startedAttempts) begin(id attemptID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if l.running == nil {
		l.running = make(map[attemptID]struct{})
	}
	l.running[id] = struct{}{}
	return true
}

func (l *startedAttempts) end(id attemptID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, id)
	if now := time.Now(); l.ended == nil || now.Sub(l.turned) > attemptTime {
		l.older, l.ended, l.turned = l.ended, make(map[attemptID]struct{}), now
	}
	l.ended[id] = struct{}{}
}

// close makes begin report false from now on.
func (l *startedAttempts) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

func (l *startedAttempts) has(id attemptID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, attempts := range [...]map[attemptID]struct{}{l.running, l.ended, l.older} {
		if _, ok := attempts[id]; ok {
			return true
		}
	}
	return false
}

// returnUnbegun gives back the tasks that Temporal believes this worker to carry out and that never reached it
// (DESIGN.md "A worker's stop"). Call it when the worker has not polled since the given time. It reads every execution
// that holds a slot, because only those have activities.
func (a *activities) returnUnbegun(since time.Time) (returned int, err error) {
	a.startedAttempts.close()
	ctx, cancel := context.WithTimeout(context.Background(), returnTime)
	defer cancel()
	var after *store.Execution
	for {
		var page []store.Execution
		err := a.Store.View(ctx, func(r *store.Reader) (err error) {
			page, err = r.ScanUnfinished(store.StateActive, after, walkPage)
			return err
		})
		if err != nil || len(page) == 0 {
			return returned, err
		}
		if err := pause.For(ctx, time.Until(since.Add(startedTime))); err != nil {
			return returned, err
		}
		n, err := a.returnPage(ctx, page)
		returned += n
		if err != nil || len(page) < walkPage {
			return returned, err
		}
		after = &page[len(page)-1]
	}
}

// returnPage gives back the lost tasks of a page of executions, several at once.
func (a *activities) returnPage(ctx context.Context, page []store.Execution) (returned int, err error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	next := make(chan *store.Execution)
	for range min(returnsAtOnce, len(page)) {
		all.Go(func() {
			for row := range next {
				n, failed := a.returnOf(ctx, row)
				mu.Lock()
				returned, err = returned+n, errors.Join(err, failed)
				mu.Unlock()
			}
		})
	}
	for i := range page {
		if ctx.Err() != nil {
			break
		}
		next <- &page[i]
	}
	close(next)
	all.Wait()
	return returned, errors.Join(err, ctx.Err())
}

// returnOf gives back this worker's lost tasks of one execution.
func (a *activities) returnOf(ctx context.Context, row *store.Execution) (returned int, err error) {
	d, err := a.Client.DescribeWorkflowExecution(ctx, row.ID.String(), "")
	if isNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("ask for the activities of an execution: %w", err)
	}
	run := d.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	for _, p := range d.GetPendingActivities() {
		if !a.isLost(run, p) {
			continue
		}
		err := a.Client.CompleteActivityByID(ctx, a.Namespace, row.ID.String(), run, p.GetActivityId(), nil, errNotBegun())
		if err != nil && !isNotFound(err) {
			return returned, fmt.Errorf("give a task back: %w", err)
		}
		returned++
	}
	return returned, nil
}

func (a *activities) isLost(run string, p *workflowpb.PendingActivityInfo) bool {
	return p.GetActivityType().GetName() == performType && p.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED &&
		p.GetLastWorkerIdentity() == a.identity && !a.startedAttempts.has(attemptID{run: run, activity: p.GetActivityId()})
}
