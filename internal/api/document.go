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
	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/graph"
	"github.com/danielgtaylor/huma/v2"
)

// document is a text that does not change while the server runs, and its entity tag.
type document struct {
	text []byte
	tag  string
}

func newDocument(version string) document { return taggedDocument(Document(version)) }

func taggedDocument(text []byte) document {
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
		registry: huma.NewMapRegistry("#/components/schemas/", schemaName),
		requests: map[string]bool{}, examples: examples(),
	}
	w.doc = &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Chargehand", Version: version, Description: documentAbout,
			Contact: &huma.Contact{Name: "Chargehand", URL: "https://github.com/chargehand/chargehand"},
			License: &huma.License{Name: "Apache License 2.0", Identifier: "Apache-2.0"},
		},
		Servers: []*huma.Server{{URL: chargehand.APIPath, Description: "The server that this document is from."}},
		Components: &huma.Components{
			Schemas: w.registry, Examples: map[string]*huma.Example{}, Headers: map[string]*huma.Header{},
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"apiKey":  {Type: "apiKey", In: "header", Name: "x-api-key", Description: "An API key. Both schemes work everywhere."},
				"session": {Type: "apiKey", In: "cookie", Name: "__Host-chargehand", Description: "The session of a person. Over http, on the server's own machine, the cookie is called chargehand-PORT."},
				"bearer":  {Type: "http", Scheme: "bearer", Description: "The same API key as a bearer token."},
			},
		},
	}
	for _, tag := range tags {
		w.doc.Tags = append(w.doc.Tags, &huma.Tag{Name: tag[0], Description: tag[1]})
	}
	for _, e := range endpoints() {
		w.add(&e)
	}
	for name, schema := range w.registry.Map() {
		if !w.requests[name] {
			schema.AdditionalProperties = nil // answers may grow
		}
		describe(name, schema)
	}
	text, err := w.text()
	if err != nil {
		panic("api: " + err.Error()) // the table of routes is wrong; a test would have found it
	}
	return text
}

type documentWriter struct {
	doc      *huma.OpenAPI
	registry huma.Registry
	requests map[string]bool      // names of the schemas of bodies, which are closed
	examples map[reflect.Type]any // by the type that they are of
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
	op.Security = []map[string][]string{}
	if rt.session {
		op.Security = []map[string][]string{{"session": {}}}
	}
	if !rt.public && !rt.session {
		op.Security = []map[string][]string{{"apiKey": {}}, {"bearer": {}}}
		if rt.signed {
			op.Security = append(op.Security, map[string][]string{})
		}
		if e.scopes != 0 {
			op.Description = strings.TrimSpace(op.Description + " Needs the scope " + neededScopes(e) + ".")
		}
	}
	w.addParameters(op, e)
	if e.body != nil {
		op.RequestBody = w.requestBody(e.body)
	}
	for i := range e.answers {
		op.Responses[strconv.Itoa(e.answers[i].status)] = w.response(&e.answers[i], &rt)
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
		kind := paramKinds[name]
		switch kind {
		case workflowParam, versionParam, problemParam, providerParam:
		case secretParam:
			schema.MinLength, schema.MaxLength = count(1), count(200)
		default:
			schema.Format = "uuid"
		}
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: name, In: "path", Required: true, Schema: schema, Description: pathAbout[kind], Example: pathExamples[kind],
		})
	}
	for _, p := range e.parameters {
		schema, example := p.schema, p.example
		if example == nil {
			example = parameterExamples[p.name]
		}
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: p.name, In: p.in, Description: p.about, Schema: &schema, Example: example,
		})
	}
}

func (w *documentWriter) requestBody(b *body) *huma.RequestBody {
	out := &huma.RequestBody{Description: b.about, Required: b.required, Content: map[string]*huma.MediaType{}}
	if b.stream {
		binary := &huma.Schema{Type: "string", Format: "binary"}
		part := *binary
		part.Description = "The file, with its name and type."
		out.Content["application/octet-stream"] = &huma.MediaType{Schema: binary, Example: "confirmed: lamp"}
		out.Content["multipart/form-data"] = &huma.MediaType{Example: map[string]any{"file": "confirmed: lamp"}, Schema: &huma.Schema{
			Type: "object", Description: "A form with one file.", Properties: map[string]*huma.Schema{"file": &part}, Required: []string{"file"},
		}}
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
			name := strings.TrimPrefix(schema.Ref, "#/components/schemas/")
			w.requests[name] = true
			if out.Description == "" {
				out.Description = schemaAbout[name]
			}
		}
		example := w.example(view)
		switch {
		case view != nil:
		case media == "application/json":
			schema.Type, example = "object", json.RawMessage(exampleDefinition)
		default:
			schema.Type, example = "string", exampleYAML
		}
		out.Content[media] = &huma.MediaType{Schema: schema, Example: example}
	}
	if b.any {
		out.Content["*/*"] = &huma.MediaType{Schema: &huma.Schema{Type: "string", Format: "binary"}, Example: "4711"}
	}
	return out
}

