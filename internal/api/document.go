package api

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/danielgtaylor/huma/v2"
)

// document is the OpenAPI 3.1 document and its entity tag.
type document struct {
	text []byte
	tag  string
}

func newDocument(version string) document {
	text := Document(version)
	sum := sha256.Sum256(text)
	return document{text: text, tag: hex.EncodeToString(sum[:12])}
}

// Document is the OpenAPI 3.1 document of the interface. The same version gives the same
// bytes.
func Document(version string) []byte {
	if version == "" {
		version = "dev"
	}
	w := documentWriter{
		registry: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
		requests: map[string]bool{},
	}
	w.doc = &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Chargehand", Version: version,
			Description: "Start workflows, one by one or in batches, and read their status and result files. " +
				"Times are RFC 3339 in UTC. Unknown query parameters are ignored. New fields may be added to answers at any time.",
		},
		Servers: []*huma.Server{{URL: chargehand.APIPath}},
		Tags: []*huma.Tag{
			{Name: "Workflows"}, {Name: "Executions"}, {Name: "Batches"}, {Name: "Files"}, {Name: "Events"}, {Name: "API keys"}, {Name: "Secrets"}, {Name: "Server"},
		},
		Components: &huma.Components{
			Schemas: w.registry,
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"apiKey": {Type: "apiKey", In: "header", Name: "x-api-key", Description: "An API key. Both schemes work everywhere."},
				"bearer": {Type: "http", Scheme: "bearer", Description: "The same API key as a bearer token."},
			},
		},
	}
	for _, e := range endpoints() {
		w.add(&e)
	}
	for name, schema := range w.registry.Map() {
		if !w.requests[name] {
			schema.AdditionalProperties = nil // answers may grow
		}
	}
	text, err := json.Marshal(w.doc)
	if err != nil {
		panic("api: " + err.Error()) // the table of routes is wrong; a test would have found it
	}
	return text
}

type documentWriter struct {
	doc      *huma.OpenAPI
	registry huma.Registry
	requests map[string]bool // names of the schemas of bodies, which are closed
}

// add describes one route.
func (w *documentWriter) add(e *endpoint) {
	op := &huma.Operation{
		OperationID: e.id, Method: e.method, Path: e.path, Summary: e.summary, Description: e.about,
		Tags: []string{e.tag}, Responses: map[string]*huma.Response{},
	}
	rt := route{endpoint: *e, path: chargehand.APIPath + e.path}
	name := e.method + " " + rt.path
	rt.public, rt.signed = slices.Contains(publicRoutes, name), slices.Contains(signedRoutes, name)
	if !rt.public {
		op.Security = []map[string][]string{{"apiKey": {}}, {"bearer": {}}}
		if rt.signed {
			op.Security = append(op.Security, map[string][]string{})
		}
		if e.scopes != 0 {
			op.Description = strings.TrimSpace(op.Description + " Needs the scope " + strings.Join(e.scopes.Names(), ", ") + ".")
		}
	}
	w.addParameters(op, e)
	if e.body != nil {
		op.RequestBody = w.requestBody(e.body)
	}
	for i := range e.answers {
		op.Responses[strconv.Itoa(e.answers[i].status)] = w.response(&e.answers[i])
	}
	w.addProblems(op, &rt)
	w.doc.AddOperation(op)
}

func (w *documentWriter) addParameters(op *huma.Operation, e *endpoint) {
	for segment := range strings.SplitSeq(op.Path, "/") {
		name, isParam := strings.CutPrefix(segment, "{")
		if !isParam {
			continue
		}
		name = strings.TrimSuffix(name, "}")
		schema := &huma.Schema{Type: "string"}
		switch paramKinds[name] {
		case versionParam, problemParam:
		case secretParam:
			schema.MinLength, schema.MaxLength = count(1), count(200)
		default:
			schema.Format = "uuid"
		}
		op.Parameters = append(op.Parameters, &huma.Param{Name: name, In: "path", Required: true, Schema: schema})
	}
	for _, p := range e.parameters {
		schema := p.schema
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: p.name, In: p.in, Description: p.about, Schema: &schema, Example: p.example,
		})
	}
}

func (w *documentWriter) requestBody(b *body) *huma.RequestBody {
	out := &huma.RequestBody{Description: b.about, Required: b.required, Content: map[string]*huma.MediaType{}}
	if b.stream {
		binary := &huma.Schema{Type: "string", Format: "binary"}
		out.Content["application/octet-stream"] = &huma.MediaType{Schema: binary}
		out.Content["multipart/form-data"] = &huma.MediaType{Schema: &huma.Schema{
			Type: "object", Properties: map[string]*huma.Schema{"file": binary}, Required: []string{"file"},
		}}
		out.Content["*/*"] = &huma.MediaType{Schema: binary}
		return out
	}
	for i, media := range b.media {
		schema := &huma.Schema{}
		view := b.view
		if b.views != nil {
			view = b.views[i]
		}
		if view != nil {
			schema = w.schema(view)
			w.requests[strings.TrimPrefix(schema.Ref, "#/components/schemas/")] = true
		}
		out.Content[media] = &huma.MediaType{Schema: schema}
	}
	if b.any {
		out.Content["*/*"] = &huma.MediaType{Schema: &huma.Schema{Type: "string", Format: "binary"}}
	}
	return out
}

