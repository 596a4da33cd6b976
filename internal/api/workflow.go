package api

import (
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/danielgtaylor/huma/v2"
)

// definitionMedia lists the media types of definitions; YAML first, because its readers
// accept JSON too.
var definitionMedia = []string{
	"application/yaml", "application/json", "application/x-yaml", "text/yaml", "text/x-yaml",
}

var definitionBody = &body{
	media: definitionMedia, required: true,
	limit: func(l service.Limits) int64 { return l.DefinitionBytes },
	about: "A workflow definition as YAML or JSON.",
}

var (
	namespaceParameter = &parameter{
		name: "namespace", in: "query", about: "Only workflows of this namespace.", schema: huma.Schema{Type: "string"},
		read: func(c *call, value string) (complaint string) {
			c.args.workflows.Namespace = value
			return wantValue(value)
		},
	}
	nameParameter = &parameter{
		name: "name", in: "query", about: "Only workflows of this name.", schema: huma.Schema{Type: "string"},
		read: func(c *call, value string) (complaint string) {
			c.args.workflows.Name = value
			return wantValue(value)
		},
	}
	textParameter = &parameter{
		name: "q", in: "query", about: "Only workflows with this text in namespace/name or title, in upper or lower case. A page looks at 6,000 workflows at most; it may then have fewer items than limit, and a cursor.",
		schema: huma.Schema{Type: "string"},
		read: func(c *call, value string) (complaint string) {
			c.args.workflows.Text = value
			return wantValue(value)
		},
	}
)

var (
	tagParameter = &parameter{
		name: "tag", in: "query", many: true, example: "team:payments",
		about:  "Only workflows whose definition has this tag: key, or key:value. Repeat it for those with all of several.",
		schema: huma.Schema{Type: "string"},
		read: func(c *call, value string) (complaint string) {
			c.args.workflows.Tags = append(c.args.workflows.Tags, value)
			return wantValue(value)
		},
	}
	draftsParameter = &parameter{
		name: "drafts", in: "query", example: true, about: "true: also workflows that have drafts only; false: not those. Default: true in test, false in live.",
		schema: huma.Schema{Type: "boolean"},
		read: func(c *call, value string) (complaint string) {
			if value != "true" && value != "false" {
				return "must be true or false."
			}
			drafts := value == "true"
			c.args.workflows.Drafts = &drafts
			return ""
		},
	}
	messageParameter = &parameter{
		name: "message", in: "query", example: "Ask for a second signature",
		about:  "What the new revision is for, at most 1,000 bytes. Its versions show it.",
		schema: huma.Schema{Type: "string", MaxLength: count(1000)},
		read: func(c *call, value string) (complaint string) {
			c.args.message = value
			return ""
		},
	}
	ifMatchParameter = &parameter{
		name: "If-Match", in: "header", list: true, example: `"3-0"`,
		about:  "ETag of the workflow as it was read: 412 revision_conflict if it has changed since. *: if there is none of this name.",
		schema: huma.Schema{Type: "string"},
		read: func(c *call, value string) (complaint string) {
			for tag := range strings.SplitSeq(value, ",") {
				tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
				if tag != "*" && (len(tag) < 2 || tag[0] != '"' || tag[len(tag)-1] != '"') {
					return "must be an ETag as it was answered, in quotation marks, or *."
				}
				c.args.match = append(c.args.match, strings.Trim(tag, `"`))
			}
			return ""
		},
	}
)

var activityParameter = &parameter{
	name: "include", in: "query", about: "activity: also the newest execution, the next start by schedule, and counts of the last 24 hours.",
	schema: huma.Schema{Type: "string", Enum: []any{"activity"}}, example: "activity",
	read: func(c *call, value string) (complaint string) {
		if value != "activity" {
			return "must be activity."
		}
		c.args.workflows.Activity = true
		return ""
	},
}

// wantValue refuses an empty value: a filter that filters nothing is a mistake of its sender.
func wantValue(value string) (complaint string) {
	if value == "" {
		return "must not be empty."
	}
	return ""
}

var draftParameter = &parameter{
	name: "draft", in: "query", about: "true: do not publish.",
	schema: huma.Schema{Type: "boolean", Default: false},
	read: func(c *call, value string) (complaint string) {
		draft, err := strconv.ParseBool(value)
		if err != nil {
			return "must be true or false."
		}
		c.args.draft = draft
		return ""
	},
}

