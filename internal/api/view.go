package api

import (
	"time"

	"github.com/chargehand/chargehand"
	"github.com/danielgtaylor/huma/v2"
)

// The types in this file are the answers and bodies as the document describes them, and as they are encoded. Only
// the entries of batches are written by hand (batch.go), and a test compares the two.

// moment is a time in milliseconds since 1970; 0 is "not known yet" and left out.
type moment int64

func at(t time.Time) moment {
	if t.IsZero() {
		return 0
	}
	return moment(t.UnixMilli())
}

// MarshalJSON writes RFC 3339, UTC, three fraction digits, Z.
func (m moment) MarshalJSON() ([]byte, error) { return appendTime(nil, int64(m)), nil }

// Schema describes moments in the document.
func (moment) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: "string", Format: "date-time"}
}

type file struct {
	ID          chargehand.FileID `json:"id" format:"uuid"`
	URI         string            `json:"uri" doc:"Names the file in references."`
	Name        string            `json:"name" doc:"For display only."`
	URL         string            `json:"url" format:"uri" doc:"Signed, valid until expires_at."`
	Size        int64             `json:"size" doc:"Bytes."`
	ContentType string            `json:"content_type"`
	SHA256      string            `json:"sha256,omitempty" pattern:"^[0-9a-f]{64}$"`
	CreatedAt   moment            `json:"created_at"`
	ExpiresAt   moment            `json:"expires_at"`
	Reference   fileReference     `json:"reference" doc:"Put this object into an input to pass the file to a workflow."`
}

type fileReference struct {
	URI       string `json:"uri"`
	Name      string `json:"name"`
	MediaType string `json:"mediaType"`
	Size      int64  `json:"size"`
	Digest    string `json:"digest,omitempty"`
}

type secret struct {
	Name       string                  `json:"name" minLength:"1" maxLength:"200"`
	Version    int64                   `json:"version" minimum:"1" doc:"Counts the values that were set, also across a deletion."`
	CreatedAt  moment                  `json:"created_at"`
	UpdatedAt  moment                  `json:"updated_at" doc:"When this version was set."`
	Workflows  []chargehand.WorkflowID `json:"workflows,omitempty" format:"uuid" nullable:"false" doc:"The only workflows that may declare the secret, with those of namespaces; left out with namespaces: all."`
	Namespaces []string                `json:"namespaces,omitempty" nullable:"false" doc:"The only namespaces whose workflows may declare the secret."`
	Versions   []secretVersion         `json:"versions,omitempty" nullable:"false" maxItems:"10" doc:"The versions that are kept, newest first, of one secret that is asked for by its name."`
	UsedBy     []secretUser            `json:"used_by,omitempty" nullable:"false" maxItems:"100" doc:"The workflows that declare the secret, of one secret that is asked for by its name: by their published definition, in test by their draft before it. Whether they may use it is another matter (workflows, namespaces)."`
}

type secretVersion struct {
	Version  int64  `json:"version" minimum:"1" doc:"The number of the version."`
	SetAt    moment `json:"set_at" doc:"When this version was set."`
	Restores int64  `json:"restores,omitempty" minimum:"1" doc:"The version whose value it has again."`
}

type secretUser struct {
	WorkflowID chargehand.WorkflowID `json:"workflow_id" format:"uuid"`
	Workflow   string                `json:"workflow" doc:"The namespace and the name of the workflow, with a slash between them."`
}

type limit struct {
	Name        string `json:"name"`
	Value       int64  `json:"value"`
	Used        *int64 `json:"used,omitempty" doc:"Of a quota: what is used of it now."`
	Description string `json:"description"`
	Setting     string `json:"setting,omitempty" doc:"The setting of chargehand serve that changes it; left out: none does."`
}

type health struct {
	Status   string   `json:"status" enum:"ok,ready"`
	Degraded []string `json:"degraded,omitempty" nullable:"false" doc:"What is refused although the server is ready: storage_reserve."`
}

type problem struct {
	Type      string       `json:"type" format:"uri" doc:"A page about this kind of problem."`
	Title     string       `json:"title"`
	Status    int          `json:"status"`
	Detail    string       `json:"detail"`
	Instance  string       `json:"instance"`
	Code      string       `json:"code" doc:"Stable, snake_case."`
	Errors    []fieldError `json:"errors,omitempty" nullable:"false" maxItems:"100"`
	Quota     *quota       `json:"quota,omitempty" doc:"The quota that is used up."`
	RequestID string       `json:"request_id" doc:"Also in the header X-Request-Id."`
}

type quota struct {
	Name  string     `json:"name" doc:"As GET /limits names it."`
	Owner quotaOwner `json:"owner" doc:"Whose quota it is."`
	Limit int64      `json:"limit" doc:"The quota."`
	Used  int64      `json:"used" doc:"What is used of it without the request."`
}

type quotaOwner struct {
	Kind string `json:"kind" enum:"environment,key,user,account" doc:"What the id is of."`
	ID   string `json:"id" doc:"Name of the environment, else an id."`
}

type problemPage struct {
	Type        string `json:"type" format:"uri"`
	Code        string `json:"code"`
	Status      int    `json:"status"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

// listPage is a page of a list. Cursor is null where it ends.
type listPage[T any] struct {
	Data   []T     `json:"data" nullable:"false"`
	Cursor *string `json:"cursor" nullable:"true"`
}

// The pages, by their names in the document.
type (
	apiKeyPage     listPage[apiKey]
	auditPage      listPage[auditEntry]
	batchItemPage  listPage[batchItem]
	humanTaskPage  listPage[humanTask]
	batchPage      listPage[batch]
	executionPage  listPage[Execution]
	grantPage      listPage[grant]
	limitPage      listPage[limit]
	memberPage     listPage[foundUser]
	ownSessionPage listPage[ownSession]
	secretPage     listPage[secret]
	userGroupPage  listPage[userGroup]
	userPage       listPage[user]
	versionPage    listPage[version]
)
