package openapi

import (
	"context"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/machine"
)

// openapi31Full uses what version 3.1 has and 3.0 has not.
const openapi31Full = `openapi: 3.1.1
jsonSchemaDialect: https://json-schema.org/draft/2020-12/schema
info: {title: t, version: '1', summary: s, license: {name: MIT, identifier: MIT}}
webhooks: {created: {post: {responses: {'200': {description: ok}}}}}
servers: [{url: 'http://HOST/{stage}/{none}', variables: {stage: {enum: [live, test], default: live}, none: {default: ''}}}]
security: [{key: []}, {queryKey: [], cookieKey: []}]
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Api-Key}
    queryKey: {type: apiKey, in: query, name: api_key}
    cookieKey: {type: apiKey, in: cookie, name: sid}
    mutual: {type: mutualTLS}
  pathItems:
    shared: {get: {operationId: shared, responses: {'200': {description: ok}}}}
  schemas:
    Thing:
      type: [object, 'null']
      $defs: {n: {type: number}}
      properties:
        n: {$ref: '#/components/schemas/Thing/$defs/n', description: beside a reference}
        m: {exclusiveMinimum: 5, examples: [6, 7]}
        c: {const: x}
        t: {prefixItems: [{type: string}], contains: {type: string}, unevaluatedItems: false}
        if: {if: {type: string}, then: {minLength: 1}, else: true}
paths:
  /shared: {$ref: '#/components/pathItems/shared'}
  /things/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: [string, integer]}}]
    post:
      operationId: make
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}}}}
    get:
      operationId: see
      parameters: [{name: filter, in: query, content: {application/json: {schema: {type: object}}}}]
  /label/{v}: {get: {operationId: label, parameters: [{name: v, in: path, required: true, style: label, explode: true, schema: {}}]}}
  /matrix/{v}: {get: {operationId: matrix, parameters: [{name: v, in: path, required: true, style: matrix, explode: true, schema: {}}]}}
`

func TestVersion31(t *testing.T) {
	w := newFixture(t, map[string]string{"/o.yaml": openapi31Full})
	r := runner(t)
	for _, tc := range []struct {
		name, operation string
		parameters      map[string]any
		want            string
	}{
		{"body", "make", map[string]any{"id": 1, "n": 2}, `POST /live/things/1|||application/json|{"n":2}`},
		{"parameter by content", "see", map[string]any{"id": "a", "filter": map[string]any{"x": []any{1}}}, `GET /live/things/a?filter=%7B%22x%22%3A%5B1%5D%7D||||`},
		{"shared path", "shared", nil, "GET /live/shared||||"},
		{"keys in query and cookie", "see", map[string]any{"id": "a", "api_key": "k", "sid": "s t"}, "GET /live/things/a?api_key=k||sid=s+t||"},
		{"label", "label", map[string]any{"v": []any{"a", "b"}}, "GET /live/label/.a.b||||"},
		{"matrix", "matrix", map[string]any{"v": []any{"a", "b"}}, "GET /live/matrix/;v=a;v=b||||"},
		{"matrix of an object", "matrix", map[string]any{"v": map[string]any{"r": 1, "g": 2}}, "GET /live/matrix/;g=2;r=1||||"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := call(r, w.URL+"/o.yaml", tc.operation, tc.parameters)
			if got.Fault != nil {
				t.Fatal(got.Fault)
			}
			if text, _ := got.Output.(string); strings.ReplaceAll(text, "/live//", "/live/") != tc.want {
				t.Errorf("got  %v\nwant %v", got.Output, tc.want)
			}
		})
	}
}

func TestKeyInAHeader(t *testing.T) {
	var seen nethttp.Header
	server := httptest.NewServer(nethttp.HandlerFunc(func(_ nethttp.ResponseWriter, r *nethttp.Request) { seen = r.Header }))
	defer server.Close()
	got := pinned(runner(t), strings.ReplaceAll(openapi31Full, "HOST", server.Listener.Addr().String()), "see",
		map[string]any{"id": "a", "X-Api-Key": "k"})
	if got.Fault != nil || seen.Get("X-Api-Key") != "k" {
		t.Errorf("fault %v, headers %v", got.Fault, seen)
	}
}

func pinned(r *Runner, content, operation string, parameters map[string]any) activity.Result {
	return r.Run(context.Background(), activity.Call{Args: map[string]any{
		"document":    map[string]any{"content": content, "digest": "sha256:1"},
		"operationId": operation, "parameters": parameters,
	}})
}

// TestRefusedMethods: what speaks to proxies, or shows what was sent, is no operation that can be called.
func TestRefusedMethods(t *testing.T) {
	reached := false
	server := httptest.NewServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) { reached = true }))
	defer server.Close()
	document := "openapi: 3.0.3\ninfo: {title: t, version: '1'}\nservers: [{url: '" + server.URL + "'}]\npaths: {/a: {\n" +
		"  trace: {operationId: TRACE, responses: {'200': {description: ok}}},\n" +
		"  connect: {operationId: CONNECT, responses: {'200': {description: ok}}}}}\n"
	for _, method := range []string{"TRACE", "CONNECT"} {
		got := pinned(runner(t), document, method, nil)
		if got.Fault == nil || got.Fault.Type != machine.ErrConfiguration || !strings.Contains(got.Fault.Detail, method+" cannot be called") {
			t.Errorf("%s: %v", method, got.Fault)
		}
	}
	if reached {
		t.Error("the server was called")
	}
}

