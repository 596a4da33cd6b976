package script

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/process/workspace"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// Limits bounds JavaScript. A zero field stands for the default.
type Limits struct {
	Time        time.Duration // of one script; default DefaultTime
	MemoryBytes int64         // of one script's data; default 256 MiB
	OutputBytes int64         // stdout and stderr together; default 16 MiB
	Workers     int           // scripts at one time; default 8
	Grace       time.Duration // how long a worker may overrun Time before it is killed; default 2 s
	Idle        time.Duration // how long a worker waits for the next script; default 20 s
}

func (l Limits) orDefault() Limits {
	l.Time = cmp.Or(l.Time, DefaultTime)
	l.MemoryBytes = cmp.Or(l.MemoryBytes, 256<<20)
	l.OutputBytes = cmp.Or(l.OutputBytes, process.DefaultOutputBytes)
	l.Grace = cmp.Or(l.Grace, process.DefaultGrace)
	l.Idle = cmp.Or(l.Idle, 20*time.Second)
	l.Workers = cmp.Or(l.Workers, process.DefaultSlots)
	return l
}

// DefaultTime is what one script may take: every author may run some, so an endless one must not last.
const DefaultTime = 30 * time.Second

const (
	// workerRuns is how many scripts a worker runs before it is replaced.
	workerRuns = 1000
	// workerOverhead is what a worker needs beside the script's own memory.
	workerOverhead = 768 << 20
	// workerStack is reached only where the engine does not look at its own limit.
	workerStack = 512 << 20
	// idleWorkers is how many workers wait for work at most.
	idleWorkers = 2
)

// pool keeps the workers.
type pool struct {
	confiner *process.Confiner
	limits   Limits
	slots    chan struct{}

	mu     sync.Mutex
	idle   []*worker // the first one has waited longest
	closed bool
}

type worker struct {
	*process.Worker
	runs  int
	timer *time.Timer // ends it when it has waited too long
}

func newPool(confiner *process.Confiner, limits Limits) *pool {
	return &pool{confiner: confiner, limits: limits, slots: make(chan struct{}, limits.Workers)}
}

// take returns a worker that waits, or a new one.
func (p *pool) take() (*worker, error) {
	if w := p.waiting(); w != nil {
		return w, nil
	}
	started, err := p.confiner.StartWorker(workerName, process.WorkerLimits{
		MemoryBytes: p.limits.MemoryBytes + workerOverhead, StackBytes: workerStack,
	})
	if err != nil {
		return nil, err
	}
	return &worker{Worker: started}, nil
}

// waiting takes the worker that has waited longest: its next engine is ready.
func (p *pool) waiting() *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 0 {
		w := p.idle[0]
		p.idle = slices.Delete(p.idle, 0, 1)
		if w.timer.Stop() {
			return w
		} // else its time is up, and it is being closed
	}
	return nil
}

// give takes a worker back that answered.
func (p *pool) give(w *worker) {
	w.runs++
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= idleWorkers || w.runs >= workerRuns {
		go w.Close()
		return
	}
	w.timer = time.AfterFunc(p.limits.Idle, func() { p.expire(w) })
	p.idle = append(p.idle, w)
}

// expire closes a worker that was not needed.
func (p *pool) expire(w *worker) {
	p.mu.Lock()
	p.idle = slices.DeleteFunc(p.idle, func(waiting *worker) bool { return waiting == w })
	p.mu.Unlock()
	w.Close()
}

func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, w := range idle {
		if w.timer.Stop() {
			w.Close()
		}
	}
}

// errCrashed tells that a worker died of its script.
type errCrashed struct{ words string }

func (e *errCrashed) Error() string { return "worker crashed: " + e.words }

// run runs one script in a worker. The error is that of ctx, a *process.LimitError or an
// *errCrashed; or the worker could not be had.
func (p *pool) run(ctx context.Context, request runRequest, output outputLog) (runAnswer, error) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return runAnswer{}, ctx.Err()
	}
	frame, err := json.Marshal(request)
	if err != nil {
		return runAnswer{}, fmt.Errorf("encode script: %w", err)
	}
	for {
		w, err := p.take()
		if err != nil {
			return runAnswer{}, err
		}
		answer, err := p.exchange(ctx, w, frame, output)
		var crash *errCrashed
		if errors.As(err, &crash) && w.runs > 0 {
			// It may have died while it waited. A script has no effect on the world: once more,
			// until there is a worker that did nothing else.
			continue
		}
		return answer, err
	}
}

// exchange runs one script in w and gives w back, or closes it.
func (p *pool) exchange(ctx context.Context, w *worker, frame []byte, output outputLog) (runAnswer, error) {
	deadline, cancel := context.WithTimeout(ctx, p.limits.Time+p.limits.Grace)
	defer cancel()
	// Killing is all that is certain to stop a worker.
	unwatch := context.AfterFunc(deadline, w.Close)
	reply, err := w.Exchange(frame)
	for err == nil && output.take(reply) {
		reply, err = w.Next()
	}
	if !unwatch() { // it is being killed
		w.Close()
		if ctx.Err() != nil {
			return runAnswer{}, ctx.Err()
		}
		return runAnswer{}, p.limitError(process.LimitTime)
	}
	var answer runAnswer
	if err == nil {
		err = json.Unmarshal(reply, &answer)
	}
	if err != nil {
		w.Close()
		return runAnswer{}, &errCrashed{words: w.LastWords()}
	}
	if answer.Retire {
		go w.Close()
	} else {
		p.give(w)
	}
	if answer.Limit != "" {
		return answer, p.limitError(answer.Limit)
	}
	return answer, nil
}

