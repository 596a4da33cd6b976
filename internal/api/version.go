package api

import (
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/service"
)

// publishBody is the body as the document describes it; the service reads it.
type publishBody struct {
	Revision int64 `json:"revision,omitempty" minimum:"1" doc:"The revision of the version that is published. Default: the newest one, drafts included."`
}

var revisionParameter = &parameter{
	name: "revision", in: "query", about: "The revision of the version to read, from 1. Default: the newest one, drafts included.",
	schema: huma.Schema{Type: "integer", Format: "int64", Minimum: number(1)}, example: 1,
	read: func(c *call, value string) (complaint string) {
		revision, err := strconv.ParseInt(value, 10, 64)
		if err != nil || revision < 1 {
			return "must be a whole number from 1."
		}
		c.args.revision = revision
		return ""
	},
}

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
			summary: "Get a version of a workflow", about: "Its newest revision, or the one that the query names, with the definition.",
			scopes: service.ScopeWorkflowsRead, parameters: []*parameter{revisionParameter},
			answers: []answer{{status: 200, about: "The version, with its definition", view: version{}}},
			serve:   (*call).getVersion,
		},
		{
			method: post, path: "/workflows/{workflowId}/versions/{version}/publish", id: "publishVersion", tag: "Workflows",
			summary: "Publish a version",
			about: "Moves the published pointer to any version, also back: to its newest revision, or to the one that the body names. " +
				"A key of test never publishes. A version that was published before and has a draft since is published only with a revision.",
			scopes: service.ScopeWorkflowsPublish, parameters: []*parameter{idempotencyParameter}, body: jsonBody(publishBody{}, false),
			answers:  []answer{{status: 200, about: "The version", view: version{}, headers: []string{"Idempotency-Replayed"}}},
			problems: []chargehand.Code{chargehand.CodeStateConflict},
			change:   "version published",
			audits:   []audit.Action{audit.WorkflowPublished},
			serve:    (*call).publishVersion,
		},
	}
}

func (c *call) listVersions() error {
	page, err := c.server.service.ListVersions(c.r.Context(), c.principal, c.workflow, c.args.limit, c.args.after)
	return showPage(c, page, err, viewVersion)
}

func (c *call) getVersion() error {
	v, err := c.server.service.GetVersion(c.r.Context(), c.principal, c.workflow, c.name, c.args.revision)
	return show(c, v, err, viewVersion)
}

func (c *call) publishVersion() error {
	v, replayed, err := c.server.service.PublishVersion(c.r.Context(), c.principal, service.PublishVersion{
		Workflow: c.workflow, Version: c.name, Body: c.value, Idempotency: c.idempotency(),
	})
	if err != nil {
		return err
	}
	c.replayed(replayed)
	return c.view(http.StatusOK, viewVersion(v))
}

func viewVersion(v *service.Version) version {
	var revisions []revision
	for i := range v.Revisions {
		r := &v.Revisions[i]
		revisions = append(revisions, revision{
			Revision: r.Number, Draft: r.Draft, Published: r.Published, CreatedAt: at(r.CreatedAt),
			CreatedBy: viewStartedBy(r.CreatedBy), Message: r.Message,
		})
	}
	return version{
		CreatedBy: viewStartedBy(v.CreatedBy), Message: v.Message, Revisions: revisions,
		Workflow: v.Workflow, Version: v.Version, Revision: v.Revision, Title: v.Title,
		Published: v.Published, PublishedRevision: v.PublishedRevision, Draft: v.Draft, CreatedAt: at(v.CreatedAt), UpdatedAt: at(v.UpdatedAt),
		Definition: v.Definition, Source: string(v.Source), SourceType: v.SourceType,
	}
}
