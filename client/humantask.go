package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// HumanTask is what a workflow asks of a person. Lists have the fields up to Refused.
type HumanTask struct {
	ID              string        `json:"id"`
	Status          string        `json:"status"` // open, claimed, answered or withdrawn
	Title           string        `json:"title"`
	Assignees       TaskAssignees `json:"assignees"`
	ClaimedBy       *TaskPerson   `json:"claimed_by,omitempty"` // alone may answer; nil: it is not claimed
	Priority        int           `json:"priority"`             // 0 to 100
	DueAt           *time.Time    `json:"due_at,omitempty"`
	CreatedAt       time.Time     `json:"created_at"`
	EndedAt         *time.Time    `json:"ended_at,omitempty"`
	WorkflowID      string        `json:"workflow_id"`
	Workflow        string        `json:"workflow"` // namespace/name
	ExecutionID     string        `json:"execution_id"`
	Reference       string        `json:"reference"` // of the task in the definition
	Iterations      []int         `json:"iterations"`
	Seq             int           `json:"seq"` // in the timeline of the execution
	BatchID         string        `json:"batch_id,omitempty"`
	ItemID          string        `json:"item_id,omitempty"`
	Environment     string        `json:"environment"`
	WithdrawnReason string        `json:"withdrawn_reason,omitempty"` // timeout, cancelled, lost_branch, jump or ended
	Refused         string        `json:"refused,omitempty"`          // code with which an answer would be refused now

	Instructions     string            `json:"instructions,omitempty"` // Markdown
	InstructionsHTML string            `json:"instructions_html,omitempty"`
	Form             json.RawMessage   `json:"form,omitempty"`    // a JSON Schema; nil: only an outcome is asked for
	Outline          []FormField       `json:"outline,omitempty"` // of the form
	Data             json.RawMessage   `json:"data,omitempty"`    // what the form is filled with
	Show             json.RawMessage   `json:"show,omitempty"`    // to be looked at
	Files            []json.RawMessage `json:"files,omitempty"`   // references to be looked at
	Upload           *TaskUpload       `json:"upload,omitempty"`  // nil: the answer has no files
	Outcomes         []TaskOutcome     `json:"outcomes,omitempty"`
	Comments         []TaskComment     `json:"comments,omitempty"`
	Links            []TaskLink        `json:"links,omitempty"`
	Answer           *TaskAnswer       `json:"answer,omitempty"` // nil: there is none yet
	raw
}

// Final reports whether the task is answered or withdrawn.
func (t *HumanTask) Final() bool { return t.Status == "answered" || t.Status == "withdrawn" }

// TaskAssignees are those who may answer a task. Users are e-mail addresses or ids, groups are names. Without users and
// groups everyone may but those of Exclude.
type TaskAssignees struct {
	Users   []string `json:"users"`
	Groups  []string `json:"groups"`
	Exclude []string `json:"exclude"`
}

// TaskPerson is who has claimed or commented on a task.
type TaskPerson struct {
	Kind string `json:"kind"` // user or key
	ID   string `json:"id"`
	Name string `json:"name"`
}

// TaskUpload says which files an answer may have.
type TaskUpload struct {
	Accept   []string `json:"accept"` // media types, such as image/*, or endings, such as .pdf; none: any
	Max      int      `json:"max"`
	Required bool     `json:"required"`
}

// TaskOutcome is one of the decisions that a person chooses from.
type TaskOutcome struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Style string `json:"style,omitempty"` // primary, danger or empty
}

// TaskComment is a comment on a task.
type TaskComment struct {
	ID   string     `json:"id"`
	By   TaskPerson `json:"by"`
	Text string     `json:"text"`
	At   time.Time  `json:"at"`
}

// TaskLink is a link by which a person answers a task without signing in.
type TaskLink struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"` // of the person whom it is for
	Email     string      `json:"email,omitempty"`
	CreatedBy *TaskPerson `json:"created_by,omitempty"` // nil: the server, which has mailed it
	CreatedAt time.Time   `json:"created_at"`
	ExpiresAt time.Time   `json:"expires_at"` // at the latest: it ends with the task
	RevokedAt *time.Time  `json:"revoked_at,omitempty"`
}

// TaskAnswer is what a person has answered.
type TaskAnswer struct {
	Outcome string            `json:"outcome"`
	Data    json.RawMessage   `json:"data,omitempty"`
	Comment string            `json:"comment,omitempty"`
	Files   []json.RawMessage `json:"files"` // references
	At      time.Time         `json:"at"`
	By      TaskAnswerer      `json:"by"`
	Used    bool              `json:"used"` // the execution has continued with it
}

// TaskAnswerer is the person who has answered, and the way on which the answer came.
type TaskAnswerer struct {
	ID   string  `json:"id"` // of the user; the e-mail address of a person who is none
	Name string  `json:"name"`
	Via  TaskVia `json:"via"`
}

// TaskVia is a session, a key or a link.
type TaskVia struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// MadeBy is the id of the user or API key that has made the link, or of the user who has made the key that has
	// answered in the name of the person.
	MadeBy string `json:"made_by,omitempty"`
	// Behind are the ids of others who may stand behind the answer: they have made or rotated the key too, or have
	// reassigned the task.
	Behind []string `json:"behind,omitempty"`
}

// HumanTaskFilter narrows a list; zero fields do not.
type HumanTaskFilter struct {
	Statuses   []string // none: open and claimed
	Assignee   string   // me, an e-mail address or an id
	Group      string   // its name
	Unassigned bool
	AnsweredBy string // me
	Workflow   string // id
	Batch      string // id
	Execution  string // id
	Overdue    bool
	Search     string // text in the title
	Sort       string // due, created or priority; empty: due
}

