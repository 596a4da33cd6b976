package openapi

import (
	"context"
	"fmt"

	"github.com/getkin/kin-openapi/openapi3"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/failure"
	"github.com/chargehand/chargehand/internal/activity/http"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/resource"
)

// Config wires a Runner. Caller is required.
type Config struct {
	Caller *http.Caller // makes the calls
	// Documents fetches and keeps descriptions; nil: one that reaches what Caller does and
	// takes documents of up to 8 MiB.
	Documents *resource.Cache
}

// MaxDocumentBytes is the limit of a description that a Runner without Config.Documents has.
const MaxDocumentBytes = 8 << 20

// Runner implements activity.Runner for the kind "openapi". It is safe for concurrent use.
type Runner struct {
	http      *http.Caller
	documents *documents
}

// New fills in the defaults of cfg.
func New(cfg Config) *Runner {
	if cfg.Documents == nil {
		cfg.Documents = resource.NewCache(resource.CacheConfig{Fetcher: cfg.Caller.Fetcher(MaxDocumentBytes)})
	}
	return &Runner{http: cfg.Caller, documents: newDocuments(cfg.Caller, cfg.Documents)}
}

// Run reads the document and calls the operation. The digest of the document that was used
// is in the result, and an attribute of the span of the activity (T69).
func (r *Runner) Run(ctx context.Context, call activity.Call) activity.Result {
	with, _ := call.Args.(map[string]any)
	described, _ := with["document"].(map[string]any)
	doc, fault := r.documents.get(ctx, call, described)
	if fault != nil {
		return activity.Result{Fault: failure.NoResponse(fault)}
	}
	result := r.call(ctx, call, with, doc)
	result.Document = doc.digest
	return result
}

func (r *Runner) call(ctx context.Context, call activity.Call, with map[string]any, doc *document) activity.Result {
	trace.SpanFromContext(ctx).SetAttributes(attribute.String("chargehand.document.digest", doc.digest))
	operationID, _ := with["operationId"].(string)
	op, fault := find(doc, operationID)
	if fault != nil {
		return activity.Result{Fault: failure.NoResponse(fault)}
	}
	parameters, _ := with["parameters"].(map[string]any)
	req, fault := op.request(doc.address, parameters)
	if fault != nil {
		return activity.Result{Fault: failure.NoResponse(fault)}
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
	id       string
	method   string
	path     string
	item     *openapi3.PathItem
	details  *openapi3.Operation
	document *openapi3.T
}

func find(doc *document, id string) (*operation, *machine.Fault) {
	var known []string
	if doc.Paths != nil {
		for _, path := range doc.Paths.Keys() {
			item := doc.Paths.Value(path)
			if item == nil {
				continue
			}
			for method, details := range item.Operations() {
				if details.OperationID == id && id != "" {
					return &operation{id, method, path, item, details, doc.T}, nil
				}
				if details.OperationID != "" {
					known = append(known, details.OperationID)
				}
			}
		}
	}
	return nil, configuration(fmt.Sprintf("the document has no operation %q; it has %s", excerpt.Clip(id, clipBytes), listed(known)))
}

func configuration(detail string) *machine.Fault {
	return &machine.Fault{Type: machine.ErrConfiguration, Status: 400, Title: "Operation cannot be called", Detail: detail}
}
