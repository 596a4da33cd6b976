package graph

import (
	"fmt"
	"strings"
)

// Mermaid writes a flowchart in the language of Mermaid.
func (g *Graph) Mermaid() string {
	p := newPrinter(g)
	p.boxBegin, p.boxEnd, p.quote, p.tasks = "subgraph %s[%s]", "end", mermaidText, p.mermaidTasks
	p.line("flowchart TD")
	p.depth++
	for i := range g.Scopes {
		if s := &g.Scopes[i]; s.Owner == nil {
			p.mermaidRoot(s)
		}
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		if target, drawn := p.target(e); drawn {
			p.line("%s %s %s", p.node[e.From], mermaidArrow(e), target)
		}
	}
	p.mermaidStates(g)
	return p.text.String()
}

// mermaidStates colors the nodes that have a state.
func (p *printer) mermaidStates(g *Graph) {
	names := map[string][]string{}
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.State != nil {
			names[n.State.Phase] = append(names[n.State.Phase], p.node[n.ID])
		}
	}
	for _, c := range stateColors {
		if nodes := names[c.phase]; nodes != nil {
			p.line("classDef %s fill:%s,stroke:%s,color:#111827", c.phase, c.fill, c.border)
			p.line("class %s %s", strings.Join(nodes, ","), c.phase)
		}
	}
}

// mermaidRoot writes the workflow itself, or a box around what belongs to an extension or function.
func (p *printer) mermaidRoot(s *Scope) {
	if s.Role == List {
		p.line("start((\"start\"))")
		p.tasks(s)
		if len(s.Nodes) > 0 {
			p.line("start --> %s", p.node[s.Nodes[0]])
		}
		p.line("finish(((\"end\")))")
		return
	}
	p.part(s)
}

func (p *printer) mermaidTasks(s *Scope) {
	for _, id := range s.Nodes {
		n := p.nodes[id]
		if !n.Container {
			open, shut := "[", "]"
			switch n.Kind {
			case "switch":
				open, shut = "{{", "}}"
			case "listen", "wait":
				open, shut = "([", "])"
			}
			p.line("%s%s%s%s", p.node[id], open, mermaidText(n.title()), shut)
			continue
		}
		p.box(p.node[id], n.title(), func() {
			for _, inner := range p.owned[id] {
				p.inner(inner, len(p.owned[id]) > 1)
			}
		})
	}
	if p.exits[s.ID] {
		p.line("%sx((\" \"))", p.scope[s.ID])
	}
}

func mermaidArrow(e *Edge) string {
	arrow := "-->"
	if e.Back || e.Kind == Skip || e.Kind == Caught {
		arrow = "-.->"
	}
	label := e.Label
	if e.Back && label == "" {
		label = "back"
	}
	if label != "" {
		arrow += "|" + mermaidText(label) + "|"
	}
	return arrow
}

// mermaidText quotes a text. What has a meaning in Mermaid or in HTML is written as a character code.
func mermaidText(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteString("<br>")
		case strings.ContainsRune("\"#&<>`\\[]{}()|*_~;%$", r):
			fmt.Fprintf(&b, "#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
