package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand/internal/dsl"
)

// Of is the graph of a definition without errors.
func Of(doc *dsl.Document) *Graph {
	b := &builder{doc: doc, graph: &Graph{Scopes: []Scope{}, Nodes: []Node{}, Edges: []Edge{}}}
	b.list(nil, List, "", "/do", doc.Do)
	for _, e := range doc.Use.Extensions {
		b.extending = true
		if len(e.Before) > 0 {
			b.list(nil, Before, e.Name, e.Pointer+"/before", e.Before)
		}
		if len(e.After) > 0 {
			b.list(nil, After, e.Name, e.Pointer+"/after", e.After)
		}
		b.extending = false
	}
	for _, f := range doc.Use.Functions.Entries {
		b.function = f.Pointer
		b.list(nil, Function, f.Name, f.Pointer, []*dsl.Task{f.Value})
		b.function = ""
	}
	b.graph.Digest = digest(b.graph)
	return b.graph
}

type builder struct {
	doc       *dsl.Document
	graph     *Graph
	extending bool   // the task belongs to an extension, which is not extended itself
	function  string // pointer of the function whose body is built, which is not extended as a call
}

// list adds the scope of a list, its tasks, and what they hold.
func (b *builder) list(owner *Node, role Role, label, id string, tasks []*dsl.Task) {
	scope := Scope{ID: id, Role: role, Label: label, Nodes: make([]string, len(tasks))}
	if owner != nil {
		scope.Owner = &owner.ID
	}
	for i, t := range tasks {
		scope.Nodes[i] = t.Pointer
	}
	b.graph.Scopes = append(b.graph.Scopes, scope)
	index := make(map[string]int, len(tasks))
	for i, t := range tasks {
		index[t.Name] = i
	}
	e := edges{graph: b.graph, scope: &scope, index: index}
	for i, t := range tasks {
		e.of(i, t)
		b.task(id, t)
	}
}

// task adds a node and the scopes that it holds.
func (b *builder) task(scope string, t *dsl.Task) {
	line, _ := b.doc.Position(t.Pointer)
	n := Node{
		ID: t.Pointer, Kind: t.Kind.String(), Name: t.Name, Scope: scope, Line: line,
		If: short(t.If.Text()), Timeout: timeoutText(t.Timeout),
		Container: t.Do != nil || t.For != nil || t.Fork != nil || t.Try != nil,
	}
	n.Type, n.Detail = describe(t)
	if !b.extending {
		n.Extensions = b.extensions(t)
	}
	if t.Fork != nil {
		n.Compete = t.Fork.Compete
	}
	if r := t.Run; r != nil {
		n.Detached = !r.Await
		if w := r.Workflow; w != nil {
			n.Workflow = &Workflow{w.Namespace, w.Name, w.Version}
		}
	}
	if c := t.Call; c != nil && c.Custom() {
		n.Human = strings.HasPrefix(c.Function, "human:") && strings.HasSuffix(c.Function, "@default")
		for _, f := range b.doc.Use.Functions.Entries {
			if f.Name == c.Function {
				n.Function = f.Pointer
			}
		}
	}
	each := iterator(t)
	n.Container = n.Container || each != nil
	b.graph.Nodes = append(b.graph.Nodes, n)
	switch {
	case t.For != nil:
		b.list(&n, List, "", t.Pointer+"/do", t.For.Do)
	case t.Fork != nil:
		for i, branch := range t.Fork.Branches {
			b.list(&n, Branch, "", t.Fork.Pointer+"/branches/"+strconv.Itoa(i), []*dsl.Task{branch})
		}
	case t.Try != nil:
		b.list(&n, List, "", t.Pointer+"/try", t.Try.Do)
		if c := t.Try.Catch; c != nil && c.HasDo {
			b.list(&n, Catch, caughtText(c), c.Pointer+"/do", c.Do)
		}
	case each != nil:
		b.list(&n, List, "", each.Pointer+"/do", each.Do)
	case t.Kind == dsl.KindDo:
		b.list(&n, List, "", t.Pointer+"/do", t.Do)
	}
}

// iterator is the list that a task runs for each event or message; nil if it has none.
func iterator(t *dsl.Task) *dsl.Iterator {
	if t.Listen != nil {
		return t.Listen.Foreach
	}
	if t.Call != nil && t.Call.AsyncAPI != nil && t.Call.AsyncAPI.Subscription != nil {
		return t.Call.AsyncAPI.Subscription.Foreach
	}
	return nil
}

