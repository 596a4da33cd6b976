package graph

import (
	"fmt"
	"strings"
)

// DOT writes a directed graph in the language of Graphviz. An edge into a container leads to a point at its head, one
// out of it begins at its foot, because that language has no edges between clusters.
func (g *Graph) DOT() string {
	p := newPrinter(g)
	p.boxBegin, p.boxEnd, p.quote, p.tasks = "subgraph cluster_%s { label=%s;", "}", dotText, p.dotTasks
	p.line("digraph workflow {")
	p.depth++
	p.line("compound=true; node [shape=box, style=rounded, fontname=\"sans-serif\"]; edge [fontname=\"sans-serif\"];")
	for i := range g.Scopes {
		if s := &g.Scopes[i]; s.Owner == nil {
			p.dotRoot(s)
		}
	}
	for i := range g.Edges {
		p.dotEdge(&g.Edges[i])
	}
	p.depth--
	p.line("}")
	return p.text.String()
}

func (p *printer) dotRoot(s *Scope) {
	if s.Role == List {
		p.line("start [shape=circle, label=start];")
		p.tasks(s)
		p.line("finish [shape=doublecircle, label=end];")
		if len(s.Nodes) > 0 {
			p.line("start -> %s;", p.head(s.Nodes[0]))
		}
		return
	}
	p.part(s)
}

func (p *printer) dotTasks(s *Scope) {
	for _, id := range s.Nodes {
		n := p.nodes[id]
		if !n.Container {
			shape := ""
			if n.Kind == "switch" {
				shape = "shape=diamond, "
			}
			if fill, border := n.colors(); fill != "" {
				shape += fmt.Sprintf("style=\"rounded,filled\", fillcolor=%q, color=%q, ", fill, border)
			}
			p.line("%s [%slabel=%s];", p.node[id], shape, dotText(n.title()))
			continue
		}
		p.box(p.node[id], n.title(), func() {
			if _, border := n.colors(); border != "" {
				p.line("color=%q;", border)
			}
			p.line("%s [shape=point]; %s [shape=point];", p.head(id), p.foot(id))
			for _, inner := range p.owned[id] {
				p.inner(inner, len(p.owned[id]) > 1)
				p.dotInto(id, inner)
			}
		})
	}
}

// colors are those of the node's state, "" if it has none.
func (n *Node) colors() (fill, border string) {
	if n.State != nil {
		for _, c := range stateColors {
			if c.phase == n.State.Phase {
				return c.fill, c.border
			}
		}
	}
	return "", ""
}

// dotInto connects the head of a container with the first task of a list in it.
func (p *printer) dotInto(id string, inner *Scope) {
	switch {
	case len(inner.Nodes) == 0:
		p.line("%s -> %s;", p.head(id), p.foot(id))
	case inner.Role == Catch:
		p.line("%s -> %s [style=dashed];", p.head(id), p.head(inner.Nodes[0]))
	default:
		p.line("%s -> %s;", p.head(id), p.head(inner.Nodes[0]))
	}
}

func (p *printer) dotEdge(e *Edge) {
	target := "finish"
	switch {
	case e.To != nil:
		target = p.head(*e.To)
	case e.Leaves == LeavesList && !p.root[e.Scope]:
		owner := p.owner[e.Scope]
		if owner == "" {
			return // what the scope belongs to is not in the picture
		}
		target = p.foot(owner)
	}
	var attributes []string
	if e.Label != "" {
		attributes = append(attributes, "label="+dotText(e.Label))
	}
	if e.Back || e.Kind == Skip || e.Kind == Caught {
		attributes = append(attributes, "style=dashed")
	}
	if e.Back {
		attributes = append(attributes, "constraint=false")
	}
	with := ""
	if len(attributes) > 0 {
		with = " [" + strings.Join(attributes, ", ") + "]"
	}
	p.line("%s -> %s%s;", p.foot(e.From), target, with)
}

// head and foot are where edges enter and leave a node.
func (p *printer) head(id string) string { return p.end(id, "in") }
func (p *printer) foot(id string) string { return p.end(id, "out") }

func (p *printer) end(id, suffix string) string {
	if p.nodes[id].Container {
		return p.node[id] + suffix
	}
	return p.node[id]
}

// dotText quotes a text.
func dotText(text string) string {
	return fmt.Sprintf("\"%s\"", strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text))
}