func (p *pool) limitError(limit process.Limit) error {
	return &process.LimitError{Limit: limit, Limits: process.Limits{
		Time: p.limits.Time, MemoryBytes: p.limits.MemoryBytes, OutputBytes: p.limits.OutputBytes,
	}}
}

// runJavaScript runs a script and shapes its outcome.
func (r *Runner) runJavaScript(ctx context.Context, args map[string]any, code string, output outputLog) activity.Result {
	request, f := r.javaScriptRequest(args, code)
	if f != nil {
		return activity.Result{Fault: f}
	}
	request.Live = output.log != nil
	answer, err := r.js.run(ctx, request, output)
	if err != nil {
		return activity.Result{Fault: r.javaScriptFault(err, answer.Stderr)}
	}
	if answer.Threw { // in every mode: there is no process whose code could tell (T49)
		return activity.Result{Fault: &machine.Fault{
			Type: machine.ErrRuntime, Status: 500, Title: "Script failed",
			Detail: "the script ended with an error: " + workspace.Tail(answer.Stderr),
		}}
	}
	outcome := workspace.Outcome{Code: answer.Code, Stdout: answer.Stdout, Stderr: answer.Stderr}
	if answer.HasValue {
		if f := outcome.SetValue([]byte(answer.Value)); f != nil {
			return activity.Result{Fault: f}
		}
	}
	mode, _ := args["return"].(string)
	return outcome.Result(mode)
}

func (r *Runner) javaScriptRequest(args map[string]any, code string) (runRequest, *machine.Fault) {
	// A script without files sees references as the objects that they are.
	var values *workspace.Workspace
	variables, f := values.Variables(args["environment"])
	if f != nil {
		return runRequest{}, f
	}
	if variables == nil {
		variables = map[string]string{}
	}
	options := runOptions{Argv: []string{"chargehand", "script.js"}, Env: variables, Input: values.Text(args["stdin"])}
	switch arguments := args["arguments"].(type) {
	case map[string]any:
		options.Variables = value.Marshal(arguments)
		options.Argv = append(options.Argv, string(options.Variables))
	case []any:
		for _, argument := range arguments {
			options.Argv = append(options.Argv, values.Text(argument))
		}
	}
	encoded, err := json.Marshal(options)
	if err != nil {
		return runRequest{}, fault(fmt.Sprintf("the values of the script cannot be encoded: %v", err)).Fault
	}
	limits := r.cfg.Limits
	return runRequest{
		Code: code, Options: encoded, TimeMs: limits.Time.Milliseconds(),
		MemoryBytes: limits.MemoryBytes, OutputBytes: limits.OutputBytes,
	}, nil
}

// javaScriptFault tells the author what became of the script.
func (r *Runner) javaScriptFault(err error, stderr []byte) *machine.Fault {
	log := r.cfg.Confiner.Logger()
	var limit *process.LimitError
	if errors.As(err, &limit) {
		return r.limitFault(limit.Limit, stderr)
	}
	var crash *errCrashed
	if !errors.As(err, &crash) {
		return workspace.RunFault(log, err, nil)
	}
	detail := "the script broke its JavaScript engine and was stopped"
	switch {
	case strings.Contains(crash.words, "stack"):
		detail = "the script called itself too deeply and was stopped"
	case strings.Contains(crash.words, "memory"):
		detail = "the script used more memory than is allowed and was stopped"
	case strings.Contains(crash.words, "no helper mode"):
		return workspace.RunFault(log, fmt.Errorf("the binary was built without the js worker: %s", crash.words), nil)
	default:
		log.Warn("a script broke the JavaScript engine", "words", firstLine(crash.words))
	}
	return &machine.Fault{Type: machine.ErrRuntime, Status: 500, Title: "Script failed", Detail: detail}
}

// limitFault names the limit that a script ran into.
func (r *Runner) limitFault(limit process.Limit, stderr []byte) *machine.Fault {
	limits := r.cfg.Limits
	f := &machine.Fault{Type: machine.ErrRuntime, Status: 500, Title: "Script exceeded a limit"}
	switch limit {
	case process.LimitTime:
		f.Type, f.Status, f.Title = machine.ErrTimeout, 408, "Script took too long"
		f.Detail = fmt.Sprintf("the script ran longer than %s and was stopped", limits.Time)
	case process.LimitMemory:
		f.Detail = fmt.Sprintf("the script used more than %d MiB of memory and was stopped", limits.MemoryBytes>>20)
	default:
		f.Detail = fmt.Sprintf("the script wrote more than %d MiB to the console and was stopped; return large results instead", limits.OutputBytes>>20)
		return f
	}
	if tail := workspace.Tail(stderr); tail != "" {
		f.Detail += "; stderr: " + tail
	}
	return f
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
