package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// oracle judges exchanges by the document that the server serves.
type oracle struct {
	t        *testing.T
	doc      map[string]any
	compiler *jsonschema.Compiler
	seen     map[string]bool // "operation status"
}

func newOracle(t *testing.T, h http.Handler) *oracle {
	a := request{path: "/api/v1/openapi.json", keyless: true}.to(h)
	if a.status != 200 {
		t.Fatalf("openapi.json: %d", a.status)
	}
	o := &oracle{t: t, seen: map[string]bool{}}
	// Numbers must be json.Number for the schema compiler.
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	o.doc = v.(map[string]any)
	closeSchemas(o.doc)
	o.compiler = jsonschema.NewCompiler()
	o.compiler.DefaultDraft(jsonschema.Draft2020)
	o.compiler.AssertFormat()
	if err := o.compiler.AddResource("doc.json", o.doc); err != nil {
		t.Fatal(err)
	}
	return o
}

// closeSchemas forbids fields that the document does not name: clients must expect them, but
// here they are mistakes.
func closeSchemas(doc map[string]any) {
	for name, s := range doc["components"].(map[string]any)["schemas"].(map[string]any) {
		schema := s.(map[string]any)
		if _, open := schema["additionalProperties"]; !open && schema["properties"] != nil {
			schema["additionalProperties"] = false
		} else if schema["properties"] == nil && schema["additionalProperties"] == nil {
			panic("schema " + name + " describes nothing")
		}
	}
}

// at follows keys into the document.
func (o *oracle) at(keys ...string) map[string]any {
	var v any = o.doc
	for _, key := range keys {
		m, ok := v.(map[string]any)
		if !ok || m[key] == nil {
			return nil
		}
		v = m[key]
	}
	m, _ := v.(map[string]any)
	return m
}

func (o *oracle) check(value any, keys ...string) error {
	for i := range keys {
		keys[i] = strings.NewReplacer("~", "~0", "/", "~1", "%", "%25", "{", "%7B", "}", "%7D", "*", "%2A").Replace(keys[i])
	}
	schema, err := o.compiler.Compile("doc.json#/" + strings.Join(keys, "/"))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// exchange sends a request and judges it and its answer. good says whether the request is
// meant to agree with the document.
func (o *oracle) exchange(h http.Handler, rt *route, q request, good bool) answered {
	o.t.Helper()
	path, method := strings.TrimPrefix(rt.path, chargehand.APIPath), strings.ToLower(rt.method)
	if good {
		if err := o.request(path, method, q); err != nil {
			o.t.Errorf("%s: the request breaks the document: %v", rt.id, err)
		}
	}
	a := q.to(h)
	status := itoa(a.status)
	response := o.at("paths", path, method, "responses", status)
	if response == nil {
		o.t.Errorf("%s: status %d is not in the document\n%s", rt.id, a.status, a.body)
		return a
	}
	o.seen[rt.id+" "+status] = true
	o.answer(rt.id, a, response, "paths", path, method, "responses", status)
	return a
}

// request checks parameters and body.
func (o *oracle) request(path, method string, q request) error {
	op := o.at("paths", path, method)
	if op == nil {
		return errors.New("the operation is not in the document")
	}
	u, err := url.Parse(q.path)
	if err != nil {
		return err
	}
	declared := map[string]bool{}
	parameters, _ := op["parameters"].([]any)
	for i, p := range parameters {
		parameter := p.(map[string]any)
		name := parameter["name"].(string)
		declared[name] = true
		if parameter["in"] == "query" && u.Query().Has(name) {
			var value any = u.Query().Get(name)
			switch parameter["schema"].(map[string]any)["type"] {
			case "number", "integer":
				value = json.Number(value.(string))
			case "boolean":
				value = value == "true"
			}
			if err := o.check(value, "paths", path, method, "parameters", itoa(i), "schema"); err != nil {
				return err
			}
		}
	}
	for name := range u.Query() {
		if !declared[name] {
			return errors.New("the query parameter " + name + " is not in the document")
		}
	}
	if q.body == "" {
		return nil
	}
	media := q.header["Content-Type"]
	if media == "" {
		media = "application/json"
	}
	media, _, err = mime.ParseMediaType(media)
	if err != nil {
		return err
	}
	content := o.at("paths", path, method, "requestBody", "content")
	if content[media] == nil && content["*/*"] == nil {
		return errors.New("the media type " + media + " is not in the document")
	}
	if media != "application/json" {
		return nil
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(q.body))
	if err != nil {
		return err
	}
	return o.check(v, "paths", path, method, "requestBody", "content", media, "schema")
}

// answer checks media type, headers and body.
func (o *oracle) answer(id string, a answered, response map[string]any, keys ...string) {
	o.t.Helper()
	documented, _ := response["headers"].(map[string]any)
	common := []string{"Content-Type", "Content-Length", "Connection", "X-Content-Type-Options", "Cache-Control", "Content-Security-Policy", "Last-Modified"}
	for name := range a.header {
		known := slices.Contains(common, name) || slices.ContainsFunc(slices.Collect(maps.Keys(documented)), func(d string) bool {
			return strings.EqualFold(d, name)
		})
		if !known {
			o.t.Errorf("%s: header %s of %d is not in the document", id, name, a.status)
		}
	}
	content, _ := response["content"].(map[string]any)
	if len(content) == 0 {
		if len(a.body) > 0 {
			o.t.Errorf("%s: %d has a body", id, a.status)
		}
		return
	}
	media, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil {
		o.t.Errorf("%s: Content-Type %q", id, a.header.Get("Content-Type"))
	}
	if content[media] == nil && content["*/*"] == nil {
		o.t.Errorf("%s: media type %s of %d is not in the document", id, media, a.status)
		return
	}
	if !strings.HasSuffix(media, "json") || content["*/*"] != nil {
		return
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.body))
	if err != nil {
		o.t.Errorf("%s: %v\n%s", id, err, a.body)
		return
	}
	if err := o.check(v, append(keys, "content", media, "schema")...); err != nil {
		o.t.Errorf("%s: the answer %d breaks the document: %v\n%s", id, a.status, err, a.body)
	}
}
