package api

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/chargehand/chargehand/internal/service"
)

// TestDocumentIsComplete holds the document to what linters of OpenAPI ask for: everything is
// described, has an example that its schema admits, and says who may use it and how it can fail.
func TestDocumentIsComplete(t *testing.T) {
	o := newOracle(t, newServer(t, &fake{}))
	info := o.at("info")
	for _, field := range []string{"title", "version", "description"} {
		wantSentence(t, "info."+field, info[field], field == "description")
	}
	if o.at("info", "license")["identifier"] != "Apache-2.0" || o.at("info", "contact")["url"] == nil {
		t.Errorf("license %v, contact %v", info["license"], info["contact"])
	}
	known := map[string]bool{}
	for _, each := range o.doc["tags"].([]any) {
		tag := each.(map[string]any)
		known[tag["name"].(string)] = true
		wantSentence(t, "tag "+tag["name"].(string), tag["description"], true)
	}
	for name, scheme := range o.at("components", "securitySchemes") {
		wantSentence(t, name, scheme.(map[string]any)["description"], true)
	}
	for name, each := range o.at("components", "schemas") {
		schema := each.(map[string]any)
		wantSentence(t, name, schema["description"], true)
		properties, _ := schema["properties"].(map[string]any)
		for field, property := range properties {
			wantSentence(t, name+"."+field, property.(map[string]any)["description"], true)
		}
	}
	for name, each := range o.at("components", "headers") {
		wantSentence(t, name, each.(map[string]any)["description"], true)
		lintExamples(t, o, each.(map[string]any), "components", "headers", name)
	}
	for path, methods := range o.doc["paths"].(map[string]any) {
		for method, each := range methods.(map[string]any) {
			op := each.(map[string]any)
			t.Run(op["operationId"].(string), func(t *testing.T) {
				o.t = t
				lintOperation(t, o, op, known, "paths", path, method)
			})
		}
	}
	o.t = t
}

func lintOperation(t *testing.T, o *oracle, op map[string]any, tags map[string]bool, keys ...string) {
	wantSentence(t, "summary", op["summary"], false)
	wantSentence(t, "description", op["description"], true)
	if list, _ := op["tags"].([]any); len(list) != 1 || !tags[list[0].(string)] {
		t.Errorf("tags %v", op["tags"])
	}
	if _, ok := op["security"].([]any); !ok {
		t.Error("security is not said")
	}
	parameters, _ := op["parameters"].([]any)
	for i, each := range parameters {
		p := each.(map[string]any)
		wantSentence(t, p["name"].(string), p["description"], true)
		lintExamples(t, o, p, append(slices.Clone(keys), "parameters", itoa(i))...)
	}
	if body, ok := op["requestBody"].(map[string]any); ok {
		wantSentence(t, "body", body["description"], true)
		for media, each := range body["content"].(map[string]any) {
			lintExamples(t, o, each.(map[string]any), append(slices.Clone(keys), "requestBody", "content", media)...)
		}
	}
	refusals := 0
	for status, each := range op["responses"].(map[string]any) {
		response := each.(map[string]any)
		wantSentence(t, status, response["description"], status >= "4")
		if status >= "400" && status < "500" {
			refusals++
		}
		content, _ := response["content"].(map[string]any)
		for media, each := range content {
			lintExamples(t, o, each.(map[string]any), append(slices.Clone(keys), "responses", status, "content", media)...)
		}
	}
	if refusals == 0 {
		t.Error("nothing can go wrong by the client's fault")
	}
}

