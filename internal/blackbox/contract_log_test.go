package blackbox_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/client"
)

// TestContractLog holds docs/reference/api.md "Log of an execution": what a step writes is read while it runs, by the
// API and by `executions log -f`, and the log ends with its execution.
func TestContractLog(t *testing.T) {
	t.Parallel()
	s := start(t, "--allow-run", "shell")
	wantStatus(t, s.Do(t, "PUT", "/secrets/logged", `{"value":"open-sesame"}`), 201)
	flow := deploy(t, s, `use: {secrets: [logged]}
do:
- say: {run: {shell: {command: 'echo "begun $TOKEN"; echo aside >&2; while [ ! -e "$OUT_DIR/end" ]; do sleep 0.1; done', environment: {TOKEN: '${ $secrets.logged }'}}}}
- last: {run: {shell: {command: 'printf "the last $TOKEN"', environment: {TOKEN: '${ $secrets.logged }'}}}}
`)
	path := begin(t, s, flow, "{}")
	id := path[strings.LastIndex(path, "/")+1:]
	followed := make(chan said, 1)
	cmd := command(t, s, "executions", "log", "-f", id)
	go func() { followed <- finishCommand(t, cmd) }()

	api := client.New(s.URL, s.Key)
	var lines []client.LogLine
	read := func() bool {
		page, err := api.Log(t.Context(), flow, id, client.LogFilter{After: int64(len(lines)), Wait: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, page.Lines...)
		return page.Complete && len(page.Lines) == 0
	}
	texts := func(stream string) (list []string) {
		for i, l := range lines {
			if l.Line != int64(i+1) || l.At.IsZero() {
				t.Errorf("line %d is %+v", i+1, l)
			}
			if l.Stream == stream {
				list = append(list, l.Text)
			}
		}
		return list
	}
	eventually(t, "what the step writes is there while it runs", func() bool {
		read()
		return len(texts("stdout")) > 0 && len(texts("stderr")) > 0
	})
	if e := s.Do(t, "GET", path, "").Object(); e["status"] != "processing" {
		t.Errorf("the step has ended: %v", e)
	}
	folders, _ := filepath.Glob(filepath.Join(s.DataDir, "scratch", "*", "out"))
	if len(folders) != 1 {
		t.Fatalf("the folders of steps are %q", folders)
	}
	write(t, folders[0], "end", "")
	eventually(t, "the log is complete", read)
	if e := finish(t, s, path); e["status"] != "finished" {
		t.Errorf("%v", e)
	}
	stdout, stderr := texts("stdout"), texts("stderr")
	if !slices.Equal(stdout, []string{"begun [redacted]", "the last [redacted]"}) || !slices.Equal(stderr, []string{"aside"}) {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
	seqs := map[string]string{}
	for _, entry := range walk(t, s, path+"/timeline", 100) {
		seqs[fmt.Sprint(entry["seq"])] = text(entry["name"])
	}
	for _, l := range lines {
		want := map[string]string{"begun [redacted]": "say", "aside": "say", "the last [redacted]": "last"}[l.Text]
		if want != "" && (l.Seq == nil || seqs[fmt.Sprint(*l.Seq)] != want) {
			t.Errorf("%q belongs to another task than %s", l.Text, want)
		}
	}
	select {
	case got := <-followed:
		got.want(t, 0)
		for _, part := range []string{"begun [redacted]", "aside", "the last [redacted]"} {
			if strings.Count(got.out, part) != 1 {
				t.Errorf("executions log -f does not show %q once:\n%s", part, got.out)
			}
		}
		if strings.Contains(got.out, "open-sesame") {
			t.Errorf("the secret is shown:\n%s", got.out)
		}
	case <-time.After(endTime):
		t.Error("executions log -f does not end")
	}
}

// TestContractWithdrawnStep: a process that lost its race is stopped while the execution continues, as its log says.
// Temporal tells a worker of a withdrawal in answer to a heartbeat, so it takes some seconds there.
func TestContractWithdrawnStep(t *testing.T) {
	t.Parallel()
	s := start(t, "--allow-run", "shell")
	flow := deploy(t, s, `do:
- race:
    fork:
      compete: true
      branches:
      - slow: {run: {shell: {command: 'while :; do echo tick; sleep 0.2; done'}}}
      - quick: {listen: {to: {one: {with: {type: withdrawn.quick}}}}}
- after: {listen: {to: {one: {with: {type: withdrawn.after}}}}}
`)
	path := begin(t, s, flow, "{}")
	id := path[strings.LastIndex(path, "/")+1:]
	api := client.New(s.URL, s.Key)
	var lines []client.LogLine
	read := func() bool {
		page, err := api.Log(t.Context(), flow, id, client.LogFilter{After: int64(len(lines)), Wait: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, page.Lines...)
		return page.Complete && len(page.Lines) == 0
	}
	const ticks = 12 // the first heartbeat has been then
	eventually(t, "the process runs", func() bool { read(); return len(lines) >= ticks })
	publish := func(kind string) {
		event := fmt.Sprintf(`{"specversion":"1.0","id":%[1]q,"source":"/withdrawn","type":"withdrawn.%[1]s"}`, kind)
		wantStatus(t, s.Do(t, "POST", "/events", event, "Content-Type", "application/cloudevents+json"), 202)
	}
	publish("quick")
	stopped := func() bool {
		read()
		return slices.ContainsFunc(lines, func(l client.LogLine) bool { return strings.HasPrefix(l.Text, "shell, attempt 1: stopped after") })
	}
	eventually(t, "the process is stopped", stopped)
	var lost time.Time
	eventually(t, "the timeline shows when it lost", func() bool { // on Temporal, once a worker answers in time
		for _, entry := range walk(t, s, path+"/timeline", 100) {
			if entry["name"] == "slow" {
				lost, _ = time.Parse(time.RFC3339, text(entry["finished_at"]))
			}
		}
		return !lost.IsZero()
	})
	const soon = 30 * time.Second // heartbeats are 5 s apart
	if last := lines[len(lines)-1]; last.At.Sub(lost) > soon {
		t.Errorf("the process lost at %s and was stopped %s later: %q", lost, last.At.Sub(lost), last.Text)
	} else {
		t.Logf("%s after it lost: %q", last.At.Sub(lost), last.Text)
	}
	publish("after")
	if e := finish(t, s, path); e["status"] != "finished" {
		t.Errorf("%v", e)
	}
}
