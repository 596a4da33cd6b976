// Package openapi carries out `call: openapi` (language.md 1.8, T43, T82): it reads the
// description of an operation, distributes the parameters over path, query, header, cookie
// and body, and makes the HTTP call.
package openapi

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/http"
	"github.com/chargehand/chargehand/internal/machine"
)

// Runner implements activity.Runner for the kind "openapi". It is safe for concurrent use.
type Runner struct {
	http      *http.Caller
	documents *documents
}

// New makes a Runner whose documents and operations are fetched with caller.
func New(caller *http.Caller) *Runner {
	return &Runner{http: caller, documents: newDocuments(caller)}
}

// Run fetches the document (or takes it from the cache) and calls the operation.
func (r *Runner) Run(ctx context.Context, call activity.Call) activity.Result {
	with, _ := call.Args.(map[string]any)
	document, _ := with["document"].(map[string]any)
	address, _ := document["endpoint"].(string)
	doc, fault := r.documents.get(ctx, call, address, document["authentication"])
	if fault != nil {
		return activity.Result{Fault: fault}
	}
	operationID, _ := with["operationId"].(string)
	op, fault := find(doc, operationID)
	if fault != nil {
		return activity.Result{Fault: fault}
	}
	parameters, _ := with["parameters"].(map[string]any)
	req, fault := op.request(address, parameters)
	if fault != nil {
		return activity.Result{Fault: fault}
	}
	req.Redirect, _ = with["redirect"].(bool)
	if req.Output, fault = http.OutputOf(with["output"]); fault != nil {
		return activity.Result{Fault: fault}
	}
	req.Authentication = with["authentication"]
	return r.http.Do(ctx, call, req)
}

// operation is one operation with what its path and document contribute.
type operation struct {
	id      string
	method  string
	path    string
	item    *openapi3.PathItem
	details *openapi3.Operation
	servers openapi3.Servers
}

func find(doc *openapi3.T, id string) (*operation, *machine.Fault) {
	var known []string
	if doc.Paths != nil {
		for _, path := range doc.Paths.Keys() {
			item := doc.Paths.Value(path)
			for method, details := range item.Operations() {
				if details.OperationID == id && id != "" {
					return &operation{id, method, path, item, details, doc.Servers}, nil
				}
				if details.OperationID != "" {
					known = append(known, details.OperationID)
				}
			}
		}
	}
	return nil, configuration(fmt.Sprintf("the document has no operation %q; it has %s", id, listed(known)))
}

// baseURL is the first usable server of operation, path or document, made absolute with the
// document's own address.
func (op *operation) baseURL(document string) (string, *machine.Fault) {
	servers := op.servers
	if len(op.item.Servers) > 0 {
		servers = op.item.Servers
	}
	if op.details.Servers != nil && len(*op.details.Servers) > 0 {
		servers = *op.details.Servers
	}
	origin, err := url.Parse(document)
	if err != nil {
		return "", configuration(fmt.Sprintf("the document's address %q cannot be read", document))
	}
	text := "/"
	if len(servers) > 0 {
		text = serverURL(preferred(servers, origin.Scheme))
	}
	base, err := origin.Parse(text)
	if err != nil {
		return "", configuration(fmt.Sprintf("the server address %q of the document cannot be read", text))
	}
	return strings.TrimSuffix(base.Scheme+"://"+base.Host+base.EscapedPath(), "/"), nil
}

// preferred picks a server of the scheme by which the document came, so that a document
// that names http and https does not lead from https to http.
func preferred(servers openapi3.Servers, scheme string) *openapi3.Server {
	for _, s := range servers {
		if strings.HasPrefix(s.URL, scheme+"://") {
			return s
		}
	}
	return servers[0]
}

func serverURL(s *openapi3.Server) string {
	text := s.URL
	for name, variable := range s.Variables {
		text = strings.ReplaceAll(text, "{"+name+"}", variable.Default)
	}
	return text
}

func configuration(detail string) *machine.Fault {
	return &machine.Fault{Type: machine.ErrConfiguration, Status: 400, Title: "Operation cannot be called", Detail: detail}
}
