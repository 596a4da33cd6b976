package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

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
	for _, l := range g.Scopes {
		if len(l.Nodes) > 0 {
			first[l.ID] = l.Nodes[0]
		}
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
	before := map[string]string{} // the task that started last, by the list and its iteration
	ended := false                // a task that ran may have completed the workflow from within
	for _, entry := range s.timeline {
		reference, _ := entry["reference"].(string)
		n := nodes[reference]
		if n == nil {
			return fmt.Errorf("%s ran and is not in the graph", reference)
		}
		run := n.Scope + fmt.Sprint(entry["iterations"])
		if may, _ := next(before[run], n.Scope); !may[reference] {
			return fmt.Errorf("%s ran after %q, and no edge of the graph leads there", reference, before[run])
		}
		before[run] = reference
		for _, e := range edges[reference] {
			ended = ended || e.Leaves == graph.LeavesWorkflow
		}
	}
	if _, leaves := next(before["/do"+fmt.Sprint(nil)], "/do"); s.execution["phase"] == "completed" && !leaves && !ended {
		return fmt.Errorf("the workflow was completed after %q, and no edge of the graph leaves there", before["/do"+fmt.Sprint(nil)])
	}
	return nil
}
