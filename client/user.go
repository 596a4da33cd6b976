package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// User is a person as a member of the account. Status is invited, active or disabled.
type User struct {
	ID                  string      `json:"id"`
	Email               string      `json:"email"`
	Name                string      `json:"name"`
	Status              string      `json:"status"`
	Groups              []string    `json:"groups"`  // ids
	Methods             []string    `json:"methods"` // how the user can sign in: password, passkey, oidc:NAME
	CreatedAt           time.Time   `json:"created_at"`
	LastSeenAt          *time.Time  `json:"last_seen_at,omitempty"`
	Sessions            *int64      `json:"sessions,omitempty"`              // open at the moment; nil in lists
	PersonalKeys        *int64      `json:"personal_keys,omitempty"`         // that count; nil in lists
	InvitationExpiresAt *time.Time  `json:"invitation_expires_at,omitempty"` // nil in lists
	Invitation          *OneUseLink `json:"invitation,omitempty"`            // set once, in the answer that makes it
	raw
}

// OneUseLink is an address that a person opens once.
type OneUseLink struct {
	URL       string    `json:"url,omitempty"`
	ExpiresAt time.Time `json:"expires_at"`
}

// NewUser is the request to invite a person.
type NewUser struct {
	Email  string     `json:"email"`
	Name   string     `json:"name"`
	Grants []NewGrant `json:"grants,omitempty"`
}

// UserFilter selects users: those whose e-mail or name begins with Text, and those with a status. The zero value
// selects all.
type UserFilter struct{ Text, Status string }

// ListUsers returns a page of the members of the account, newest first; with a text by e-mail and name.
func (c *Client) ListUsers(ctx context.Context, f UserFilter, limit int, cursor string) (*Page[User], error) {
	query := page(limit, cursor)
	set(query, map[string]string{"q": f.Text, "status": f.Status})
	return list[User](ctx, c, "/users", query)
}

// GetUser reads a user by id.
func (c *Client) GetUser(ctx context.Context, id string) (*User, error) {
	var u User
	return &u, c.do(ctx, call{method: http.MethodGet, path: userPath(id), into: &u})
}

// InviteUser makes a person an invited member of the account. Invitation is set in the answer.
func (c *Client) InviteUser(ctx context.Context, n NewUser) (*User, error) {
	var u User
	return &u, c.do(ctx, call{method: http.MethodPost, path: "/users", body: n, idempotent: true, into: &u})
}

// SetUserStatus makes a user active or disabled.
func (c *Client) SetUserStatus(ctx context.Context, id, status string) (*User, error) {
	var u User
	body := struct {
		Status string `json:"status"`
	}{status}
	return &u, c.do(ctx, call{method: http.MethodPatch, path: userPath(id), body: body, into: &u})
}

// RemoveUser ends the membership of a user in the account.
func (c *Client) RemoveUser(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: userPath(id)})
}

// ResetUser makes an address where an active user sets another password.
func (c *Client) ResetUser(ctx context.Context, id string) (*OneUseLink, error) {
	var l OneUseLink
	return &l, c.do(ctx, call{method: http.MethodPost, path: userPath(id) + "/reset", idempotent: true, into: &l})
}

func userPath(id string) string { return "/users/" + url.PathEscape(id) }

// FoundUser is a user as those see it who assign tasks.
type FoundUser struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
}

// FindPeople returns active users whose name or e-mail begins with text, at most limit.
func (c *Client) FindPeople(ctx context.Context, text string, limit int) ([]FoundUser, error) {
	var found struct {
		Users []FoundUser `json:"users"`
	}
	query := url.Values{"q": {text}, "limit": {strconv.Itoa(limit)}}
	err := c.do(ctx, call{method: http.MethodGet, path: "/people", query: query, into: &found})
	return found.Users, err
}

// Group is a group of users. Source is the identity provider that has it, as oidc:NAME; empty: it was made here.
type Group struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Source      string    `json:"source,omitempty"`
	Members     []string  `json:"members"` // ids of the first 100
	MoreMembers bool      `json:"more_members"`
	CreatedAt   time.Time `json:"created_at"`
	raw
}

type groupBody struct {
	Name string `json:"name"`
}

// ListGroups returns a page of groups, newest first.
func (c *Client) ListGroups(ctx context.Context, limit int, cursor string) (*Page[Group], error) {
	return list[Group](ctx, c, "/groups", page(limit, cursor))
}

// GetGroup reads a group by id.
func (c *Client) GetGroup(ctx context.Context, id string) (*Group, error) {
	var g Group
	return &g, c.do(ctx, call{method: http.MethodGet, path: groupPath(id), into: &g})
}

// CreateGroup makes a group. Its name is unique in the account.
func (c *Client) CreateGroup(ctx context.Context, name string) (*Group, error) {
	var g Group
	return &g, c.do(ctx, call{method: http.MethodPost, path: "/groups", body: groupBody{name}, idempotent: true, into: &g})
}

// RenameGroup gives a group another name.
func (c *Client) RenameGroup(ctx context.Context, id, name string) (*Group, error) {
	var g Group
	return &g, c.do(ctx, call{method: http.MethodPatch, path: groupPath(id), body: groupBody{name}, into: &g})
}

// DeleteGroup deletes a group, with its grants.
func (c *Client) DeleteGroup(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: groupPath(id)})
}

// GroupMembers returns a page of the members of a group.
func (c *Client) GroupMembers(ctx context.Context, id string, limit int, cursor string) (*Page[FoundUser], error) {
	return list[FoundUser](ctx, c, groupPath(id)+"/members", page(limit, cursor))
}

// JoinGroup puts a user into a group.
func (c *Client) JoinGroup(ctx context.Context, group, user string) error {
	return c.do(ctx, call{method: http.MethodPut, path: groupPath(group) + "/members/" + url.PathEscape(user)})
}

// LeaveGroup takes a user out of a group.
func (c *Client) LeaveGroup(ctx context.Context, group, user string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: groupPath(group) + "/members/" + url.PathEscape(user)})
}

func groupPath(id string) string { return "/groups/" + url.PathEscape(id) }
