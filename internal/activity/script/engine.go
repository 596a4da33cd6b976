package script

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"syscall"
	"time"

	"modernc.org/quickjs"

	"github.com/chargehand/chargehand/internal/activity/process"
)

// The limits of the engine. They are reached before those of the worker process, and then
// leave the worker alive.
const (
	// stackSlots is about the depth of calls; through built-in functions and getters it is a
	// third to a tenth of that.
	stackSlots = 16_000
	// retireBytes is the resident memory at which a worker makes room for a fresh one.
	retireBytes = 160 << 20
)

// runRequest asks the worker for one run.
type runRequest struct {
	Code        string
	Options     json.RawMessage // runOptions
	TimeMs      int64
	MemoryBytes int64
	OutputBytes int64
	Live        bool // what is written is sent while the script runs, too
}

// runOptions is what the prelude is given as JSON: data stays data.
type runOptions struct {
	Argv      []string          `json:"argv"`
	Env       map[string]string `json:"env"`
	Variables json.RawMessage   `json:"variables,omitempty"`
	Input     string            `json:"input"`
}

// runAnswer is the outcome of one run.
type runAnswer struct {
	Code     int
	Stdout   []byte
	Stderr   []byte
	Value    string // JSON
	HasValue bool
	Threw    bool          `json:",omitempty"` // it could not be parsed, or threw what it did not catch
	Limit    process.Limit `json:",omitempty"`
	Retire   bool          `json:",omitempty"` // the worker ends after this answer
}

//go:embed prelude.js
var prelude string

// Worker is the helper mode in which JavaScript runs: give it to process.MaybeHelper.
func Worker() process.Entry { return process.Entry{Name: workerName, Main: workerMain} }

const workerName = "js"

// workerMain answers requests until there are no more.
func workerMain() int {
	bytecode, err := compilePrelude()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for {
		// The next run's engine is made before the run is asked for.
		e, err := newEngine(bytecode)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		frame, err := process.ReadFrame(os.Stdin)
		if err != nil {
			return 0
		}
		var request runRequest
		if err := json.Unmarshal(frame, &request); err != nil {
			fmt.Fprintln(os.Stderr, "request:", err)
			return 1
		}
		if request.Live {
			e.live = &liveOutput{to: os.Stdout}
		}
		answer := e.run(request)
		e.live.flush()
		answer.Retire = residentBytes() > retireBytes
		frame, err = json.Marshal(answer)
		if err == nil {
			err = process.WriteFrame(os.Stdout, frame)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "answer:", err)
			return 1
		}
		if answer.Retire {
			return 0
		}
		e.close()
	}
}

// residentBytes is the largest that this process ever was.
func residentBytes() int64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return math.MaxInt64
	}
	return usage.Maxrss << 10
}

// engine is one VM for one run.
type engine struct {
	vm         *quickjs.VM
	tick       quickjs.Value
	rejections *rejections

	begin    time.Time
	deadline time.Time
	request  runRequest
	answer   runAnswer
	written  int64
	live     *liveOutput // nil: what is written is sent with the answer alone
	resolved bool
	stopped  bool // by exit or a limit: nothing more runs
}

// compilePrelude parses the prelude once for all engines of a worker: that is most of what an
// engine costs.
func compilePrelude() ([]byte, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, fmt.Errorf("new engine: %w", err)
	}
	defer func() { _ = vm.Close() }()
	bytecode, err := vm.Compile(prelude, quickjs.EvalGlobal)
	if err != nil {
		return nil, fmt.Errorf("compile prelude: %w", err)
	}
	return bytecode, nil
}

func newEngine(bytecode []byte) (*engine, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, fmt.Errorf("new engine: %w", err)
	}
	e := &engine{vm: vm, begin: time.Now()}
	vm.SetMaxStackSize(stackSlots)
	vm.SetCanBlock(false)
	vm.SetModuleLoader(e.loadModule, nil)
	for name, f := range map[string]quickjs.HostFunc{
		"__write": e.write, "__exit": e.exit, "__resolve": e.resolve, "__now": e.now,
	} {
		if err := vm.RegisterHostFunc(name, f); err != nil {
			return nil, fmt.Errorf("engine: %w", err)
		}
	}
	if e.tick, err = vm.EvalBytecodeValue(bytecode); err != nil {
		return nil, fmt.Errorf("prelude: %w", err)
	}
	if e.rejections, err = track(vm); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	return e, nil
}

