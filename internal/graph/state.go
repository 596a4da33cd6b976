package graph

import (
	"fmt"
	"strings"
)

// NodeState is what an execution has done with a node.
type NodeState struct {
	// Phase is running or waiting if a run of the task is, and otherwise that of its newest run.
	Phase          string      `json:"phase" enum:"running,waiting,cancelled,faulted,completed"`
	Counts         PhaseCounts `json:"counts"`
	FirstFailedSeq int64       `json:"first_failed_seq,omitempty" minimum:"1"` // of a timeline entry; 0: none failed
	LastSeq        int64       `json:"last_seq" minimum:"1"`
	Attempts       int         `json:"attempts" minimum:"1"` // the highest attempt of the try around the task
}

// PhaseCounts are the runs of a task by their phase.
type PhaseCounts struct {
	Running   int `json:"running" minimum:"0"`
	Waiting   int `json:"waiting" minimum:"0"`
	Completed int `json:"completed" minimum:"0"`
	Faulted   int `json:"faulted" minimum:"0"`
	Cancelled int `json:"cancelled" minimum:"0"`
}

// Total is the number of runs.
func (c *PhaseCounts) Total() int {
	return c.Running + c.Waiting + c.Completed + c.Faulted + c.Cancelled
}

// SetStates gives the nodes their states, by their ids. A node without one has not run.
func (g *Graph) SetStates(states map[string]*NodeState) {
	for i := range g.Nodes {
		g.Nodes[i].State = states[g.Nodes[i].ID]
	}
}

// text is the state in a line: its phase, or of several runs how many are in which, and the attempts.
func (s *NodeState) text() string {
	var parts []string
	if s.Counts.Total() == 1 {
		parts = append(parts, s.Phase)
	} else {
		for _, c := range []struct {
			count int
			name  string
		}{
			{s.Counts.Running, "running"}, {s.Counts.Waiting, "waiting"}, {s.Counts.Completed, "completed"},
			{s.Counts.Faulted, "faulted"}, {s.Counts.Cancelled, "cancelled"},
		} {
			if c.count > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", c.count, c.name))
			}
		}
	}
	if s.Attempts > 1 {
		parts = append(parts, fmt.Sprintf("attempt %d", s.Attempts))
	}
	return strings.Join(parts, ", ")
}

// stateColors are fill and border of a node by its phase. The text says the phase too.
var stateColors = []struct{ phase, fill, border string }{
	{"running", "#dbeafe", "#1d4ed8"},
	{"waiting", "#fef3c7", "#b45309"},
	{"completed", "#dcfce7", "#15803d"},
	{"faulted", "#fee2e2", "#b91c1c"},
	{"cancelled", "#e5e7eb", "#4b5563"},
}
