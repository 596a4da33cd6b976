package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Workflow is a workflow of the list, or with its definition when it was read alone.
type Workflow struct {
	ID               string          `json:"id"`
	Name             string          `json:"name"`
	Namespace        string          `json:"namespace"`
	Title            string          `json:"title"`
	Version          string          `json:"version"`
	CreatedAt        time.Time       `json:"created_at"`
	UpdatedAt        time.Time       `json:"updated_at"`
	Revision         int             `json:"revision"`
	PublishedVersion string          `json:"published_version"`
	Source           string          `json:"source"`
	SourceType       string          `json:"source_type"`
	InputSchema      json.RawMessage `json:"input_schema"`
	Definition       json.RawMessage `json:"definition"`
	raw
}

// FullName is namespace/name.
func (w *Workflow) FullName() string { return w.Namespace + "/" + w.Name }

// Applied is the result of applying a definition.
type Applied struct {
	ID        string       `json:"id"`
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`
	Version   string       `json:"version"`
	Revision  int          `json:"revision"`
	Draft     bool         `json:"draft"` // it was not published, also where that was not asked for
	Created   bool         `json:"-"`     // there was no workflow of that name
	Warnings  []FieldError `json:"warnings"`
}

// Validation is the result of a check that stores nothing.
type Validation struct {
	Valid    bool         `json:"valid"`
	Errors   []FieldError `json:"errors"`
	Warnings []FieldError `json:"warnings"`
}

// WorkflowVersion is one version of a workflow.
type WorkflowVersion struct {
	Version           string          `json:"version"`
	Revision          int             `json:"revision"`
	Draft             bool            `json:"draft"`
	Published         bool            `json:"published"`
	PublishedRevision int             `json:"published_revision,omitempty"` // 0: none of this version is published
	Title             string          `json:"title,omitempty"`
	CreatedAt         time.Time       `json:"created_at"` // of its first revision
	UpdatedAt         time.Time       `json:"updated_at"` // of its newest revision
	Definition        json.RawMessage `json:"definition"`
	Source            string          `json:"source"`
	SourceType        string          `json:"source_type"`
	CreatedBy         *Actor          `json:"created_by,omitempty"`
	Message           string          `json:"message,omitempty"`
	raw
}

// Actor is a person or an API key.
type Actor struct {
	Kind string `json:"kind"` // user or key
	ID   string `json:"id"`
	Name string `json:"name"`
}

// WorkflowFilter narrows a list; zero fields do not.
type WorkflowFilter struct {
	Namespace string
	Name      string
	Text      string   // in namespace/name or title
	Tags      []string // key or key:value; all of them
	Drafts    bool     // also those that have drafts only
}

// ListWorkflows returns a page of at most limit (1–100; 0: 100) workflows, newest first.
func (c *Client) ListWorkflows(ctx context.Context, f WorkflowFilter, limit int, cursor string) (*Page[Workflow], error) {
	q := page(limit, cursor)
	set(q, map[string]string{"namespace": f.Namespace, "name": f.Name, "q": f.Text})
	for _, tag := range f.Tags {
		q.Add("tag", tag)
	}
	if f.Drafts {
		q.Set("drafts", "true")
	}
	return list[Workflow](ctx, c, "/workflows", q)
}

// WorkflowPath turns namespace/name into namespace.name, the form in which every method takes a
// workflow instead of its id. An id stays as it is.
func WorkflowPath(ref string) string { return strings.Replace(ref, "/", ".", 1) }

// FindWorkflow returns the workflow with that id, or with that namespace/name.
func (c *Client) FindWorkflow(ctx context.Context, ref string) (*Workflow, error) {
	return c.GetWorkflow(ctx, WorkflowPath(ref))
}

// ApplyOptions say how a definition is applied.
type ApplyOptions struct {
	Draft   bool   // do not publish
	Message string // what the revision is for
	Match   string // ETag of the workflow as it was read; empty: it may have changed
}

// ApplyWorkflow creates or updates a workflow from YAML or JSON.
func (c *Client) ApplyWorkflow(ctx context.Context, definition []byte, o ApplyOptions) (*Applied, error) {
	var a Applied
	q := url.Values{}
	if o.Draft {
		q.Set("draft", "true")
	}
	if o.Message != "" {
		q.Set("message", o.Message)
	}
	status := 0
	r := definitionCall("/workflows", q, definition, &a)
	r.status, r.match = &status, o.Match
	err := c.do(ctx, r)
	a.Created = status == http.StatusCreated
	return &a, err
}

// ValidateWorkflow checks a definition and stores nothing.
func (c *Client) ValidateWorkflow(ctx context.Context, definition []byte) (*Validation, error) {
	var v Validation
	return &v, c.do(ctx, definitionCall("/workflows/validate", nil, definition, &v))
}

func definitionCall(path string, q url.Values, definition []byte, into any) call {
	return call{
		method: http.MethodPost, path: path, query: q, contentType: "application/yaml", idempotent: true,
		raw: func() io.Reader { return bytes.NewReader(definition) }, into: into,
	}
}

// GetWorkflow returns a workflow with its definition and input schema.
func (c *Client) GetWorkflow(ctx context.Context, id string) (*Workflow, error) {
	var w Workflow
	return &w, c.do(ctx, call{method: http.MethodGet, path: "/workflows/" + url.PathEscape(id), into: &w})
}

// DeleteWorkflow deletes a workflow and its schedule; its executions continue and can be read by their ids.
func (c *Client) DeleteWorkflow(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: "/workflows/" + url.PathEscape(id)})
}

// ListVersions returns a page of the versions of a workflow, the most recently applied first.
func (c *Client) ListVersions(ctx context.Context, id string, limit int, cursor string) (*Page[WorkflowVersion], error) {
	return list[WorkflowVersion](ctx, c, "/workflows/"+url.PathEscape(id)+"/versions", page(limit, cursor))
}

// GetVersion returns a revision of a version of a workflow with its definition; revision 0 stands for the newest one.
func (c *Client) GetVersion(ctx context.Context, id, version string, revision int) (*WorkflowVersion, error) {
	var v WorkflowVersion
	q := url.Values{}
	if revision != 0 {
		q.Set("revision", strconv.Itoa(revision))
	}
	path := "/workflows/" + url.PathEscape(id) + "/versions/" + url.PathEscape(version)
	return &v, c.do(ctx, call{method: http.MethodGet, path: path, query: q, into: &v})
}

// PublishVersion makes version the one that is run; revision 0 stands for its newest revision.
func (c *Client) PublishVersion(ctx context.Context, id, version string, revision int) error {
	var body any
	if revision != 0 {
		body = map[string]int{"revision": revision}
	}
	return c.do(ctx, call{
		method: http.MethodPost, path: "/workflows/" + url.PathEscape(id) + "/versions/" + url.PathEscape(version) + "/publish",
		body: body, idempotent: true,
	})
}
