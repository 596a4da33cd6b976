package blackbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/value"
)

// recordedFlow receives things of every kind, some of them more than once.
const recordedFlow = `use:
  secrets: [recorded]
  functions:
    shout: {run: {script: {language: js, code: 'return {twice: n * 2}', arguments: {n: '${ .n }'}}}, output: {as: .twice}}
do:
- shaped:
    run: {script: {language: js, code: 'return {n, of: "shaped"}', arguments: {n: '${ .n }'}}}
    output: {as: '{n}'}
- inner: {call: shout, output: {as: '{n: (. + 1)}'}}
- hidden:
    run: {script: {language: js, code: 'return {text, n}', arguments: {text: '${ $secrets.recorded }', n: '${ .n }'}}}
    output: {as: '{n}'}
- each:
    for: {each: item, in: '${ [1, 2] }'}
    do: [{step: {run: {script: {language: js, code: 'return {item}', arguments: {item: '${ $item }'}}}, output: {as: '{n: .item}'}}}]
- guarded:
    try: [{broken: {run: {script: {language: js, code: 'throw new Error("no")'}}}}]
    catch: {retry: {delay: {milliseconds: 1}, limit: {attempt: {count: 1}}}, do: [{caught: {set: {n: 3}}}]}
- late:
    try: [{endless: {run: {script: {language: js, code: 'while (true) {}'}}, timeout: {after: {milliseconds: 50}}}}]
    catch: {do: [{timely: {set: {n: 4}}}]}
- news: {listen: {to: {one: {with: {type: org.example.recorded}}}}, output: {as: '.[0]'}}
- last: {wait: {milliseconds: 5}}
`

