package drill_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
)

// retryTime is how long a client repeats a request that no API node takes.
const retryTime = 60 * time.Second

// load is the clients: they start what the drill is about and look at it all the time.
type load struct {
	t        *testing.T
	workflow string
	apis     []*servertest.Server
	stopping chan struct{}
	starting chan int // tells who listens to which node a start is being sent

	mu       sync.Mutex
	batch    *request
	singles  []*request
	lost     atomic.Int64 // requests without an answer
	refused  atomic.Int64 // answered with 503
	replayed atomic.Int64 // of requests that an earlier attempt had made already
	reads    atomic.Int64
}

// request is what a client has started, and what was last seen of it.
type request struct {
	in   input
	path string
	last view
}

// view is what a read tells of an execution or a batch.
type view struct {
	ID         string
	Status     string
	FinishedAt string `json:"finished_at"`
	Output     struct{ Item, N int }
	Error      any
	Results    []struct{ Filename, URL string }
	Total      int
	Completed  int
	Failed     int
	Running    int
	Waiting    int
	Queued     int
	Executions []struct {
		ExecutionID string `json:"execution_id"`
		Index       int
		Status      string
	}
}

func (v view) final() bool {
	return v.Status == "finished" || v.Status == "error" || v.Status == "completed" || v.Status == "failed"
}

// client talks to one API node until that is gone, then to another.
type client struct {
	*load
	turn int
}

// ask repeats a request until a node answers it. A POST has an Idempotency-Key.
func (c *client) ask(method, path, body string, headers ...string) servertest.Answer {
	pause := time.NewTimer(0)
	defer pause.Stop()
	deadline := time.Now().Add(retryTime)
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		if method == http.MethodPost {
			select {
			case c.starting <- c.turn % len(c.apis):
			default:
			}
		}
		a, err := c.apis[c.turn%len(c.apis)].Try(method, path, body, headers...)
		switch {
		case err != nil:
			c.lost.Add(1)
		case a.Status == http.StatusServiceUnavailable:
			c.refused.Add(1)
		default:
			return a
		}
		if time.Now().After(deadline) {
			c.t.Errorf("%s %s: no node answers: %d %.300s %v", method, path, a.Status, a.Body, err)
			return a
		}
		c.turn++
		pause.Reset(wait)
		<-pause.C
	}
}

// start makes an execution or a batch, and writes down that it was accepted.
func (c *client) start(kind string, in input, body any, want int) *request {
	text, err := json.Marshal(body)
	if err != nil {
		c.t.Error(err)
	}
	path := "/workflows/" + c.workflow + "/" + kind
	a := c.ask(http.MethodPost, path, string(text), "Idempotency-Key", fmt.Sprintf("%s %s", kind, in.name()))
	var made struct {
		ExecutionID string `json:"execution_id"`
		BatchID     string `json:"batch_id"`
	}
	if err := json.Unmarshal(a.Body, &made); err != nil || a.Status != want {
		c.t.Errorf("start %s: %d %.500s", in.name(), a.Status, a.Body)
		return nil
	}
	if a.Header.Get("Idempotency-Replayed") == "true" {
		c.replayed.Add(1)
	}
	return &request{in: in, path: path + "/" + made.ExecutionID + made.BatchID}
}

func (in input) name() string { return fmt.Sprintf("%s %d", in.Tag, in.Item) }

func (l *load) startBatch(items, concurrency int) {
	list := make([]input, items)
	for i := range list {
		list[i] = newInput(batchTag, i)
	}
	c := client{load: l}
	l.batch = c.start("batch", input{Tag: batchTag}, map[string]any{"items": list, "concurrency": concurrency}, http.StatusAccepted)
	if l.batch == nil {
		l.t.FailNow()
	}
}

// awaitStart waits until an API node is in the middle of a start, or a while.
func (l *load) awaitStart(node int) {
	for enough := time.After(5 * time.Second); ; {
		select {
		case turn := <-l.starting:
			if turn == node {
				<-time.After(2 * time.Millisecond) // a start takes about twice that
				return
			}
		case <-enough:
			return
		}
	}
}

