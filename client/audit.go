package client

import (
	"context"
	"encoding/json"
	"net/url"
	"time"
)

// AuditEntry is an entry of the audit log: a change, who made it and from where.
type AuditEntry struct {
	ID          string       `json:"id"`
	At          time.Time    `json:"at"`
	Actor       AuditActor   `json:"actor"`
	Action      string       `json:"action"`
	Target      *AuditTarget `json:"target,omitempty"`      // nil: nothing that is known
	Environment string       `json:"environment,omitempty"` // empty: none
	Address     string       `json:"address,omitempty"`     // empty: no request led to it
	RequestID   string       `json:"request_id,omitempty"`
	// Changes are by the name of what has changed.
	Changes map[string]AuditChange `json:"changes"`
	// Count is how often it happened: failed sign-ins of a minute are one entry.
	Count int64 `json:"count"`
}

// AuditActor is who made a change. Kind is user, key, link or system.
type AuditActor struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Name string `json:"name"`
}

// AuditTarget is what was changed. The id of a secret is its name.
type AuditTarget struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Name string `json:"name"`
}

// AuditChange is a value before and after; null: there was, or is, none.
type AuditChange struct {
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// AuditFilter selects entries of the audit log; what is empty selects all. After and Before are times (RFC 3339).
type AuditFilter struct {
	Actor, Action, Target string
	After, Before         string
}

func (f AuditFilter) query(q url.Values) url.Values {
	set(q, map[string]string{
		"actor": f.Actor, "action": f.Action, "target": f.Target, "after": f.After, "before": f.Before,
	})
	return q
}

// ListAuditLog returns a page of the audit log, newest first. With several filters it may be short and have a cursor
// all the same.
func (c *Client) ListAuditLog(ctx context.Context, f AuditFilter, limit int, cursor string) (*Page[AuditEntry], error) {
	return list[AuditEntry](ctx, c, "/audit-log", f.query(page(limit, cursor)))
}