// testRecording: a recording has what came from outside, as it came, on every engine the same.
func testRecording(t *testing.T, s *server) {
	wantStatus(t, s.Do(t, "PUT", "/secrets/recorded", `{"value":"open-sesame"}`), 201)
	path := begin(t, s, deploy(t, s, recordedFlow), `{"n":1}`)
	wantProblem(t, s, s.Do(t, "GET", path+"/recording", ""), 409, "state_conflict")
	wantStatus(t, s.Do(t, "POST", "/events", `{"specversion":"1.0","id":"1","source":"/s","type":"org.example.recorded","data":{"n":5}}`,
		"Content-Type", "application/cloudevents+json"), 202)
	finish(t, s, path)
	a := s.Do(t, "GET", path+"/recording", "")
	wantStatus(t, a, 200)
	if strings.Contains(string(a.Body), "open-sesame") {
		t.Errorf("a secret is in the recording: %s", a.Body)
	}
	g := a.Object()
	var got []string
	for _, v := range list(g["outcomes"]) {
		o := fields(v)
		line := fmt.Sprint(o["reference"], " ", o["kind"])
		if fault := fields(o["error"]); len(fault) > 0 {
			line += fmt.Sprint(" ", fault["status"])
		} else if output, has := o["output"]; has {
			line += " " + string(value.Marshal(output))
		}
		got = append(got, line)
		asked, _ := o["asked_ms"].(int)
		if at, _ := o["at_ms"].(int); asked < 0 || at < asked || o["kind"] == "none" && at-asked < 50 {
			t.Errorf("%s was asked for after %d ms and came after %d ms", line, asked, at)
		}
	}
	want := []string{
		`/do/0/shaped activity {"n":1,"of":"shaped"}`,
		`/do/1/inner activity {"twice":2}`,
		`/do/2/hidden activity {"n":3,"text":"[redacted]"}`,
		`/do/3/each/do/0/step activity {"item":1}`,
		`/do/3/each/do/0/step activity {"item":2}`,
		`/do/4/guarded/try/0/broken activity 500`,
		`/do/4/guarded/try/0/broken activity 500`,
		`/do/5/late/try/0/endless none`,
		`/do/6/news event {"data":{"n":5},"id":"1","source":"/s","specversion":"1.0","type":"org.example.recorded"}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("the execution received\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if elapsed, _ := g["elapsed_ms"].(int); g["phase"] != "completed" || string(value.Marshal(g["output"])) != `{"n":5}` || string(value.Marshal(g["secrets"])) != `["recorded"]` || elapsed < 55 {
		t.Errorf("the recording is %s", a.Body)
	}
	if tasks := list(g["tasks"]); len(tasks) != 15 || fields(tasks[3])["kind"] != "for" {
		t.Errorf("%d tasks are recorded: %s", len(tasks), value.Marshal(g["tasks"]))
	}
	written := cli(t, s, 0, "executions", "record-test", path[strings.LastIndexByte(path, '/')+1:], "--name", "all of it")
	for _, part := range []string{
		"/schemas/test.json\n", "- name: \"all of it\"", "recorded: secret-recorded", "text: {secret: recorded}", "hangs: true", "raises:", "org.example.recorded", "elapsed: PT",
	} {
		if !strings.Contains(written.out, part) {
			t.Errorf("the test lacks %q", part)
		}
	}
	if written.err != "" { // it says if the test does not pass
		t.Errorf("%s\n%s", written.err, written.out)
	}
	testReplay(t, s, path, a.Body)
	again := s.Do(t, "POST", path+"/retry", `{"from":"/do/7/last"}`)
	wantStatus(t, again, 201)
	retried := path[:strings.LastIndexByte(path, '/')+1] + text(again.Object()["execution_id"])
	finish(t, s, retried)
	wantProblem(t, s, s.Do(t, "GET", retried+"/recording", ""), 409, "recording_incomplete")
}

// testReplay: what an execution received replays over its own definition to the same on every engine, and says where a
// new revision decides otherwise.
func testReplay(t *testing.T, s *server, path string, recording []byte) {
	id := path[strings.LastIndexByte(path, '/')+1:]
	dir := t.TempDir()
	was := write(t, dir, "was.yaml", definition("replayed", "1.0.0", recordedFlow))
	kept := write(t, dir, "recording.json", string(recording))
	for name, test := range map[string]struct {
		from, to string
		want     []string // of the output; none: it decides the same
	}{
		"nothing":                {},
		"a renamed task":         {"- inner:", "- within:", nil},
		"a changed condition":    {"- last:", "- last: {if: '${ .n != 5 }', wait: {milliseconds: 5}}\n- more:", []string{"now.yaml:25:3 more (/do/8/more)", "if false"}},
		"a removed task":         {"- last: {wait: {milliseconds: 5}}\n", "", []string{"recorded:24:3 last (/do/7/last)", "now:      nothing"}},
		"an added task":          {"- last:", "- more: {set: '${ . }'}\n- last:", []string{"recorded:24:3 last", "now.yaml:24:3 more"}},
		"a changed call":         {"arguments: {n: '${ .n }'}}}\n    output: {as: '{n}'}", "arguments: {n: '${ .n + 1 }'}}}\n    output: {as: '{n}'}", []string{"now.yaml:7:3 shaped", "at /arguments/n", "- 1", "+ 2"}},
		"fewer attempts":         {"retry: {delay: {milliseconds: 1}, limit: {attempt: {count: 1}}}, ", "", []string{"broken", "caught"}},
		"an event of other type": {"type: org.example.recorded", "type: org.example.other", []string{"it waits for what did not come"}},
	} {
		changed := strings.Replace(definition("replayed", "1.0.1", recordedFlow), test.from, test.to, 1)
		now := write(t, dir, "now.yaml", changed)
		code := min(len(test.want), 1)
		said := cli(t, s, code, "test", "--replay", id, "--definition", now)
		for _, part := range test.want {
			if !strings.Contains(said.out, part) {
				t.Errorf("%s lacks %q:\n%s", name, part, said.out)
			}
		}
		if code == 0 && !strings.Contains(said.out, "decisions compared") || said.err != "" {
			t.Errorf("%s: %s%s", name, said.err, said.out)
		}
		// A file of the recording says the same.
		file := cli(t, s, code, "test", "--replay", kept, "--definition", now, "--recorded-definition", was)
		if strings.ReplaceAll(file.out, was, "recorded") != said.out {
			t.Errorf("%s: from a file\n%s\nfrom the server\n%s", name, file.out, said.out)
		}
	}
}
