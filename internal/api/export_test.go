package api

import (
	"net/http"
	"testing"

	"github.com/chargehand/chargehand/internal/audit"
)

// What the tests over the whole installation (package api_test, which may import the wiring)
// use of this package's test tools.

// Exchange is one request of a test and what came back.
type Exchange struct {
	Operation          string // operation id
	Method, Path, Body string
	Header             map[string]string
	Keyless            bool
	AgainstTheDocument bool // the request breaks the document on purpose
	Status             int  // wanted
	Code               string
	AnswerHeader       http.Header
	AnswerBody         []byte
	AnswerJSON         map[string]any
	ProblemLocations   []string // the pointers and parameters that a problem names
}

// Judge sends exchanges and judges them by the document.
type Judge struct {
	oracle  *oracle
	handler http.Handler
	routes  map[string]*route
}

// NewJudge reads the document through h.
func NewJudge(t *testing.T, h http.Handler) *Judge {
	s := newServer(t, &fake{})
	j := &Judge{oracle: newOracle(t, h), handler: h, routes: map[string]*route{}}
	for _, rt := range routes(s) {
		j.routes[rt.id] = rt
	}
	return j
}

// Do sends x with key and fills in the answer. The status must be the wanted one.
func (j *Judge) Do(t *testing.T, key string, x Exchange) Exchange {
	t.Helper()
	j.oracle.t = t
	rt := j.routes[x.Operation]
	if rt == nil {
		t.Fatalf("no operation %q", x.Operation)
	}
	q := request{method: x.Method, path: x.Path, body: x.Body, keyless: true, header: map[string]string{}}
	for name, value := range x.Header {
		q.header[name] = value
	}
	if !x.Keyless {
		q.header["x-api-key"] = key
	}
	a := j.oracle.exchange(j.handler, rt, q, !x.AgainstTheDocument)
	if a.status != x.Status {
		t.Fatalf("%s %s: %d, want %d\n%s", x.Operation, x.Path, a.status, x.Status, a.body)
	}
	if x.Code != "" {
		x.ProblemLocations = locations(wantProblem(t, a, x.Status, x.Code))
	}
	x.AnswerHeader, x.AnswerBody = a.header, a.body
	if len(a.body) > 0 && a.body[0] == '{' {
		x.AnswerJSON = decode(t, a.body)
	}
	return x
}

// Missed lists the operations that had no successful exchange.
func (j *Judge) Missed() (ids []string) {
	for id, rt := range j.routes {
		driven := false
		for _, a := range rt.answers {
			driven = driven || j.oracle.seen[id+" "+itoa(a.status)]
		}
		if !driven {
			ids = append(ids, id)
		}
	}
	return ids
}

// AuditedActions are the actions that routes write to the audit log.
func AuditedActions() (actions []audit.Action) {
	for _, e := range endpoints() {
		actions = append(actions, e.audits...)
	}
	return actions
}
