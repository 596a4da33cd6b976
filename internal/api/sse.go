package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
)

const sseMedia = "text/event-stream"

// endID is the id of the last event of a stream that is complete. A client that comes back with it, as browsers do by
// themselves, gets 204, and does not come again.
const endID = "end"

// tasksMine is the topic of the human tasks of who follows it.
const tasksMine = "tasks:mine"

// stalled is how long a client takes at most to read what is written at once.
const stalled = 30 * time.Second

var (
	sseValue = []string{sseMedia}
	// A proxy that collects an answer would keep a stream from its reader.
	unbufferedValue = []string{"no"}
	noStoreValue    = []string{"no-store"}
)

var (
	lastEventParameter = &parameter{
		name: "Last-Event-ID", in: "header", example: "17",
		about:  "The id of the last event that the client has: the stream continues after it. Wins over after.",
		schema: huma.Schema{Type: "string"},
		read: func(c *call, value string) (complaint string) {
			if c.args.ended = value == endID; c.args.ended || value == "" {
				return ""
			}
			c.args.seq, complaint = eventNumber(value)
			return complaint
		},
	}
	afterEventParameter = &parameter{
		name: "after", in: "query", example: 17,
		about:  "The seq of the last event that the client has: the stream continues after it. Default: 0, from the first event.",
		schema: huma.Schema{Type: "integer", Minimum: least(0)},
		read: func(c *call, value string) (complaint string) {
			c.args.seq, complaint = eventNumber(value)
			return complaint
		},
	}
	lastStateParameter = &parameter{
		name: "Last-Event-ID", in: "header", example: endID,
		about:  "With the id of a stream's last event (end), the answer is 204: nothing else will happen. Any other is ignored, because the stream begins with the state of everything.",
		schema: huma.Schema{Type: "string"},
		read: func(c *call, value string) (complaint string) {
			c.args.ended = value == endID
			return ""
		},
	}
	topicParameter = &parameter{
		name: "topic", in: "query", many: true, example: "execution:01937c5e-8f00-7000-8000-00000000e8ec",
		about:  "execution:ID, batch:ID, or tasks:mine, which needs tasks:read. Repeat it for several, " + strconv.Itoa(service.MaxTopics) + " at most. At least one is needed.",
		schema: huma.Schema{Type: "string", Pattern: "^(execution:|batch:|tasks:mine$)"},
		read:   func(c *call, value string) (complaint string) { return c.readTopic(value) },
	}
)

func least(n float64) *float64 { return &n }

func eventNumber(value string) (n int64, complaint string) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 {
		return 0, "must be the seq of an event: a whole number from 0."
	}
	return n, ""
}

func (c *call) readTopic(value string) (complaint string) {
	kind, text, _ := strings.Cut(value, ":")
	topic := service.Topic{}
	if value == tasksMine {
		return c.addTopic(service.MyTasks)
	}
	switch kind {
	case "execution":
		topic.Kind = service.TopicExecution
	case "batch":
		topic.Kind = service.TopicBatch
	default:
		return "must be execution:ID, batch:ID or tasks:mine."
	}
	id, err := chargehand.ParseID[chargehand.ExecutionID](text)
	if err != nil {
		return "must be execution:ID or batch:ID, with a UUID as the id."
	}
	topic.ID = id
	return c.addTopic(topic)
}

func (c *call) addTopic(topic service.Topic) (complaint string) {
	if slices.Contains(c.args.topics, topic) {
		return ""
	}
	if len(c.args.topics) == service.MaxTopics {
		return "may be given " + strconv.Itoa(service.MaxTopics) + " times at most."
	}
	c.args.topics = append(c.args.topics, topic)
	return ""
}

