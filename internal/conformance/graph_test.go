package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/chargehand/chargehand/internal/graph"
)

// followsGraph holds what has run against the graph of the definition: the edges lead from each task of a list to the
// one that started next, over tasks that were skipped, or the list began again; and a completed workflow was left by an
// edge. So the picture shows every way that control took.
func (s *scenario) followsGraph() error {
	version, _ := s.execution["workflow_version"].(string)
	query := fmt.Sprintf("?version=%s&revision=%v", url.QueryEscape(version), s.execution["revision"])
	a, err := s.host.Try(http.MethodGet, "/workflows/"+s.workflow+"/graph"+query, "")
	if err != nil {
		return err
	}
	var g graph.Graph
	if err := json.Unmarshal(a.Body, &g); a.Status != http.StatusOK || err != nil {
		return fmt.Errorf("graph: %d %s", a.Status, a.Body)
	}
	nodes, first, edges := map[string]*graph.Node{}, map[string]string{}, map[string][]graph.Edge{}
	for i := range g.Nodes {
		nodes[g.Nodes[i].ID] = &g.Nodes[i]
	}
	owners := map[string]*graph.Scope{}
	for i, l := range g.Scopes {
		owners[l.ID] = &g.Scopes[i]
		if len(l.Nodes) > 0 {
			first[l.ID] = l.Nodes[0]
		}
	}
	if s.from != "" {
		first["/do"] = s.from
	}
	for _, e := range g.Edges {
		edges[e.From] = append(edges[e.From], e)
	}
	// next is what may start after a task ("": when its list begins), and whether control may leave the list there. A task
	// that was skipped has no entry in the timeline.
	next := func(from, list string) (may map[string]bool, leaves bool) {
		may = map[string]bool{}
		var enter func(id string)
		enter = func(id string) {
			if may[id] {
				return
			}
			may[id] = true
			if nodes[id].If == "" {
				return
			}
			for _, e := range edges[id] {
				if e.Kind != graph.Skip && e.Kind != graph.Next {
					continue
				}
				if leaves = leaves || e.To == nil; e.To != nil {
					enter(*e.To)
				}
			}
		}
		enter(first[list])
		for _, e := range edges[from] {
			if leaves = leaves || e.To == nil; e.To != nil {
				enter(*e.To)
			}
		}
		return may, leaves
	}
	if err := s.nests(nodes, owners); err != nil {
		return err
	}
	// before is the task that started last, by the list and the entry, iteration and attempt that it is a part of.
	before := map[string]string{}
	ended := false // a task that ran may have completed the workflow from within
	for _, entry := range s.timeline {
		reference, _ := entry["reference"].(string)
		n := nodes[reference]
		if n == nil {
			return fmt.Errorf("%s ran and is not in the graph", reference)
		}
		run := n.Scope + fmt.Sprint(entry["iterations"], entry["parent_seq"], entry["attempt"])
		if may, _ := next(before[run], n.Scope); !may[reference] {
			return fmt.Errorf("%s ran after %q, and no edge of the graph leads there", reference, before[run])
		}
		before[run] = reference
		for _, e := range edges[reference] {
			ended = ended || e.Leaves == graph.LeavesWorkflow
		}
	}
	last := before["/do"+fmt.Sprint([]any{}, nil, 1)]
	if _, leaves := next(last, "/do"); s.execution["phase"] == "completed" && !leaves && !ended {
		return fmt.Errorf("the workflow was completed after %q, and no edge of the graph leaves there", last)
	}
	return s.isCounted()
}

// nests holds kinds, parents and iterations against the graph. A task is a part of the node that holds its list; the
// body of a function is a part of the call, and a task of an extension of the task that it extends.
func (s *scenario) nests(nodes map[string]*graph.Node, owners map[string]*graph.Scope) error {
	entries := map[int]map[string]any{}
	for _, entry := range s.timeline {
		seq, _ := entry["seq"].(int)
		parent, _ := entry["parent_seq"].(int)
		reference, _ := entry["reference"].(string)
		iterations, isList := entry["iterations"].([]any)
		entries[seq] = entry
		n, above := nodes[reference], entries[parent]
		if n == nil || entry["kind"] != n.Kind || !isList || (above == nil) != (parent == 0) || parent >= seq {
			return fmt.Errorf("entry %d of %s does not fit its node: %v", seq, reference, entry)
		}
		var around *graph.Node
		var outer []any
		if above != nil {
			over, _ := above["reference"].(string)
			around = nodes[over]
			outer, _ = above["iterations"].([]any)
		}
		scope := owners[n.Scope]
		var fits bool
		switch {
		case scope.Owner != nil && nodes[*scope.Owner].Scope == *scope.Owner:
			// It is in the body of a function, for which the call stands.
			fits = around != nil && around.Function != ""
		case scope.Owner != nil:
			fits = around != nil && around.ID == *scope.Owner
		case scope.Role == graph.Before || scope.Role == graph.After:
			fits = around != nil
		default:
			fits = above == nil
		}
		if !fits {
			return fmt.Errorf("entry %d of %s is a part of %v", seq, reference, above)
		}
		extra := len(iterations) - len(outer)
		if extra < 0 || extra > 1 || !slices.Equal(iterations[:len(outer)], outer) {
			return fmt.Errorf("entry %d of %s has the iterations %v within %v", seq, reference, iterations, outer)
		}
		if loops := around != nil && around.Kind == "for" && scope.Owner != nil; loops != (extra == 1) && (loops || around == nil) {
			return fmt.Errorf("entry %d of %s has the iterations %v in %v", seq, reference, iterations, around)
		}
		if extra == 1 && iterations[len(outer)] != entry["iteration"] {
			return fmt.Errorf("entry %d of %s has the iteration %v", seq, reference, entry["iteration"])
		}
		if entry["waiting_for"] != nil {
			return fmt.Errorf("entry %d of %s waits after the end: %v", seq, reference, entry["waiting_for"])
		}
	}
	return nil
}

// isCounted compares the progress with the timeline.
func (s *scenario) isCounted() error {
	want := map[string]string{}
	numbers := map[string]map[string]int{}
	for _, entry := range s.timeline {
		reference, _ := entry["reference"].(string)
		phase, _ := entry["phase"].(string)
		if numbers[reference] == nil {
			numbers[reference] = map[string]int{}
		}
		n := numbers[reference]
		n[phase]++
		seq, _ := entry["seq"].(int)
		if phase == "faulted" && n["first"] == 0 {
			n["first"] = seq
		}
		attempt, _ := entry["attempt"].(int)
		n["last"], n["attempts"] = seq, max(n["attempts"], attempt)
		want[reference] = fmt.Sprint(n["completed"], n["faulted"], n["cancelled"], n["running"], n["waiting"], n["first"], n["last"], n["attempts"])
	}
	a, err := s.host.Try(http.MethodGet, s.path()+"/progress", "")
	if err != nil {
		return err
	}
	got := map[string]string{}
	rows, _ := a.Object()["data"].([]any)
	for _, r := range rows {
		row, _ := r.(map[string]any)
		n, _ := row["counts"].(map[string]any)
		first, _ := row["first_failed_seq"].(int)
		reference, _ := row["reference"].(string)
		got[reference] = fmt.Sprint(n["completed"], n["faulted"], n["cancelled"], n["running"], n["waiting"], first, row["last_seq"], row["attempts"])
	}
	if a.Status != http.StatusOK || len(rows) != len(want) || !maps.Equal(got, want) {
		return fmt.Errorf("progress is %d %v, want %v", a.Status, got, want)
	}
	return nil
}
