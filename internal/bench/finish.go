package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

const (
	// finishWait is how long a client waits for one execution: the most that a server allows.
	finishWait = 60 * time.Second
	// warmUpTime comes before each measurement: plans are cached, connections are there.
	warmUpTime = time.Second
)

const oneSet = "set:\n  order: ${ .order }\n  total: ${ .amount }\n"

// finish measures start to finish: every client starts an execution, waits for its end, and
// starts the next. Only executions that have finished count, with all the time until the last
// of them has. One client alone shows what an execution takes, all of them what a server
// carries.
func (r *runner) finish(ctx context.Context) error {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{"application/json"}
		_, _ = w.Write([]byte(`{"ok":true}`))
	}))
	defer receiver.Close()
	for _, flow := range []struct{ name, definition string }{
		{"one set", tasks("finish-one-set", 1, oneSet)},
		{"ten HTTP steps", tasks("finish-ten-http", 10, call(receiver.URL))},
	} {
		workflow, err := r.api.apply(ctx, flow.definition)
		if err != nil {
			return err
		}
		if _, _, err := r.untilFinished(ctx, workflow, r.Connections, min(warmUpTime, r.Duration)); err != nil {
			return err
		}
		for _, clients := range []int{1, r.Connections} {
			rate, took, err := r.untilFinished(ctx, workflow, clients, r.Duration)
			if err != nil {
				return err
			}
			name := fmt.Sprintf("%s, start to finish, clients: %d", flow.name, clients)
			r.add(name+", rate", rate, "executions/s", rate/r.emptyRate)
			r.add(name+", p50", percentile(took, 0.5), "ms", 0)
			r.add(name+", p99", percentile(took, 0.99), "ms", 0)
		}
	}
	return nil
}

// call is a step that calls a receiver.
func call(url string) string {
	return "call: http\nwith:\n  method: get\n  endpoint: " + url + "\n"
}

// untilFinished runs executions one after another in each client, begins none after d, and
// lets those that run end. It returns how many per second finished, and how long each took,
// the shortest first.
func (r *runner) untilFinished(ctx context.Context, workflow string, clients int, d time.Duration) (rate float64, took []time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	path := fmt.Sprintf("%s/executions?wait=%s", workflow, finishWait)
	began := time.Now()
	var mu sync.Mutex
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			var own []time.Duration
			var failed error
			for failed == nil && ctx.Err() == nil && time.Since(began) < d {
				start := time.Now()
				if failed = r.runOne(ctx, path); failed == nil {
					own = append(own, time.Since(start))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, own...)
			if failed != nil && err == nil {
				err = failed
				cancel()
			}
		})
	}
	all.Wait()
	if err == nil {
		err = ctx.Err()
	}
	sortDurations(took)
	return float64(len(took)) / time.Since(began).Seconds(), took, err
}

// runOne starts an execution and waits until it has finished.
func (r *runner) runOne(ctx context.Context, path string) error {
	answer, err := r.api.post(ctx, path, []byte(startBody))
	if err != nil {
		return err
	}
	var execution struct{ Status string }
	if err := json.Unmarshal(answer, &execution); err != nil {
		return err
	}
	if execution.Status != "finished" {
		return fmt.Errorf("an execution is %q after %s: %s", execution.Status, finishWait, clip(answer))
	}
	return nil
}
