package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Secret describes a secret of the key's environment. Nothing returns its value.
type Secret struct {
	Name      string    `json:"name"`
	Version   int64     `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// The only workflows that may declare it, and those of the only namespaces; without both: all.
	Workflows  []string `json:"workflows,omitempty"`
	Namespaces []string `json:"namespaces,omitempty"`
	// The versions that are kept, newest first, and the workflows that declare it; of GetSecret and RollBackSecret.
	Versions []SecretVersion `json:"versions,omitempty"`
	UsedBy   []SecretUser    `json:"used_by,omitempty"`
}

// SecretVersion is a version of a secret. Restores is the version whose value it has again; 0: none.
type SecretVersion struct {
	Version  int64     `json:"version"`
	SetAt    time.Time `json:"set_at"`
	Restores int64     `json:"restores,omitempty"`
}

// SecretUser is a workflow that declares a secret. Workflow is its namespace/name.
type SecretUser struct {
	WorkflowID string `json:"workflow_id"`
	Workflow   string `json:"workflow"`
}

// NewSecret is the request to set a secret. The value is any JSON value but null. Workflows (ids, or namespace/name)
// and Namespaces are the only ones that may declare it; nil leaves them as they are.
type NewSecret struct {
	Value      json.RawMessage `json:"value"`
	Workflows  []string        `json:"workflows,omitempty"`
	Namespaces []string        `json:"namespaces,omitempty"`
}

// PutSecret creates a secret, or sets a new version of it. The value is any JSON value but
// null. A repetition makes one version more and changes nothing else.
func (c *Client) PutSecret(ctx context.Context, name string, n NewSecret) (*Secret, error) {
	var s Secret
	return &s, c.do(ctx, call{method: http.MethodPut, path: secretPath(name), body: n, into: &s})
}

// ListSecrets returns a page of secrets, newest first.
func (c *Client) ListSecrets(ctx context.Context, limit int, cursor string) (*Page[Secret], error) {
	return list[Secret](ctx, c, "/secrets", page(limit, cursor))
}

// GetSecret describes a secret.
func (c *Client) GetSecret(ctx context.Context, name string) (*Secret, error) {
	var s Secret
	return &s, c.do(ctx, call{method: http.MethodGet, path: secretPath(name), into: &s})
}

// RollBackSecret sets the value of an earlier version again, as a new version. Repeating it changes nothing.
func (c *Client) RollBackSecret(ctx context.Context, name string, version int64) (*Secret, error) {
	var s Secret
	body := struct {
		Version int64 `json:"version"`
	}{version}
	return &s, c.do(ctx, call{method: http.MethodPost, path: secretPath(name) + "/rollback", body: body, into: &s})
}

// DeleteSecret forgets a secret. Executions that have started keep it to their end.
func (c *Client) DeleteSecret(ctx context.Context, name string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: secretPath(name)})
}

func secretPath(name string) string { return "/secrets/" + url.PathEscape(name) }
