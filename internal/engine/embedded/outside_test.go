package embedded

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/machine"
)

// outside is what activities reach. What an activity does depends on its address
// (http) or command (shell): the last path segments say it.
type outside struct {
	mu      sync.Mutex
	runs    map[string]int      // by idempotency key
	keys    map[string][]string // of calls that may fail, by execution and task, in order
	blocked map[string]chan struct{}
	files   func() []machine.File

	started chan callSeen // if set, gets each call that blocks when it starts
	inspect func()        // if set, called in each call
	running atomic.Int64
	most    atomic.Int64
}

func (o *outside) allRuns() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make(map[string]int, len(o.runs))
	for key, n := range o.runs {
		all[key] = n
	}
	return all
}

// block makes calls whose address ends in block/NAME wait until it is closed.
func (o *outside) block(name string) chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.blocked == nil {
		o.blocked = make(map[string]chan struct{})
	}
	ch := make(chan struct{})
	o.blocked[name] = ch
	return ch
}

// Run implements activity.Runner.
func (o *outside) Run(ctx context.Context, c activity.Call) activity.Result {
	n := o.running.Add(1)
	defer o.running.Add(-1)
	for most := o.most.Load(); n > most && !o.most.CompareAndSwap(most, n); most = o.most.Load() {
	}
	args := c.Args.(map[string]any)
	address, _ := args["endpoint"].(string)
	if address == "" {
		address, _ = args["command"].(string)
	}
	if address == "" {
		address, _ = args["stdin"].(string)
	}
	o.mu.Lock()
	if o.runs == nil {
		o.runs, o.keys = make(map[string]int), make(map[string][]string)
	}
	o.runs[c.Key]++
	o.mu.Unlock()
	parts := strings.Split(address, "/")
	verb, rest := parts[3], strings.Join(parts[4:], "/")
	if o.inspect != nil {
		o.inspect()
	}
	switch verb {
	case "slow", "slowfail": // takes as many milliseconds
		var ms int
		fmt.Sscan(rest, &ms)
		time.Sleep(time.Duration(ms) * time.Millisecond)
		if verb == "slowfail" {
			return activity.Result{Fault: &machine.Fault{Type: machine.ErrCommunication, Status: 503, Title: "Unavailable"}}
		}
		return activity.Result{Output: "slow"}
	case "echo":
		return activity.Result{Output: map[string]any{"said": rest, "to": c.Input}}
	case "fail": // as often as it says, then not; a repeated run ends as the first one did
		var times int
		fmt.Sscan(rest, &times)
		o.mu.Lock()
		defer o.mu.Unlock()
		task := c.Execution.String() + c.Reference
		if !slices.Contains(o.keys[task], c.Key) {
			o.keys[task] = append(o.keys[task], c.Key)
		}
		if slices.Index(o.keys[task], c.Key) < times {
			return activity.Result{Fault: &machine.Fault{Type: machine.ErrCommunication, Status: 503, Title: "Unavailable"}}
		}
		return activity.Result{Output: "recovered"}
	case "block":
		o.mu.Lock()
		ch := o.blocked[rest]
		o.mu.Unlock()
		if o.started != nil {
			select {
			case o.started <- c:
			case <-ctx.Done():
			}
		}
		if ch == nil {
			<-ctx.Done()
			return activity.Result{Output: "cut off"}
		}
		select {
		case <-ch:
			return activity.Result{Output: "released " + rest}
		case <-ctx.Done():
			return activity.Result{Output: "cut off"}
		}
	case "panic":
		panic("the runner is broken")
	case "size", "slowsize":
		if verb == "slowsize" {
			time.Sleep(time.Second)
		}
		var size int
		fmt.Sscan(rest, &size)
		return activity.Result{Output: strings.Repeat("x", size)}
	case "files":
		return activity.Result{Output: "made", Files: o.files()}
	}
	return activity.Result{Fault: &machine.Fault{Type: machine.ErrCommunication, Status: 404, Title: "Not found"}}
}