func (w *documentWriter) response(a *answer) *huma.Response {
	out := &huma.Response{Description: a.about, Headers: map[string]*huma.Param{}}
	switch {
	case a.media != "":
		out.Content = map[string]*huma.MediaType{a.media: {Schema: &huma.Schema{Type: "string"}}}
		if a.media == "*/*" {
			out.Content[a.media].Schema = &huma.Schema{Type: "string", Format: "binary"}
		}
	case a.view != nil:
		out.Content = map[string]*huma.MediaType{"application/json": {Schema: w.schema(a.view)}}
	}
	for _, name := range append([]string{"X-Request-Id"}, a.headers...) {
		out.Headers[name] = &huma.Header{Description: headerAbout[name], Schema: &huma.Schema{Type: "string"}}
	}
	return out
}

func (w *documentWriter) schema(view any) *huma.Schema {
	return w.registry.Schema(reflect.TypeOf(view), true, "")
}

// headerAbout describes the headers of answers.
var headerAbout = map[string]string{
	"X-Request-Id":         "Names this request in the server's log.",
	"Location":             "Absolute address of the new resource, or of where the content is.",
	"ETag":                 "Send it as If-None-Match to learn whether anything has changed.",
	"Retry-After":          "Seconds to wait before asking again.",
	"Idempotency-Replayed": "true: the answer belongs to an earlier request with the same Idempotency-Key.",
	"Preference-Applied":   "The preference wait, if it was used.",
	"Content-Disposition":  "attachment, with the name of the file.",
	"Content-Range":        "Which bytes of the content these are.",
	"Accept-Ranges":        "bytes",
	"WWW-Authenticate":     "Bearer",
	"Vary":                 "Which headers of the request the answer depends on.",
}

// addProblems describes the errors that a route can answer, by status.
func (w *documentWriter) addProblems(op *huma.Operation, rt *route) {
	byStatus := map[int][]string{}
	for _, code := range rt.codes() {
		status := problemTypes[code].status
		if !slices.Contains(byStatus[status], string(code)) {
			byStatus[status] = append(byStatus[status], string(code))
		}
	}
	for status, codes := range byStatus {
		headers := map[string]*huma.Param{}
		names := []string{"X-Request-Id"}
		switch status {
		case http.StatusUnauthorized:
			names = append(names, "WWW-Authenticate")
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			names = append(names, "Retry-After")
		case http.StatusRequestedRangeNotSatisfiable:
			names = append(names, "Content-Range")
		}
		for _, name := range names {
			headers[name] = &huma.Header{Description: headerAbout[name], Schema: &huma.Schema{Type: "string"}}
		}
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: strings.Join(codes, ", "), Headers: headers,
			Content: map[string]*huma.MediaType{"application/problem+json": {Schema: w.schema(problem{})}},
		}
	}
}

// codes lists the error codes that a route can answer.
func (rt *route) codes() []chargehand.Code {
	codes := []chargehand.Code{chargehand.CodeInternal, chargehand.CodeUnavailable}
	if !rt.public {
		codes = append(codes, chargehand.CodeAmbiguousCredentials, chargehand.CodeMissingAPIKey,
			chargehand.CodeInvalidAPIKey, chargehand.CodeExpiredAPIKey, chargehand.CodeRateLimited)
	}
	if rt.scopes != 0 {
		codes = append(codes, chargehand.CodeInsufficientScope)
	}
	if len(rt.parameters) > 0 {
		codes = append(codes, chargehand.CodeInvalidParameter)
	}
	for segment := range strings.SplitSeq(rt.path, "/") {
		if kind, ok := paramKinds[strings.Trim(segment, "{}")]; ok && strings.HasPrefix(segment, "{") && rt.method != put { // PUT makes what is not there
			codes = append(codes, notFound[kind].code)
		}
	}
	if slices.Contains(rt.parameters, idempotencyParameter) {
		codes = append(codes, chargehand.CodeIdempotencyInProgress, chargehand.CodeIdempotencyKeyReused)
	}
	if rt.body != nil {
		codes = append(codes, chargehand.CodeUnsupportedMediaType, chargehand.CodePayloadTooLarge, chargehand.CodeInvalidBody)
		if rt.body.json {
			codes = append(codes, chargehand.CodeInvalidJSON, chargehand.CodeUnknownField)
		}
	}
	return append(codes, rt.problems...)
}
