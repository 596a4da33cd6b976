package api

import (
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/signin"
	"github.com/chargehand/chargehand/internal/value"
	"go.opentelemetry.io/otel/trace"
)

// call is one request on its way through the checks, and its answer. It belongs to one
// goroutine.
type call struct {
	server    *Server
	w         http.ResponseWriter
	r         *http.Request
	requestID string
	began     time.Time

	match     match
	route     *route // nil until the path and method are known
	principal *service.Principal
	session   *signin.Session // of routes that need one
	args      args

	workflow chargehand.WorkflowID
	// workflowNamed is what the path says instead of an id.
	workflowNamed struct{ namespace, name string }
	execution     chargehand.ExecutionID
	batch         chargehand.BatchID
	task          chargehand.HumanTaskID
	taskLink      chargehand.TaskLinkID
	file          chargehand.FileID
	key           chargehand.KeyID
	user          chargehand.UserID
	group         chargehand.GroupID
	grant         chargehand.GrantID
	ownSession    chargehand.SessionID
	passkey       chargehand.PasskeyID
	operation     chargehand.OperationID
	name          string // version, name of a secret, problem code, or page of the documentation
	section       string // of the documentation: a folder, or a page that is in none
	secret        string // of a link, which nothing repeats
	linked        bool   // the secret is that of a link

	arriving io.ReadCloser // the body as it comes from the connection; what the handler reads may be wrapped

	raw   []byte      // body as it was sent, unless the handler reads it itself
	begun bool        // the body was read from
	whole bool        // the body was read to its end, which long may know alone
	long  *longReader // reads the body; nil: nothing moves its time limits
	value value.Value // the parsed body of a JSON route; nil: empty body

	lang string // of the page that is answered

	span trace.Span // nil: none

	changed   []slog.Attr     // what the handler adds to the log line of a change
	unchanged bool            // the request was only asked what it would change
	code      chargehand.Code // of the problem that was answered; empty: none
	hidden    error           // an error that is logged for the operator and that the client does not see

	status int   // of the answer; 0: nothing was written
	sent   int64 // bytes of the body of the answer
}

// run makes the checks in the order of docs/reference/api.md and hands over to the route.
func (c *call) run() error {
	c.server.tree.find(c.r.URL, &c.match)
	var rt *route
	if c.match.node != nil {
		rt = c.match.node.route(c.r.Method)
	}
	if c.server.service == nil && (c.needsKey(rt) || rt != nil && (rt.signed || rt.enters)) {
		return standbyError()
	}
	if rt != nil && (rt.page || rt.browsed) {
		c.route = rt // what goes wrong from here on is answered with a page
	}
	switch {
	case rt != nil && rt.enters:
		if err := c.enter(rt); err != nil {
			return err
		}
	case c.needsKey(rt):
		if err := c.authenticate(); err != nil {
			return err
		}
	}
	if rt == nil && c.isUIPage() {
		c.route = c.server.uiRoute
		return c.uiPage()
	}
	if rt == nil {
		return c.noRoute()
	}
	c.route = rt
	if err := c.parseIDs(); err != nil {
		return err
	}
	if rt.scopes != 0 && c.principal != nil {
		principal, err := service.May(c.principal, rt.scopes, rt.instead)
		if err != nil {
			return err
		}
		c.principal = principal
	}
	if rt.fresh {
		if err := c.server.service.RequireFresh(c.principal); err != nil {
			return err
		}
	}
	if err := c.parseArgs(); err != nil {
		return err
	}
	if rt.body != nil {
		if err := c.readBody(rt.body); err != nil {
			return err
		}
	}
	if err := c.findWorkflow(); err != nil {
		return err
	}
	if rt.slow || c.args.wait > 0 {
		c.allowTime()
	}
	if rt.audits != nil && !rt.enters {
		c.recorded()
	}
	return rt.serve(c)
}