// TestAnswersWithoutSuccess: redocly ignores exactly the operations that never answer 2XX, because they lead on.
func TestAnswersWithoutSuccess(t *testing.T) {
	text, err := os.ReadFile("../../.redocly.lint-ignore.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var ignored map[string]map[string][]string
	if err := yaml.Unmarshal(text, &ignored); err != nil {
		t.Fatal(err)
	}
	var want []string
	for path, methods := range newOracle(t, newServer(t, &fake{})).at("paths") {
		for method, each := range methods.(map[string]any) {
			success := false
			for status := range each.(map[string]any)["responses"].(map[string]any) {
				success = success || strings.HasPrefix(status, "2") || status == "default"
			}
			if !success {
				want = append(want, "#/paths/"+strings.ReplaceAll(path, "/", "~1")+"/"+method+"/responses")
			}
		}
	}
	slices.Sort(want)
	if got := ignored["api/openapi.yaml"]; len(ignored) != 1 || len(got) != 1 || !slices.Equal(got["operation-2xx-response"], want) {
		t.Errorf("the file ignores %v, want operation-2xx-response of %v", ignored, want)
	}
}

// TestListsHaveCursors: whatever has a list as its data has a cursor too, also where all of it is on one page. What is
// no list, but sums of all that was looked at, has none.
func TestListsHaveCursors(t *testing.T) {
	without := []string{"ExecutionProgress", "FailureGroups"}
	var got []string
	var walk func(name string, v any)
	walk = func(name string, v any) {
		switch v := v.(type) {
		case []any:
			for _, each := range v {
				walk(name, each)
			}
		case map[string]any:
			properties, _ := v["properties"].(map[string]any)
			if data, _ := properties["data"].(map[string]any); data["items"] != nil && properties["cursor"] == nil {
				got = append(got, name)
			}
			for _, each := range v {
				walk(name, each)
			}
		}
	}
	o := newOracle(t, newServer(t, &fake{}))
	for name, schema := range o.at("components", "schemas") {
		walk(name, schema)
	}
	walk("a path", o.doc["paths"])
	if slices.Sort(got); !slices.Equal(got, without) {
		t.Errorf("without a cursor are %v, want %v", got, without)
	}
	for _, name := range []string{"PasskeyList", "IdentityList"} { // of routes that take no cursor
		if about := o.at("components", "schemas", name, "properties", "cursor")["description"]; about != "Always null: all are on this page." {
			t.Errorf("the cursor of %s is described as %q", name, about)
		}
	}
}

// lintExamples checks the examples that stand beside a schema.
func lintExamples(t *testing.T, o *oracle, v map[string]any, keys ...string) {
	t.Helper()
	var all []any
	if example, ok := v["example"]; ok {
		all = append(all, example)
	}
	examples, _ := v["examples"].(map[string]any)
	for _, each := range examples {
		example := each.(map[string]any)
		if ref, ok := example["$ref"].(string); ok {
			example = o.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
		}
		wantSentence(t, "example", example["summary"], false)
		all = append(all, example["value"])
	}
	if len(all) == 0 {
		t.Errorf("%v has no example", keys[min(3, len(keys)-1):])
	}
	for _, example := range all {
		if err := o.check(example, append(slices.Clone(keys), "schema")...); err != nil {
			t.Errorf("an example of %v breaks its schema: %v", keys[min(3, len(keys)-1):], err)
		}
	}
}

// wantSentence wants words, and of a description that it ends as a sentence does.
func wantSentence(t *testing.T, what string, text any, whole bool) {
	t.Helper()
	if s, _ := text.(string); s == "" || whole && !regexp.MustCompile(`[.:)]$`).MatchString(s) {
		t.Errorf("%s is described as %q", what, s)
	}
}

// TestDocumentOrder: readers find what it is about first, and fields in the order of answers.
func TestDocumentOrder(t *testing.T) {
	names := func(text []byte, path ...string) (names []string) {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		v, err := readMembers(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range path {
			for _, m := range v.(members) {
				if m.name == name {
					v = m.value
					break
				}
			}
		}
		for _, m := range v.(members) {
			names = append(names, m.name)
		}
		return names
	}
	text := Document("1")
	for _, c := range []struct {
		path []string
		want []string
	}{
		{nil, []string{"openapi", "info", "servers", "tags", "paths", "components"}},
		{[]string{"paths"}, []string{"/workflows", "/workflows/validate", "/workflows/{workflowId}"}},
		{[]string{"paths", "/workflows"}, []string{"get", "post"}},
		{[]string{"paths", "/workflows", "get"}, []string{"operationId", "tags", "summary", "description", "security", "parameters", "responses"}},
		{[]string{"components", "schemas", "WorkflowPage", "properties"}, []string{"data", "cursor"}},
		{[]string{"components", "schemas", "Batch", "properties"}, []string{"batch_id", "id", "workflow_id", "status", "total"}},
		{[]string{"paths", "/files", "post", "requestBody", "content"}, []string{"application/octet-stream", "multipart/form-data"}},
		{[]string{"paths", "/events", "post", "requestBody", "content"}, []string{"application/cloudevents+json", "application/cloudevents-batch+json", "*/*"}},
	} {
		if got := names(text, c.path...); !slices.Equal(got[:min(len(got), len(c.want))], c.want) {
			t.Errorf("%v begins with %v, want %v", c.path, got, c.want)
		}
	}
}

// TestPagesAreComplete: the page of the API names every route, that of keys every scope. The page of error
// codes is generated.
func TestPagesAreComplete(t *testing.T) {
	var routes []string
	for _, e := range endpoints() {
		routes = append(routes, e.method+" "+e.path)
	}
	for page, names := range map[string][]string{"api": routes, "keys": service.PresetAll.Names()} {
		text, err := os.ReadFile("../../docs/reference/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("the page %s does not have %s", page, name)
			}
		}
	}
}