// Values of parameters come from data: they must not choose another path or another header.
func TestParametersStayInTheirPart(t *testing.T) {
	w := newFixture(t, map[string]string{"/o.yaml": openapi31Full, "/swagger.json": swagger2})
	r := runner(t)
	for name, tc := range map[string]struct {
		document, operation string
		parameters          map[string]any
	}{
		"parent":     {"/o.yaml", "see", map[string]any{"id": ".."}},
		"itself":     {"/o.yaml", "see", map[string]any{"id": "."}},
		"new header": {"/swagger.json", "get", map[string]any{"id": 1, "X-Trace": "a\r\nX-Evil: 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := call(r, w.URL+tc.document, tc.operation, tc.parameters)
			if got.Fault == nil || got.Fault.Type != machine.ErrConfiguration {
				t.Errorf("fault %v, output %v", got.Fault, got.Output)
			}
		})
	}
	if got := call(r, w.URL+"/o.yaml", "see", map[string]any{"id": "../x"}); got.Output != "GET /live//things/..%2Fx||||" && got.Output != "GET /live/things/..%2Fx||||" {
		t.Errorf("an escaped slash: %v %v", got.Output, got.Fault)
	}
}

func TestPinnedDocumentNeedsAnAbsoluteServer(t *testing.T) {
	w := newFixture(t, nil)
	relative := `{"openapi":"3.0.3","info":{"title":"t","version":"1"},"servers":[{"url":"/x"}],"paths":{"/a":{"get":{"operationId":"a","responses":{}}}}}`
	got := pinned(runner(t), relative, "a", nil)
	if got.Fault == nil || got.Fault.Type != machine.ErrConfiguration || !strings.Contains(got.Fault.Detail, "absolute") {
		t.Errorf("fault %v", got.Fault)
	}
	got = pinned(runner(t), strings.Replace(relative, `"/x"`, `"`+w.URL+`/x"`, 1), "a", nil)
	if got.Output != "GET /x/a||||" {
		t.Errorf("output %v, fault %v", got.Output, got.Fault)
	}
	got = pinned(runner(t), strings.Replace(relative, `"/x"`, `"https://{tenant}.example.com"`, 1), "a", nil)
	if got.Fault == nil || !strings.Contains(got.Fault.Detail, "{tenant}") {
		t.Errorf("fault %v", got.Fault)
	}
}

func TestDocumentsThatReferToOthers(t *testing.T) {
	main := `openapi: 3.0.3
info: {title: t, version: '1'}
paths:
  /a: {get: {operationId: a, parameters: [{$ref: 'parts.yaml#/components/parameters/q'}], responses: {'200': {description: ok}}}}
`
	parts := "components: {parameters: {q: {name: q, in: query, schema: {type: string}}}}\n"
	w := newFixture(t, map[string]string{"/d/main.yaml": main, "/d/parts.yaml": parts,
		"/d/evil.yaml": strings.ReplaceAll(main, "parts.yaml", "file:///etc/passwd")})
	if got := call(runner(t), w.URL+"/d/main.yaml", "a", map[string]any{"q": "1"}); got.Output != "GET /a?q=1||||" {
		t.Errorf("output %v, fault %v", got.Output, got.Fault)
	}
	got := call(runner(t), w.URL+"/d/evil.yaml", "a", nil)
	if got.Fault == nil || !strings.Contains(got.Fault.Detail, "may not") {
		t.Errorf("a reference to a file: %v", got.Fault)
	}
}

// The document is fetched with its own authentication and the operation called with its own;
// an unchanged document is parsed once.
func TestDocumentIsRevalidatedAndParsedOnce(t *testing.T) {
	var full, unchanged atomic.Int64
	server := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path != "/swagger.json" {
			io.WriteString(w, r.Header.Get("Authorization"))
			return
		}
		if r.Header.Get("Authorization") != "Bearer document" {
			w.WriteHeader(401)
			return
		}
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			unchanged.Add(1)
			w.WriteHeader(304)
			return
		}
		full.Add(1)
		io.WriteString(w, strings.ReplaceAll(swagger2, "HOST", r.Host))
	}))
	defer server.Close()
	r := runner(t)
	args := map[string]any{
		"document":    map[string]any{"endpoint": server.URL + "/swagger.json", "authentication": map[string]any{"scheme": "bearer", "token": "document"}},
		"operationId": "get", "parameters": map[string]any{"id": 1}, "output": "raw",
		"authentication": map[string]any{"scheme": "bearer", "token": "call"},
	}
	for range 3 {
		if got := r.Run(t.Context(), activity.Call{Args: args}); got.Fault != nil || got.Output != "QmVhcmVyIGNhbGw=" {
			t.Fatalf("output %v, fault %v", got.Output, got.Fault)
		}
	}
	if full.Load() != 1 || unchanged.Load() != 2 || r.documents.parsed.Len() != 1 {
		t.Errorf("%d full answers, %d unchanged, %d parsed", full.Load(), unchanged.Load(), r.documents.parsed.Len())
	}
	args["document"].(map[string]any)["authentication"] = nil
	got := r.Run(t.Context(), activity.Call{Args: args})
	if got.Fault == nil || got.Fault.Type != machine.ErrCommunication || got.Fault.Status != 401 {
		t.Errorf("without the document's credentials: %v", got.Fault)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{swagger2, openapi31, openapi31Full, `{"openapi":"3.0.0","paths":{"/":null}}`, "openapi: 3.1.0\npaths: {/: {$ref: '#/paths/~1'}}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		described, err := parse(t.Context(), data, "http://a.example/o", nil)
		if err != nil {
			return
		}
		doc := &document{T: described, address: "http://a.example/o"}
		if op, fault := find(doc, "get"); fault == nil {
			_, _ = op.request(doc.address, map[string]any{"id": 1, "x": []any{1, map[string]any{"a": 2}}})
		}
	})
}