// startSingles starts single executions, spread over the time in which the effects of the batch
// come, from a number of clients.
func (l *load) startSingles(singles, effects, clients int, r *receiver) *sync.WaitGroup {
	var all sync.WaitGroup
	for n := range clients {
		all.Go(func() {
			c := client{load: l, turn: n}
			for i := n; i < singles; i += clients {
				select {
				case <-r.reach(effects * i / singles):
				case <-l.stopping:
					return
				}
				in := newInput(singleTag, i)
				if made := c.start("executions", in, map[string]any{"input": in}, http.StatusCreated); made != nil {
					l.mu.Lock()
					l.singles = append(l.singles, made)
					l.mu.Unlock()
				}
			}
		})
	}
	return &all
}

// compare reads something and holds it against what was seen before.
func (c *client) compare(q *request, query string) view {
	a := c.ask(http.MethodGet, q.path+query, "")
	c.reads.Add(1)
	var now view
	if err := json.Unmarshal(a.Body, &now); err != nil || a.Status != http.StatusOK {
		c.t.Errorf("read %s: %d %.300s (%v)", q.path, a.Status, a.Body, err)
		return now
	}
	last := q.last
	switch {
	case last.final() && (now.Status != last.Status || now.FinishedAt != last.FinishedAt || now.Output != last.Output ||
		now.Completed != last.Completed || now.Failed != last.Failed):
		c.t.Errorf("%s had ended as %+v and is now %+v", q.in.name(), last, now)
	case last.Status == "processing" && now.Status == "initial" || last.Status == "running" && now.Status == "pending":
		c.t.Errorf("%s went back from %s to %s", q.in.name(), last.Status, now.Status)
	case now.Total != now.Completed+now.Failed+now.Running+now.Waiting+now.Queued || now.Running > concurrency:
		c.t.Errorf("%s counts %+v", q.in.name(), now)
	case now.Completed < last.Completed || now.Failed < last.Failed:
		c.t.Errorf("%s counts backwards: %+v after %+v", q.in.name(), now, last)
	case now.Status == "error" || now.Failed > 0 && last.Failed == 0:
		c.t.Errorf("%s: %s at %s: %v (%d items failed)", q.in.name(), now.Status, clock(time.Now()), now.Error, now.Failed)
	}
	q.last = now
	return now
}

// watchSamples reads the batch and a sample of all executions in turn, again and again, also
// after they have ended. A request belongs to one goroutine: samples are copies.
func (l *load) watchSamples(sample func() []*request) {
	c := client{load: l, turn: 1}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	batch := *l.batch
	for {
		for _, q := range sample() {
			select {
			case <-l.stopping:
				return
			case <-tick.C:
			}
			c.compare(q, "")
		}
		c.compare(&batch, "?executions=none")
		select {
		case <-l.stopping:
			return
		case <-tick.C:
		}
	}
}

// sampler returns a function that lists copies of the first items of the batch and of the
// singles that were accepted so far; the same copies each time.
func (l *load) sampler(ids []string, most int) func() []*request {
	var list []*request
	for i, id := range ids {
		if i%max(len(ids)/most, 1) == 0 {
			list = append(list, &request{in: newInput(batchTag, i), path: "/workflows/" + l.workflow + "/executions/" + id})
		}
	}
	taken := 0
	return func() []*request {
		l.mu.Lock()
		defer l.mu.Unlock()
		for ; taken < len(l.singles); taken++ {
			if taken%4 == 0 && len(list) < 2*most {
				q := *l.singles[taken]
				list = append(list, &q)
			}
		}
		return list
	}
}

// awaitLong keeps a request at one API node that waits for the end of the batch there.
func (l *load) awaitLong(turn int) {
	c := client{load: l, turn: turn}
	batch := *l.batch
	for !batch.last.final() {
		select {
		case <-l.stopping:
			return
		default:
		}
		c.turn = turn
		c.compare(&batch, "?executions=none&wait=5s")
	}
}
