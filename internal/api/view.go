package api

import (
	"encoding/json"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/graph"
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

// Workflow is a workflow as lists show it. It is exported because the document leaves out the
// fields of embedded types that are not.
type Workflow struct {
	ID        chargehand.WorkflowID `json:"id" format:"uuid"`
	Name      string                `json:"name" doc:"The definition's name."`
	Namespace string                `json:"namespace"`
	Title     string                `json:"title,omitempty"`
	Version   string                `json:"version" doc:"The version that a start without a version runs."`
	Draft     bool                  `json:"draft,omitempty" doc:"The version is a draft."`
	Tags      []string              `json:"tags,omitempty" doc:"Tags of the definition, as key:value."`
	CreatedAt moment                `json:"created_at"`
	UpdatedAt moment                `json:"updated_at"`
	Activity  *activity             `json:"activity,omitempty" doc:"What happens with it, in lists with include=activity."`
}

type activity struct {
	Last         *lastExecution `json:"last_execution,omitempty" doc:"The newest execution; left out: there is none."`
	NextSchedule moment         `json:"next_schedule,omitempty" doc:"When its schedule starts it next."`
	Created      int            `json:"created" doc:"Executions that were created in the last 24 hours."`
	Finished     int            `json:"finished" doc:"Those of them that have finished."`
	Failed       int            `json:"failed" doc:"Those of them that have ended in error."`
	Open         int            `json:"open" doc:"Those of them that have not ended."`
	AtLeast      bool           `json:"at_least,omitempty" doc:"There are more: of each status, 100 are counted at most."`
}

type lastExecution struct {
	ID        chargehand.ExecutionID `json:"id" format:"uuid"`
	Status    string                 `json:"status" enum:"initial,processing,human_in_the_loop,finished,error"`
	CreatedAt moment                 `json:"created_at"`
}

type workflowPage struct {
	Data   []Workflow `json:"data" nullable:"false"`
	Cursor *moment    `json:"cursor" nullable:"true" doc:"Send it as cursor to get the next page; null: there is none."`
}

type workflowDetail struct {
	Workflow
	Revision         int64           `json:"revision"`
	PublishedVersion string          `json:"published_version,omitempty"`
	InputSchema      json.RawMessage `json:"input_schema,omitempty" doc:"JSON Schema of the input, if the definition has one."`
	Outline          *[]form.Field   `json:"outline,omitempty" doc:"The form for the input, with include=outline."`
	Definition       json.RawMessage `json:"definition,omitempty" doc:"Left out for those who may only start the workflow."`
	Source           string          `json:"source,omitempty" doc:"The definition as it was applied; left out as definition is."`
	SourceType       string          `json:"source_type,omitempty" doc:"Media type of source."`
}

type appliedWorkflow struct {
	Workflow
	Revision int64        `json:"revision"`
	Draft    bool         `json:"draft" doc:"It was not published."`
	Warnings []fieldError `json:"warnings" nullable:"false"`
}

type validation struct {
	Valid    bool         `json:"valid"`
	Errors   []fieldError `json:"errors" nullable:"false"`
	Warnings []fieldError `json:"warnings" nullable:"false"`
	Graph    *graph.Graph `json:"graph,omitempty" doc:"The control flow, of a valid definition."`
}

type fieldError struct {
	Pointer   *string `json:"pointer,omitempty" doc:"JSON pointer (RFC 6901) into the body or definition."`
	Parameter string  `json:"parameter,omitempty" doc:"Query parameter or header, instead of a pointer."`
	Code      string  `json:"code"`
	Detail    string  `json:"detail"`
	Line      int     `json:"line,omitempty" minimum:"1"`
	Column    int     `json:"column,omitempty" minimum:"1"`
}

type version struct {
	Workflow          chargehand.WorkflowID `json:"workflow_id" format:"uuid"`
	Version           string                `json:"version"`
	Revision          int64                 `json:"revision" doc:"Counts from 1 within the version."`
	Title             string                `json:"title,omitempty"`
	Published         bool                  `json:"published" doc:"A revision of this version is published."`
	PublishedRevision int64                 `json:"published_revision,omitempty" doc:"The one that is published; absent if none of this version is."`
	Draft             bool                  `json:"draft" doc:"This revision was never published."`
	CreatedAt         moment                `json:"created_at"`
	UpdatedAt         moment                `json:"updated_at"`
	Definition        json.RawMessage       `json:"definition,omitempty"`
	Source            string                `json:"source,omitempty"`
	SourceType        string                `json:"source_type,omitempty"`
	CreatedBy         *startedBy            `json:"created_by,omitempty" doc:"Who has applied this revision; left out: the server has, from its folder of workflows."`
	Message           string                `json:"message,omitempty" doc:"What that one said about it."`
	Revisions         []revision            `json:"revisions,omitempty" doc:"Of one version: its newest 100 revisions, newest first."`
}

type revision struct {
	Revision  int64      `json:"revision" doc:"Counts from 1 within the version."`
	Draft     bool       `json:"draft" doc:"It was never published."`
	Published bool       `json:"published" doc:"It is what is published."`
	CreatedAt moment     `json:"created_at"`
	CreatedBy *startedBy `json:"created_by,omitempty" doc:"The person or key that applied the revision."`
	Message   string     `json:"message,omitempty" doc:"What that one said about it."`
}

// Execution is an execution as it is read; see Workflow.
type Execution struct {
	ID              chargehand.ExecutionID  `json:"id" format:"uuid"`
	Workflow        chargehand.WorkflowID   `json:"workflow_id" format:"uuid"`
	Status          string                  `json:"status" enum:"initial,processing,human_in_the_loop,finished,error"`
	CreatedAt       moment                  `json:"created_at"`
	Results         []result                `json:"results" nullable:"true" doc:"Output files of the last step; null while the execution is not finished, and in lists with fields=summary."`
	Phase           string                  `json:"phase" enum:"pending,running,waiting,suspended,cancelled,faulted,completed"`
	WorkflowVersion string                  `json:"workflow_version"`
	Revision        int64                   `json:"revision" doc:"Revision of workflow_version, counted from 1."`
	Environment     string                  `json:"environment" enum:"live,test"`
	Batch           *chargehand.BatchID     `json:"batch_id,omitempty" format:"uuid"`
	RetryOf         *chargehand.ExecutionID `json:"retry_of,omitempty" format:"uuid"`
	WorkflowName    string                  `json:"workflow" doc:"namespace/name of the workflow."`
	Title           string                  `json:"title,omitempty" doc:"Title of the definition, if it has one."`
	ItemID          string                  `json:"item_id,omitempty" doc:"Id of the item in the batch, if it has one."`
	Labels          map[string]string       `json:"labels,omitempty" nullable:"false" doc:"Its own labels and those of its batch. They are not encrypted."`
	Cause           cause                   `json:"cause" doc:"What has started it."`
	Parent          *chargehand.ExecutionID `json:"parent_id,omitempty" format:"uuid" doc:"The execution that has started it, if one has."`
	Root            *chargehand.ExecutionID `json:"root_id,omitempty" format:"uuid" doc:"The execution at the top of its tree, if another execution has started it."`
	RetainedUntil   moment                  `json:"retained_until,omitempty" doc:"When it may be deleted at the earliest; left out until it, or its batch, has ended."`
	WaitingFor      *waitingFor             `json:"waiting_for,omitempty" doc:"What it waits for: the most blocking one of all. Left out while a task runs and after the end."`
	HumanTasks      []openTask              `json:"human_tasks,omitempty" nullable:"false" maxItems:"10" doc:"Its human tasks that have not ended: the newest 10, the oldest of these first. Left out: there are none."`
	Attempting      *attempting             `json:"attempting,omitempty" doc:"The next attempt of a task, if it is delayed by 5 seconds or more."`
	StartedBy       *startedBy              `json:"started_by,omitempty" doc:"Whose request has started it; left out: a schedule, an event or another execution has."`
	StartedAt       moment                  `json:"started_at,omitempty"`
	FinishedAt      moment                  `json:"finished_at,omitempty"`
	Input           json.RawMessage         `json:"input,omitempty" doc:"Left out in the answer to a start, and in lists without include=input."`
	Output          json.RawMessage         `json:"output,omitempty"`
	Error           *executionError         `json:"error,omitempty"`
}

type cause struct {
	Kind string `json:"kind" enum:"api,batch,schedule,event,parent,retry" doc:"A request, a batch, a schedule, an event, another execution, or a retry."`
	ID   string `json:"id,omitempty" doc:"Of the batch, the event, or the execution that started it or that it repeats."`
}

type waitingFor struct {
	Kind   string       `json:"kind" enum:"person,child,event,retry,timer,slot" doc:"A person, an execution that it has started, an event, the next attempt, a time, or a free slot."`
	Until  moment       `json:"until,omitempty" doc:"When it continues, if that is known."`
	Task   string       `json:"task_id,omitempty" doc:"The human task."`
	Title  string       `json:"title,omitempty" doc:"Title of the human task."`
	Filter *eventFilter `json:"filter,omitempty" doc:"Which events it waits for. Left out where the workflow uses secrets."`
}

type openTask struct {
	ID         chargehand.HumanTaskID `json:"id" format:"uuid"`
	Title      string                 `json:"title"`
	Reference  string                 `json:"reference" doc:"JSON pointer of the task in the definition."`
	Iterations []int                  `json:"iterations" nullable:"false" doc:"The index in each loop around the task, the outermost first."`
	DueAt      moment                 `json:"due_at,omitempty"`
}

type eventFilter struct {
	Types []string `json:"types" nullable:"false" maxItems:"10" doc:"Types of the events, at most 10. Of a task each has at most 255 bytes and an ellipsis."`
}

type attempting struct {
	Reference string `json:"reference" doc:"JSON pointer of the task in the definition."`
	Attempt   int    `json:"attempt" doc:"Number of the attempt, from 1."`
	Of        int    `json:"of,omitempty" doc:"How many attempts there are at most; left out: as many as it takes."`
	NextAt    moment `json:"next_at" doc:"When it begins."`
}

// CreatedExecution is an execution as it is created; see Workflow.
type CreatedExecution struct {
	ExecutionID chargehand.ExecutionID `json:"execution_id" format:"uuid"`
	Execution
}

type retriedExecution struct {
	CreatedExecution
	NewerVersion  string `json:"newer_version,omitempty" doc:"The version that a start would run now, if it is newer than what the retry runs."`
	NewerRevision int64  `json:"newer_revision,omitempty" doc:"The revision of newer_version."`
}

type executionError struct {
	Type      string `json:"type" format:"uri"`
	Status    int    `json:"status"`
	Title     string `json:"title,omitempty"`
	Detail    string `json:"detail,omitempty"`
	Instance  string `json:"instance,omitempty" doc:"JSON pointer of the component of the definition at fault."`
	Code      string `json:"code"`
	Origin    string `json:"origin" enum:"workflow,system"`
	Retryable bool   `json:"retryable"`
	Line      int    `json:"line,omitempty" minimum:"1" doc:"Line of instance in the source of the definition. Left out in lists."`
	Column    int    `json:"column,omitempty" minimum:"1" doc:"Column of instance in the source of the definition, in characters. Left out in lists."`
}

type result struct {
	Filename    string `json:"filename" doc:"For display only."`
	URL         string `json:"url" format:"uri" doc:"Signed, valid until expires_at, made fresh on each read."`
	Size        int64  `json:"size" doc:"Bytes."`
	ContentType string `json:"content_type"`
	SHA256      string `json:"sha256,omitempty" pattern:"^[0-9a-f]{64}$"`
	ExpiresAt   moment `json:"expires_at"`
}

type batch struct {
	BatchID              chargehand.BatchID    `json:"batch_id" format:"uuid"`
	ID                   chargehand.BatchID    `json:"id" format:"uuid" doc:"The same as batch_id."`
	Workflow             chargehand.WorkflowID `json:"workflow_id" format:"uuid"`
	Status               string                `json:"status" enum:"pending,running,completed,failed"`
	Total                int                   `json:"total"`
	Completed            int                   `json:"completed" doc:"Executions that are finished."`
	Failed               int                   `json:"failed" doc:"Executions that ended in error."`
	Cancelled            int                   `json:"cancelled" doc:"Executions that were cancelled. They are counted in failed too."`
	Running              int                   `json:"running"`
	Waiting              int                   `json:"waiting"`
	Queued               int                   `json:"queued"`
	Labels               map[string]string     `json:"labels,omitempty" nullable:"false" doc:"Its items have them too. They are not encrypted."`
	Concurrency          int                   `json:"concurrency"`
	EffectiveConcurrency int                   `json:"effective_concurrency"`
	WorkflowVersion      string                `json:"workflow_version"`
	Revision             int64                 `json:"revision" doc:"Revision of workflow_version, counted from 1."`
	Phase                string                `json:"phase" enum:"pending,running,completed,failed,cancelled" doc:"As status; cancelled: it failed because it was cancelled."`
	ETAMs                int64                 `json:"eta_ms,omitempty" doc:"How many milliseconds it will run, if the items that are left take as long as those that have ended."`
	Environment          string                `json:"environment" enum:"live,test"`
	StartedBy            *startedBy            `json:"started_by,omitempty" doc:"Whose request has started it."`
	CreatedAt            moment                `json:"created_at"`
	StartedAt            moment                `json:"started_at,omitempty"`
	CompletedAt          moment                `json:"completed_at,omitempty"`
	Executions           []batchEntry          `json:"executions,omitempty" nullable:"false" doc:"One entry per execution, in input order. Left out with executions=none."`
	ExecutionsCursor     *string               `json:"executions_cursor,omitempty" nullable:"true" doc:"With executions=page: the cursor for the batch's items; null: there are no more."`
}

type batchEntry struct {
	Execution  chargehand.ExecutionID `json:"execution_id" format:"uuid"`
	Inputs     map[string]any         `json:"inputs"`
	Status     string                 `json:"status" enum:"initial,processing,human_in_the_loop,finished,error"`
	Phase      string                 `json:"phase" enum:"pending,running,waiting,suspended,cancelled,faulted,completed"`
	DurationMs *int64                 `json:"duration_ms,omitempty" minimum:"0" doc:"Finish minus start, in milliseconds."`
	Index      int                    `json:"index" minimum:"0"`
	ItemID     string                 `json:"item_id,omitempty"`
	Error      *executionError        `json:"error,omitempty"`
}

// batchItem is a batchEntry in a list of items, which may be a summary.
type batchItem struct {
	Execution  chargehand.ExecutionID `json:"execution_id" format:"uuid"`
	Inputs     map[string]any         `json:"inputs,omitempty" nullable:"false" doc:"The item: what the execution was started with. Left out with fields=summary."`
	Status     string                 `json:"status" enum:"initial,processing,human_in_the_loop,finished,error"`
	Phase      string                 `json:"phase" enum:"pending,running,waiting,suspended,cancelled,faulted,completed"`
	DurationMs *int64                 `json:"duration_ms,omitempty" minimum:"0" doc:"Finish minus start, in milliseconds."`
	Index      int                    `json:"index" minimum:"0"`
	ItemID     string                 `json:"item_id,omitempty"`
	Error      *executionError        `json:"error,omitempty"`
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

type apiKey struct {
	ID          chargehand.KeyID        `json:"id" format:"uuid"`
	Name        string                  `json:"name"`
	Environment string                  `json:"environment" enum:"live,test"`
	Prefix      string                  `json:"prefix"`
	LastFour    string                  `json:"last_four"`
	Scopes      []string                `json:"scopes" nullable:"false"`
	Workflows   []chargehand.WorkflowID `json:"workflows,omitempty" format:"uuid" nullable:"false" doc:"The only workflows that the key sees, with those of namespaces; left out with namespaces: all."`
	Namespaces  []string                `json:"namespaces,omitempty" nullable:"false" doc:"The only namespaces whose workflows the key sees."`
	RateLimit   *int64                  `json:"rate_limit,omitempty" minimum:"0" doc:"Requests per second, 0: no limit; left out: the installation's."`
	CreatedAt   moment                  `json:"created_at"`
	ExpiresAt   moment                  `json:"expires_at,omitempty"`
	LastUsedAt  moment                  `json:"last_used_at,omitempty"`
	CreatedBy   *chargehand.KeyID       `json:"created_by,omitempty" format:"uuid" doc:"The user or the key that made this one; left out: the command line."`
	Addresses   []string                `json:"allowed_addresses,omitempty" nullable:"false" doc:"The only addresses that the key may be used from, or ranges of them; left out: any."`
	OldUntil    moment                  `json:"previous_key_until,omitempty" doc:"Until when the key before the last rotation counts too; left out: there is none."`
	User        *chargehand.UserID      `json:"user_id,omitempty" format:"uuid" doc:"The user that a personal key stands for; left out: it stands for none."`
	Key         string                  `json:"key,omitempty" doc:"The key itself. Shown once, in the answer that creates it."`
}

type me struct {
	User         user     `json:"user" doc:"The person as a member of the account."`
	Grants       []grant  `json:"grants" nullable:"false" maxItems:"100" doc:"The first 100 roles of the person, those of its groups among them."`
	MoreGrants   bool     `json:"more_grants" doc:"The person has more than these roles."`
	Scopes       meScopes `json:"scopes" doc:"What may be done somewhere in each environment."`
	Environments []string `json:"environments" enum:"live,test" nullable:"false" doc:"Where something may be done."`
	Version      string   `json:"version" doc:"Version of the server."`
}

type meScopes struct {
	Live []string `json:"live" nullable:"false" doc:"Scopes in live."`
	Test []string `json:"test" nullable:"false" doc:"Scopes in test."`
}

type settings map[string]any

type ownSession struct {
	ID         chargehand.SessionID `json:"id" format:"uuid"`
	Method     string               `json:"method" doc:"How the person has signed in: password, passkey, or oidc: and the name of an identity provider."`
	Address    string               `json:"address" doc:"Address of the sign-in."`
	Agent      string               `json:"agent" doc:"The browser or program, as it has named itself."`
	Current    bool                 `json:"current" doc:"It is the session that asks."`
	CreatedAt  moment               `json:"created_at" doc:"When the person signed in."`
	LastSeenAt moment               `json:"last_seen_at" doc:"When the session was seen last, to within a minute."`
	ExpiresAt  moment               `json:"expires_at" doc:"When it ends without another request, and at the latest."`
}

// startedBy is left out where no request has started it.
type startedBy struct {
	Kind string `json:"kind" enum:"user,key" doc:"A user, by a session or a personal key, or an API key."`
	ID   string `json:"id" format:"uuid" doc:"Id of the user or API key."`
	Name string `json:"name,omitempty" doc:"Name of the user or API key; left out: it has none."`
}

type user struct {
	ID                  chargehand.UserID    `json:"id" format:"uuid"`
	Email               string               `json:"email"`
	Name                string               `json:"name"`
	Locale              string               `json:"locale,omitempty"`
	Status              string               `json:"status" enum:"invited,active,disabled"`
	Groups              []chargehand.GroupID `json:"groups" format:"uuid" nullable:"false"`
	Methods             []string             `json:"methods" nullable:"false" doc:"How the user can sign in: password, passkey, or oidc: and the name of an identity provider."`
	CreatedAt           moment               `json:"created_at"`
	LastSeenAt          moment               `json:"last_seen_at,omitempty"`
	Sessions            *int64               `json:"sessions,omitempty" minimum:"0" doc:"Where the user is signed in at the moment; left out in lists."`
	PersonalKeys        *int64               `json:"personal_keys,omitempty" minimum:"0" doc:"Personal keys that count; left out in lists."`
	InvitationExpiresAt moment               `json:"invitation_expires_at,omitempty" doc:"Until then the invitation can be accepted; left out in lists, and if there is none."`
	Invitation          *oneUseLink          `json:"invitation,omitempty" doc:"What the user is to open. Shown once, in the answer that makes it."`
}

type oneUseLink struct {
	URL       string `json:"url,omitempty" format:"uri" doc:"The address, which can be used once. Left out in an answer that is repeated."`
	ExpiresAt moment `json:"expires_at"`
	Mailed    bool   `json:"mailed" doc:"The address is sent to the user by mail. False in an answer that is repeated."`
}

type userGroup struct {
	ID          chargehand.GroupID  `json:"id" format:"uuid"`
	Name        string              `json:"name"`
	Source      string              `json:"source,omitempty" doc:"The identity provider that has the group, as oidc:NAME; left out: it was made here."`
	Members     []chargehand.UserID `json:"members" format:"uuid" nullable:"false" maxItems:"100" doc:"The first 100 members."`
	MoreMembers bool                `json:"more_members" doc:"The group has more than these members. The route of its members lists all."`
	CreatedAt   moment              `json:"created_at"`
}

type foundUser struct {
	ID    chargehand.UserID `json:"id" format:"uuid"`
	Name  string            `json:"name"`
	Email string            `json:"email"`
}

type foundGroup struct {
	ID   chargehand.GroupID `json:"id" format:"uuid"`
	Name string             `json:"name"`
}

type foundPeople struct {
	Users  []foundUser  `json:"users" nullable:"false" doc:"Active users whose name or e-mail begins with the text."`
	Groups []foundGroup `json:"groups" nullable:"false" doc:"Groups whose name begins with the text."`
}

type grant struct {
	ID           chargehand.GrantID     `json:"id" format:"uuid"`
	User         *chargehand.UserID     `json:"user_id,omitempty" format:"uuid" doc:"The user that has the role; left out: a group has it."`
	Group        *chargehand.GroupID    `json:"group_id,omitempty" format:"uuid" doc:"The group that has the role; left out: a user has it."`
	Holder       string                 `json:"holder" doc:"The name of the user or group."`
	Email        string                 `json:"email,omitempty" doc:"The e-mail address of the user; left out: a group has the role."`
	Role         string                 `json:"role" enum:"participant,viewer,operator,author,publisher,admin" doc:"What the role allows is in the reference of roles."`
	Namespace    string                 `json:"namespace,omitempty" doc:"The role is over the workflows of this namespace."`
	Workflow     *chargehand.WorkflowID `json:"workflow_id,omitempty" format:"uuid" doc:"The role is over this workflow. This and namespace left out: everything."`
	WorkflowName string                 `json:"workflow,omitempty" doc:"The namespace and the name of the workflow, with a slash between them."`
	Environments []string               `json:"environments" enum:"live,test" nullable:"false" doc:"Where the role counts."`
	CreatedAt    moment                 `json:"created_at"`
	CreatedBy    string                 `json:"created_by" doc:"Id of the user or API key that has given it, or a name."`
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
