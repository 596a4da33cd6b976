package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Grant is a role of a user or a group, over a namespace, a workflow, or everything.
type Grant struct {
	ID           string    `json:"id"`
	UserID       string    `json:"user_id,omitempty"`
	GroupID      string    `json:"group_id,omitempty"`
	Role         string    `json:"role"`
	Namespace    string    `json:"namespace,omitempty"`
	WorkflowID   string    `json:"workflow_id,omitempty"`
	Environments []string  `json:"environments"`
	CreatedAt    time.Time `json:"created_at"`
	CreatedBy    string    `json:"created_by"`
	raw
}

// NewGrant is the request to give a role. Of an invitation, UserID and GroupID are empty; else one of them is set.
type NewGrant struct {
	UserID       string   `json:"user_id,omitempty"`
	GroupID      string   `json:"group_id,omitempty"`
	Role         string   `json:"role"`
	Namespace    string   `json:"namespace,omitempty"`
	WorkflowID   string   `json:"workflow_id,omitempty"`
	Environments []string `json:"environments,omitempty"` // nil: both
}

// GrantFilter selects grants: those of a user, of a group, or all.
type GrantFilter struct{ UserID, GroupID string }

// GrantPage is a page of grants, newest first.
type GrantPage struct {
	Data   []Grant `json:"data"`
	Cursor string  `json:"cursor"`
}

// ListGrants returns a page of grants.
func (c *Client) ListGrants(ctx context.Context, f GrantFilter, limit int, cursor string) (*GrantPage, error) {
	query := page(limit, cursor)
	for name, value := range map[string]string{"user_id": f.UserID, "group_id": f.GroupID} {
		if value != "" {
			query.Set(name, value)
		}
	}
	var p GrantPage
	return &p, c.do(ctx, call{method: http.MethodGet, path: "/grants", query: query, into: &p})
}

// GiveGrant gives a role.
func (c *Client) GiveGrant(ctx context.Context, n NewGrant) (*Grant, error) {
	var g Grant
	return &g, c.do(ctx, call{method: http.MethodPost, path: "/grants", body: n, idempotent: true, into: &g})
}

// TakeGrant takes a role away.
func (c *Client) TakeGrant(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: "/grants/" + url.PathEscape(id)})
}