const (
	exampleEvents = "event: execution\ndata: {\"id\":\"01937c5e-8f00-7000-8000-00000000e8ec\",\"status\":\"processing\"}\n\n" +
		"id: 1\nevent: task.started\ndata: {\"seq\":1,\"at\":\"2026-03-01T12:00:00.000Z\",\"task_seq\":1,\"name\":\"confirm\",\"kind\":\"call\",\"reference\":\"/do/0/confirm\",\"iteration\":0,\"iterations\":[],\"attempt\":1,\"phase\":\"running\"}\n\n"
	exampleBatchEvents = "event: batch\ndata: {\"id\":\"01937c5e-8f00-7000-8000-00000000ba7c\",\"status\":\"running\",\"total\":100,\"completed\":12}\n\n"
	exampleTaskEvents  = "event: tasks\ndata: {\"counts\":{\"mine\":{\"count\":3,\"at_least\":false}},\"changed\":[{\"id\":\"01937c5e-8f00-7000-8000-0000000007a5\",\"status\":\"open\",\"title\":\"Approve the invoice\"}],\"removed\":[],\"more\":false}\n\n"
	exampleStream      = "event: execution\ndata: {\"topic\":\"execution:01937c5e-8f00-7000-8000-00000000e8ec\",\"execution\":{\"status\":\"processing\"}}\n\n"
)

func streamEndpoints() []endpoint {
	const execution, batch = "/workflows/{workflowId}/executions/{executionId}", "/workflows/{workflowId}/batch/{batchId}"
	over := answer{status: 204, about: "The client has the last event: it need not come again"}
	quota := []chargehand.Code{chargehand.CodeQuotaExceeded}
	follow := endpoint{
		method: get, path: execution + "/events", id: "followExecution", tag: "Executions", live: true,
		summary: "Follow an execution",
		about: "Server-sent events: the execution as it is and at each change (event: execution, without output), and the start and end of each task (task.started, task.ended), " +
			"numbered by seq from 1 without gaps, also across connections. An event gap names the numbers that are not kept any more. The last event is end; it says why. A comment is sent every 15 s.",
		scopes: service.ScopeExecutionsRead, instead: service.ScopeExecutionsReadOwn, problems: quota,
		parameters: []*parameter{afterEventParameter, lastEventParameter},
		answers:    []answer{{status: 200, about: "The events", media: sseMedia, example: exampleEvents, headers: []string{"X-Accel-Buffering"}}, over},
		serve:      (*call).followExecution,
	}
	anywhereToo := follow
	anywhereToo.path, anywhereToo.id, anywhereToo.serve = "/executions/{executionId}/events", "followExecutionById", anywhere((*call).followExecution)
	anywhereToo.summary = "Follow an execution, whatever its workflow"
	return []endpoint{
		follow, anywhereToo,
		{
			method: get, path: batch + "/events", id: "followBatch", tag: "Batches", live: true,
			summary: "Follow a batch",
			about:   "Server-sent events: the batch as it is and after changes (event: batch, without entries), and at last event: end. One event may stand for several changes. A comment is sent every 15 s.",
			scopes:  service.ScopeExecutionsRead, instead: service.ScopeExecutionsReadOwn, problems: quota,
			parameters: []*parameter{lastStateParameter},
			answers:    []answer{{status: 200, about: "The events", media: sseMedia, example: exampleBatchEvents, headers: []string{"X-Accel-Buffering"}}, over},
			serve:      (*call).followBatch,
		},
		{
			method: get, path: "/stream", id: "follow", tag: "Executions", live: true,
			summary: "Follow executions, batches and human tasks with one stream",
			about: "Server-sent events: each topic as it is, and then its changes. Every event has topic, and execution (without output), batch (without entries), tasks (as in GET /human-tasks/stream) or, after a deletion, none of them (event: gone). " +
				"One event may stand for several changes. When nothing more can change, the last event is end. A comment is sent every 15 s.",
			scopes: service.ScopeExecutionsRead, instead: service.ScopeExecutionsReadOwn,
			problems:   []chargehand.Code{chargehand.CodeQuotaExceeded, chargehand.CodeExecutionNotFound, chargehand.CodeBatchNotFound, chargehand.CodeInsufficientScope},
			parameters: []*parameter{topicParameter, lastStateParameter},
			answers:    []answer{{status: 200, about: "The events", media: sseMedia, example: exampleStream, headers: []string{"X-Accel-Buffering"}}, over},
			serve:      (*call).followTopics,
		},
		{
			method: get, path: "/human-tasks/stream", id: "followHumanTasks", tag: "Human tasks", live: true,
			summary: "Follow your human tasks",
			about: "Server-sent events (event: tasks): how many tasks wait for you (counts, as in GET /human-tasks/counts), and of those that you, your groups or all people may answer the " + strconv.Itoa(service.MaxFollowedTasks) +
				" that are due first. The first event has all of them in changed; each further one has those that are new or have changed, and in removed the ids of those that are not among them any more. " +
				"more says that there are more. One event may stand for several changes. The stream ends with your key or session, or when your rights change; the last event is end. A comment is sent every 15 s.",
			scopes: service.ScopeTasksRead, problems: quota,
			answers: []answer{{status: 200, about: "The events", media: sseMedia, example: exampleTaskEvents, headers: []string{"X-Accel-Buffering"}}},
			serve:   (*call).followHumanTasks,
		},
	}
}

