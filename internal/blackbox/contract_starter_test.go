package blackbox_test

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
	"github.com/chargehand/chargehand/internal/value"
)

// TestContractLimitedStarterFiles: a key that is limited to a namespace starts workflows that a key without limits
// has applied. They read for it only what it may read itself, whatever address its input makes them use; what their
// definitions name and what their children make they read for everyone.
func TestContractLimitedStarterFiles(t *testing.T) {
	t.Parallel()
	s := start(t, "--allow-run", "shell")
	key := servertest.CreateKey(t, s.DataDir, "--namespaces", "finance", "--scopes",
		"workflows:read,executions:create,executions:read,executions:manage,files:write,events:write")
	other := servertest.CreateKey(t, s.DataDir, "--namespaces", "finance", "--preset", "operate")
	limited := []string{"X-Api-Key", key}
	put := func(content string, header ...string) string {
		a := s.Do(t, "POST", "/files?filename=a", content, append(header, "Content-Type", "text/plain")...)
		wantStatus(t, a, 201)
		return text(a.Object()["id"])
	}
	apply := func(namespace, name, do string) string {
		a := s.Do(t, "POST", "/workflows", in(namespace, name, "1.0.0", "do:\n"+do), "Content-Type", "application/yaml")
		wantStatus(t, a, 201)
		return text(a.Object()["id"])
	}
	child := func(namespace, name, input string) string {
		return "- a: {run: {workflow: {namespace: " + namespace + ", name: " + name + ", version: latest, input: '${ " + input + " }'}}}\n"
	}
	get := func(address string) string {
		return "- g: {call: http, with: {method: get, endpoint: '${ " + address + " }', output: raw}}\n"
	}
	foreign, own, logo := put("classified"), put("mine", limited...), put("logo")
	id := func(id string) string { return `{"id":"` + id + `"}` }
	const byID, made = `"/api/v1/files/" + .id`, `{f: {name: "x", uri: ("/api/v1/files/" + .id)}}`
	makes := "- m: {run: {shell: {command: 'printf made > \"$OUT_DIR/m\"'}, return: all}, output: {as: '${ {f: .files[0], l: {name: \"l\", uri: \"/api/v1/files/" + logo + "\"}} }'}}\n"
	reader := apply("finance", "reader", get(byID))
	apply("hr", "reader", get(byID))
	makesInHR := apply("hr", "makes", makes)
	apply("hr", "nested", child("hr", "makes", "{}"))
	private := fields(ends(t, s, makesInHR, `{}`)["output"])
	ofHR := text(fields(private["f"])["uri"])
	const refused = ""
	for name, c := range map[string]struct{ flow, input, content string }{
		"an upload of another key":           {reader, id(foreign), refused},
		"a whole address":                    {apply("finance", "whole", get(".u")), `{"u":"/api/v1/files/` + foreign + `"}`, refused},
		"a file of a workflow of another":    {apply("finance", "of-hr", get(".u")), `{"u":"` + ofHR + `"}`, refused},
		"through a child of another":         {apply("finance", "by-hr", child("hr", "reader", ".")), id(foreign), refused},
		"given to a child":                   {apply("finance", "gives", child("hr", "reader", made+" + {id: .id}")), id(foreign), refused},
		"staged for a process":               {apply("finance", "stages", "- a: {set: '${ "+made+" }'}\n- b: {run: {shell: {command: 'cat \"$IN_DIR\"/a'}}}\n"), id(foreign), refused},
		"its own upload":                     {apply("finance", "own", get(byID)), id(own), "bWluZQ=="},
		"its own upload, through a child":    {apply("finance", "own-by-hr", child("hr", "reader", ".")), id(own), "bWluZQ=="},
		"a file that the definition names":   {apply("finance", "logo", get(`"/api/v1/files/`+logo+`"`)), `{}`, "bG9nbw=="},
		"what a child has made":              {apply("finance", "child-makes", child("hr", "makes", "{}")+get(".f.uri")), `{}`, "bWFkZQ=="},
		"what the child of a child has made": {apply("finance", "child-nests", child("hr", "nested", "{}")+get(".f.uri")), `{}`, "bWFkZQ=="},
		"what a child gives back":            {apply("finance", "child-logo", child("hr", "makes", "{}")+get(".l.uri")), `{}`, "bG9nbw=="},
		"what it has made itself":            {apply("finance", "makes", makes+get(".f.uri")), `{}`, "bWFkZQ=="},
	} {
		a := s.Do(t, "POST", executions(c.flow), `{"input":`+c.input+`}`, limited...)
		wantStatus(t, a, 201)
		e := finish(t, s, executions(c.flow)+"/"+text(a.Object()["execution_id"]))
		if c.content == refused && e["status"] != "error" || c.content != refused && e["output"] != c.content ||
			strings.Contains(string(value.Marshal(e)), "classified") {
			t.Errorf("%s: %v %v", name, e["output"], e["error"])
		}
	}
	t.Run("results", func(t *testing.T) {
		names := apply("finance", "names", "- a: {set: '${ "+made+" }'}\n")
		a := s.Do(t, "POST", executions(names), `{"input":`+id(foreign)+`}`, limited...)
		wantStatus(t, a, 201)
		e := finish(t, s, executions(names)+"/"+text(a.Object()["execution_id"]))
		got := s.Do(t, "GET", text(fields(list(e["results"])[0])["url"]), "", "X-Api-Key", "")
		if got.Status != 200 || strings.Contains(string(got.Body), "classified") {
			t.Errorf("%d %s", got.Status, got.Body)
		}
	})
	t.Run("batch", func(t *testing.T) {
		a := s.Do(t, "POST", "/workflows/"+reader+"/batch?wait=60s", `{"items":[`+id(foreign)+`,`+id(own)+`]}`, limited...)
		wantStatus(t, a, 202)
		b := s.Do(t, "GET", text(a.Header.Get("Location")), "").Object()
		items := list(b["executions"])
		if b["status"] != "completed" || fields(items[0])["status"] != "error" || fields(items[1])["status"] != "finished" {
			t.Errorf("%s", value.Marshal(b))
		}
	})
	// A retry keeps the limits of the first start and adds those of the key that asks for it.
	t.Run("retry", func(t *testing.T) {
		start := func(input string, header ...string) string {
			a := s.Do(t, "POST", executions(reader), `{"input":`+input+`}`, header...)
			wantStatus(t, a, 201)
			return executions(reader) + "/" + text(a.Object()["execution_id"])
		}
		retry := func(path string, header ...string) (string, object) {
			finish(t, s, path)
			a := s.Do(t, "POST", path+"/retry", "", header...)
			wantStatus(t, a, 201)
			again := executions(reader) + "/" + text(a.Object()["execution_id"])
			return again, finish(t, s, again)
		}
		unlimited := start(id(foreign))
		if e := finish(t, s, unlimited); e["status"] != "finished" {
			t.Fatalf("a key without limits: %v", e)
		}
		again, e := retry(unlimited, limited...)
		if e["status"] != "error" {
			t.Errorf("a limited key repeats what one without limits has started: %v", e)
		}
		if _, e = retry(again); e["status"] != "error" {
			t.Errorf("and that is repeated without limits: %v", e)
		}
		mine := start(id(own), limited...)
		if _, e = retry(mine); e["status"] != "finished" {
			t.Errorf("the upload of the first starter, repeated without limits: %v", e)
		}
		if _, e = retry(mine, "X-Api-Key", other); e["status"] != "error" {
			t.Errorf("the upload of the first starter, repeated by another limited key: %v", e)
		}
	})
	// A key that granted a file to one version of a workflow has not granted it to another version, which a limited
	// key has applied since.
	t.Run("retry with another version", func(t *testing.T) {
		const read = "- g: {call: http, with: {method: get, endpoint: '${ .f.uri }', output: raw}}\n"
		given := apply("finance", "given", "- n: {set: {n: 1}}\n")
		a := s.Do(t, "POST", executions(given), `{"input":{"f":{"name":"a","uri":"/api/v1/files/`+foreign+`"}}}`)
		wantStatus(t, a, 201)
		first := executions(given) + "/" + text(a.Object()["execution_id"])
		finish(t, s, first)
		writer := servertest.CreateKey(t, s.DataDir, "--namespaces", "finance", "--scopes",
			"workflows:read,workflows:write,workflows:publish,executions:create,executions:read,executions:manage")
		a = s.Do(t, "POST", "/workflows", in("finance", "given", "2.0.0", "do:\n"+read), "Content-Type", "application/yaml", "X-Api-Key", writer)
		wantStatus(t, a, 200)
		for name, c := range map[string]struct{ key, status string }{
			"by a limited key": {writer, "error"}, "by one that may read the file": {s.Key, "finished"},
		} {
			a = s.Do(t, "POST", first+"/retry", `{"version":"2.0.0"}`, "X-Api-Key", c.key)
			wantStatus(t, a, 201)
			if e := finish(t, s, executions(given)+"/"+text(a.Object()["execution_id"])); e["status"] != c.status {
				t.Errorf("%s: %v %v", name, e["output"], e["error"])
			}
		}
	})
	// What events start reads what those may read who have published them, or caused an execution that has emitted them.
	t.Run("events", func(t *testing.T) { testLimitedPublisher(t, s, limited, apply, foreign, own) })
}

