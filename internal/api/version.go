package api

import (
	"net/http"

	"github.com/chargehand/chargehand/internal/service"
)

func versionEndpoints() []endpoint {
	return []endpoint{
		{
			method: get, path: "/workflows/{workflowId}/versions", id: "listVersions", tag: "Workflows",
			summary: "List the versions of a workflow", about: "Newest first.",
			scopes: service.ScopeWorkflowsRead, parameters: []*parameter{limitParameter, cursorParameter},
			answers: []answer{{status: 200, about: "List of versions", view: versionPage{}}},
			serve:   (*call).listVersions,
		},
		{
			method: get, path: "/workflows/{workflowId}/versions/{version}", id: "getVersion", tag: "Workflows",
			summary: "Get a version of a workflow", scopes: service.ScopeWorkflowsRead,
			answers: []answer{{status: 200, about: "The version, with its definition", view: version{}}},
			serve:   (*call).getVersion,
		},
		{
			method: post, path: "/workflows/{workflowId}/versions/{version}/publish", id: "publishVersion", tag: "Workflows",
			summary: "Publish a version", about: "Moves the published pointer to any version, also back.",
			scopes: service.ScopeWorkflowsWrite, parameters: []*parameter{idempotencyParameter}, body: jsonBody(nothing{}, false),
			answers: []answer{{status: 200, about: "The version", view: version{}, headers: []string{"Idempotency-Replayed"}}},
			serve:   (*call).publishVersion,
		},
	}
}

func (c *call) listVersions() error {
	page, err := c.server.service.ListVersions(c.r.Context(), c.principal, c.workflow, c.args.limit, c.args.after)
	if err != nil {
		return err
	}
	v := versionPage{Data: make([]version, len(page.Data)), Cursor: cursorText(page.Cursor)}
	for i := range page.Data {
		v.Data[i] = viewVersion(&page.Data[i])
	}
	return c.view(http.StatusOK, v)
}

func (c *call) getVersion() error {
	v, err := c.server.service.GetVersion(c.r.Context(), c.principal, c.workflow, c.name)
	if err != nil {
		return err
	}
	return c.view(http.StatusOK, viewVersion(v))
}

func (c *call) publishVersion() error {
	if err := c.expectNothing(); err != nil {
		return err
	}
	v, replayed, err := c.server.service.PublishVersion(c.r.Context(), c.principal, c.workflow, c.name, c.idempotency())
	if err != nil {
		return err
	}
	c.replayed(replayed)
	return c.view(http.StatusOK, viewVersion(v))
}

func viewVersion(v *service.Version) version {
	return version{
		Workflow: v.Workflow, Version: v.Version, Revision: v.Revision, Title: v.Title,
		Published: v.Published, Draft: v.Draft, CreatedAt: at(v.CreatedAt), UpdatedAt: at(v.UpdatedAt),
		Definition: v.Definition, Source: string(v.Source), SourceType: v.SourceType,
	}
}