// extensions are those for tasks like t, in the order of the definition (T35).
func (b *builder) extensions(t *dsl.Task) []Extension {
	var found []Extension
	for _, e := range b.doc.Use.Extensions {
		body := b.function == t.Pointer
		switch e.Extend {
		case "all":
			if body {
				continue
			}
		case "composite":
			if t.Kind != dsl.KindDo && t.Kind != dsl.KindFork {
				continue
			}
		default:
			if e.Extend != t.Kind.String() || (e.Extend == "call" && body) {
				continue
			}
		}
		x := Extension{Name: e.Name}
		if len(e.Before) > 0 {
			x.Before = e.Pointer + "/before"
		}
		if len(e.After) > 0 {
			x.After = e.Pointer + "/after"
		}
		found = append(found, x)
	}
	return found
}

// edges makes those of one scope.
type edges struct {
	graph *Graph
	scope *Scope
	index map[string]int // of the tasks by name
}

// of adds the edges that leave a task.
func (e *edges) of(i int, t *dsl.Task) {
	own := e.way(i, t.Then)
	if t.Kind == dsl.KindSwitch {
		e.cases(i, t, own)
	} else if t.Kind != dsl.KindRaise {
		e.add(i, own, "")
	}
	if c := catchOf(t); c != nil && c.Then.Flow != dsl.FlowNone {
		caught := e.way(i, c.Then)
		caught.Kind = Caught
		e.add(i, caught, caughtText(c))
	}
	if t.If.Present() {
		skipped := e.way(i, dsl.Directive{})
		if t.Kind == dsl.KindSwitch || t.Kind == dsl.KindRaise || !sameTarget(skipped, own) {
			skipped.Kind = Skip
			e.add(i, skipped, "skipped")
		}
	}
}

// cases adds the edges of a switch. Cases that lead to the same place share one.
func (e *edges) cases(i int, t *dsl.Task, own Edge) {
	var ways []Edge
	add := func(way Edge, label string) {
		way.Kind = Case
		for at := range ways {
			if sameTarget(ways[at], way) {
				ways[at].Label += ", " + label
				return
			}
		}
		way.Label = label
		ways = append(ways, way)
	}
	hasDefault := false
	for _, c := range t.Switch {
		add(e.way(i, c.Then), short(c.Name))
		hasDefault = hasDefault || !c.When.Present()
	}
	if !hasDefault {
		add(own, "else")
	}
	for _, way := range ways {
		e.add(i, way, short(way.Label))
	}
}

// way is where a directive of the task i leads.
func (e *edges) way(i int, d dsl.Directive) Edge {
	switch d.Flow {
	case dsl.FlowExit:
		return Edge{Kind: Then, Leaves: LeavesList}
	case dsl.FlowEnd:
		return Edge{Kind: Then, Leaves: LeavesWorkflow}
	case dsl.FlowJump:
		if to, ok := e.index[d.Target]; ok && to != i+1 {
			return Edge{Kind: Then, To: &e.scope.Nodes[to], Back: to <= i}
		}
	}
	if i+1 == len(e.scope.Nodes) {
		return Edge{Kind: Next, Leaves: LeavesList}
	}
	return Edge{Kind: Next, To: &e.scope.Nodes[i+1]}
}

func (e *edges) add(i int, way Edge, label string) {
	way.From, way.Label, way.Scope = e.scope.Nodes[i], label, e.scope.ID
	e.graph.Edges = append(e.graph.Edges, way)
}

func sameTarget(a, b Edge) bool {
	if a.To == nil || b.To == nil {
		return a.To == b.To && a.Leaves == b.Leaves
	}
	return *a.To == *b.To
}

func catchOf(t *dsl.Task) *dsl.Catch {
	if t.Try == nil {
		return nil
	}
	return t.Try.Catch
}

// digest is the SHA-256 of the ids of the nodes and of the edges, each text with its length before it.
func digest(g *Graph) string {
	h := sha256.New()
	text := func(parts ...string) {
		for _, p := range parts {
			h.Write(strconv.AppendInt(nil, int64(len(p)), 10))
			h.Write([]byte{':'})
			h.Write([]byte(p))
		}
	}
	for _, s := range g.Scopes {
		text("scope", s.ID, string(s.Role))
		text(s.Nodes...)
	}
	for _, e := range g.Edges {
		to := ""
		if e.To != nil {
			to = *e.To
		}
		text("edge", e.From, to, e.Kind, e.Leaves)
	}
	return hex.EncodeToString(h.Sum(nil))
}
