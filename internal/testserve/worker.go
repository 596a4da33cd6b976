package testserve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/chargehand/chargehand/internal/activity/process"
)

const workerName = "test"

// Worker is the helper mode in which tests of requests run: give it to process.MaybeHelper.
func Worker() process.Entry { return process.Entry{Name: workerName, Main: workerMain} }

// workerMain answers one request.
func workerMain() int {
	runtime.GOMAXPROCS(1)                     // a request takes one processor at most
	debug.SetMemoryLimit(MemoryBytes * 3 / 4) // it collects garbage rather than die
	frame, err := process.ReadFrame(os.Stdin)
	if err != nil {
		return 0
	}
	var request Request
	if err := json.Unmarshal(frame, &request); err != nil {
		fmt.Fprintln(os.Stderr, "request:", err)
		return 1
	}
	ctx, cancel := context.WithDeadlineCause(context.Background(), time.UnixMilli(request.SoftMs), errSoft)
	defer cancel()
	result, err := run(ctx, &request)
	if errors.Is(err, context.DeadlineExceeded) {
		result, err = &Run{Stopped: fmt.Sprintf("The texts could not be read within %s.", SoftTime)}, nil
	}
	if err == nil {
		frame, err = json.Marshal(result)
	}
	if err == nil {
		err = process.WriteFrame(os.Stdout, frame)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "answer:", err)
		return 1
	}
	return 0
}

// Tests runs the tests of a request in a worker. It blocks until they have ended, at most for HardTime. Errors: that of
// ctx; any other says that the machine or this program is at fault.
func Tests(ctx context.Context, r *Request) (*Run, error) {
	sent := *r
	sent.SoftMs = time.Now().Add(SoftTime).UnixMilli() // also if the worker starts late
	frame, err := json.Marshal(&sent)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, HardTime)
	defer cancel()
	w, err := process.StartWorker(workerName, process.WorkerLimits{MemoryBytes: MemoryBytes, StackBytes: stackBytes})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	stop := context.AfterFunc(limited, w.Close)
	defer stop()
	answer, err := w.Exchange(frame)
	if err != nil {
		w.Close() // its words are complete then
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if limited.Err() != nil {
			err = limited.Err()
		}
		if why, known := stopped(err, w.LastWords()); known {
			return &Run{Stopped: why}, nil
		}
		return nil, fmt.Errorf("worker of tests: %w: %s", err, w.LastWords())
	}
	run := &Run{}
	if err := json.Unmarshal(answer, run); err != nil {
		return nil, fmt.Errorf("answer of the worker of tests: %w", err)
	}
	return run, nil
}

// stackBytes bounds the stack of a goroutine of a worker.
const stackBytes = 64 << 20