// What the data of the events look like.
type (
	taskEventView struct {
		Seq        int64           `json:"seq"`
		At         moment          `json:"at"`
		TaskSeq    int64           `json:"task_seq"`
		Parent     int64           `json:"parent_seq,omitempty"`
		Name       string          `json:"name"`
		Kind       string          `json:"kind"`
		Reference  string          `json:"reference"`
		Iteration  int             `json:"iteration"`
		Iterations []int           `json:"iterations"`
		Attempt    int             `json:"attempt"`
		Phase      string          `json:"phase"`
		Error      *executionError `json:"error,omitempty"`
	}
	gapView struct {
		From int64 `json:"from"`
		To   int64 `json:"to"`
	}
	stateView struct {
		Topic     string     `json:"topic"`
		Execution *Execution `json:"execution,omitempty"`
		Batch     *batch     `json:"batch,omitempty"`
		Tasks     *tasksView `json:"tasks,omitempty"`
	}
	tasksView struct {
		Counts  humanTaskCounts          `json:"counts"`
		Changed []humanTask              `json:"changed"`
		Removed []chargehand.HumanTaskID `json:"removed"`
		More    bool                     `json:"more"`
	}
	endView struct {
		Reason    string `json:"reason"`
		Detail    string `json:"detail"`
		Reconnect bool   `json:"reconnect"`
	}
)

func (c *call) followExecution() error {
	r := service.FollowExecution{Workflow: c.workflow, Execution: c.execution, After: c.args.seq, View: c.asked()}
	return c.live(func(ctx context.Context, send func([]service.StreamEvent) error) error {
		return c.server.service.FollowExecution(ctx, c.principal, r, send)
	}, false)
}

func (c *call) followBatch() error {
	return c.live(func(ctx context.Context, send func([]service.StreamEvent) error) error {
		return c.server.service.FollowBatch(ctx, c.principal, c.workflow, c.batch, c.asked(), send)
	}, false)
}

func (c *call) followTopics() error {
	if len(c.args.topics) == 0 && !c.args.ended {
		return badParameter("topic", "is needed: execution:ID, batch:ID or tasks:mine.")
	}
	return c.live(func(ctx context.Context, send func([]service.StreamEvent) error) error {
		return c.server.service.Follow(ctx, c.principal, c.args.topics, c.asked(), send)
	}, true)
}

func (c *call) followHumanTasks() error {
	return c.live(func(ctx context.Context, send func([]service.StreamEvent) error) error {
		return c.server.service.Follow(ctx, c.principal, []service.Topic{service.MyTasks}, c.asked(), send)
	}, false)
}

// errHeadOnly ends a stream whose request is for its headers.
var errHeadOnly = errors.New("only the headers of the stream were asked for")

// live answers with a stream of events until it ends. topics says that the events name theirs.
func (c *call) live(follow func(context.Context, func([]service.StreamEvent) error) error, topics bool) error {
	if c.args.ended {
		c.empty(http.StatusNoContent)
		return nil
	}
	c.allowTime()
	ctx, cancel := context.WithCancelCause(c.r.Context())
	defer cancel(nil)
	release := context.AfterFunc(c.server.stopping, func() {
		cancel(&service.StreamEnd{Reason: service.EndStopping, Detail: "The server is stopping.", Reconnect: true})
	})
	defer release()
	var text []byte
	err := follow(ctx, func(events []service.StreamEvent) (err error) {
		if c.r.Method == http.MethodHead { // it has the whole answer: the connection is for its next request
			c.beginEvents()
			return errHeadOnly
		}
		text = text[:0]
		if c.status == 0 {
			c.beginEvents()
			text = append(text, "retry: 1000\n\n"...)
		}
		if len(events) == 0 {
			text = append(text, ": nothing new\n\n"...)
		}
		for i := range events {
			if text, err = appendEvent(text, &events[i], topics); err != nil {
				return err
			}
			if len(text) >= streamBytes && i < len(events)-1 {
				if err := c.sendEvents(text); err != nil {
					return err
				}
				text = text[:0]
			}
		}
		err = c.sendEvents(text)
		if cap(text) > 2*streamBytes { // the stream may be idle for long
			text = nil
		}
		return err
	})
	if errors.Is(err, errHeadOnly) {
		return nil
	}
	var end *service.StreamEnd
	if !errors.As(err, &end) {
		return err
	}
	if c.status == 0 {
		c.beginEvents()
	}
	if text, err = appendEnd(text[:0], end); err != nil {
		return err
	}
	return c.sendEvents(text)
}

