package blackbox_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// crashEndTime is how long the server has, after the last restart, to end all it accepted.
const crashEndTime = 60 * time.Second

// finish waits for the ends of everything that was accepted and verifies each of them, then looks for
// executions and batches that exist although no client got an answer about them.
func (l *crashLoad) finish(kills []crashKill) {
	deadline := time.Now().Add(crashEndTime)
	batches := l.collect(deadline)
	known := map[string]*crashRequest{}
	for _, q := range l.requests {
		known[q.executed] = q
	}
	unknown := l.unanswered(known)
	deadline = time.Now().Add(crashEndTime / 4)
	for _, q := range unknown {
		for q.path != "" && !q.ended && time.Now().Before(deadline) {
			l.reread(q)
		}
		if q.batch {
			if q.path != "" {
				l.reread(q) // with its items, now that it has ended
			}
			batches = append(batches, q)
		}
	}
	samples, interrupted := 0, 0
	for i, q := range append(slices.Clone(l.requests), unknown...) {
		if !q.ended {
			l.t.Errorf("%s %s has not ended %v after the last restart: %+v", q.flow.name, q.path, crashEndTime, q.last)
			continue
		}
		if q.batch {
			l.verifyBatch(q, i)
			continue
		}
		if l.interrupted(q, kills) {
			interrupted++ // the promise of T91
			continue
		}
		l.verifyEnd(q.flow, q.in, q.path, q.last)
		l.receiver.verifyOrder(l.t, q)
		if samples++; samples <= 1500 {
			l.verifyTimeline(q.flow, q.in, q.path)
		}
	}
	l.verifyItems(batches)
	l.receiver.verify(l.t, kills)
	l.receiver.verifyBound(l.t, batches)
	l.t.Logf("%d kills; %d requests accepted, %d of them batches of %d; %d replays; %d requests without answer, which left %d behind; %d interrupted four times; %d reads",
		len(kills), l.answered.Load(), len(batches), crashItems, l.replays.Load(), l.refused.Load(), len(unknown), interrupted, l.polls.Load())
}

// collect reads everything until it has ended, and returns the batches.
func (l *crashLoad) collect(deadline time.Time) []*crashRequest {
	var batches []*crashRequest
	pending := slices.Clone(l.requests)
	for len(pending) > 0 && time.Now().Before(deadline) {
		for _, q := range pending {
			l.reread(q)
		}
		pending = slices.DeleteFunc(pending, func(q *crashRequest) bool { return q.ended })
	}
	for _, q := range l.requests {
		if q.batch {
			batches = append(batches, q)
		}
		l.reread(q) // once more, now that all is over
	}
	return batches
}

// pages reads a list to its end.
func (l *crashLoad) pages(path string) []crashView {
	var all []crashView
	for cursor := ""; ; {
		var page struct {
			Data   []crashView
			Cursor *string
		}
		answer := l.server.Do(l.t, "GET", path+cursor, "")
		if err := json.Unmarshal(answer.Body, &page); err != nil || answer.Status != http.StatusOK {
			l.t.Fatalf("list %s: %d %.300s", path, answer.Status, answer.Body)
		}
		all = append(all, page.Data...)
		if page.Cursor == nil {
			return all
		}
		cursor = "&cursor=" + url.QueryEscape(*page.Cursor)
	}
}

// unanswered lists everything and returns the requests whose result exists although no client got its answer. Each
// unknown result must be that of exactly one request without an answer. Each known result must be listed once.
func (l *crashLoad) unanswered(known map[string]*crashRequest) []*crashRequest {
	asked := map[string]*crashRequest{}
	for _, q := range l.unsure {
		asked[q.in.Tag] = q
	}
	seen := map[string]int{}
	var found []*crashRequest
	for _, f := range append(slices.Clone(l.flows), l.item) {
		path := "/workflows/" + l.workflows[f.name] + "/executions"
		list := l.pages(path + "?limit=100")
		if f.name == l.item.name {
			path = "/workflows/" + l.workflows[f.name] + "/batch"
			list = l.pages(path + "?limit=100&executions=none")
		}
		for _, view := range list {
			id := cmp.Or(view.ID, view.BatchID)
			seen[id]++
			if known[id] != nil {
				continue
			}
			tag := l.tagOf(path+"/"+id, f.name == l.item.name)
			q := asked[tag]
			if q == nil {
				l.t.Errorf("%s %s exists with the tag %q, which no request asked for or which exists already", f.name, id, tag)
				continue
			}
			delete(asked, tag)
			q.executed, q.path = id, path+"/"+id
			found = append(found, q)
			l.open[f.name]++
		}
	}
	for id, q := range known {
		if seen[id] != 1 {
			l.t.Errorf("LOST? %s %s is listed %d times", q.in.Tag, id, seen[id])
		}
	}
	return found
}