// standbyError is what a standby answers to everything that needs the database.
func standbyError() error {
	return &chargehand.Error{
		Code:       chargehand.CodeUnavailable,
		Detail:     "This server is a standby: another one works on the database, and this one takes over when that is gone.",
		RetryAfter: 1,
	}
}

// needsKey reports whether the request is answered only with a key. A path that does not exist
// needs one like all others below APIPath; elsewhere there is nothing to hide.
func (c *call) needsKey(rt *route) bool {
	switch {
	case rt == nil && c.match.node != nil:
		return !c.match.node.public()
	case rt == nil:
		path := c.r.URL.Path
		return path == chargehand.APIPath || strings.HasPrefix(path, chargehand.APIPath+"/")
	case rt.signed:
		return !c.hasSignature() || hasCredential(c.r.Header)
	}
	return !rt.public
}

// authenticate finds out who asks, and takes the request out of the key's bucket.
func (c *call) authenticate() error {
	if token := c.sessionToken(); token != "" {
		if err := c.authenticateSession(token); err != nil {
			return err
		}
	} else {
		key, err := credential(c.r.Header)
		if err != nil {
			return err
		}
		if c.principal, err = c.server.service.Authenticate(c.r.Context(), key, c.server.entrance.client(c.r)); err != nil {
			return err
		}
	}
	rate, err := c.server.service.Allow(c.principal)
	c.tellRateOf("key", rate)
	return err
}

// tellRateOf says what is left of the token bucket of a key or an address, in the words of the IETF draft "RateLimit
// header fields for HTTP": as many requests (q) as the bucket holds in the time (w) that fills it;
// what is left now (r), and the seconds until the bucket is full again (t).
func (c *call) tellRateOf(name string, rate service.Rate) {
	if rate.Limit <= 0 {
		return
	}
	h := c.w.Header()
	window := max(1, (rate.Burst+rate.Limit-1)/rate.Limit)
	b := append(append(append(make([]byte, 0, 32), '"'), name...), `";q=`...)
	b = strconv.AppendInt(b, int64(rate.Burst), 10)
	b = strconv.AppendInt(append(b, ";w="...), int64(window), 10)
	h["Ratelimit-Policy"] = []string{string(b)}
	b = append(append(append(b[:0], '"'), name...), `";r=`...)
	b = strconv.AppendInt(b, int64(rate.Remaining), 10)
	b = strconv.AppendInt(append(b, ";t="...), int64((rate.Reset+time.Second-1)/time.Second), 10)
	h["Ratelimit"] = []string{string(b)}
}

// noRoute answers a path that does not exist, or not with this method.
func (c *call) noRoute() error {
	if c.match.node == nil {
		path := c.r.URL.Path
		if c.isTaskLink() {
			path = linkedPath
		}
		return chargehand.NewError(chargehand.CodeRouteNotFound,
			"There is no path "+quote(path)+" here. All paths are in "+chargehand.APIPath+"/openapi.json.")
	}
	c.w.Header().Set("Allow", c.match.node.allow)
	if c.r.Method == http.MethodOptions {
		c.empty(http.StatusNoContent)
		return nil
	}
	return chargehand.NewError(chargehand.CodeMethodNotAllowed,
		"The method "+quote(c.r.Method)+" is not allowed here. Allowed are "+c.match.node.allow+".")
}

// allowTime lifts the time limit of reading, which would otherwise end the request's context
// while the answer is still being waited for or written. Where a body is announced that nothing reads, net/http does
// not read ahead, so the limit ends nothing, and limitRest sets another one with the answer.
func (c *call) allowTime() {
	if !c.announced() {
		// A writer that knows no deadlines has none to lift.
		_ = http.NewResponseController(c.w).SetReadDeadline(time.Time{})
	}
}

// quote shows text that a client sent: cut short, as a JSON string.
func quote(text string) string {
	const most = 100
	if len(text) > most {
		text = text[:most] + "…"
	}
	return quoteJSON(text)
}
