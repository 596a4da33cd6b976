package blackbox_test

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
)

const (
	crashConcurrency = 10
	crashItems       = 200
	crashBatches     = 3 // batches that have not ended yet, over all clients
)

// crashRequest is one logical request of a client, and what became of it.
type crashRequest struct {
	flow  *crashFlow
	in    crashInput
	batch bool
	key   string // its Idempotency-Key, or ""

	path      string // of what it made; "" while there was no answer
	executed  string // the id
	cancelled bool   // the cancellation was accepted
	suspended int    // suspensions that were asked for
	held      bool   // the last one was accepted, and no resumption was asked for since
	heldReads int    // reads since then
	last      crashView
	ended     bool
	seenEnd   time.Time // when a client first knew that it had ended
}

// crashView is what a read tells of an execution or a batch.
type crashView struct {
	ID         string
	Status     string
	Phase      string
	CreatedAt  time.Time `json:"created_at"`
	FinishedAt time.Time `json:"finished_at"`
	Output     any
	Error      *struct {
		Code, Detail string
	}
	HumanTasks []struct{ ID, Title string } `json:"human_tasks"`
	BatchID    string                       `json:"batch_id"`
	Total      int
	Completed  int
	Failed     int
	Running    int
	Waiting    int
	Queued     int
	Executions []struct {
		ExecutionID string `json:"execution_id"`
		Index       int
		Inputs      crashInput
		Status      string
	}
}

func (v crashView) final() bool {
	return v.Status == "finished" || v.Status == "error" || v.Status == "completed" || v.Status == "failed"
}

// crashLoad is the load: clients that start, read and cancel while the server comes and goes.
type crashLoad struct {
	t         *testing.T
	server    *servertest.Server // its first life; all lives share address and key
	receiver  *crashReceiver
	flows     []crashFlow
	item      crashFlow
	workflows map[string]string // id by name
	stopping  chan struct{}
	graceful  bool // the server is stopped by SIGTERM, so that it may answer 503

	mu       sync.Mutex
	up       chan struct{} // closed while the server lives
	requests []*crashRequest
	open     map[string]int // by flow, not ended yet
	unsure   []*crashRequest
	answered atomic.Int64
	refused  atomic.Int64 // requests without an answer
	polls    atomic.Int64
	replays  atomic.Int64
}

func newCrashLoad(t *testing.T, server *servertest.Server, receiver *crashReceiver) *crashLoad {
	l := &crashLoad{
		t: t, server: server, receiver: receiver, flows: crashFlows(), item: crashItem,
		workflows: map[string]string{}, open: map[string]int{}, stopping: make(chan struct{}), up: make(chan struct{}),
	}
	close(l.up)
	for _, f := range append(l.flows, l.item) {
		l.workflows[f.name] = server.Apply(t, f.definition(receiver.URL))
	}
	return l
}

// refuses tells whether a server that is stopping says so; one that does not stop never may.
func (l *crashLoad) refuses(a servertest.Answer) bool {
	return l.graceful && a.Status == http.StatusServiceUnavailable
}

// down makes clients wait that found no server.
func (l *crashLoad) down() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.up = make(chan struct{})
}

func (l *crashLoad) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.up)
}

func (l *crashLoad) wait() {
	l.mu.Lock()
	up := l.up
	l.mu.Unlock()
	<-up
}

// run is one client: it starts something and looks at what it started before.
func (l *crashLoad) run(client int, r *rand.Rand) {
	var own, open []*crashRequest
	for n := 0; ; n++ {
		if l.over() {
			return
		}
		if request := l.choose(r, fmt.Sprintf("c%d-%d", client, n)); request != nil {
			if l.start(request, r) {
				own, open = append(own, request), append(open, request)
			}
		}
		for range 2 {
			if len(open) > 0 {
				turn := r.Intn(len(open))
				if l.reread(open[turn]); open[turn].ended {
					open = slices.Delete(open, turn, turn+1)
				}
			}
		}
		if len(own) > 0 {
			l.reread(own[r.Intn(len(own))])
		}
	}
}

// startLasting starts a process that lasts until the next kill.
func (l *crashLoad) startLasting(tag string, r *rand.Rand) {
	l.start(&crashRequest{flow: &crashLasting, in: crashInput{Tag: tag}}, r)
}

// startSuspended starts an execution that stays suspended until all kills are over.
func (l *crashLoad) startSuspended(tag string, r *rand.Rand) {
	q := &crashRequest{flow: &crashSuspended, in: crashInput{Tag: tag, MS: 100}, suspended: 2}
	if l.start(q, r) {
		q.held = l.ask(q, "/suspend")
	}
}