var includeParameter = &parameter{
	name: "include", in: "query", about: "outline: also the form for the input.",
	schema: huma.Schema{Type: "string", Enum: []any{"outline"}}, example: "outline",
	read: func(c *call, value string) (complaint string) {
		if value != "outline" {
			return "must be outline."
		}
		c.args.outline = true
		return ""
	},
}

func workflowEndpoints() []endpoint {
	return []endpoint{
		{
			method: get, path: "/workflows", id: "listWorkflows", tag: "Workflows", lenient: true,
			summary: "List workflows", about: "The workflows that can be started, newest first.",
			scopes:     service.ScopeWorkflowsRead,
			instead:    service.ScopeWorkflowsStart,
			parameters: []*parameter{limitParameter, workflowCursorParameter, namespaceParameter, nameParameter, textParameter, tagParameter, draftsParameter, activityParameter},
			answers:    []answer{{status: 200, about: "List of workflows", view: workflowPage{}}},
			serve:      (*call).listWorkflows,
		},
		{
			method: post, path: "/workflows", id: "applyWorkflow", tag: "Workflows",
			summary: "Create or update a workflow",
			about: "Workflows are known by namespace and name. Identical content changes nothing. Published at once, unless draft is true or " +
				"the key does not have the scope workflows:publish, which no key of test has; then it is a draft.",
			scopes: service.ScopeWorkflowsWrite, parameters: []*parameter{draftParameter, messageParameter, ifMatchParameter, idempotencyParameter}, body: definitionBody,
			answers: []answer{
				{status: 201, about: "The workflow is new", view: appliedWorkflow{}, headers: []string{"Location", "ETag", "Idempotency-Replayed"}},
				{status: 200, about: "The workflow was known", view: appliedWorkflow{}, headers: []string{"ETag", "Idempotency-Replayed"}},
			},
			problems: []chargehand.Code{chargehand.CodeDefinitionInvalid, chargehand.CodeWorkflowNotFound, chargehand.CodeRevisionConflict},
			change:   "workflow applied",
			audits:   []audit.Action{audit.WorkflowPublished},
			serve:    (*call).applyWorkflow,
		},
		{
			method: post, path: "/workflows/validate", id: "validateWorkflow", tag: "Workflows",
			summary: "Check a definition",
			about:   "Stores nothing. External resources that the definition names are fetched and checked for a key with workflows:write; for others each of them is a warning, resource_unchecked.",
			scopes:  service.ScopeWorkflowsRead, parameters: []*parameter{uselessKeyParameter}, body: definitionBody,
			answers:   []answer{{status: 200, about: "What is wrong with it", view: validation{}}},
			unaudited: "it changes nothing",
			serve:     (*call).validateWorkflow,
		},
		{
			method: get, path: "/workflows/{workflowId}", id: "getWorkflow", tag: "Workflows",
			summary: "Get a workflow", about: "With the definition that a start without a version runs. The scope workflows:start shows it without the definition.", scopes: service.ScopeWorkflowsRead, instead: service.ScopeWorkflowsStart,
			parameters: []*parameter{includeParameter},
			answers:    []answer{{status: 200, about: "The workflow", view: workflowDetail{}, headers: []string{"ETag"}}},
			serve:      (*call).getWorkflow,
		},
		{
			method: remove, path: "/workflows/{workflowId}", id: "deleteWorkflow", tag: "Workflows",
			summary: "Delete a workflow", about: "It is listed no more and cannot be started. Running executions continue, and all executions stay readable. " +
				"A workflow that was ever published needs the scope workflows:publish as well.",
			scopes:  service.ScopeWorkflowsWrite,
			answers: []answer{{status: 204, about: "Deleted"}},
			change:  "workflow deleted",
			audits:  []audit.Action{audit.WorkflowDeleted},
			serve:   (*call).deleteWorkflow,
		},
	}
}

func (c *call) listWorkflows() error {
	q := c.args.workflows
	q.Limit, q.Before = c.args.limit, c.args.before
	page, err := c.server.service.ListWorkflows(c.r.Context(), c.principal, q)
	if err != nil {
		return err
	}
	v := workflowPage{Data: make([]Workflow, len(page.Data))}
	for i := range page.Data {
		v.Data[i] = viewWorkflow(&page.Data[i])
	}
	if !page.Cursor.IsZero() {
		cursor := at(page.Cursor)
		v.Cursor = &cursor
	}
	return c.view(http.StatusOK, v)
}

