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
	Holder       string    `json:"holder"`          // name of the user or group
	Email        string    `json:"email,omitempty"` // of the user
	Role         string    `json:"role"`
	Namespace    string    `json:"namespace,omitempty"`
	WorkflowID   string    `json:"workflow_id,omitempty"`
	Workflow     string    `json:"workflow,omitempty"` // namespace/name
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

// GrantFilter selects grants: those of a user, of a group, over a workflow (with those over its namespace and over
// everything), or all.
type GrantFilter struct{ UserID, GroupID, WorkflowID string }

// ListGrants returns a page of grants, newest first.
func (c *Client) ListGrants(ctx context.Context, f GrantFilter, limit int, cursor string) (*Page[Grant], error) {
	query := page(limit, cursor)
	set(query, map[string]string{"user_id": f.UserID, "group_id": f.GroupID, "workflow_id": f.WorkflowID})
	return list[Grant](ctx, c, "/grants", query)
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
