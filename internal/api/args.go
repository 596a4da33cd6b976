package api

import (
	"net/http"
	"net/url"
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
	before        time.Time      // cursor of workflows
	after         service.Cursor // cursor of other lists
	seq           int64          // cursor of timelines and batch items
	status        chargehand.Status
	batch         chargehand.BatchID
	createdAfter  time.Time
	createdBefore time.Time
	version       string
	from          string
	draft         bool
	entries       entriesMode
	filename      string
	wait          time.Duration
	waitGiven     bool   // by the query
	idempotency   string // Idempotency-Key
}

// parameter is a query parameter or header that routes share: how it is read, and what the
// document says about it.
type parameter struct {
	name    string
	in      string // "query" or "header"
	list    bool   // a header whose lines are parts of one list
	about   string
	schema  huma.Schema
	example any
	// read checks the value and sets a field of args. It runs only if the request has the
	// parameter; what it says completes a sentence that starts with the name.
	read func(c *call, value string) (complaint string)
}

// parseArgs reads the parameters of the route. Other query parameters are ignored.
func (c *call) parseArgs() error {
	c.args.limit = maxPage
	for _, p := range c.route.parameters {
		var value string
		var found bool
		var complaint string
		if p.in == "header" {
			value, found, complaint = headerValue(c.r.Header, p)
		} else if c.r.URL.RawQuery != "" {
			value, found, complaint = queryValue(c.r.URL.RawQuery, p.name)
		}
		if found && complaint == "" {
			complaint = p.read(c, value)
		}
		if complaint != "" {
			return badParameter(p.name, complaint)
		}
	}
	return nil
}

// headerValue finds a header that may be sent once. Repeating the same value does no harm.
func headerValue(h http.Header, p *parameter) (value string, found bool, complaint string) {
	lines := h[p.name]
	if p.list && len(lines) > 1 {
		lines = []string{strings.Join(lines, ",")}
	}
	for i, v := range lines {
		if i > 0 && v != value {
			return "", true, "was sent more than once, with different values."
		}
		value, found = v, true
	}
	return value, found, textComplaint(value)
}

// queryValue finds a parameter in a raw query without decoding the others.
func queryValue(raw, name string) (value string, found bool, complaint string) {
	for more := true; more; {
		var pair string
		pair, raw, more = strings.Cut(raw, "&")
		k, v, _ := strings.Cut(pair, "=")
		if k != name {
			decoded, err := url.QueryUnescape(k)
			if err != nil || decoded != name {
				continue
			}
		}
		decoded, err := url.QueryUnescape(v)
		if err != nil {
			return "", true, "holds a percent sign that is not followed by two hexadecimal digits."
		}
		if found && decoded != value {
			return "", true, "was sent more than once, with different values."
		}
		value, found = decoded, true
	}
	return value, found, textComplaint(value)
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