// tagOf reads the tag of something unknown from its input.
func (l *crashLoad) tagOf(path string, batch bool) string {
	if batch {
		var view crashView
		_ = json.Unmarshal(l.server.Do(l.t, "GET", path, "").Body, &view)
		if len(view.Executions) == 0 {
			return ""
		}
		return view.Executions[0].Inputs.Tag
	}
	var timeline struct{ Data []struct{ Input crashInput } }
	_ = json.Unmarshal(l.server.Do(l.t, "GET", path+"/timeline?limit=1", "").Body, &timeline)
	if len(timeline.Data) == 0 {
		return ""
	}
	return timeline.Data[0].Input.Tag
}

// interrupted tells whether an execution faulted because its one process was killed four times
// (T91); that many kills must lie between its creation and its end.
func (l *crashLoad) interrupted(q *crashRequest, kills []crashKill) bool {
	if q.last.Error == nil || q.last.Error.Code != "interrupted" || (q.flow.name != "command" && q.flow.name != "script" && q.flow.name != "branches") {
		return false
	}
	within := 0
	for _, kill := range kills {
		if kill.to.After(q.last.CreatedAt) && kill.from.Before(q.last.FinishedAt) {
			within++
		}
	}
	return within >= 4
}

// verifyEnd checks that an execution ended as it would have without any kill.
func (l *crashLoad) verifyEnd(flow *crashFlow, in crashInput, path string, view crashView) {
	want := flow.want(in)
	got := ""
	if view.Error != nil {
		if got = view.Error.Detail; view.Error.Code == "cancelled" || view.Error.Code == "interrupted" {
			got = view.Error.Code
		}
	}
	if view.Status != want.Status || got != want.Error || (want.Status == "finished" && !sameJSON(view.Output, want.Output)) {
		l.t.Errorf("%s %s ended as %s %+v with output %v, want %+v", flow.name, path, view.Status, view.Error, view.Output, want)
	}
	l.receiver.verifyCalls(l.t, in, want.Calls)
}

// verifyTimeline checks that the timeline tells of every task, once, in order, to its end.
func (l *crashLoad) verifyTimeline(flow *crashFlow, in crashInput, path string) {
	var timeline struct {
		Data []struct {
			Seq        int
			Name       string
			Phase      string
			FinishedAt string `json:"finished_at"`
		}
		Truncated bool
	}
	answer := l.server.Do(l.t, "GET", path+"/timeline?limit=100", "")
	if err := json.Unmarshal(answer.Body, &timeline); err != nil || timeline.Truncated {
		l.t.Errorf("timeline of %s: %v %.300s", path, err, answer.Body)
		return
	}
	var got []string
	for i, entry := range timeline.Data {
		got = append(got, entry.Name+" "+entry.Phase)
		if entry.Seq != i+1 || entry.FinishedAt == "" {
			l.t.Errorf("timeline of %s %s: entry %d is %+v", flow.name, path, i, entry)
		}
	}
	want := slices.Clone(flow.want(in).Timeline)
	if strings.Contains(strings.Join(want, ","), "*") {
		for i := range want {
			want[i] = strings.ReplaceAll(want[i], "*", "")
		}
		slices.Sort(want)
		slices.Sort(got)
	}
	if !slices.Equal(got, want) {
		l.t.Errorf("timeline of %s %s:\n got %q\nwant %q", flow.name, path, got, want)
	}
}

// verifyBatch checks the counts, the entries in order, and the end of every item.
func (l *crashLoad) verifyBatch(q *crashRequest, turn int) {
	if bad := crashItems / 10; q.last.Status != "completed" || q.last.Failed != bad || q.last.Completed != crashItems-bad ||
		len(q.last.Executions) != crashItems {
		l.t.Errorf("batch %s ended as %s: %d completed, %d failed, %d listed", q.path, q.last.Status, q.last.Completed, q.last.Failed, len(q.last.Executions))
	}
	items := q.items()
	ids := map[string]bool{}
	for i, entry := range q.last.Executions {
		if entry.Index != i || entry.Inputs != items[i] || ids[entry.ExecutionID] {
			l.t.Errorf("entry %d of batch %s is %+v, want the input %+v", i, q.path, entry, items[i])
		}
		ids[entry.ExecutionID] = true
		if want := l.item.want(items[i]).Status; entry.Status != want {
			l.t.Errorf("entry %d of batch %s is %s, want %s", i, q.path, entry.Status, want)
		}
		if i%8 != turn%8 { // one in eight is looked at closely
			continue
		}
		path := "/workflows/" + l.workflows[l.item.name] + "/executions/" + entry.ExecutionID
		var view crashView
		_ = json.Unmarshal(l.server.Do(l.t, "GET", path, "").Body, &view)
		l.verifyEnd(&l.item, items[i], path, view)
		l.verifyTimeline(&l.item, items[i], path)
	}
}

// verifyItems checks that there is no item without its batch.
func (l *crashLoad) verifyItems(batches []*crashRequest) {
	items := l.pages("/workflows/" + l.workflows[l.item.name] + "/executions?limit=100")
	if len(items) != len(batches)*crashItems {
		l.t.Errorf("%d items of %d batches exist, want %d", len(items), len(batches), len(batches)*crashItems)
	}
}