// choose makes a request of a random kind; nil if enough of that kind is under way.
func (l *crashLoad) choose(r *rand.Rand, tag string) *crashRequest {
	request := &crashRequest{in: crashInput{Tag: tag, N: r.Intn(1000), MS: 50 + r.Intn(450)}}
	if r.Intn(3) == 0 {
		request.key = "key-" + tag
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Intn(30) == 0 {
		request.flow, request.batch = &l.item, true
		if l.open["item"] >= crashBatches {
			return nil
		}
	} else {
		weights := 0
		for _, f := range l.flows {
			weights += f.weight
		}
		turn := r.Intn(weights)
		for i := range l.flows {
			if turn -= l.flows[i].weight; turn < 0 {
				request.flow = &l.flows[i]
				break
			}
		}
		if l.open[request.flow.name] >= request.flow.most {
			return nil
		}
	}
	l.open[request.flow.name]++
	return request
}

// items are the inputs of a batch; every tenth fails.
func (q *crashRequest) items() []crashInput {
	list := make([]crashInput, crashItems)
	for i := range list {
		list[i] = crashInput{Tag: q.in.Tag, Item: i, N: q.in.N + i, MS: q.in.MS, Bad: i%10 == 9}
	}
	return list
}

func (q *crashRequest) body() string {
	body := map[string]any{"input": q.in}
	if q.batch {
		body = map[string]any{"items": q.items(), "concurrency": crashConcurrency}
	}
	text, _ := json.Marshal(body)
	return string(text)
}

// start sends a request; with an Idempotency-Key it is repeated until a server answers, and
// sometimes once more after that.
func (l *crashLoad) start(q *crashRequest, r *rand.Rand) bool {
	path, want := "/workflows/"+l.workflows[q.flow.name]+"/executions", http.StatusCreated
	if q.batch {
		path, want = "/workflows/"+l.workflows[q.flow.name]+"/batch", http.StatusAccepted
	}
	var headers []string
	if q.key != "" {
		headers = []string{"Idempotency-Key", q.key}
	}
	for {
		answer, err := l.server.Try("POST", path, q.body(), headers...)
		if err != nil || l.refuses(answer) {
			l.refused.Add(1)
			l.wait()
			if q.key != "" {
				continue
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.unsure = append(l.unsure, q)
			l.open[q.flow.name]--
			return false
		}
		var made struct {
			ExecutionID string `json:"execution_id"`
			BatchID     string `json:"batch_id"`
			Executions  []struct{}
		}
		if err := json.Unmarshal(answer.Body, &made); err != nil || answer.Status != want {
			l.t.Errorf("start %s: %d %.500s", q.in.Tag, answer.Status, answer.Body)
			return false
		}
		if q.batch && len(made.Executions) != crashItems {
			l.t.Errorf("the answer to batch %s lists %d items", q.in.Tag, len(made.Executions))
		}
		id := made.ExecutionID + made.BatchID
		if q.executed != "" && q.executed != id {
			l.t.Errorf("%s was accepted as %s and again as %s with the same Idempotency-Key", q.in.Tag, q.executed, id)
		}
		if answer.Header.Get("Idempotency-Replayed") == "true" {
			l.replays.Add(1)
		}
		first := q.executed == ""
		q.executed, q.path = id, path+"/"+id
		if first {
			l.answered.Add(1)
			l.mu.Lock()
			l.requests = append(l.requests, q)
			l.mu.Unlock()
		}
		if q.key != "" && r.Intn(4) == 0 {
			continue
		}
		return true
	}
}

// reread reads what a request made and holds it against what was seen before.
func (l *crashLoad) reread(q *crashRequest) {
	if q.flow.name == crashCancelled.name && !q.cancelled {
		l.cancel(q)
	}
	if q.flow.name == crashSuspended.name && !q.ended {
		l.hold(q)
	}
	path := q.path
	if q.batch && !q.ended {
		path += "?executions=none"
	}
	answer, err := l.server.Try("GET", path, "")
	if err != nil || l.refuses(answer) {
		l.refused.Add(1)
		l.wait()
		return
	}
	l.polls.Add(1)
	var now crashView
	if err := json.Unmarshal(answer.Body, &now); err != nil || answer.Status != http.StatusOK {
		l.t.Errorf("LOST? read %s %s: %d %.300s", q.in.Tag, q.path, answer.Status, answer.Body)
		return
	}
	l.compare(q, now)
	if q.flow.name == crashAsked.name {
		l.answerTasks(q, now)
	}
	if now.final() && !q.ended {
		q.ended, q.seenEnd = true, time.Now()
		l.mu.Lock()
		l.open[q.flow.name]--
		l.mu.Unlock()
	}
	q.last = now
}

// compare checks that nothing that was seen is taken back.
func (l *crashLoad) compare(q *crashRequest, now crashView) {
	last := q.last
	if q.held {
		if q.heldReads++; now.Phase != "suspended" {
			l.t.Errorf("%s was suspended and is now %+v", q.in.Tag, now)
		}
	}
	switch {
	case q.ended && (now.Status != last.Status || !now.FinishedAt.Equal(last.FinishedAt) || !sameJSON(now.Output, last.Output) ||
		now.Completed != last.Completed || now.Failed != last.Failed):
		l.t.Errorf("%s had ended as %+v and is now %+v", q.in.Tag, last, now)
	case (last.Status == "processing" && now.Status == "initial") || (last.Status == "running" && now.Status == "pending"):
		l.t.Errorf("%s went back from %s to %s", q.in.Tag, last.Status, now.Status)
	case now.Completed < last.Completed || now.Failed < last.Failed:
		l.t.Errorf("batch %s counts backwards: %+v after %+v", q.in.Tag, now, last)
	}
	if q.batch {
		if sum := now.Completed + now.Failed + now.Running + now.Waiting + now.Queued; sum != crashItems || now.Total != crashItems {
			l.t.Errorf("batch %s does not add up: %+v", q.in.Tag, now)
		}
		if now.Running > crashConcurrency {
			l.t.Errorf("batch %s runs %d items at once", q.in.Tag, now.Running)
		}
	}
}

func (l *crashLoad) cancel(q *crashRequest) {
	answer, err := l.server.Try("POST", q.path+"/cancel", "")
	switch {
	case err != nil || l.refuses(answer):
		l.refused.Add(1)
		l.wait()
	case answer.Status == http.StatusAccepted || answer.Status == http.StatusConflict:
		q.cancelled = true // a conflict: an earlier cancellation without answer was accepted
	default:
		l.t.Errorf("cancel %s: %d %.300s", q.in.Tag, answer.Status, answer.Body)
	}
}

// answerTasks claims and answers the first task of an execution, as often as it is open: if an earlier answer of that
// kind counts although the client got no answer, this one is the same.
func (l *crashLoad) answerTasks(q *crashRequest, now crashView) {
	for _, task := range now.HumanTasks {
		if task.Title != "Check" {
			continue
		}
		for _, request := range [][2]string{{"/claim", "{}"}, {"/answer", fmt.Sprintf(`{"outcome":"done","data":{"n":%d}}`, q.in.N)}} {
			answer, err := l.server.Try("POST", "/human-tasks/"+task.ID+request[0], request[1])
			if err != nil || l.refuses(answer) {
				l.refused.Add(1)
				l.wait()
				return
			}
			if answer.Status != http.StatusOK {
				l.t.Errorf("%s %s: %d %.300s", request[0], q.in.Tag, answer.Status, answer.Body)
			}
		}
	}
}

// hold suspends an execution, and resumes it some reads later; the kills come where they come.
func (l *crashLoad) hold(q *crashRequest) {
	suspended := q.held || q.last.Phase == "suspended" // also by a request that got no answer
	switch {
	case q.held && q.heldReads == 0: // is it still suspended?
	case suspended && q.heldReads < q.in.N%20 && !l.over():
	case suspended:
		q.held, q.heldReads = false, 0
		l.ask(q, "/resume")
	case q.suspended < 2:
		q.suspended++
		q.held = l.ask(q, "/suspend")
	}
}

func (l *crashLoad) over() bool {
	select {
	case <-l.stopping:
		return true
	default:
		return false
	}
}

// ask reports whether what an execution was asked for was accepted. It conflicts with the state if it has ended, or if
// an earlier request without an answer was accepted.
func (l *crashLoad) ask(q *crashRequest, what string) bool {
	answer, err := l.server.Try("POST", q.path+what, "")
	switch {
	case err != nil || l.refuses(answer):
		l.refused.Add(1)
		l.wait()
	case answer.Status == http.StatusAccepted:
		return true
	case answer.Status != http.StatusConflict:
		l.t.Errorf("%s %s: %d %.300s", what, q.in.Tag, answer.Status, answer.Body)
	}
	return false
}

func sameJSON(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}