// ListHumanTasks returns a page of human tasks.
func (c *Client) ListHumanTasks(ctx context.Context, f HumanTaskFilter, limit int, cursor string) (*Page[HumanTask], error) {
	q := page(limit, cursor)
	set(q, map[string]string{
		"assignee": f.Assignee, "group": f.Group, "answered_by": f.AnsweredBy, "workflow_id": f.Workflow, "batch_id": f.Batch, "execution_id": f.Execution,
		"q": f.Search, "sort": f.Sort,
	})
	addAll(q, "status", f.Statuses)
	if f.Unassigned {
		q.Set("unassigned", "true")
	}
	if f.Overdue {
		q.Set("overdue", "true")
	}
	return list[HumanTask](ctx, c, "/human-tasks", q)
}

// HumanTaskCount is how many human tasks there are, up to 10,000.
type HumanTaskCount struct {
	Count   int64 `json:"count"`
	AtLeast bool  `json:"at_least"` // there may be more
}

// HumanTaskCounts counts open and claimed tasks.
type HumanTaskCounts struct {
	Mine       HumanTaskCount `json:"mine"`   // assigned to the person of the key, or claimed by it
	Groups     HumanTaskCount `json:"groups"` // of that person
	Unassigned HumanTaskCount `json:"unassigned"`
	Overdue    HumanTaskCount `json:"overdue"`
	All        HumanTaskCount `json:"all"`
}

// CountHumanTasks counts the open and claimed tasks that the key sees.
func (c *Client) CountHumanTasks(ctx context.Context) (*HumanTaskCounts, error) {
	var n HumanTaskCounts
	return &n, c.do(ctx, call{method: http.MethodGet, path: "/human-tasks/counts", into: &n})
}

func humanTask(id string) string { return "/human-tasks/" + url.PathEscape(id) }

// GetHumanTask reads a task with its form.
func (c *Client) GetHumanTask(ctx context.Context, id string) (*HumanTask, error) {
	var t HumanTask
	return &t, c.do(ctx, call{method: http.MethodGet, path: humanTask(id), into: &t})
}

// changeTask sends a change that may be sent again.
func (c *Client) changeTask(ctx context.Context, id, verb string, body any) (*HumanTask, error) {
	var t HumanTask
	return &t, c.do(ctx, call{method: http.MethodPost, path: humanTask(id) + "/" + verb, body: body, idempotent: true, into: &t})
}

type forceBody struct {
	Force bool `json:"force,omitempty"`
}

// ClaimHumanTask lets no other person answer a task. With force it is taken from the person who has claimed it.
func (c *Client) ClaimHumanTask(ctx context.Context, id string, force bool) (*HumanTask, error) {
	return c.changeTask(ctx, id, "claim", forceBody{force})
}

// ReleaseHumanTask takes back a claim. With force it may be that of another person.
func (c *Client) ReleaseHumanTask(ctx context.Context, id string, force bool) (*HumanTask, error) {
	return c.changeTask(ctx, id, "release", forceBody{force})
}

// ReassignHumanTask says anew who may answer a task, and takes back a claim. Empty lists let everyone answer.
func (c *Client) ReassignHumanTask(ctx context.Context, id string, users, groups []string) (*HumanTask, error) {
	body := struct {
		Users  []string `json:"users"`
		Groups []string `json:"groups"`
	}{append([]string{}, users...), append([]string{}, groups...)}
	return c.changeTask(ctx, id, "reassign", body)
}

// HumanTaskAnswer is an answer to send.
type HumanTaskAnswer struct {
	Outcome string          `json:"outcome"`
	Data    json.RawMessage `json:"data,omitempty"` // what the form asks for; nil: nothing
	Comment string          `json:"comment,omitempty"`
	Files   []string        `json:"files,omitempty"` // ids of files that were uploaded for the answer
	// OnBehalfOf is the e-mail address of the person whose answer it is. It needs the scope tasks:impersonate.
	OnBehalfOf string `json:"on_behalf_of,omitempty"`
}

// AnswerHumanTask answers a task. An answer that does not fit the form is an *Error with the code answer_invalid, and
// pointers that begin with /data.
func (c *Client) AnswerHumanTask(ctx context.Context, id string, a HumanTaskAnswer) (*HumanTask, error) {
	return c.changeTask(ctx, id, "answer", a)
}

// CommentHumanTask adds a comment to a task, also to one that has ended.
func (c *Client) CommentHumanTask(ctx context.Context, id, text string) (*HumanTask, error) {
	body := struct {
		Text string `json:"text"`
	}{text}
	return c.changeTask(ctx, id, "comments", body)
}

// NewTaskLink says whom a link to a human task is for.
type NewTaskLink struct {
	Name      string `json:"name"`
	Email     string `json:"email,omitempty"`      // required where the task has assignees or excludes people
	ExpiresIn string `json:"expires_in,omitempty"` // such as 12h or 7d; at most 30d, which is the default
}

// MadeTaskLink is a link that was made.
type MadeTaskLink struct {
	ID        string    `json:"id"`
	URL       string    `json:"url,omitempty"` // shown once: empty in an answer that is repeated
	ExpiresAt time.Time `json:"expires_at"`
}

// LinkHumanTask makes a link by which a person answers a task without signing in.
func (c *Client) LinkHumanTask(ctx context.Context, id string, link NewTaskLink) (*MadeTaskLink, error) {
	var made MadeTaskLink
	return &made, c.do(ctx, call{method: http.MethodPost, path: humanTask(id) + "/links", body: link, into: &made})
}

// RevokeTaskLink ends a link to a task.
func (c *Client) RevokeTaskLink(ctx context.Context, id, link string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: humanTask(id) + "/links/" + url.PathEscape(link)})
}
