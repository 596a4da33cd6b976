package temporal

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/pause"
)

const (
	// workerCountEvery is the time between two counts of workers.
	workerCountEvery = 30 * time.Second
	// pollerAge is the age of the last request of a worker that counts as alive: it waits for a minute at most.
	pollerAge = 90 * time.Second
)

// workerCount counts the workers that ask Temporal for work. Without any, executions are accepted and nothing else
// happens; a node without a worker of its own would not notice.
type workerCount struct {
	count func(ctx context.Context) (int, error)
	log   *slog.Logger

	workers atomic.Int64 // -1: not known
}

func newWorkerCount(count func(ctx context.Context) (int, error), log *slog.Logger) *workerCount {
	c := &workerCount{count: count, log: log}
	c.workers.Store(-1)
	return c
}

// run counts until ctx ends. It logs a warning when two counts in a row have found no worker. One such count is normal:
// a server that starts together with its worker may count before the worker polls.
func (c *workerCount) run(ctx context.Context) {
	for empty, logged := 0, false; ; {
		n, err := c.count(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil: // the relay logs that Temporal is away
			c.workers.Store(-1)
		case n > 0:
			c.workers.Store(int64(n))
			if logged {
				c.log.Info("workers take executions up again", "workers", n)
			}
			empty, logged = 0, false
		default:
			c.workers.Store(0)
			if empty++; empty > 1 && !logged {
				logged = true
				c.log.Warn("no worker asks Temporal for work; executions are accepted, and wait until there is one: start "+
					"`chargehand worker`, of the version of this server, with its namespace and task queue",
					"revision", machine.Revision)
			}
		}
		if pause.For(ctx, jitter(workerCountEvery)) != nil {
			return
		}
	}
}

// workers counts the workers that have lately polled for executions of this binary's revision.
func (c *cluster) workers(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, rpcTime)
	defer cancel()
	queue := workflowQueue(c.queue, machine.Revision)
	// The simpler request sees one partition of the queue, which not every worker asks.
	d, err := c.client.DescribeTaskQueueEnhanced(ctx, client.DescribeTaskQueueEnhancedOptions{
		TaskQueue: queue, TaskQueueTypes: []client.TaskQueueType{client.TaskQueueTypeWorkflow}, ReportPollers: true,
	})
	if err != nil {
		return 0, fmt.Errorf("ask for the workers of a task queue: %w", err)
	}
	names := make(map[string]bool)           // a worker asks several times at once
	for _, version := range d.VersionsInfo { //nolint:staticcheck // what replaces it knows no pollers
		for _, p := range version.TypesInfo[client.TaskQueueTypeWorkflow].Pollers {
			if time.Since(p.LastAccessTime) < pollerAge {
				names[p.Identity] = true
			}
		}
	}
	return len(names), nil
}

// Workers counts the workers that have lately polled a queue (Config.Queue) for executions of this binary's revision.
// Errors: those of Temporal.
func Workers(ctx context.Context, c client.Client, queue string) (int, error) {
	return (&cluster{client: c, queue: queue}).workers(ctx)
}
