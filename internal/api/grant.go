package api

import (
	"net/http"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/danielgtaylor/huma/v2"
)

// The bodies as the document describes them; the service reads them.
type (
	firstGrant struct {
		Role         string   `json:"role" enum:"participant,viewer,operator,author,publisher,admin" doc:"What the role allows is in the reference of roles. admin is given over everything and in both environments only."`
		Namespace    string   `json:"namespace,omitempty" nullable:"true" doc:"The role is over the workflows of this namespace."`
		Workflow     string   `json:"workflow_id,omitempty" format:"uuid" nullable:"true" doc:"The role is over this workflow. This and namespace left out: everything."`
		Environments []string `json:"environments,omitempty" enum:"live,test" nullable:"false" minItems:"1" maxItems:"2" doc:"Where the role counts; left out: in both."`
	}
	giveGrantBody struct {
		User         string   `json:"user_id,omitempty" format:"uuid" doc:"The user that gets the role. Give this or group_id."`
		Group        string   `json:"group_id,omitempty" format:"uuid" doc:"The group that gets the role. Give this or user_id."`
		Role         string   `json:"role" enum:"participant,viewer,operator,author,publisher,admin" doc:"What the role allows is in the reference of roles. admin is given over everything and in both environments only."`
		Namespace    string   `json:"namespace,omitempty" nullable:"true" doc:"The role is over the workflows of this namespace."`
		Workflow     string   `json:"workflow_id,omitempty" format:"uuid" nullable:"true" doc:"The role is over this workflow. This and namespace left out: everything."`
		Environments []string `json:"environments,omitempty" enum:"live,test" nullable:"false" minItems:"1" maxItems:"2" doc:"Where the role counts; left out: in both."`
	}
)

var (
	userParameter = &parameter{
		name: "user_id", in: "query", about: "Only grants that this user has, without those of groups.",
		schema: huma.Schema{Type: "string", Format: "uuid"},
		read: func(c *call, value string) (complaint string) {
			return badIDUnless(setID(&c.args.user, value))
		},
	}
	groupParameter = &parameter{
		name: "group_id", in: "query", about: "Only grants that this group has.",
		schema: huma.Schema{Type: "string", Format: "uuid"},
		read: func(c *call, value string) (complaint string) {
			return badIDUnless(setID(&c.args.group, value))
		},
	}
)

var overParameter = &parameter{
	name: "workflow_id", in: "query", about: "Only grants over this workflow, over its namespace, and over everything. One of user_id, group_id and this is allowed.",
	schema: huma.Schema{Type: "string", Format: "uuid"}, example: exampleWorkflowID,
	read: func(c *call, value string) (complaint string) {
		return badIDUnless(setID(&c.args.over, value))
	},
}

func badIDUnless(err error) (complaint string) {
	if err != nil {
		return "must be an id, which is a UUID."
	}
	return ""
}

func grantEndpoints() []endpoint {
	const tag = "People"
	return []endpoint{
		{
			method: get, path: "/grants", id: "listGrants", tag: tag,
			summary: "List grants", about: "The roles of users and groups, newest first.",
			scopes: service.ScopeAdmin, parameters: []*parameter{userParameter, groupParameter, overParameter, limitParameter, cursorParameter},
			answers:  []answer{{status: 200, about: "List of grants", view: grantPage{}}},
			problems: []chargehand.Code{chargehand.CodeUserNotFound, chargehand.CodeGroupNotFound, chargehand.CodeWorkflowNotFound},
			serve:    (*call).listGrants,
		},
		{
			method: post, path: "/grants", id: "giveGrant", tag: tag,
			summary: "Give a role to a user or a group", about: "It counts everywhere within a second. A principal gives no more than it has.",
			scopes: service.ScopeAdmin, fresh: true, parameters: []*parameter{idempotencyParameter}, body: jsonBody(giveGrantBody{}, true),
			answers: []answer{{status: 201, about: "Given", view: grant{}, headers: []string{"Idempotency-Replayed"}}},
			problems: []chargehand.Code{
				chargehand.CodeUserNotFound, chargehand.CodeGroupNotFound, chargehand.CodeWorkflowNotFound, chargehand.CodeStateConflict, chargehand.CodeGrantNotFound,
			},
			change: "role given",
			audits: []audit.Action{audit.GrantGiven},
			serve:  (*call).giveGrant,
		},
		{
			method: remove, path: "/grants/{grantId}", id: "takeGrant", tag: tag,
			summary: "Take a role away", about: "It counts everywhere within a second.", scopes: service.ScopeAdmin, fresh: true,
			answers:  []answer{{status: 204, about: "Taken away"}},
			problems: []chargehand.Code{chargehand.CodeLastAdmin},
			change:   "role taken away",
			audits:   []audit.Action{audit.GrantTaken},
			serve:    (*call).takeGrant,
		},
	}
}

func (c *call) listGrants() error {
	given := 0
	for _, zero := range []bool{c.args.user.IsZero(), c.args.group.IsZero(), c.args.over.IsZero()} {
		if !zero {
			given++
		}
	}
	if given > 1 {
		return badParameter("user_id", "cannot be combined with group_id and workflow_id. Send one of the three.")
	}
	page, err := c.server.service.ListGrants(c.r.Context(), c.principal, service.ListGrants{
		User: c.args.user, Group: c.args.group, Workflow: c.args.over, Limit: c.args.limit, After: c.args.after,
	})
	return showPage(c, page, err, viewGrant)
}

func (c *call) giveGrant() error {
	g, replayed, err := c.server.service.GiveGrant(c.r.Context(), c.principal, c.value, c.idempotency())
	if err != nil {
		return err
	}
	c.replayed(replayed)
	return c.view(http.StatusCreated, viewGrant(&g))
}

func (c *call) takeGrant() error {
	return c.done(c.server.service.TakeGrant(c.r.Context(), c.principal, c.grant))
}

func viewGrant(g *service.Grant) grant {
	v := grant{
		ID: g.ID, Holder: g.Holder, Email: g.Email, Role: g.Role, Namespace: g.Namespace, WorkflowName: g.WorkflowName,
		Environments: []string{}, CreatedAt: at(g.CreatedAt), CreatedBy: g.CreatedBy,
	}
	for _, env := range []chargehand.Environment{chargehand.Live, chargehand.Test} {
		if g.Environments.Has(env) {
			v.Environments = append(v.Environments, env.String())
		}
	}
	if !g.User.IsZero() {
		v.User = &g.User
	}
	if !g.Group.IsZero() {
		v.Group = &g.Group
	}
	if !g.Workflow.IsZero() {
		v.Workflow = &g.Workflow
	}
	return v
}
