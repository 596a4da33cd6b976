package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// StreamEvent is one event of a stream. One of Execution, Batch, Task, Gap and Tasks is set; none: what Topic names
// was deleted.
type StreamEvent struct {
	Topic     string // execution:ID, batch:ID or tasks:mine, of Follow only
	Execution *Execution
	Batch     *Batch
	Task      *TaskEvent
	Gap       *EventGap
	Tasks     *TaskNews
}

// TaskNews is what has changed of the human tasks of the key since the news before.
type TaskNews struct {
	Counts  HumanTaskCounts `json:"counts"`
	Changed []HumanTask     `json:"changed"` // as in lists, those that are new or have changed; first all
	Removed []string        `json:"removed"` // ids of those that are not among them any more
	More    bool            `json:"more"`    // there are more than the 50 that are due first
}

// TaskEvent is the start or end of a task. Seq numbers the events of an execution from 1, without gaps.
type TaskEvent struct {
	Seq        int64           `json:"seq"`
	At         time.Time       `json:"at"`
	TaskSeq    int             `json:"task_seq"`             // of the entry in the timeline
	ParentSeq  int             `json:"parent_seq,omitempty"` // TaskSeq of the task that it is a part of; 0: none
	Name       string          `json:"name"`
	Kind       string          `json:"kind"`
	Reference  string          `json:"reference"`
	Iteration  int             `json:"iteration"`
	Iterations []int           `json:"iterations"` // the pass of each loop around the task, the outermost first
	Attempt    int             `json:"attempt"`
	Phase      string          `json:"phase"` // running at the start
	Error      *ExecutionError `json:"error,omitempty"`
	Ended      bool            `json:"-"`
}

// EventGap says that task events from From to To are not kept any more.
type EventGap struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// StreamEnd is the error with which a stream ends that the server ended for good before everything had ended.
type StreamEnd struct {
	Reason    string `json:"reason"`
	Detail    string `json:"detail"`
	Reconnect bool   `json:"reconnect"`
}

func (e *StreamEnd) Error() string { return e.Detail + " (" + e.Reason + ")" }

// FollowExecution calls handle with the state of an execution, with each start and end of a task after the one with
// number after, once each and in order, and with each change of the state. It connects again where a connection
// breaks, and returns nil when the execution has ended.
func (c *Client) FollowExecution(ctx context.Context, workflow, id string, after int64, handle func(StreamEvent) error) error {
	return c.follow(ctx, execution(workflow, id)+"/events", nil, after, handle)
}

// FollowBatch calls handle with the state of a batch, without its executions, and with its changes, until it has ended.
func (c *Client) FollowBatch(ctx context.Context, workflow, id string, handle func(StreamEvent) error) error {
	return c.follow(ctx, batch(workflow, id)+"/events", nil, 0, handle)
}

// FollowHumanTasks calls handle with the tasks that the key may answer, the 50 of them that are due first, and then
// with their changes (StreamEvent.Tasks), until ctx ends. After a broken connection all come again, and tasks that the
// former events had and this one does not have are gone.
func (c *Client) FollowHumanTasks(ctx context.Context, handle func(StreamEvent) error) error {
	return c.follow(ctx, "/human-tasks/stream", nil, 0, handle)
}

// Follow calls handle with the states of up to 20 topics (execution:ID, batch:ID, tasks:mine) and their changes, until
// all have ended. After a broken connection the states come again.
func (c *Client) Follow(ctx context.Context, topics []string, handle func(StreamEvent) error) error {
	return c.follow(ctx, "/stream", url.Values{"topic": topics}, 0, handle)
}

// silence is after how long a silent stream counts as broken: the server sends something every 15 s.
const silence = 45 * time.Second

// handled marks errors of the caller's function.
type handled struct{ error }

func (c *Client) follow(ctx context.Context, path string, query url.Values, after int64, handle func(StreamEvent) error) error {
	pause := c.pause
	failed := 0
	for {
		began := after
		end, err := c.followOnce(ctx, path, query, &after, handle)
		var own handled
		var answer *Error
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &own):
			return own.error
		case end != nil && end.Reason == "complete":
			return nil
		case end != nil && !end.Reconnect:
			return end
		case end != nil || after > began:
			failed, pause = 0, c.pause
		case errors.As(err, &answer):
			delay, again := retryDelay(err, pause)
			if failed++; !again || failed >= c.attempts {
				return err
			}
			pause = delay
		default:
			if failed++; failed >= c.attempts {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, 10*time.Second)
	}
}

// followOnce reads one connection to its end. end is the last event, nil if the connection broke.
func (c *Client) followOnce(ctx context.Context, path string, query url.Values, after *int64, handle func(StreamEvent) error) (end *StreamEnd, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if *after > 0 {
		query = url.Values{"after": {strconv.FormatInt(*after, 10)}}
	}
	resp, err := c.sendOnce(ctx, call{method: http.MethodGet, path: path, query: query, accept: "text/event-stream"}, "")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	silent := time.AfterFunc(silence, cancel)
	defer silent.Stop()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 16<<20)
	var name, data string
	for lines.Scan() {
		silent.Reset(silence)
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case field == "event":
			name = value
		case field == "data":
			data = value
		case lines.Text() == "" && name != "":
			if end, err = take(name, []byte(data), after, handle); end != nil || err != nil {
				return end, err
			}
			name, data = "", ""
		}
	}
	if err = lines.Err(); err == nil {
		err = io.ErrUnexpectedEOF
	}
	return nil, fmt.Errorf("%w: the stream broke: %w", ErrUnreachable, err)
}

// take hands one event over.
func take(name string, data []byte, after *int64, handle func(StreamEvent) error) (end *StreamEnd, err error) {
	var e StreamEvent
	switch name {
	case "end":
		return end, json.Unmarshal(data, &end)
	case "task.started", "task.ended":
		if err := json.Unmarshal(data, &e.Task); err != nil {
			return nil, err
		}
		e.Task.Ended, *after = name == "task.ended", e.Task.Seq
	case "gap":
		if err := json.Unmarshal(data, &e.Gap); err != nil {
			return nil, err
		}
		*after = e.Gap.To
	case "execution", "batch", "tasks", "gone":
		if e, err = takeState(name, data); err != nil {
			return nil, err
		}
	default:
		return nil, nil // of a newer server
	}
	if err := handle(e); err != nil {
		return nil, handled{err}
	}
	return nil, nil
}

// takeState reads a state. In a stream of topics it is in a field of its own.
func takeState(name string, data []byte) (e StreamEvent, err error) {
	var of struct {
		Topic     string     `json:"topic"`
		Execution *Execution `json:"execution"`
		Batch     *Batch     `json:"batch"`
		Tasks     *TaskNews  `json:"tasks"`
	}
	if err := json.Unmarshal(data, &of); err != nil {
		return e, err
	}
	e = StreamEvent{Topic: of.Topic, Execution: of.Execution, Batch: of.Batch, Tasks: of.Tasks}
	switch {
	case of.Topic != "":
	case name == "execution":
		err = json.Unmarshal(data, &e.Execution)
	case name == "batch":
		err = json.Unmarshal(data, &e.Batch)
	case name == "tasks":
		err = json.Unmarshal(data, &e.Tasks)
	}
	return e, err
}