func (w *documentWriter) response(a *answer, rt *route) *huma.Response {
	out := &huma.Response{Description: a.about, Headers: map[string]*huma.Param{}}
	switch {
	case a.media != "":
		out.Content = map[string]*huma.MediaType{a.media: {Schema: &huma.Schema{Type: "string"}, Example: a.example}}
		if a.media == "*/*" || a.media == zipMedia {
			out.Content[a.media].Schema = &huma.Schema{Type: "string", Format: "binary"}
		}
	case a.view != nil:
		out.Content = map[string]*huma.MediaType{"application/json": {Schema: w.schema(a.view), Example: w.example(a.view)}}
	}
	for _, t := range a.texts {
		out.Content[t.media] = &huma.MediaType{Schema: &huma.Schema{Type: "string"}, Example: t.example}
	}
	if a.line != nil {
		out.Content[linesMedia] = &huma.MediaType{Schema: w.schema(a.line), Example: w.example(a.line)}
	}
	w.addHeaders(out.Headers, append(rt.headers(), a.headers...))
	return out
}

// headers are those that every answer of the route may have.
func (rt *route) headers() []string {
	if rt.public && !rt.enters {
		return []string{"X-Request-Id"}
	}
	return []string{"X-Request-Id", "RateLimit", "RateLimit-Policy"}
}

// addHeaders refers to headers, which are described once.
func (w *documentWriter) addHeaders(headers map[string]*huma.Param, names []string) {
	for _, name := range names {
		schema := &huma.Schema{Type: "string"}
		if name == "Retry-After" {
			schema.Type = "integer"
		}
		w.doc.Components.Headers[name] = &huma.Header{Description: headerAbout[name][0], Schema: schema, Example: headerExample(name)}
		headers[name] = &huma.Header{Ref: "#/components/headers/" + name}
	}
}

func headerExample(name string) any {
	if name == "Retry-After" {
		return 1
	}
	return headerAbout[name][1]
}

// example is that of a view; nil: there is none, which a test finds.
func (w *documentWriter) example(view any) any {
	if view == nil {
		return nil
	}
	return w.examples[reflect.TypeOf(view)]
}

// schemaName names a schema after its type; the parts of a graph and of a form say that they are.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.PkgPath() == graphPackage && name != "Graph":
		return "Graph" + name
	case t.PkgPath() == formPackage:
		return "Form" + name
	}
	return name
}

var (
	graphPackage = reflect.TypeFor[graph.Graph]().PkgPath()
	formPackage  = reflect.TypeFor[form.Field]().PkgPath()
)

func (w *documentWriter) schema(view any) *huma.Schema {
	return w.registry.Schema(reflect.TypeOf(view), true, "")
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
		names := rt.headers()
		switch status {
		case http.StatusUnauthorized:
			names = append(names, "WWW-Authenticate")
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			names = append(names, "Retry-After")
		case http.StatusRequestedRangeNotSatisfiable:
			names = append(names, "Content-Range")
		}
		w.addHeaders(headers, names)
		samples := map[string]*huma.Example{}
		for _, code := range codes {
			name := "problem_" + code
			samples[code] = &huma.Example{Ref: "#/components/examples/" + name}
			w.doc.Components.Examples[name] = &huma.Example{
				Summary: problemTypes[chargehand.Code(code)].title, Value: exampleProblem(chargehand.Code(code)),
			}
		}
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: "The code is " + strings.Join(codes, ", or ") + ".", Headers: headers,
			Content: map[string]*huma.MediaType{"application/problem+json": {Schema: w.schema(problem{}), Examples: samples}},
		}
	}
}

// codes lists the error codes that a route can answer.
func (rt *route) codes() []chargehand.Code {
	codes := []chargehand.Code{chargehand.CodeInternal, chargehand.CodeUnavailable}
	if rt.enters {
		codes = append(codes, chargehand.CodeHTTPSRequired, chargehand.CodeCrossOrigin, chargehand.CodeRateLimited)
	}
	if rt.session {
		codes = append(codes, chargehand.CodeAmbiguousCredentials, chargehand.CodeInvalidCredentials)
	}
	if !rt.public && !rt.session {
		codes = append(codes, chargehand.CodeAmbiguousCredentials, chargehand.CodeMissingAPIKey,
			chargehand.CodeInvalidAPIKey, chargehand.CodeExpiredAPIKey, chargehand.CodeAddressNotAllowed, chargehand.CodeRateLimited)
	}
	if rt.scopes != 0 {
		codes = append(codes, chargehand.CodeInsufficientScope)
	}
	if rt.fresh {
		codes = append(codes, chargehand.CodeFreshSignInRequired)
	}
	if len(rt.parameters) > 0 {
		codes = append(codes, chargehand.CodeInvalidParameter)
	}
	if !rt.lenient {
		codes = append(codes, chargehand.CodeUnknownParameter)
	}
	for segment := range strings.SplitSeq(rt.path, "/") {
		// PUT creates what does not exist.
		if kind, ok := paramKinds[strings.Trim(segment, "{}")]; ok && strings.HasPrefix(segment, "{") && rt.method != put {
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

// neededScopes are the scopes of an endpoint in words.
func neededScopes(e *endpoint) string {
	text := strings.Join(e.scopes.Names(), ", ")
	if e.instead != 0 {
		text += ", or in part " + strings.Join(e.instead.Names(), ", ")
	}
	return text
}
