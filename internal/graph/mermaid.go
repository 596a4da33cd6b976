package graph

import (
	"fmt"
	"strings"
)

// Mermaid writes a flowchart in the language of Mermaid.
func (g *Graph) Mermaid() string {
	p := newPrinter(g)
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
	return p.text.String()
}

// mermaidRoot writes the workflow itself, or a box around what belongs to an extension or function.
func (p *printer) mermaidRoot(s *Scope) {
	if s.Role == List {
		p.line("start((\"start\"))")
		p.mermaidScope(s)
		if len(s.Nodes) > 0 {
			p.line("start --> %s", p.node[s.Nodes[0]])
		}
		p.line("finish(((\"end\")))")
		return
	}
	p.line("subgraph %s[%s]", p.scope[s.ID], mermaidText(string(s.Role)+" "+s.Label))
	p.depth++
	p.mermaidScope(s)
	p.depth--
	p.line("end")
}

func (p *printer) mermaidScope(s *Scope) {
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
		p.line("subgraph %s[%s]", p.node[id], mermaidText(n.title()))
		p.depth++
		for _, inner := range p.owned[id] {
			p.mermaidInner(inner, len(p.owned[id]) > 1)
		}
		p.depth--
		p.line("end")
	}
	if p.exits[s.ID] {
		p.line("%sx((\" \"))", p.scope[s.ID])
	}
}

// mermaidInner writes a scope that a container holds: in a box of its own if there are several.
func (p *printer) mermaidInner(s *Scope, several bool) {
	if !several {
		p.mermaidScope(s)
		return
	}
	p.line("subgraph %s[%s]", p.scope[s.ID], mermaidText(s.title()))
	p.depth++
	p.mermaidScope(s)
	p.depth--
	p.line("end")
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
