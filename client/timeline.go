package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// TimelineEntry is the record of one started task of an execution.
type TimelineEntry struct {
	Seq        int             `json:"seq"`
	ParentSeq  int             `json:"parent_seq,omitempty"` // Seq of the task that it is a part of; 0: none
	Name       string          `json:"name"`
	Kind       string          `json:"kind"`
	Reference  string          `json:"reference"`
	Iteration  *int            `json:"iteration,omitempty"`
	Iterations []int           `json:"iterations"` // the pass of each loop around the task, the outermost first
	Attempt    int             `json:"attempt"`
	Phase      string          `json:"phase"`
	StartedAt  *time.Time      `json:"started_at,omitempty"`
	FinishedAt *time.Time      `json:"finished_at,omitempty"`
	WaitingFor *TaskWait       `json:"waiting_for,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	Error      *ExecutionError `json:"error,omitempty"`
	Files      []Result        `json:"files,omitempty"` // that the task has made
	// ChildExecutionID is the execution of another workflow that the task has started; empty: none.
	ChildExecutionID string `json:"child_execution_id,omitempty"`
	LogBytes         int64  `json:"log_bytes,omitempty"` // of text in the log of the execution
	// DocumentDigest is the SHA-256 of the OpenAPI or AsyncAPI document that the call used; empty: it used none.
	DocumentDigest string `json:"document_digest,omitempty"`
	raw
}

// TaskWait is what a task waits for.
type TaskWait struct {
	Kind   string       `json:"kind"` // child, event, person, retry or timer
	Until  *time.Time   `json:"until,omitempty"`
	Filter *EventFilter `json:"filter,omitempty"`  // nil: events of any type
	TaskID string       `json:"task_id,omitempty"` // of the human task that a person is to answer
	// UnknownAssignees are users and groups to whom the task is assigned, and that the account does not have.
	UnknownAssignees []string `json:"unknown_assignees,omitempty"`
}

// TimelinePage is a page of a timeline, in order of start.
type TimelinePage struct {
	Page[TimelineEntry]
	Truncated bool `json:"truncated"` // older tasks are no longer there
}

// TimelineFilter narrows a timeline; zero fields do not.
type TimelineFilter struct {
	References []string
	Under      string // a task and what is in it
	Phases     []string
	Descending bool
	Summary    bool // without inputs and outputs
}

// Timeline returns a page of the tasks of an execution.
func (c *Client) Timeline(ctx context.Context, workflow, id string, f TimelineFilter, limit int, cursor string) (*TimelinePage, error) {
	q := page(limit, cursor)
	addAll(q, "reference", f.References)
	addAll(q, "phase", f.Phases)
	if f.Under != "" {
		q.Set("under", f.Under)
	}
	if f.Descending {
		q.Set("order", "desc")
	}
	if f.Summary {
		q.Set("fields", "summary")
	}
	var p TimelinePage
	return &p, c.do(ctx, call{method: http.MethodGet, path: execution(workflow, id) + "/timeline", query: q, into: &p})
}

// TaskProgress counts the runs of one task of an execution.
type TaskProgress struct {
	Reference      string      `json:"reference"`
	Name           string      `json:"name"`
	Kind           string      `json:"kind"`
	Phase          string      `json:"phase"`
	Counts         PhaseCounts `json:"counts"`
	Attempts       int         `json:"attempts"`
	FirstFailedSeq int         `json:"first_failed_seq,omitempty"` // 0: none has failed
	LastSeq        int         `json:"last_seq"`
	MinDurationMs  *int64      `json:"min_duration_ms,omitempty"` // nil: none has ended
	MeanDurationMs *int64      `json:"mean_duration_ms,omitempty"`
	MaxDurationMs  *int64      `json:"max_duration_ms,omitempty"`
}

// PhaseCounts are runs by their phase.
type PhaseCounts struct {
	Running   int `json:"running"`
	Waiting   int `json:"waiting"`
	Completed int `json:"completed"`
	Faulted   int `json:"faulted"`
	Cancelled int `json:"cancelled"`
}

// ExecutionProgress counts the tasks of an execution.
type ExecutionProgress struct {
	Data      []TaskProgress `json:"data"`
	Truncated bool           `json:"truncated"`
}

// Progress counts the tasks of an execution.
func (c *Client) Progress(ctx context.Context, workflow, id string) (*ExecutionProgress, error) {
	var p ExecutionProgress
	return &p, c.do(ctx, call{method: http.MethodGet, path: execution(workflow, id) + "/progress", into: &p})
}

// ExecutionGraph draws an execution: as json, mermaid or dot.
func (c *Client) ExecutionGraph(ctx context.Context, workflow, id, format string) ([]byte, error) {
	resp, err := c.send(ctx, call{method: http.MethodGet, path: execution(workflow, id) + "/graph", query: url.Values{"format": {format}}})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	drawn, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read the graph of execution %s: %w", id, err)
	}
	return drawn, nil
}
