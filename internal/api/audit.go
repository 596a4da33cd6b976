package api

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/danielgtaylor/huma/v2"
)

// linesMedia are JSON Lines, and another name for them.
const (
	linesMedia      = "application/jsonl"
	linesMediaOther = "application/x-ndjson"
)

var (
	linesValue = []string{linesMedia}
	varyValue  = []string{"Accept"}
)

// unauditedStart is why starts have no entry.
const unauditedStart = "it starts something, and what was started is on record itself"

// exportPage is how many entries an export reads at a time.
const exportPage = 500

// The answers.
type (
	auditEntry struct {
		ID          chargehand.AuditID     `json:"id" format:"uuid"`
		At          moment                 `json:"at" doc:"When the change was made; of failed sign-ins: the first of the minute."`
		Actor       auditActor             `json:"actor"`
		Action      string                 `json:"action" doc:"What was done, such as workflow.published. All actions are in the reference of the audit log."`
		Target      *auditTarget           `json:"target,omitempty" doc:"What was changed; left out: nothing that is known, as in a failed sign-in of an unknown person."`
		Environment string                 `json:"environment,omitempty" enum:"live,test" doc:"Of the request that made the change; left out: it belongs to none."`
		Address     string                 `json:"address,omitempty" doc:"Where the request came from; left out: no request led to the change."`
		RequestID   string                 `json:"request_id,omitempty" doc:"X-Request-Id of the request."`
		Changes     map[string]auditChange `json:"changes" doc:"What has changed, by name. Never a password, a key, a token or the value of a secret."`
		Count       int64                  `json:"count" minimum:"1" doc:"How often it happened: failed sign-ins of a minute are one entry."`
	}
	auditActor struct {
		Kind string `json:"kind" enum:"user,key,link,system" doc:"system: the server itself, or a command on its machine."`
		ID   string `json:"id" doc:"Of the user or API key; system: the word system; empty: an unknown person."`
		Name string `json:"name" doc:"Name of the user or API key, or of the command."`
	}
	auditTarget struct {
		Kind string `json:"kind" doc:"What kind of thing it is, such as workflow or key."`
		ID   string `json:"id" doc:"Its id; of a secret: its name."`
		Name string `json:"name" doc:"Its name when it was changed; of an execution or batch: the namespace/name of its workflow."`
	}
	auditChange struct {
		Before any `json:"before" doc:"The value before; null: there was none."`
		After  any `json:"after" doc:"The value since; null: there is none."`
	}
)

// maxAuditID bounds the ids that the audit log is asked for; the longest are names of secrets.
const maxAuditID = 200

var auditParameters = []*parameter{
	{
		name: "actor", in: "query", about: "Only changes made by the user or API key with this id, or by the user with this e-mail; system: by the server and by commands on its machine.",
		schema: huma.Schema{Type: "string", MaxLength: count(maxAuditID)}, example: exampleKeyID,
		read: func(c *call, value string) string { return readActor(&c.args.audit.Actor, value) },
	},
	{
		name: "action", in: "query", about: "Only this action, such as workflow.published.",
		schema: huma.Schema{Type: "string"}, example: string(audit.WorkflowPublished),
		read: func(c *call, value string) string {
			c.args.audit.Action = audit.Action(value)
			if audit.Known(c.args.audit.Action) {
				return ""
			}
			var names []string
			for _, d := range audit.Actions() {
				names = append(names, string(d.Action))
			}
			if meant := service.Suggest(value, names); meant != "" {
				return "is no action. Did you mean " + meant + "?"
			}
			return "is no action. There are " + strings.Join(names, ", ") + "."
		},
	},
	{
		name: "target", in: "query", about: "Only changes of what has this id; of a secret this name, of a user this e-mail, of a workflow this namespace/name.",
		schema: huma.Schema{Type: "string", MaxLength: count(maxAuditID)}, example: exampleWorkflowID,
		read: func(c *call, value string) string { return readAuditID(&c.args.audit.Target, value) },
	},
	{
		name: "after", in: "query", about: "Only what happened later than this.",
		schema: huma.Schema{Type: "string", Format: "date-time"}, example: "2026-01-31T00:00:00Z",
		read: func(c *call, value string) (complaint string) {
			c.args.audit.After, complaint = parseTime(value)
			return complaint
		},
	},
	{
		name: "before", in: "query", about: "Only what happened earlier than this.",
		schema: huma.Schema{Type: "string", Format: "date-time"}, example: "2026-02-01T00:00:00Z",
		read: func(c *call, value string) (complaint string) {
			c.args.audit.Before, complaint = parseTime(value)
			return complaint
		},
	},
	limitParameter, cursorParameter,
	{
		name: "Accept", in: "header", list: true, example: linesMedia,
		about:  linesMedia + ": all entries as JSON Lines, one on each line, without limit and cursor. Otherwise a page as JSON.",
		schema: huma.Schema{Type: "string"},
		read: func(c *call, value string) string {
			c.args.lines = acceptsLines(value)
			return ""
		},
	},
}

