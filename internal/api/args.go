package api

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/danielgtaylor/huma/v2"
)

// args holds what the query and the headers of a request ask for. Only the fields that the
// route's parameters set mean something.
type args struct {
	limit         int
	before        time.Time            // cursor of workflows
	after         service.Cursor       // cursor of other lists
	seq           int64                // cursor of timelines and batch items
	timeline      service.ListTimeline // filters of a timeline
	statuses      []chargehand.Status
	phases        []chargehand.Phase
	batch         chargehand.BatchID
	createdAfter  time.Time
	createdBefore time.Time
	version       string
	filter        service.ExecutionFilter
	batches       service.ListBatches   // filters of a list of batches
	inputs        bool                  // of executions in a list
	summary       bool                  // of a list
	revision      int64                 // of a version; 0: the newest one
	workflows     service.ListWorkflows // filters of a list of workflows
	draft         bool
	message       string                // about a revision
	match         []string              // entity tags of If-Match
	user          chargehand.UserID     // filter of a list of grants
	group         chargehand.GroupID    // filter of a list of grants
	over          chargehand.WorkflowID // filter of a list of grants
	prefix        string                // of names of people
	userStatus    string                // filter of a list of users
	entries       entriesMode
	filename      string
	shownBy       chargehand.HumanTaskID // a task that shows the file
	wait          time.Duration
	waitGiven     bool                   // by the query
	idempotency   string                 // Idempotency-Key
	audit         service.ListAudit      // filters of the audit log
	overview      service.Overview       // what it is of
	tasks         service.ListHumanTasks // filters of a list of human tasks
	lines         bool                   // JSON Lines are asked for
	log           service.LogQuery       // filters of the log of an execution
	outline       bool                   // of the input of a workflow
	graphAs       string                 // form of a graph: json, mermaid or dot
	verify        bool                   // the session is to be made fresh
	topics        []service.Topic        // of a stream
	outcomes      []string               // of executions of an operation
	ended         bool                   // the client of a stream has its last event
	page          string                 // where the browser goes after the provider
	back          string                 // where the browser goes after a sign-in
}

// parameter is a query parameter or header that routes share: how it is read, and what the
// document says about it.
type parameter struct {
	name    string
	in      string // "query" or "header"
	list    bool   // a header whose lines are parts of one list
	many    bool   // a query parameter that may have several values; each is read
	about   string
	schema  huma.Schema
	example any
	// read checks the value and sets a field of args. It runs only if the request has the
	// parameter; what it says completes a sentence that starts with the name.
	read func(c *call, value string) (complaint string)
}

// parseArgs reads the parameters of the route. Its error names everything that is wrong.
func (c *call) parseArgs() error {
	c.args.limit = maxPage
	var wrong []chargehand.FieldError
	for _, p := range c.route.parameters {
		var values []string
		var complaint string
		if p.in == "header" {
			values, complaint = headerValues(c.r.Header, p)
		} else if c.r.URL.RawQuery != "" {
			values, complaint = queryValues(c.r.URL.RawQuery, p)
		}
		for _, value := range values {
			if complaint == "" {
				complaint = p.read(c, value)
			}
		}
		if complaint != "" {
			wrong = append(wrong, badParameterField(p.name, complaint))
		}
	}
	if c.r.URL.RawQuery != "" && !c.route.lenient {
		wrong = append(wrong, c.unknownParameters()...)
	}
	return badParameters(wrong)
}

// unknownParameters lists query parameters that the route does not have.
func (c *call) unknownParameters() (wrong []chargehand.FieldError) {
	var known []string
	for _, p := range c.route.parameters {
		if p.in == "query" {
			known = append(known, p.name)
		}
	}
	if c.principal != nil && c.principal.SessionNo != 0 && c.route.method == get {
		known = append(known, "environment") // of the session (environment)
	}
	for pair := range strings.SplitSeq(c.r.URL.RawQuery, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if decoded, err := url.QueryUnescape(name); err == nil {
			name = decoded
		}
		if pair == "" || slices.Contains(known, name) {
			continue
		}
		if wrong = append(wrong, unknownParameter(name, known)); len(wrong) == maxFields {
			break
		}
	}
	return wrong
}

func unknownParameter(name string, known []string) chargehand.FieldError {
	detail := "There is no query parameter " + quote(name) + " here."
	if meant := service.Suggest(name, known); meant != "" {
		detail += " Did you mean " + meant + "?"
	} else if len(known) == 1 {
		detail += " There is only " + known[0] + "."
	} else if len(known) > 0 {
		detail += " There are " + strings.Join(known, ", ") + "."
	}
	return chargehand.FieldError{Parameter: cut(strings.ToValidUTF8(name, "\ufffd"), maxNameShown), Code: string(chargehand.CodeUnknownParameter), Detail: detail}
}

// maxNameShown bounds the name of a parameter that an answer repeats.
const maxNameShown = 100

// headerValues finds a header that may be sent once. Repeating the same value does no harm.
func headerValues(h http.Header, p *parameter) (values []string, complaint string) {
	lines := h[http.CanonicalHeaderKey(p.name)]
	if len(lines) == 0 {
		return nil, ""
	}
	if p.list && len(lines) > 1 {
		lines = []string{strings.Join(lines, ",")}
	}
	if slices.ContainsFunc(lines, func(v string) bool { return v != lines[0] }) {
		return nil, "was sent more than once, with different values."
	}
	return lines[:1], textComplaint(lines[0])
}

// maxRepeats bounds the values of a parameter that may be repeated, whatever it means. Many parameters have a smaller
// limit of their own.
const maxRepeats = 200

// queryValues finds the values of a parameter in a raw query without decoding the others.
func queryValues(raw string, p *parameter) (values []string, complaint string) {
	for pair := range strings.SplitSeq(raw, "&") {
		k, v, _ := strings.Cut(pair, "=")
		if k != p.name {
			decoded, err := url.QueryUnescape(k)
			if err != nil || decoded != p.name {
				continue
			}
		}
		decoded, err := url.QueryUnescape(v)
		if err != nil {
			return nil, "holds a percent sign that is not followed by two hexadecimal digits."
		}
		if complaint := textComplaint(decoded); complaint != "" {
			return nil, complaint
		}
		if slices.Contains(values, decoded) {
			continue
		}
		switch values = append(values, decoded); {
		case len(values) > 1 && !p.many:
			return nil, "was sent more than once, with different values."
		case len(values) > maxRepeats:
			return nil, "was sent with more than " + strconv.Itoa(maxRepeats) + " values."
		}
	}
	return values, ""
}

// queryValue finds the value of a parameter that no route declares.
func queryValue(raw, name string) (value string, found bool, complaint string) {
	values, complaint := queryValues(raw, &parameter{name: name})
	if len(values) == 0 {
		return "", complaint != "", complaint
	}
	return values[0], true, complaint
}

// textComplaint refuses what no parameter may hold.
func textComplaint(value string) string {
	if !utf8.ValidString(value) {
		return "is not valid UTF-8."
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "holds a control character."
	}
	return ""
}

// ifNoneMatchParameter is only documented; call.notModified reads it.
var ifNoneMatchParameter = &parameter{
	name: "If-None-Match", in: "header", list: true, about: "ETag of an earlier answer: 304 if nothing has changed since.",
	schema: huma.Schema{Type: "string"},
	read:   func(*call, string) string { return "" },
}