func testLimitedPublisher(t *testing.T, s *server, limited []string, apply func(namespace, name, do string) string, foreign, own string) {
	const one = "schedule: {on: {one: {with: {type: org.file.TYPE}}}}\n"
	const two = "schedule: {on: {all: [{with: {type: org.file.TYPE}}, {with: {type: org.file.second}}]}}\n"
	const reads = "- s: {set: {id: '${ $workflow.input[0].id }'}}\n" +
		"- g: {call: http, with: {method: get, endpoint: '${ \"/api/v1/files/\" + .id }', output: raw}}\n"
	listens := func(name, on string) string {
		return apply("finance", "on-"+name, reads+strings.ReplaceAll(on, "TYPE", name))
	}
	publish := func(kind, id string, header ...string) {
		t.Helper()
		wantStatus(t, s.Do(t, "POST", "/events", `{"specversion":"1.0","id":"`+kind+`","source":"/x","type":"org.file.`+kind+`","data":{"id":"`+id+`"}}`,
			append(header, "Content-Type", "application/cloudevents+json")...), 202)
	}
	started := func(flow string) object {
		eventually(t, "the execution that the event starts", func() bool {
			return len(list(s.Do(t, "GET", executions(flow), "").Object()["data"])) == 1
		})
		return finish(t, s, executions(flow)+"/"+text(fields(list(s.Do(t, "GET", executions(flow), "").Object()["data"])[0])["id"]))
	}
	emits := apply("finance", "emits", "- a: {emit: {event: {with: {source: /x, type: org.file.emitted, data: {id: '${ .id }'}}}}}\n")
	flows := map[string]string{}
	for _, name := range []string{"limited", "own", "unlimited", "emitted"} {
		flows[name] = listens(name, one)
	}
	flows["both"] = listens("both", two)
	publish("limited", foreign, limited...)
	publish("own", own, limited...)
	publish("unlimited", foreign)
	publish("both", foreign)
	publish("second", foreign, limited...)
	wantStatus(t, s.Do(t, "POST", executions(emits), `{"input":{"id":"`+foreign+`"}}`, limited...), 201)
	for name, want := range map[string]string{"limited": "", "own": "bWluZQ==", "unlimited": "Y2xhc3NpZmllZA==", "emitted": "", "both": ""} {
		e := started(flows[name])
		if want == "" && e["status"] != "error" || want != "" && e["output"] != want {
			t.Errorf("%s: %v %v", name, e["output"], e["error"])
		}
	}
}
