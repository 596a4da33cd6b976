package client

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Key is an API key as it may be shown. Key is set once, in the answer that creates it.
type Key struct {
	ID          string     `json:"id"`
	Key         string     `json:"key,omitempty"`
	Name        string     `json:"name"`
	Environment string     `json:"environment"`
	Prefix      string     `json:"prefix"`
	LastFour    string     `json:"last_four"`
	Scopes      []string   `json:"scopes"`
	Workflows   []string   `json:"workflows,omitempty"`
	Namespaces  []string   `json:"namespaces,omitempty"`
	CreatedAt   time.Time  `json:"created_at"`
	ExpiresAt   *time.Time `json:"expires_at,omitempty"`
	LastUsedAt  *time.Time `json:"last_used_at,omitempty"`
	// AllowedAddresses are the only ones that it may be used from, or ranges of them; none: any.
	AllowedAddresses []string `json:"allowed_addresses,omitempty"`
	// PreviousKeyUntil is when the key before the last rotation ends; nil: there is none that counts.
	PreviousKeyUntil *time.Time `json:"previous_key_until,omitempty"`
	// UserID is whom a personal key stands for; empty: it is none.
	UserID string `json:"user_id,omitempty"`
	raw
}

// NewKey is the request to make a key.
type NewKey struct {
	Name       string     `json:"name"`
	Preset     string     `json:"preset,omitempty"`
	Scopes     []string   `json:"scopes,omitempty"`
	Workflows  []string   `json:"workflows,omitempty"` // ids, or namespace/name
	Namespaces []string   `json:"namespaces,omitempty"`
	ExpiresAt  *time.Time `json:"expires_at,omitempty"`
	// AllowedAddresses are the only ones that it may be used from, or ranges such as 192.0.2.0/24.
	AllowedAddresses []string `json:"allowed_addresses,omitempty"`
}

// CreateKey makes a key in the environment of the client's own.
func (c *Client) CreateKey(ctx context.Context, k NewKey) (*Key, error) {
	var made Key
	return &made, c.do(ctx, call{method: http.MethodPost, path: "/api-keys", body: k, idempotent: true, into: &made})
}

// ListKeys returns a page of keys, newest first.
func (c *Client) ListKeys(ctx context.Context, limit int, cursor string) (*Page[Key], error) {
	return list[Key](ctx, c, "/api-keys", page(limit, cursor))
}

// ListPersonalKeys returns a page of the keys of the person whom the client's key stands for, in its environment.
func (c *Client) ListPersonalKeys(ctx context.Context, limit int, cursor string) (*Page[Key], error) {
	return list[Key](ctx, c, "/me/api-keys", page(limit, cursor))
}

// RotateKey gives a key another secret, which the answer shows once. The one before counts until the grace ends, which
// is at most 7 days.
func (c *Client) RotateKey(ctx context.Context, id string, grace time.Duration) (*Key, error) {
	var rotated Key
	body := map[string]string{"grace": grace.String()}
	path := "/api-keys/" + url.PathEscape(id) + "/rotate"
	return &rotated, c.do(ctx, call{method: http.MethodPost, path: path, body: body, idempotent: true, into: &rotated})
}

// RevokeKey revokes a key permanently.
func (c *Client) RevokeKey(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: "/api-keys/" + url.PathEscape(id)})
}

// Limit is one bound of the installation.
type Limit struct {
	Name        string `json:"name"`
	Value       int64  `json:"value"`
	Used        *int64 `json:"used,omitempty"` // of a quota; nil: not counted
	Description string `json:"description"`
	Setting     string `json:"setting,omitempty"` // of chargehand serve; empty: none changes it
}

// Limits returns every bound of the installation.
func (c *Client) Limits(ctx context.Context) ([]Limit, error) {
	var p struct {
		Data []Limit `json:"data"`
	}
	err := c.do(ctx, call{method: http.MethodGet, path: "/limits", into: &p})
	return p.Data, err
}

// Ready reports, by a nil error, that the server is ready for requests. It needs no key.
func (c *Client) Ready(ctx context.Context) error {
	return c.do(ctx, call{method: http.MethodGet, path: strings.TrimSuffix(c.base, "/api/v1") + "/readyz"})
}
