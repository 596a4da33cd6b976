package api

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chargehand/chargehand/internal/graph"
	"github.com/chargehand/chargehand/internal/service"
)

const (
	mermaidMedia = "text/vnd.mermaid"
	dotMedia     = "text/vnd.graphviz"
)

// graphForms are the forms of a graph by the value of ?format=, with their media types.
var graphForms = []struct{ name, media string }{{"json", "application/json"}, {"mermaid", mermaidMedia}, {"dot", dotMedia}}

var graphParameters = append([]*parameter{
	{
		name: "version", in: "query", about: "The graph of this version. Default: of the one that a start without a version runs.",
		schema: versionParameter.schema, example: "1.0.0", read: versionParameter.read,
	},
	{
		name: "revision", in: "query", about: "With version: the revision of it, from 1. Default: the newest one, drafts included.",
		schema: revisionParameter.schema, example: 1, read: revisionParameter.read,
	},
}, graphFormParameters...)

// graphFormParameters ask for a form of a graph.
var graphFormParameters = []*parameter{
	{
		name: "Accept", in: "header", list: true, example: mermaidMedia,
		about:  mermaidMedia + " or " + dotMedia + ": as a text in that language. Otherwise JSON.",
		schema: huma.Schema{Type: "string"},
		read: func(c *call, value string) string {
			c.args.graphAs = acceptedForm(value)
			return ""
		},
	},
	{
		name: "format", in: "query", about: "As Accept, and more important than it.",
		schema: huma.Schema{Type: "string", Enum: []any{"json", "mermaid", "dot"}}, example: "mermaid",
		read: func(c *call, value string) (complaint string) {
			for _, form := range graphForms {
				if form.name == value {
					c.args.graphAs = value
					return ""
				}
			}
			return "must be one of json, mermaid and dot."
		},
	},
}

// acceptedForm is the form that an Accept header likes best, "" if it names none.
func acceptedForm(accept string) (best string) {
	weight := 0.0
	for part := range strings.SplitSeq(accept, ",") {
		media, parameters, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q := 1.0
		if text, given := parameters["q"]; given {
			if q, err = strconv.ParseFloat(text, 64); err != nil {
				continue
			}
		}
		for _, form := range graphForms {
			if form.media == media && q > weight {
				best, weight = form.name, q
			}
		}
	}
	return best
}

func graphEndpoints() []endpoint {
	g := exampleGraph()
	return []endpoint{{
		method: get, path: "/workflows/{workflowId}/graph", id: "getWorkflowGraph", tag: "Workflows",
		summary: "Get the control flow of a workflow",
		about: "What there is to draw of a definition, without coordinates: tasks, the lists that hold them, and the ways that control may take. " +
			"The ids of tasks are JSON pointers into the definition, as in the timeline of an execution.",
		scopes: service.ScopeWorkflowsRead, parameters: graphParameters,
		answers: []answer{{
			status: 200, about: "The graph", view: graph.Graph{}, headers: []string{"Vary"},
			texts: []text{{mermaidMedia, g.Mermaid()}, {dotMedia, g.DOT()}},
		}},
		serve: (*call).getWorkflowGraph,
	}}
}

func (c *call) getWorkflowGraph() error {
	if c.args.revision != 0 && c.args.version == "" {
		return badParameter("revision", "needs version: each version counts its own revisions.")
	}
	g, err := c.server.service.Graph(c.r.Context(), c.principal, c.workflow, c.args.version, c.args.revision)
	if err != nil {
		return err
	}
	return c.sendGraph(g)
}

// sendGraph sends a graph in the form that the request asks for.
func (c *call) sendGraph(g *graph.Graph) error {
	c.w.Header()["Vary"] = varyValue
	switch c.args.graphAs {
	case "mermaid":
		c.send(http.StatusOK, []string{mermaidMedia + "; charset=utf-8"}, []byte(g.Mermaid()))
	case "dot":
		c.send(http.StatusOK, []string{dotMedia + "; charset=utf-8"}, []byte(g.DOT()))
	default:
		return c.view(http.StatusOK, g)
	}
	return nil
}
