package openapi

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/http"
	"github.com/chargehand/chargehand/internal/egress"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// fixture serves documents and echoes every other request as one line of text.
type fixture struct {
	*httptest.Server
	documents map[string]string
	fetched   atomic.Int64
	control   string
}

func newFixture(t *testing.T, documents map[string]string) *fixture {
	t.Helper()
	w := &fixture{documents: documents}
	w.Server = httptest.NewServer(nethttp.HandlerFunc(func(rw nethttp.ResponseWriter, r *nethttp.Request) {
		if document, ok := w.documents[r.URL.Path]; ok {
			w.fetched.Add(1)
			if w.control != "" {
				rw.Header().Set("Cache-Control", w.control)
			}
			rw.Header().Set("Content-Type", map[bool]string{true: "application/json", false: "application/yaml"}[strings.HasSuffix(r.URL.Path, ".json")])
			io.WriteString(rw, strings.ReplaceAll(document, "HOST", r.Host))
			return
		}
		body, _ := io.ReadAll(r.Body)
		rw.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(rw, "%s %s|%s|%s|%s|%s", r.Method, r.URL.RequestURI(), r.Header.Get("X-Trace"), r.Header.Get("Cookie"), r.Header.Get("Content-Type"), body)
		if auth := r.Header.Get("Authorization"); auth != "" {
			fmt.Fprintf(rw, "|%s", auth)
		}
	}))
	t.Cleanup(w.Close)
	return w
}

func runner(t *testing.T) *Runner {
	t.Helper()
	policy, err := egress.New(egress.Config{Allow: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	transport := policy.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	return New(Config{Caller: http.New(http.Config{Transport: transport})})
}

func call(r *Runner, document, operation string, parameters map[string]any) activity.Result {
	return r.Run(context.Background(), activity.Call{Args: map[string]any{
		"document": map[string]any{"endpoint": document}, "operationId": operation, "parameters": parameters,
	}})
}

const swagger2 = `{"swagger":"2.0","info":{"title":"t","version":"1"},"host":"HOST","basePath":"/v2","schemes":["http"],
"paths":{"/pets/{id}":{"parameters":[{"name":"id","in":"path","required":true,"type":"integer"}],
  "get":{"operationId":"get","parameters":[{"name":"X-Trace","in":"header","type":"string"}],"responses":{"200":{"description":"ok"}}},
  "put":{"operationId":"replace","consumes":["application/json"],"parameters":[{"name":"pet","in":"body","schema":{"type":"object"}}],"responses":{"200":{"description":"ok"}}}},
"/pets":{"get":{"operationId":"find","parameters":[{"name":"status","in":"query","type":"array","items":{"type":"string"},"collectionFormat":"multi"},
   {"name":"tags","in":"query","type":"array","items":{"type":"string"},"collectionFormat":"csv"}],"responses":{"200":{"description":"ok"}}},
  "post":{"operationId":"form","consumes":["application/x-www-form-urlencoded"],"parameters":[{"name":"name","in":"formData","type":"string"}],"responses":{"200":{"description":"ok"}}}}}}`

const openapi31 = `openapi: 3.1.0
info: {title: t, version: '1'}
servers: [{url: '{base}/v3', variables: {base: {default: '/api'}}}]
paths:
  /items/{key}:
    post:
      operationId: create
      parameters:
        - {name: key, in: path, required: true, schema: {type: string}}
        - {name: filter, in: query, style: deepObject, explode: true, schema: {type: object}}
        - {name: ids, in: query, style: pipeDelimited, explode: false, schema: {type: array}}
        - {name: session, in: cookie, schema: {type: string}}
      requestBody:
        required: true
        content: {application/json: {schema: {type: object}}}
      responses: {'200': {description: ok}}
  /plain:
    get: {operationId: plain, responses: {'200': {description: ok}}}
`

// The digest is reported whatever comes of the call (T69).
func TestResultTellsTheDocument(t *testing.T) {
	w := newFixture(t, map[string]string{"/openapi.yaml": openapi31})
	want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(openapi31)))
	for _, operation := range []string{"plain", "none"} {
		if got := call(runner(t), w.URL+"/openapi.yaml", operation, nil); got.Document != want || (got.Fault != nil) != (operation == "none") {
			t.Errorf("%s: document %q, fault %v", operation, got.Document, got.Fault)
		}
	}
}