func (c *call) beginEvents() {
	h := c.w.Header()
	h["Content-Type"], h["X-Accel-Buffering"], h["Cache-Control"] = sseValue, unbufferedValue, noStoreValue
	c.beginStream(http.StatusOK)
}

// sendEvents writes events and has them sent. A client that does not read them for too long is gone.
func (c *call) sendEvents(text []byte) error {
	control := http.NewResponseController(c.w)
	_ = control.SetWriteDeadline(time.Now().Add(stalled)) // a writer that knows no deadlines has none to move
	n, err := c.w.Write(text)
	c.sent += int64(n)
	if err == nil {
		err = control.Flush()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errClientGone, err)
	}
	return nil
}

// appendEvent writes one event.
func appendEvent(text []byte, e *service.StreamEvent, topics bool) ([]byte, error) {
	switch {
	case e.Task != nil:
		name := "task.started"
		if e.Task.Ended {
			name = "task.ended"
		}
		v := taskEventView{
			Seq: e.Task.No, At: at(e.Task.At), TaskSeq: e.Task.Seq, Parent: e.Task.Parent, Name: e.Task.Name, Kind: e.Task.Kind,
			Reference: e.Task.Reference, Attempt: e.Task.Attempt, Phase: e.Task.Phase.String(), Error: viewExecutionError(e.Task.Error),
		}
		v.Iteration, v.Iterations = viewIterations(e.Task.Iterations)
		return appendNumbered(text, name, e.Task.No, v)
	case e.Gap != nil:
		return appendNumbered(text, "gap", e.Gap.To, gapView{e.Gap.From, e.Gap.To})
	}
	state := stateView{Topic: "execution:" + chargehand.ExecutionID(e.Topic.ID).String()}
	name, own := "gone", any(struct{}{})
	if e.Topic.Kind == service.TopicBatch {
		state.Topic = "batch:" + chargehand.BatchID(e.Topic.ID).String()
	}
	if e.Topic.Kind == service.TopicTasks {
		state.Topic = tasksMine
	}
	switch {
	case e.Execution != nil:
		v := viewExecution(e.Execution)
		name, own, state.Execution = "execution", v, &v
	case e.Batch != nil:
		v := viewBatch(e.Batch)
		name, own, state.Batch = "batch", v, &v
	case e.Tasks != nil:
		v := viewTaskNews(e.Tasks)
		name, own, state.Tasks = "tasks", v, &v
	}
	if topics {
		own = state
	}
	return appendData(append(text, "event: "+name+"\n"...), own)
}

func viewTaskNews(n *service.TaskNews) tasksView {
	v := tasksView{Counts: viewTaskCounts(n.Counts), Changed: make([]humanTask, 0, len(n.Changed)), Removed: append([]chargehand.HumanTaskID{}, n.Removed...), More: n.More}
	for i := range n.Changed {
		v.Changed = append(v.Changed, viewHumanTask(&n.Changed[i]))
	}
	return v
}

func appendNumbered(text []byte, name string, no int64, data any) ([]byte, error) {
	text = strconv.AppendInt(append(text, "id: "...), no, 10)
	return appendData(append(text, "\nevent: "+name+"\n"...), data)
}

func appendEnd(text []byte, end *service.StreamEnd) ([]byte, error) {
	if !end.Reconnect {
		text = append(text, "id: "+endID+"\n"...)
	}
	return appendData(append(text, "event: end\n"...), endView{end.Reason, end.Detail, end.Reconnect})
}

// appendData writes the data of an event, which JSON without line breaks is, and its end.
func appendData(text []byte, data any) ([]byte, error) {
	encoded, err := encode(data)
	return append(append(append(text, "data: "...), encoded...), "\n\n"...), err
}
