package api

import (
	"net/http"
	"sync"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl/dslschema"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/testfile"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// serverEndpoints are the routes about the server itself.
func serverEndpoints() []endpoint {
	return []endpoint{
		{
			method: get, path: "/limits", id: "getLimits", tag: "Server", summary: "List the limits of this installation",
			about:   "Those that hold everywhere, those of calls and processes, and quotas with their current use.",
			answers: []answer{{status: 200, about: "The limits", view: limitPage{}}},
			serve:   (*call).getLimits,
		},
		{
			method: get, path: "/openapi.json", id: "getOpenAPI", tag: "Server", summary: "Get this document", about: "In OpenAPI 3.1, as JSON.",
			answers: []answer{{status: 200, about: "OpenAPI 3.1", view: map[string]any{}, headers: []string{"ETag"}}},
			serve:   (*call).getDocument,
		},
		{
			method: get, path: "/problems/{code}", id: "getProblem", tag: "Server", summary: "Explain an error code", about: "The address in the field type of a problem leads here.",
			answers: []answer{{status: 200, about: "What the code means", view: problemPage{}}},
			serve:   (*call).getProblem,
		},
		{
			method: get, path: "/schemas/workflow.json", id: "getWorkflowSchema", tag: "Server", summary: "Get the JSON Schema of workflow definitions",
			about: "Draft 2020-12, for completion and checks in editors. Every definition that this server reads without an error is valid by it. " +
				"Jumps, expressions, durations and names of parts are not checked by it: POST /workflows/validate does that.",
			answers: []answer{{status: 200, about: "The schema", view: map[string]any{}, headers: []string{"ETag"}}},
			serve:   (*call).getWorkflowSchema,
		},
		{
			method: get, path: "/schemas/test.json", id: "getTestSchema", tag: "Server", summary: "Get the JSON Schema of tests of workflows",
			about: "Draft 2020-12, for completion and checks of NAME.test.yaml in editors. `chargehand test` runs them, without a server. " +
				"Addresses of tasks, expressions and durations are not checked by it.",
			answers: []answer{{status: 200, about: "The schema", view: map[string]any{}, headers: []string{"ETag"}}},
			serve:   (*call).getTestSchema,
		},
		{
			method: get, path: "/healthz", root: true, id: "getHealth", tag: "Server", summary: "Tell whether the process is alive",
			about:   "Answered at /healthz too, without /api/v1 before it.",
			answers: []answer{{status: 200, about: "It is", view: health{}}},
			serve:   (*call).getHealth,
		},
		{
			method: get, path: "/readyz", root: true, id: "getReadiness", tag: "Server", summary: "Tell whether requests can be served",
			about:   "Answered at /readyz too, without /api/v1 before it.",
			answers: []answer{{status: 200, about: "They can", view: health{}}},
			serve:   (*call).getReadiness,
		},
		{
			method: get, path: "/system", id: "getSystem", tag: "Server", summary: "Get the state of the installation",
			about: "What waits and runs, how long writes wait, the disks, the processes, the last backup, and what chargehand doctor finds. " +
				"It shows the whole installation, so the key must be one of live and of the oldest account, and not limited to workflows or namespaces.",
			scopes:  service.ScopeAdmin,
			answers: []answer{{status: 200, about: "The state", view: system{}}},
			serve:   (*call).getSystem,
		},
		{
			method: get, path: "/metrics", root: true, id: "getMetrics", tag: "Server", summary: "Get metrics for Prometheus",
			about: "Of the whole installation, so the key must be one of live and of the oldest account, and not limited to workflows or namespaces. " +
				"Answered at /metrics too, without /api/v1 before it.",
			scopes:  service.PresetObserve,
			answers: []answer{{status: 200, about: "The metrics in the format that Accept asks for", media: "text/plain", example: "chargehand_executions_running 2\n", headers: []string{"Vary"}}},
			serve:   (*call).getMetrics,
		},
	}
}

func (c *call) getLimits() error {
	bounds, err := c.server.service.ListLimits(c.r.Context(), c.principal)
	if err != nil {
		return err
	}
	v := limitPage{Data: make([]limit, len(bounds))}
	for i, b := range bounds {
		v.Data[i] = limit{Name: b.Name, Value: b.Value, Description: b.Description, Setting: b.Setting}
		if b.Counted {
			v.Data[i].Used = &bounds[i].Used
		}
	}
	return c.view(http.StatusOK, v)
}

func (c *call) getDocument() error {
	document := c.server.document()
	if c.notModified(document.tag) {
		c.empty(http.StatusNotModified)
		return nil
	}
	c.json(http.StatusOK, document.text)
	return nil
}

// workflowSchema is the schema of definitions, which is the same for every request.
var workflowSchema = sync.OnceValue(func() document { return taggedDocument(dslschema.Text()) })

func (c *call) getWorkflowSchema() error { return c.schema(workflowSchema()) }

// testSchema is the schema of tests, which is the same for every request.
var testSchema = sync.OnceValue(func() document { return taggedDocument(testfile.Schema()) })

func (c *call) getTestSchema() error { return c.schema(testSchema()) }

// schema answers with a schema, unless the client has it.
func (c *call) schema(schema document) error {
	if c.notModified(schema.tag) {
		c.empty(http.StatusNotModified)
		return nil
	}
	c.json(http.StatusOK, schema.text)
	return nil
}

func (c *call) getProblem() error {
	code := chargehand.Code(c.name)
	about, ok := problemTypes[code]
	if !ok {
		return chargehand.NewError(chargehand.CodeProblemNotFound, "There is no problem type "+quote(c.name)+".")
	}
	return c.view(http.StatusOK, problemPage{
		Type: c.base() + chargehand.APIPath + "/problems/" + string(code), Code: string(code),
		Status: about.status, Title: about.title, Description: about.about,
	})
}

func (c *call) getHealth() error {
	return c.view(http.StatusOK, health{Status: "ok"})
}

func (c *call) getReadiness() error {
	if c.server.stopping.Err() != nil {
		return chargehand.NewError(chargehand.CodeUnavailable, "The server is stopping.")
	}
	if c.server.service == nil {
		return standbyError()
	}
	if !c.server.ready() {
		return chargehand.NewError(chargehand.CodeUnavailable, "The server is not ready yet.")
	}
	return c.view(http.StatusOK, health{Status: "ready", Degraded: c.server.service.Degraded()})
}

func (c *call) getMetrics() error {
	if err := service.RequireWhole(c.principal); err != nil {
		return err
	}
	if err := c.server.service.RequireOperator(c.r.Context(), c.principal); err != nil {
		return err
	}
	c.w.Header().Del("Content-Type")
	c.limitRest()
	c.status = http.StatusOK
	promhttp.HandlerFor(c.server.registry, promhttp.HandlerOpts{DisableCompression: true}).ServeHTTP(c.w, c.r)
	return nil
}