func TestParametersAreDistributed(t *testing.T) {
	w := newFixture(t, map[string]string{"/swagger.json": swagger2, "/openapi.yaml": openapi31})
	r := runner(t)
	cases := []struct {
		name, document, operation string
		parameters                map[string]any
		want                      string
	}{
		{"path and header", "/swagger.json", "get", map[string]any{"id": 7, "X-Trace": "a b"}, "GET /v2/pets/7|a b|||"},
		{"repeated query", "/swagger.json", "find", map[string]any{"status": []any{"a", "b"}}, "GET /v2/pets?status=a&status=b||||"},
		{"one value for a list", "/swagger.json", "find", map[string]any{"status": "a"}, "GET /v2/pets?status=a||||"},
		{"comma separated query", "/swagger.json", "find", map[string]any{"tags": []any{"a", "b"}}, "GET /v2/pets?tags=a%2Cb||||"},
		{"whole body by its name (T82)", "/swagger.json", "replace", map[string]any{"id": 1, "pet": map[string]any{"n": "x"}}, `PUT /v2/pets/1|||application/json|{"n":"x"}`},
		{"leftovers form the body (T43)", "/swagger.json", "replace", map[string]any{"id": 1, "n": "x", "m": 2}, `PUT /v2/pets/1|||application/json|{"m":2,"n":"x"}`},
		{"form", "/swagger.json", "form", map[string]any{"name": "a b"}, "POST /v2/pets|||application/x-www-form-urlencoded|name=a+b"},
		{"authorization as a parameter (T43)", "/swagger.json", "get", map[string]any{"id": 1, "Authorization": "Token x"}, "GET /v2/pets/1|||||Token x"},
		{"escaped path, deep object, pipes, cookie", "/openapi.yaml", "create",
			map[string]any{"key": "a/b c", "filter": map[string]any{"x": 1}, "ids": []any{1, 2}, "session": "s", "field": true},
			`POST /api/v3/items/a%2Fb%20c?filter%5Bx%5D=1&ids=1%7C2||session=s|application/json|{"field":true}`},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			got := call(r, w.URL+tc.document, tc.operation, tc.parameters)
			if got.Fault != nil {
				t.Fatal(got.Fault)
			}
			if got.Output != tc.want {
				t.Errorf("got  %v\nwant %v", got.Output, tc.want)
			}
		})
	}
}

func TestWhatCannotBeCalledSaysWhy(t *testing.T) {
	w := newFixture(t, map[string]string{"/swagger.json": swagger2, "/openapi.yaml": openapi31, "/bad.json": `{"a":1}`, "/text.json": `[`})
	r := runner(t)
	for name, tc := range map[string]struct {
		document, operation string
		parameters          map[string]any
		word                string
	}{
		"operation":     {"/swagger.json", "got", nil, "find, form, get, replace"},
		"required":      {"/swagger.json", "get", nil, `"id"`},
		"unknown":       {"/openapi.yaml", "plain", map[string]any{"extra": 1}, "extra"},
		"missing body":  {"/openapi.yaml", "create", map[string]any{"key": "k"}, "body"},
		"no document":   {"/bad.json", "x", nil, "swagger: 2.0"},
		"nested header": {"/swagger.json", "get", map[string]any{"id": 1, "X-Trace": []any{map[string]any{}}}, "X-Trace"},
	} {
		t.Run(name, func(t *testing.T) {
			got := call(r, w.URL+tc.document, tc.operation, tc.parameters)
			if got.Fault == nil || got.Fault.Type != machine.ErrConfiguration || !strings.Contains(got.Fault.Detail, tc.word) {
				t.Errorf("fault %+v does not tell %q; output %s", got.Fault, tc.word, value.Marshal(got.Output))
			}
		})
	}
	missing := call(r, w.URL+"/x\x00", "get", nil)
	if missing.Fault == nil {
		t.Error("a broken address is accepted")
	}
}