func readAuditID(to *string, value string) (complaint string) {
	if value == "" || utf8.RuneCountInString(value) > maxAuditID {
		return "must have 1 to 200 characters."
	}
	*to = value
	return ""
}

// readActor reads who has made a change. Anything but these three forms would find nothing.
func readActor(to *string, value string) (complaint string) {
	var id chargehand.UserID // keys have ids of the same form
	switch {
	case setID(&id, value) == nil:
		value = id.String()
	case value == audit.SystemID || strings.Contains(value, "@") && utf8.RuneCountInString(value) <= maxAuditID:
	default:
		return "must be the id of a user or API key, which is a UUID, the e-mail of a user, or system."
	}
	*to = value
	return ""
}

// acceptsLines reports whether JSON Lines are asked for by name, and not refused.
func acceptsLines(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		media, parameters, err := mime.ParseMediaType(part)
		if err != nil || media != linesMedia && media != linesMediaOther {
			continue
		}
		weight, err := strconv.ParseFloat(parameters["q"], 64)
		return parameters["q"] == "" || err == nil && weight > 0
	}
	return false
}

func auditEndpoints() []endpoint {
	return []endpoint{{
		method: get, path: "/audit-log", id: "listAuditLog", tag: "Audit log",
		summary: "Read the audit log",
		about: "Who changed what, when and from where, newest first; with the header Accept: " + linesMedia + " all of it as JSON Lines. " +
			"In test there is what was changed in test. With several filters a page may be short and have a cursor all the same.",
		scopes: service.ScopeAdmin, parameters: auditParameters,
		answers: []answer{{status: 200, about: "Entries of the audit log", view: auditPage{}, line: auditEntry{}, headers: []string{"Vary"}}},
		serve:   (*call).listAuditLog,
	}}
}

func (c *call) listAuditLog() error {
	q := c.args.audit
	if c.args.lines {
		return c.exportAuditLog(q)
	}
	q.Limit, q.Cursor = c.args.limit, c.args.after
	page, err := c.server.service.ListAudit(c.r.Context(), c.principal, q)
	if err != nil {
		return err
	}
	v := auditPage{Data: make([]auditEntry, len(page.Data)), Cursor: cursorText(page.Cursor)}
	for i := range page.Data {
		if v.Data[i], err = viewAudit(&page.Data[i]); err != nil {
			return err
		}
	}
	c.w.Header()["Vary"] = varyValue
	return c.view(http.StatusOK, v)
}

// exportAuditLog sends all entries as JSON Lines, a page at a time.
func (c *call) exportAuditLog(q service.ListAudit) error {
	var wrong []chargehand.FieldError
	for _, name := range []string{"limit", "cursor"} {
		if _, given, _ := queryValue(c.r.URL.RawQuery, name); given {
			wrong = append(wrong, badParameterField(name, "is not for JSON Lines, which hold all entries. Use after and before, or ask for JSON."))
		}
	}
	if err := badParameters(wrong); err != nil {
		return err
	}
	c.allowTime()
	c.w.Header()["Vary"] = varyValue
	out := c.stream(http.StatusOK)
	out.media = linesValue
	q.Limit = exportPage
	for {
		if c.server.stopping.Err() != nil {
			return context.Canceled
		}
		page, err := c.server.service.ListAudit(c.r.Context(), c.principal, q)
		if err != nil {
			return err
		}
		for i := range page.Data {
			v, err := viewAudit(&page.Data[i])
			if err != nil {
				return err
			}
			text, err := encode(v)
			if err != nil {
				return err
			}
			out.dst = append(append(out.dst, text...), '\n')
			if err := out.flow(); err != nil {
				return err
			}
		}
		if q.Cursor = page.Cursor; q.Cursor.IsZero() {
			return out.close()
		}
	}
}

func viewAudit(e *service.AuditEntry) (auditEntry, error) {
	v := auditEntry{
		ID: e.ID, At: at(e.At), Actor: auditActor{string(e.Actor.Kind), e.Actor.ID, e.Actor.Name}, Action: string(e.Action),
		Address: e.Address, RequestID: e.RequestID, Changes: map[string]auditChange{}, Count: e.Count,
	}
	if e.Environment != 0 {
		v.Environment = e.Environment.String()
	}
	if e.Target.Kind != "" {
		v.Target = &auditTarget{e.Target.Kind, e.Target.ID, e.Target.Name}
	}
	if e.Changes == nil {
		return v, nil
	}
	return v, json.Unmarshal(e.Changes, &v.Changes)
}

// recorded gives the context of the request what the audit log says of its origin.
func (c *call) recorded() {
	c.r = c.r.WithContext(audit.FromRequest(c.r.Context(), c.server.entrance.client(c.r), c.requestID))
}
