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
	inviteUserBody struct {
		Email  string       `json:"email" minLength:"1"`
		Name   string       `json:"name" minLength:"1"`
		Grants []firstGrant `json:"grants,omitempty" nullable:"false" maxItems:"20" doc:"The roles that the user begins with."`
	}
	patchUserBody struct {
		Status string `json:"status" enum:"active,disabled"`
	}
)

var peopleParameter = &parameter{
	name: "q", in: "query", about: "What the name or the e-mail begins with, in upper or lower case.",
	schema: huma.Schema{Type: "string"}, example: "ada",
	read: func(c *call, value string) (complaint string) {
		c.args.prefix = value
		return wantValue(value)
	},
}

var userStatusParameter = &parameter{
	name: "status", in: "query", about: "Only users with this status.",
	schema: huma.Schema{Type: "string", Enum: []any{"invited", "active", "disabled"}}, example: "invited",
	read: func(c *call, value string) (complaint string) {
		if !service.IsUserStatus(value) {
			return "must be invited, active or disabled."
		}
		c.args.userStatus = value
		return ""
	},
}

func userEndpoints() []endpoint {
	const tag = "People"
	return []endpoint{
		{
			method: get, path: "/users", id: "listUsers", tag: tag,
			summary: "List users",
			about:   "The members of the account, newest first. With q those whose e-mail begins with the text, by the e-mail, and then those whose name does, by the name.",
			scopes:  service.ScopeAdmin, parameters: []*parameter{peopleParameter, userStatusParameter, limitParameter, cursorParameter},
			answers: []answer{{status: 200, about: "List of users", view: userPage{}}},
			serve:   (*call).listUsers,
		},
		{
			method: post, path: "/users", id: "inviteUser", tag: tag,
			summary: "Invite a user",
			about: "The invitation is shown in this answer only, and sent by mail where the server has a mail server. It can be used once, within 72 hours. " +
				"An invited user who has not come yet gets another invitation, and the one before ends.",
			scopes: service.ScopeAdmin, fresh: true, parameters: []*parameter{idempotencyParameter}, body: jsonBody(inviteUserBody{}, true),
			answers:  []answer{{status: 201, about: "Invited", view: user{}, headers: []string{"Location", "Idempotency-Replayed"}}},
			problems: []chargehand.Code{chargehand.CodeStateConflict, chargehand.CodeWorkflowNotFound, chargehand.CodeUserNotFound, chargehand.CodeQuotaExceeded},
			change:   "user invited",
			audits:   []audit.Action{audit.UserInvited, audit.GrantGiven},
			serve:    (*call).inviteUser,
		},
		{
			method: get, path: "/users/{userId}", id: "getUser", tag: tag,
			summary: "Get a user", about: "A member of the account.", scopes: service.ScopeAdmin,
			answers: []answer{{status: 200, about: "The user", view: user{}}},
			serve:   (*call).getUser,
		},
		{
			method: patch, path: "/users/{userId}", id: "updateUser", tag: tag,
			summary: "Disable a user, or enable one again",
			about:   "It concerns the membership in this account. Sessions of a disabled user end everywhere within a second.",
			scopes:  service.ScopeAdmin, fresh: true, body: jsonBody(patchUserBody{}, true),
			answers:  []answer{{status: 200, about: "The user", view: user{}}},
			problems: []chargehand.Code{chargehand.CodeStateConflict, chargehand.CodeLastAdmin},
			change:   "user changed",
			audits:   []audit.Action{audit.UserChanged},
			serve:    (*call).patchUser,
		},
		{
			method: remove, path: "/users/{userId}", id: "removeUser", tag: tag,
			summary: "Remove a user", about: "It ends the membership, with its grants and places in groups. What the user has started stays.",
			scopes: service.ScopeAdmin, fresh: true,
			answers:  []answer{{status: 204, about: "Removed"}},
			problems: []chargehand.Code{chargehand.CodeLastAdmin},
			change:   "user removed",
			audits:   []audit.Action{audit.UserRemoved},
			serve:    (*call).removeUser,
		},
		{
			method: post, path: "/users/{userId}/reset", id: "resetUser", tag: tag,
			summary: "Let a user set another password",
			about:   "The address is shown in this answer only, and sent by mail where the server has a mail server. It can be used once, within 24 hours. It needs all that the user may do.",
			scopes:  service.ScopeAdmin, fresh: true, body: jsonBody(nothing{}, false), parameters: []*parameter{idempotencyParameter},
			answers:  []answer{{status: 201, about: "The address", view: oneUseLink{}, headers: []string{"Idempotency-Replayed"}}},
			problems: []chargehand.Code{chargehand.CodeStateConflict},
			change:   "password reset prepared",
			audits:   []audit.Action{audit.UserReset},
			serve:    (*call).resetUser,
		},
		{
			method: get, path: "/people", id: "findPeople", tag: tag,
			summary: "Find people", about: "Active users and groups by the beginning of their names, for those who assign tasks. It finds at most limit of each.",
			scopes: service.ScopeTasksRespond, parameters: []*parameter{peopleParameter, limitParameter},
			answers: []answer{{status: 200, about: "What was found", view: foundPeople{}}},
			serve:   (*call).findPeople,
		},
	}
}

