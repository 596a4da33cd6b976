package api

import (
	"net/http"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/service"
)

// groupBody is the body of a group as the document describes it; the service reads it.
type groupBody struct {
	Name string `json:"name" minLength:"1"`
}

func groupEndpoints() []endpoint {
	const tag = "People"
	changed := []chargehand.Code{chargehand.CodeStateConflict, chargehand.CodeLastAdmin}
	return []endpoint{
		{
			method: get, path: "/groups", id: "listGroups", tag: tag,
			summary: "List groups", about: "The groups of the account, newest first.",
			scopes: service.ScopeAdmin, parameters: []*parameter{limitParameter, cursorParameter},
			answers: []answer{{status: 200, about: "List of groups", view: userGroupPage{}}},
			serve:   (*call).listGroups,
		},
		{
			method: post, path: "/groups", id: "createGroup", tag: tag,
			summary: "Create a group", about: "Its name is unique in the account, whatever the case.",
			scopes: service.ScopeAdmin, fresh: true, parameters: []*parameter{idempotencyParameter}, body: jsonBody(groupBody{}, true),
			answers:  []answer{{status: 201, about: "Created", view: userGroup{}, headers: []string{"Location", "Idempotency-Replayed"}}},
			problems: []chargehand.Code{chargehand.CodeStateConflict, chargehand.CodeGroupNotFound},
			change:   "group created",
			audits:   []audit.Action{audit.GroupCreated},
			serve:    (*call).createGroup,
		},
		{
			method: get, path: "/groups/{groupId}", id: "getGroup", tag: tag,
			summary: "Get a group", about: "With its first members.", scopes: service.ScopeAdmin,
			answers: []answer{{status: 200, about: "The group", view: userGroup{}}},
			serve:   (*call).getGroup,
		},
		{
			method: patch, path: "/groups/{groupId}", id: "updateGroup", tag: tag,
			summary: "Rename a group", about: "A group of an identity provider is changed there.",
			scopes: service.ScopeAdmin, fresh: true, body: jsonBody(groupBody{}, true),
			answers:  []answer{{status: 200, about: "The group", view: userGroup{}}},
			problems: changed[:1],
			change:   "group changed",
			audits:   []audit.Action{audit.GroupChanged},
			serve:    (*call).patchGroup,
		},
		{
			method: remove, path: "/groups/{groupId}", id: "deleteGroup", tag: tag,
			summary: "Delete a group", about: "Its grants end with it.", scopes: service.ScopeAdmin, fresh: true,
			answers:  []answer{{status: 204, about: "Deleted"}},
			problems: changed,
			change:   "group deleted",
			audits:   []audit.Action{audit.GroupDeleted},
			serve:    (*call).deleteGroup,
		},
		{
			method: get, path: "/groups/{groupId}/members", id: "listGroupMembers", tag: tag,
			summary: "List the members of a group", about: "All of them, page by page.",
			scopes: service.ScopeAdmin, parameters: []*parameter{limitParameter, cursorParameter},
			answers: []answer{{status: 200, about: "List of members", view: memberPage{}}},
			serve:   (*call).listGroupMembers,
		},
		{
			method: put, path: "/groups/{groupId}/members/{userId}", id: "joinGroup", tag: tag,
			summary: "Put a user into a group", about: "A user who is in the group stays in it.", scopes: service.ScopeAdmin, fresh: true,
			answers:  []answer{{status: 204, about: "The user is in the group"}},
			problems: []chargehand.Code{chargehand.CodeStateConflict, chargehand.CodeGroupNotFound, chargehand.CodeUserNotFound},
			change:   "user put into a group",
			audits:   []audit.Action{audit.GroupJoined},
			serve:    (*call).joinGroup,
		},
		{
			method: remove, path: "/groups/{groupId}/members/{userId}", id: "leaveGroup", tag: tag,
			summary: "Take a user out of a group", about: "What the group grants ends for the user within a second.", scopes: service.ScopeAdmin, fresh: true,
			answers:  []answer{{status: 204, about: "The user is not in the group"}},
			problems: changed,
			change:   "user taken out of a group",
			audits:   []audit.Action{audit.GroupLeft},
			serve:    (*call).leaveGroup,
		},
	}
}

func (c *call) listGroups() error {
	page, err := c.server.service.ListGroups(c.r.Context(), c.principal, c.args.limit, c.args.after)
	return showPage(c, page, err, viewGroup)
}

func (c *call) createGroup() error {
	g, replayed, err := c.server.service.CreateGroup(c.r.Context(), c.principal, c.value, c.idempotency())
	if err != nil {
		return err
	}
	c.replayed(replayed)
	c.location("/groups/" + g.ID.String())
	return c.view(http.StatusCreated, viewGroup(&g))
}

func (c *call) getGroup() error {
	g, err := c.server.service.GetGroup(c.r.Context(), c.principal, c.group)
	return show(c, &g, err, viewGroup)
}

func (c *call) patchGroup() error {
	g, err := c.server.service.PatchGroup(c.r.Context(), c.principal, c.group, c.value)
	return show(c, &g, err, viewGroup)
}

func (c *call) deleteGroup() error {
	return c.done(c.server.service.DeleteGroup(c.r.Context(), c.principal, c.group))
}

func (c *call) listGroupMembers() error {
	page, err := c.server.service.GroupMembers(c.r.Context(), c.principal, c.group, c.args.limit, c.args.after)
	return showPage(c, page, err, viewFoundUser)
}

func (c *call) joinGroup() error {
	return c.done(c.server.service.JoinGroup(c.r.Context(), c.principal, c.group, c.user))
}

func (c *call) leaveGroup() error {
	return c.done(c.server.service.LeaveGroup(c.r.Context(), c.principal, c.group, c.user))
}

func viewGroup(g *service.Group) userGroup {
	return userGroup{ID: g.ID, Name: g.Name, Source: g.Source, Members: g.Members, MoreMembers: g.MoreMembers, CreatedAt: at(g.CreatedAt)}
}
