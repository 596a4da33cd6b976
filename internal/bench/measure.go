package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// input is 64 bytes of JSON.
const input = `{"order":"2026-000001","customer":"c-4711","amount":129.9,"n":10}`

const startBody = `{"input":` + input + `}`

const head = "document: {dsl: '1.0.3', namespace: bench, name: %s, version: '1.0.0'}\ndo:\n"

func tasks(name string, n int, task string) string {
	var b strings.Builder
	fmt.Fprintf(&b, head, name)
	for i := range n {
		fmt.Fprintf(&b, "  - step%d:\n", i)
		for line := range strings.SplitSeq(strings.TrimRight(task, "\n"), "\n") {
			b.WriteString("      " + line + "\n")
		}
	}
	return b.String()
}

// empty measures an empty JSON handler, in a process of its own, with the same requests.
func (r *runner) empty(ctx context.Context) error {
	url, stop, err := startEmptyHandler(ctx)
	if err != nil {
		return err
	}
	defer stop()
	post := func(ctx context.Context) error {
		_, err := r.api.send(ctx, http.MethodPost, url, "application/json", []byte(startBody))
		return err
	}
	if _, _, err := load(ctx, r.Connections, 300*time.Millisecond, post); err != nil {
		return err
	}
	r.emptyRate, _, err = load(ctx, r.Connections, r.Duration, post)
	r.add("empty handler", r.emptyRate, "requests/s", 0)
	return err
}

// executions measures accepted and finished executions per second: the clock stops when
// the last one has ended.
func (r *runner) executions(ctx context.Context, name, definition string) (count int64, err error) {
	workflow, err := r.api.apply(ctx, definition)
	if err != nil {
		return 0, err
	}
	start := func(ctx context.Context) error {
		_, err := r.api.post(ctx, workflow+"/executions", []byte(startBody))
		return err
	}
	began := time.Now()
	_, count, err = load(ctx, r.Connections, r.Duration, start)
	if err != nil {
		return 0, err
	}
	if err := r.api.awaitEnded(ctx, workflow); err != nil {
		return 0, err
	}
	rate := float64(count) / time.Since(began).Seconds()
	r.add(name+", accepted and finished", rate, "executions/s", rate/r.emptyRate)
	return count, nil
}

func (r *runner) trivial(ctx context.Context) error {
	before := r.diskBytes()
	count, err := r.executions(ctx, "one set", tasks("trivial", 1, oneSet))
	if err != nil || r.DataDir == "" {
		return err
	}
	after := r.quietDisk(ctx)
	r.add("one set, on disk", float64(after-before)/float64(max(count, 1)), "bytes/execution", 0)
	return nil
}

func (r *runner) tenSet(ctx context.Context) error {
	_, err := r.executions(ctx, "ten sets", tasks("ten-sets", 10, "set:\n  order: ${ .order }\n  n: ${ .n + 1 }\n"))
	return err
}

// wait measures start to finish on one connection.
func (r *runner) wait(ctx context.Context) error {
	workflow, err := r.api.apply(ctx, tasks("trivial", 1, oneSet))
	if err != nil {
		return err
	}
	var took []time.Duration
	_, _, err = load(ctx, 1, r.Duration, func(ctx context.Context) error {
		began := time.Now()
		_, err := r.api.post(ctx, workflow+"/executions?wait=30s", []byte(startBody))
		took = append(took, time.Since(began))
		return err
	})
	sortDurations(took)
	r.add("one set with wait, one connection, p50", percentile(took, 0.5), "ms", 0)
	r.add("one set with wait, one connection, p99", percentile(took, 0.99), "ms", 0)
	return err
}

// executionsPerSecond of the wanted duration are started by tenHTTP: about as many as a
// server finishes, so that its queue stays far from its bound.
const executionsPerSecond = 1000

// tenHTTP counts the calls that arrive at a local receiver while executions of ten HTTP
// steps run, beside what a bare client reaches at the same receiver.
func (r *runner) tenHTTP(ctx context.Context) error {
	var calls atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.Header()["Content-Type"] = []string{"application/json"}
		_, _ = w.Write([]byte(`{"ok":true}`))
	}))
	defer receiver.Close()
	bare, _, err := load(ctx, r.Connections, r.Duration, func(ctx context.Context) error {
		_, err := r.api.send(ctx, http.MethodGet, receiver.URL, "application/json", nil)
		return err
	})
	if err != nil {
		return err
	}
	workflow, err := r.api.apply(ctx, tasks("ten-http", 10, call(receiver.URL)))
	if err != nil {
		return err
	}
	calls.Store(0)
	var started atomic.Int64
	most := int64(executionsPerSecond * r.Duration.Seconds())
	began := time.Now()
	_, _, err = load(ctx, r.Connections, time.Minute, func(ctx context.Context) error {
		if started.Add(1) > most {
			return context.DeadlineExceeded // enough
		}
		_, err := r.api.post(ctx, workflow+"/executions", []byte(startBody))
		return err
	})
	if err == nil {
		err = r.api.awaitEnded(ctx, workflow)
	}
	rate := float64(calls.Load()) / time.Since(began).Seconds()
	if err == nil && calls.Load() == 0 {
		err = errors.New("no call arrived; the server needs --allow-egress 127.0.0.1")
	}
	r.add("bare HTTP client", bare, "calls/s", 0)
	r.add("ten HTTP steps, calls that arrive", rate, "calls/s", rate/bare)
	return err
}

// batches measures the time to the answer and to the end.
func (r *runner) batches(ctx context.Context) error {
	workflow, err := r.api.apply(ctx, tasks("trivial", 1, oneSet))
	if err != nil {
		return err
	}
	for _, size := range r.Batches {
		body := []byte(`{"concurrency":50,"items":[` + strings.TrimSuffix(strings.Repeat(input+",", size), ",") + `]}`)
		began := time.Now()
		answer, err := r.api.post(ctx, workflow+"/batch", body)
		if err != nil {
			return err
		}
		accepted := time.Since(began)
		var made struct {
			ID string `json:"batch_id"`
		}
		if err := json.Unmarshal(answer, &made); err != nil {
			return err
		}
		_, err = r.api.send(ctx, http.MethodGet, r.api.base+workflow+"/batch/"+made.ID+"?executions=none&wait=60s", "application/json", nil)
		if err != nil {
			return err
		}
		r.add(fmt.Sprintf("batch of %d, answered", size), accepted.Seconds(), "s", 0)
		r.add(fmt.Sprintf("batch of %d, all finished", size), time.Since(began).Seconds(), "s", 0)
	}
	return nil
}

func (r *runner) memory(context.Context) error {
	if r.PID == 0 {
		return nil
	}
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(r.PID), "status"))
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(string(status), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			r.add("memory of the server after the load", kib/1024, "MiB", 0)
			return err
		}
	}
	return nil
}

func (r *runner) diskBytes() int64 {
	var sum int64
	_ = filepath.WalkDir(r.DataDir, func(_ string, entry os.DirEntry, broken error) error {
		if broken != nil || entry.IsDir() {
			return nil // a file that vanished counts nothing
		}
		if info, err := entry.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// quietDisk waits until the size no longer falls: an idle server shortens its log.
func (r *runner) quietDisk(ctx context.Context) int64 {
	size, same := r.diskBytes(), 0
	for same < 8 && ctx.Err() == nil {
		time.Sleep(250 * time.Millisecond)
		if now := r.diskBytes(); now == size {
			same++
		} else {
			size, same = now, 0
		}
	}
	return size
}
