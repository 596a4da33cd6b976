package graph

import (
	"fmt"
	"strings"
)

// printer writes a graph as text. The names of nodes in it are numbers: pointers hold what an author wrote.
type printer struct {
	text  strings.Builder
	depth int

	boxBegin, boxEnd string              // the first line of a box, with its name and its title, and the last one
	quote            func(string) string // a text as the language writes it
	tasks            func(*Scope)        // writes the tasks of a scope

	nodes map[string]*Node
	node  map[string]string   // id of a node → its name in the text
	scope map[string]string   // id of a scope → its name in the text
	owned map[string][]*Scope // id of a node → the scopes that it holds
	owner map[string]string   // id of a scope → the node that holds it
	root  map[string]bool     // the scopes that no node holds
	exits map[string]bool     // the scopes whose end an edge reaches before their last task
}

func newPrinter(g *Graph) *printer {
	p := &printer{
		nodes: make(map[string]*Node, len(g.Nodes)), node: make(map[string]string, len(g.Nodes)),
		scope: map[string]string{}, owned: map[string][]*Scope{}, owner: map[string]string{}, root: map[string]bool{}, exits: map[string]bool{},
	}
	for i := range g.Nodes {
		p.nodes[g.Nodes[i].ID], p.node[g.Nodes[i].ID] = &g.Nodes[i], fmt.Sprintf("n%d", i)
	}
	last := map[string]string{}
	for i := range g.Scopes {
		s := &g.Scopes[i]
		p.scope[s.ID] = fmt.Sprintf("s%d", i)
		if s.Owner != nil {
			p.owned[*s.Owner], p.owner[s.ID] = append(p.owned[*s.Owner], s), *s.Owner
		} else if s.Role == List {
			p.root[s.ID] = true
		}
		if len(s.Nodes) > 0 {
			last[s.ID] = s.Nodes[len(s.Nodes)-1]
		}
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		if e.Leaves == LeavesList && !p.root[e.Scope] && e.From != last[e.Scope] {
			p.exits[e.Scope] = true
		}
	}
	return p
}

// target is the name of what an edge leads to. The edge is not drawn where it only says that a list ends after its
// last task.
func (p *printer) target(e *Edge) (name string, drawn bool) {
	switch {
	case e.To != nil:
		return p.node[*e.To], true
	case e.Leaves == LeavesWorkflow || p.root[e.Scope]:
		return "finish", true
	case p.exits[e.Scope]:
		return p.scope[e.Scope] + "x", true
	}
	return "", false
}

// box writes what is inside of a box.
func (p *printer) box(name, title string, inside func()) {
	p.line(p.boxBegin, name, p.quote(title))
	p.depth++
	inside()
	p.depth--
	p.line("%s", p.boxEnd)
}

// part writes the tasks of what belongs to an extension or function, in a box.
func (p *printer) part(s *Scope) {
	p.box(p.scope[s.ID], string(s.Role)+" "+s.Label, func() { p.tasks(s) })
}

// inner writes a scope that a container holds: in a box of its own if there are several.
func (p *printer) inner(s *Scope, several bool) {
	if several {
		p.box(p.scope[s.ID], s.title(), func() { p.tasks(s) })
	} else {
		p.tasks(s)
	}
}

func (p *printer) line(format string, args ...any) {
	p.text.WriteString(strings.Repeat("  ", p.depth))
	fmt.Fprintf(&p.text, format, args...)
	p.text.WriteByte('\n')
}

// title is what stands on a node, in lines: its name, what it is and does, and its condition. The titles of boxes have
// one line, because more would cover what is in the box.
func (n *Node) title() string {
	text := n.Name + "\n" + n.Kind
	if n.Type != "" {
		text += " " + n.Type
	}
	if n.Detail != "" {
		text += ": " + n.Detail
	}
	if n.If != "" {
		text += "\nif " + n.If
	}
	if n.State != nil {
		text += "\n" + n.State.text()
	}
	if n.Container {
		text = strings.ReplaceAll(text, "\n", " · ")
	}
	return text
}

// title is what stands on the box of one of several scopes of a node.
func (s *Scope) title() string {
	switch s.Role {
	case Catch:
		return s.Label
	case Branch:
		return "branch"
	}
	return "try"
}
