package blackbox_test

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
)

// TestContractLimitedAuthorFiles: what a limited key applies may make up the address of any file while it runs. It
// reads only the files that it was given, has made, or that workflows within the limits have made.
func TestContractLimitedAuthorFiles(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := servertest.CreateKey(t, s.DataDir, "--namespaces", "finance", "--scopes",
		"workflows:read,workflows:write,workflows:publish,executions:create,executions:read,files:write")
	yaml := []string{"Content-Type", "application/yaml"}
	apply := func(name, rest string, header ...string) string {
		a := s.Do(t, "POST", "/workflows", in("finance", name, "1.0.0", rest), append(header, yaml...)...)
		wantStatus(t, a, 201)
		return text(a.Object()["id"])
	}
	const (
		reads = "do:\n- a: {call: http, with: {method: get, endpoint: '${ \"/api/v1/files/\" + .id }', output: raw}}\n"
		names = "do:\n- a: {set: {f: {name: x, uri: '${ \"/api/v1/files/\" + .id }'}}}\n"
		hands = "do:\n- a: {run: {workflow: {namespace: finance, name: FLOW, version: latest, input: {f: {name: x, uri: '${ \"/api/v1/files/\" + .id }'}, id: '${ .id }'}}}}\n"
	)
	limited := []string{"X-Api-Key", key}
	put := func(content string, header ...string) string {
		a := s.Do(t, "POST", "/files?filename=a", content, append(header, "Content-Type", "text/plain")...)
		wantStatus(t, a, 201)
		return text(a.Object()["id"])
	}
	foreign, own := put("private"), put("mine", limited...)
	apply("open-reader", reads) // of a key without limits
	apply("reader", reads, limited...)
	named := func(id string) string {
		return "do:\n- a: {call: http, with: {method: get, endpoint: /api/v1/files/" + id + ", output: raw}}\n"
	}
	addresses := func(name string) string { // an input of a child that is no reference
		return "do:\n- a: {run: {workflow: {namespace: finance, name: " + name + ", version: latest, input: {id: '${ .id }'}}}}\n"
	}
	child := func(name string) string { return strings.Replace(hands, "FLOW", name, 1) }
	given := func(id string) string {
		return `{"id":"` + id + `","f":{"name":"x","uri":"/api/v1/files/` + id + `"}}`
	}
	for name, c := range map[string]struct {
		flow, input string
		content     string // "": none
	}{
		"an address made up":                           {apply("reader-2", reads, limited...), `{"id":"` + foreign + `"}`, ""},
		"a result made up":                             {apply("names", names, limited...), `{"id":"` + foreign + `"}`, ""},
		"given to a child of its own":                  {apply("hands", child("reader"), limited...), `{"id":"` + foreign + `"}`, ""},
		"given to the child of another key":            {apply("hands-2", child("open-reader"), limited...), `{"id":"` + foreign + `"}`, ""},
		"an address given to the child of another key": {apply("hands-4", addresses("open-reader"), limited...), `{"id":"` + foreign + `"}`, ""},
		"given by a key that sees it":                  {apply("reader-3", reads, limited...), given(foreign), "cHJpdmF0ZQ=="},
		"given by a workflow that may":                 {apply("open-hands", child("reader")), `{"id":"` + foreign + `"}`, "cHJpdmF0ZQ=="},
		"its own upload":                               {apply("reader-4", reads, limited...), given(own), "bWluZQ=="},
		"its own upload, through a child":              {apply("hands-3", child("reader"), limited...), given(own), "bWluZQ=="},
		"as a result, in the first write set":          {apply("names-2", names, limited...), given(own), "mine"},
		"read by a workflow without limits":            {apply("open-reader-2", reads), `{"id":"` + foreign + `"}`, "cHJpdmF0ZQ=="},
		"its own upload, in the definition":            {apply("names-own", strings.Replace(reads, ".id", "\""+own+"\"", 1), limited...), `{}`, ""},
		"the address, in the definition":               {apply("names-own-2", named(own), limited...), `{}`, "bWluZQ=="},
	} {
		e := finish(t, s, begin(t, s, c.flow, c.input))
		results := list(e["results"])
		if strings.HasPrefix(name, "a result") || strings.HasPrefix(name, "as a result") {
			got := s.Do(t, "GET", text(fields(results[0])["url"]), "", "X-Api-Key", "")
			if got.Status != 200 || (string(got.Body) == c.content) != (c.content != "") || strings.Contains(string(got.Body), "private") {
				t.Errorf("%s: %d %s", name, got.Status, got.Body)
			}
			continue
		}
		if c.content != "" && e["output"] != c.content || c.content == "" && e["status"] != "error" {
			t.Errorf("%s: %v %v", name, e["output"], e["error"])
		}
	}
	// A file that the key must not read is a problem when the definition is checked, and when it is applied.
	source := in("finance", "names-foreign", "1.0.0", named(foreign))
	checked := s.Do(t, "POST", "/workflows/validate", source, append(limited, yaml...)...)
	wantStatus(t, checked, 200)
	applied := s.Do(t, "POST", "/workflows", source, append(limited, yaml...)...)
	wantStatus(t, applied, 422)
	for _, a := range []answer{checked, applied} {
		problem := fields(list(a.Object()["errors"])[0])
		if problem["code"] != "not_granted" || problem["pointer"] != "/do/0/a/with/endpoint" || problem["line"] == nil || problem["column"] == nil {
			t.Errorf("%s", a.Body)
		}
	}
	// No key that publishes an event gives a file to a workflow that a limited key has applied, neither at once nor
	// by a retry.
	flow := apply("on-event", "schedule: {on: {one: {with: {type: org.file.named}}}}\ndo:\n- a: {set: {id: '${ $workflow.input[0].id }'}}\n"+
		strings.TrimPrefix(strings.ReplaceAll(reads, "- a:", "- b:"), "do:\n"), limited...)
	wantStatus(t, s.Do(t, "POST", "/events", `{"specversion":"1.0","id":"1","source":"/x","type":"org.file.named","data":`+given(foreign)+`}`,
		"Content-Type", "application/cloudevents+json"), 202)
	eventually(t, "the execution that the event starts", func() bool {
		return len(list(s.Do(t, "GET", executions(flow), "").Object()["data"])) == 1
	})
	started := executions(flow) + "/" + text(fields(list(s.Do(t, "GET", executions(flow), "").Object()["data"])[0])["id"])
	if e := finish(t, s, started); e["status"] != "error" || !strings.Contains(text(fields(e["error"])["detail"]), foreign) {
		t.Errorf("by an event: %v", e)
	}
	again := s.Do(t, "POST", started+"/retry", "")
	wantStatus(t, again, 201)
	if e := finish(t, s, executions(flow)+"/"+text(again.Object()["execution_id"])); e["status"] != "error" {
		t.Errorf("by a retry: %v", e)
	}
}