func (e *engine) close() {
	e.rejections.close()
	e.tick.Free()
	_ = e.vm.Close()
}

// run runs one script to its end or to a limit.
func (e *engine) run(request runRequest) runAnswer {
	e.request = request
	e.begin = time.Now()
	e.deadline = e.begin.Add(time.Duration(request.TimeMs) * time.Millisecond)
	e.vm.SetMemoryLimit(uintptr(request.MemoryBytes))
	if e.arm() {
		_, err := e.vm.Call("__start", request.Code, string(request.Options))
		e.note(err)
	}
	for !e.stopped {
		jobs, err := e.vm.ExecutePendingJobs()
		e.note(err)
		if err == nil && !e.stopped && len(e.rejections.open) > 0 {
			e.raise()
		}
		if e.stopped || !e.arm() {
			break
		}
		wait, err := e.tick.Call(quickjs.UndefinedValue)
		e.note(err)
		if err != nil || e.stopped {
			continue
		}
		if !e.sleep(milliseconds(wait), jobs) {
			break
		}
	}
	return e.answer
}

// raise ends the script with its first rejection that nothing handles.
func (e *engine) raise() {
	if !e.resolved && e.rejections.heapBytes() > e.request.MemoryBytes*15/16 {
		// The engine had no memory left to note how the script ended: that is why, whatever was rejected before.
		e.hit(process.LimitMemory)
		return
	}
	e.rejections.raise()
	if !e.stopped {
		e.uncaught("Uncaught value that cannot be shown")
	}
}

// sleep waits for the next timer. It reports whether there is anything more to run.
func (e *engine) sleep(waitMs float64, jobs int) bool {
	if waitMs < 0 {
		if jobs > 0 {
			return true // the tick may have made jobs, too
		}
		switch {
		case e.resolved:
		case e.starved(): // the engine could not even note what was to come next
			e.hit(process.LimitMemory)
		default:
			e.fail(unresolvedCode, "the script ended while it waits for a promise that nothing will resolve")
		}
		return false
	}
	wait := time.Duration(waitMs * float64(time.Millisecond))
	left := time.Until(e.deadline)
	time.Sleep(max(0, min(wait, left)))
	return true
}

// unresolvedCode is node's exit code for an await that never ends.
const unresolvedCode = 13

// starved guesses whether the engine ran out of memory where it could not say so.
func (e *engine) starved() bool { return residentBytes() > e.request.MemoryBytes*3/4 }

func milliseconds(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case int32:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return -1
}

// arm gives the next stretch of script the time that is left.
func (e *engine) arm() bool {
	left := time.Until(e.deadline)
	if left <= 0 {
		e.hit(process.LimitTime)
		return false
	}
	_ = e.vm.SetEvalTimeout(left) // never fails
	return true
}

// note looks at what came out of the VM beside the prelude's own reports.
func (e *engine) note(err error) {
	if err == nil || e.stopped {
		return
	}
	var thrown *quickjs.Error
	switch {
	case !errors.As(err, &thrown): // the drain of jobs was cut: there are more
	case thrown.Name == "":
		e.uncaught("Uncaught " + thrown.Error())
	default:
		e.uncaught(thrown.Name + ": " + thrown.Message)
	}
}

// hit ends the run at a limit. The first one counts.
func (e *engine) hit(limit process.Limit) {
	if e.answer.Limit == "" {
		e.answer.Limit = limit
	}
	e.stopped = true
}

// fail ends the run with a message on stderr.
func (e *engine) fail(code int, message string) {
	e.answer.Code = code
	e.answer.Stderr = append(append(e.answer.Stderr, message...), '\n')
	e.stopped = true
}