func (c *call) applyWorkflow() error {
	applied, replayed, err := c.server.service.ApplyWorkflow(c.r.Context(), c.principal, service.ApplyWorkflow{
		Definition: c.raw, MediaType: c.definitionType(), Draft: c.args.draft, Message: c.args.message, Match: c.args.match,
		Idempotency: c.idempotency(),
	})
	if err != nil {
		return err
	}
	c.replayed(replayed)
	c.workflow = applied.ID
	c.changed = append(c.changed, slog.String("name", applied.Namespace+"/"+applied.Name), slog.String("version", applied.Version),
		slog.Int("revision", int(applied.Revision)), slog.Bool("draft", applied.Draft))
	c.tag(applied.ETag)
	status := http.StatusOK
	if applied.Created {
		status = http.StatusCreated
		c.location("/workflows/" + applied.ID.String())
	}
	return c.view(status, appliedWorkflow{
		Workflow: viewWorkflow(&applied.Workflow), Revision: applied.Revision, Draft: applied.Draft,
		Warnings: viewFields(applied.Warnings),
	})
}

func (c *call) validateWorkflow() error {
	v, err := c.server.service.ValidateWorkflow(c.r.Context(), c.principal, c.raw)
	if err != nil {
		return err
	}
	return c.view(http.StatusOK, validation{
		Valid: v.Valid, Errors: viewFields(v.Errors), Warnings: viewFields(v.Warnings), Graph: v.Graph,
	})
}

func (c *call) getWorkflow() error {
	w, err := c.server.service.GetWorkflow(c.r.Context(), c.principal, c.workflow)
	if err != nil {
		return err
	}
	v := workflowDetail{
		Workflow: viewWorkflow(&w.Workflow), Revision: w.Revision, PublishedVersion: w.PublishedVersion,
		InputSchema: w.InputSchema, Definition: w.Definition, Source: string(w.Source), SourceType: w.SourceType,
	}
	if c.args.outline && w.InputSchema != nil {
		fields, err := c.server.service.Outline(c.r.Context(), c.principal, c.workflow)
		if err != nil {
			return err
		}
		v.Outline = &fields
	}
	c.tag(w.ETag)
	return c.view(http.StatusOK, v)
}

// tag sets the ETag of an answer.
func (c *call) tag(tag string) { c.w.Header()["Etag"] = []string{`"` + tag + `"`} }

func (c *call) deleteWorkflow() error {
	return c.done(c.server.service.DeleteWorkflow(c.r.Context(), c.principal, c.workflow))
}

// definitionType is application/json or application/yaml, whatever name was used for it.
func (c *call) definitionType() string {
	if c.mediaType() == "application/json" {
		return "application/json"
	}
	return "application/yaml"
}

// location sets the Location header to a path below /api/v1.
func (c *call) location(path string) {
	c.w.Header()["Location"] = []string{c.base() + chargehand.APIPath + path}
}

// viewActivity is nil where a is.
func viewActivity(a *service.Activity) *activity {
	if a == nil {
		return nil
	}
	v := &activity{
		NextSchedule: at(a.NextSchedule), Finished: a.Counts[chargehand.Finished], Failed: a.Counts[chargehand.Errored], AtLeast: a.AtLeast,
	}
	for _, n := range a.Counts {
		v.Created += n
	}
	v.Open = v.Created - v.Finished - v.Failed
	if !a.Last.IsZero() {
		v.Last = &lastExecution{ID: a.Last, Status: a.LastStatus.String(), CreatedAt: at(a.LastAt)}
	}
	return v
}

func viewWorkflow(w *service.Workflow) Workflow {
	return Workflow{
		Activity: viewActivity(w.Activity),
		ID:       w.ID, Name: w.Name, Namespace: w.Namespace, Title: w.Title, Version: w.Version, Draft: w.Draft, Tags: w.Tags,
		CreatedAt: at(w.CreatedAt), UpdatedAt: at(w.UpdatedAt),
	}
}

func viewFields(fields []chargehand.FieldError) []fieldError {
	views := make([]fieldError, len(fields))
	for i := range fields {
		f := &fields[i]
		views[i] = fieldError{Parameter: f.Parameter, Code: f.Code, Detail: f.Detail, Line: f.Line, Column: f.Column}
		if f.Parameter == "" {
			views[i].Pointer = &f.Pointer
		}
	}
	return views
}