func (c *call) listUsers() error {
	page, err := c.server.service.ListUsers(c.r.Context(), c.principal, service.ListUsers{
		Text: c.args.prefix, Status: c.args.userStatus, Limit: c.args.limit, After: c.args.after,
	})
	return showPage(c, page, err, viewUser)
}

func (c *call) inviteUser() error {
	u, replayed, err := c.server.service.InviteUser(c.r.Context(), c.principal, service.InviteUser{
		Body: c.value, BaseURL: c.base(), Idempotency: c.idempotency(),
	})
	if err != nil {
		return err
	}
	c.replayed(replayed)
	c.user = u.ID
	c.location("/users/" + u.ID.String())
	return c.view(http.StatusCreated, viewUser(&u))
}

func (c *call) getUser() error {
	u, err := c.server.service.GetUser(c.r.Context(), c.principal, c.user)
	return show(c, &u, err, viewUser)
}

func (c *call) patchUser() error {
	u, err := c.server.service.PatchUser(c.r.Context(), c.principal, c.user, c.value)
	return show(c, &u, err, viewUser)
}

func (c *call) removeUser() error {
	return c.done(c.server.service.RemoveUser(c.r.Context(), c.principal, c.user))
}

func (c *call) resetUser() error {
	link, replayed, err := c.server.service.ResetUser(c.r.Context(), c.principal, c.user, c.base(), c.idempotency())
	if err != nil {
		return err
	}
	c.replayed(replayed)
	return c.view(http.StatusCreated, oneUseLink{link.URL, at(link.ExpiresAt), link.Mailed})
}

func (c *call) findPeople() error {
	found, err := c.server.service.FindPeople(c.r.Context(), c.principal, c.args.prefix, c.args.limit)
	if err != nil {
		return err
	}
	v := foundPeople{Users: []foundUser{}, Groups: []foundGroup{}}
	for i := range found.Users {
		v.Users = append(v.Users, viewFoundUser(&found.Users[i]))
	}
	for _, g := range found.Groups {
		v.Groups = append(v.Groups, foundGroup{g.ID, g.Name})
	}
	return c.view(http.StatusOK, v)
}

func viewFoundUser(u *service.FoundUser) foundUser { return foundUser{u.ID, u.Name, u.Email} }

func viewUser(u *service.User) user {
	v := user{
		ID: u.ID, Email: u.Email, Name: u.Name, Locale: u.Locale, Status: u.Status.String(), Groups: u.Groups, Methods: u.Methods,
		CreatedAt: at(u.CreatedAt), LastSeenAt: at(u.LastSeenAt),
	}
	if u.Open != nil {
		v.Sessions, v.PersonalKeys, v.InvitationExpiresAt = &u.Open.Sessions, &u.Open.PersonalKeys, at(u.Open.InvitationEnds)
	}
	if u.Link != nil {
		v.Invitation = &oneUseLink{u.Link.URL, at(u.Link.ExpiresAt), u.Link.Mailed}
	}
	return v
}
