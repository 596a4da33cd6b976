package api

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
)

// slowAfter is how long a request takes at least to be logged at info. The time that it asked to wait is added.
const slowAfter = time.Second

// tell writes the line of a request: at debug of every one; at info of those that failed, were slow or changed
// something. What fails again and again is counted (package loglimit).
func (c *call) tell(took time.Duration) {
	level, message, repeats := c.outcome(took)
	ctx := c.r.Context()
	if !c.server.log.Enabled(ctx, level) {
		return
	}
	debugging := c.server.log.Enabled(ctx, slog.LevelDebug)
	if repeats && !debugging && !c.server.lines.Allow(c.kind()) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", c.r.Method), slog.String("route", c.pattern()), slog.Int("status", c.status),
		slog.Float64("ms", float64(took.Microseconds())/1000), slog.String("request_id", c.requestID),
	}
	if c.code != "" {
		attrs = append(attrs, slog.String("code", string(c.code)))
	}
	if c.principal != nil {
		attrs = append(attrs, slog.String("actor", c.principal.ActorID()), slog.String("environment", c.principal.Environment.String()))
	}
	if c.status == http.StatusUnauthorized {
		attrs = append(attrs, slog.String("from", host(c.r.RemoteAddr)))
	}
	if c.hidden != nil {
		attrs = append(attrs, slog.Any("error", c.hidden))
	}
	attrs = append(c.subjects(attrs), c.changed...)
	if debugging {
		attrs = append(attrs, slog.String("path", c.shownPath()), slog.Int64("sent_bytes", c.sent))
	}
	c.server.log.LogAttrs(ctx, level, message, attrs...)
}

// outcome is what the line of a request says. repeats: such lines are limited.
func (c *call) outcome(took time.Duration) (level slog.Level, message string, repeats bool) {
	switch {
	case c.hidden != nil:
		return slog.LevelError, "request failed", true
	case c.status == http.StatusUnauthorized:
		return slog.LevelInfo, "sign-in failed", true
	case c.status >= http.StatusBadRequest || c.code != "": // a problem after the first piece of the answer
		return slog.LevelInfo, "request failed", true
	case c.route != nil && c.route.change != "" && !c.unchanged && c.w.Header().Get("Idempotency-Replayed") == "":
		return slog.LevelInfo, c.route.change, false
	case took >= slowAfter+c.args.wait && (c.route == nil || !c.route.live):
		return slog.LevelInfo, "request was slow", true
	}
	return slog.LevelDebug, "request answered", false
}

// kind is what repeats where the same caller meets the same end again.
func (c *call) kind() string {
	who := "from " + host(c.r.RemoteAddr)
	if c.principal != nil {
		who = c.principal.ActorID()
	}
	return who + " " + c.pattern() + " " + strconv.Itoa(c.status)
}

// pattern is the route of a request, with the names of parameters instead of ids.
func (c *call) pattern() string {
	rt := c.route
	if rt == nil && c.match.node != nil {
		rt = c.match.node.route(c.r.Method) // a request that was refused before the route was taken
	}
	if rt == nil {
		return "none"
	}
	return rt.path
}

// subjects adds the ids that a request was about, but never that of a file: it is half of a signed address.
func (c *call) subjects(attrs []slog.Attr) []slog.Attr {
	if !c.workflow.IsZero() {
		attrs = append(attrs, slog.String("workflow", c.workflow.String()))
	}
	if !c.execution.IsZero() {
		attrs = append(attrs, slog.String("execution", c.execution.String()))
	}
	if !c.batch.IsZero() {
		attrs = append(attrs, slog.String("batch", c.batch.String()))
	}
	if !c.key.IsZero() {
		attrs = append(attrs, slog.String("key", c.key.String()))
	}
	if !c.task.IsZero() {
		attrs = append(attrs, slog.String("human_task", c.task.String()))
	}
	if c.name != "" {
		attrs = append(attrs, slog.String("of", cut(c.name, maxInstance)))
	}
	return attrs
}

// shownPath is the path of a request as far as the log may hold it.
func (c *call) shownPath() string {
	if c.isTaskLink() {
		return linkedPath
	}
	if node := c.match.node; node != nil && slices.ContainsFunc(node.routes, func(rt *route) bool { return rt.signed }) {
		return node.routes[0].path
	}
	path := cut(c.r.URL.EscapedPath(), maxInstance)
	if c.match.node == nil { // it may be the address of a link that was mangled on its way
		path = secretShape.ReplaceAllString(path, "{token}")
	}
	return path
}

// secretShape is what the secrets of links look like.
var secretShape = regexp.MustCompile(`\b[A-Za-z0-9_-]{42,}`)

// linkedPath stands for every path that may be the address of a link to a human task.
const linkedPath = service.TaskLinkPath + "{token}"

// isTaskLink reports whether the path may hold the secret of a link to a human task, complete or not: who has it
// answers the task. Neither the log nor a problem repeats it, whether a route has the path or not.
func (c *call) isTaskLink() bool {
	return strings.HasPrefix("/"+strings.TrimLeft(c.r.URL.Path, "/"), service.TaskLinkPath)
}

// tellPanic says where a handler panicked.
func (c *call) tellPanic(p any) {
	if !c.server.lines.Allow("panic " + c.pattern()) {
		return
	}
	c.server.log.LogAttrs(c.r.Context(), slog.LevelError, "request panicked",
		slog.String("method", c.r.Method), slog.String("route", c.pattern()),
		slog.String("request_id", c.requestID), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
}

// tellRefusal is the line of a request that net/http refused before any handler saw it.
func (s *Server) tellRefusal(requestID, remote string, code chargehand.Code) {
	from := host(remote)
	if !s.lines.Allow("from " + from + " unreadable request") {
		return
	}
	s.log.LogAttrs(context.Background(), slog.LevelInfo, "request failed", slog.String("route", "none"),
		slog.Int("status", http.StatusBadRequest), slog.String("request_id", requestID), slog.String("code", string(code)), slog.String("from", from))
}

// host is the address of a peer without its port.
func host(remote string) string {
	if address, _, err := net.SplitHostPort(remote); err == nil {
		return address
	}
	return remote
}
