package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/service"
)

// endpoint is one row of the table of routes: everything that routing, the checks and the
// document need to know about it.
type endpoint struct {
	method  string
	path    string // below APIPath
	root    bool   // the same is answered at this path without APIPath: where probes look for it
	id      string // operation id in the document
	tag     string
	summary string
	about   string
	scopes  service.Scopes // all of them are needed; 0: any key
	instead service.Scopes // with these, a part of the answer is shown; 0: none
	fresh   bool           // a session needs a fresh sign-in
	// parameters are read in this order; the first bad one is answered.
	parameters []*parameter
	body       *body
	answers    []answer
	// problems are the codes that do not follow from the other columns.
	problems []chargehand.Code
	// lenient routes ignore query parameters that they do not have: those of the contract.
	lenient bool
	// enters marks routes that set or read the cookie of sessions, session those that need one and take no key.
	enters, session bool
	browsed         bool // links of browsers: what goes wrong is answered with a page where one is asked for
	page            bool // at the root only, answered in HTML, and not in the document
	// slow marks routes that may read or write for longer than the usual time limits.
	slow bool
	// live routes answer with a stream of events: how long that takes says nothing about the server.
	live bool
	// audits are the actions that the route writes to the audit log; a route that changes something has one, or
	// unaudited says why not.
	audits    []audit.Action
	unaudited string
	// change is what the log says at info when the request has succeeded; empty: nothing.
	change string
	serve  func(*call) error
}

// answer documents one successful answer.
type answer struct {
	status  int
	about   string
	media   string // default application/json
	example string // of an answer that has a media
	view    any    // a value of the documented type; nil: no body, or not JSON
	line    any    // the same of one line, where JSON Lines can be asked for; nil: they cannot
	texts   []text // the other forms that can be asked for
	headers []string
}

// text is a form of an answer that is not JSON.
type text struct{ media, example string }

// publicRoutes is the exact list of what is answered without a key.
var publicRoutes = []string{
	"GET /healthz",
	"GET /readyz",
	"GET /api/v1/healthz",
	"GET /api/v1/readyz",
	"GET /api/v1/openapi.json",
	"GET /api/v1/problems/{code}",
	"GET /api/v1/schemas/workflow.json",
	"GET /api/v1/schemas/test.json",
	"GET /api/v1/auth/methods",
	"POST /api/v1/setup",
	"POST /api/v1/session",
	"POST /api/v1/invitation",
	"POST /api/v1/password-reset",
	"POST /api/v1/device",
	"POST /api/v1/device/token",
	"POST /api/v1/auth/passkey/options",
	"POST /api/v1/auth/passkey",
	"GET /api/v1/auth/oidc/{provider}",
	"GET /api/v1/auth/oidc/{provider}/callback",
}

// signedRoutes are answered without a key too, if the address is signed.
var signedRoutes = []string{
	"GET /api/v1/files/{fileId}/content",
}

// endpoints is the table of all routes.
func endpoints() []endpoint {
	return slices.Concat(
		workflowEndpoints(),
		versionEndpoints(),
		graphEndpoints(),
		evaluateEndpoints(),
		workflowTestEndpoints(),
		executionEndpoints(),
		countEndpoints(),
		timelineEndpoints(),
		recordingEndpoints(),
		batchEndpoints(),
		operationEndpoints(),
		streamEndpoints(),
		humanTaskEndpoints(),
		humanDraftEndpoints(),
		humanBulkEndpoints(),
		fileEndpoints(),
		keyEndpoints(),
		meEndpoints(),
		userEndpoints(),
		groupEndpoints(),
		grantEndpoints(),
		signInEndpoints(),
		passkeyEndpoints(),
		providerEndpoints(),
		identityEndpoints(),
		deviceEndpoints(),
		secretEndpoints(),
		eventEndpoints(),
		auditEndpoints(),
		serverEndpoints(),
	)
}

// route is an endpoint that is ready to serve.
type route struct {
	endpoint
	path    string      // the whole path, or the one at the root
	params  []paramKind // in the order of the path
	public  bool
	signed  bool
	metrics *routeMetrics
}

// newRoutes are the routes that an endpoint has.
func newRoutes(e endpoint, m *metrics) []*route {
	if e.page {
		return []*route{newRoute(e, e.path, m)}
	}
	all := []*route{newRoute(e, chargehand.APIPath+e.path, m)}
	if e.root {
		all = append(all, newRoute(e, e.path, m))
	}
	return all
}

func newRoute(e endpoint, path string, m *metrics) *route {
	rt := &route{endpoint: e, path: path}
	name := e.method + " " + rt.path
	rt.public = slices.Contains(publicRoutes, name) || e.page && slices.Contains(publicPages, name)
	rt.signed = slices.Contains(signedRoutes, name)
	rt.metrics = m.route(name)
	for segment := range strings.SplitSeq(rt.path, "/") {
		if strings.HasPrefix(segment, "{") {
			rt.params = append(rt.params, paramKinds[strings.Trim(segment, "{}")])
		}
	}
	return rt
}

// public reports whether every route of the path is public, so that the path is no secret.
func (n *node) public() bool {
	return !slices.ContainsFunc(n.routes, func(rt *route) bool { return !rt.public })
}

// get, post … shorten the rows of the table.
const (
	get    = http.MethodGet
	post   = http.MethodPost
	put    = http.MethodPut
	patch  = http.MethodPatch
	remove = http.MethodDelete
)
