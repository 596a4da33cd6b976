package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestStreamText: what the events look like on the wire.
func TestStreamText(t *testing.T) {
	h := newServer(t, &fake{})
	got := request{path: pathE + "/events", header: map[string]string{"Last-Event-ID": "4"}}.to(h)
	text := string(got.body)
	for _, want := range []string{
		"retry: 1000\n\nevent: execution\ndata: {\"id\":\"", "\n\nid: 6\nevent: gap\ndata: {\"from\":5,\"to\":6}\n\n",
		"id: 7\nevent: task.ended\ndata: {\"seq\":7,\"at\":\"", "\"phase\":\"faulted\",\"error\":{", "\n\n: nothing new\n\n",
		"id: end\nevent: end\ndata: {\"reason\":\"complete\",",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	tasks := `{"counts":{"mine":{"count":1,"at_least":false},"groups":`
	for path, want := range map[string]string{
		"/api/v1/human-tasks/stream":      "event: tasks\ndata: " + tasks,
		"/api/v1/stream?topic=tasks:mine": "event: tasks\ndata: {\"topic\":\"tasks:mine\",\"tasks\":" + tasks,
	} {
		text := string(request{path: path}.to(h).body)
		if !strings.Contains(text, want) || !strings.Contains(text, `"changed":[{"id":"`) || !strings.Contains(text, `"removed":["0197a5c4-aaaa-7000-8000-00000000000a"],"more":true}`) {
			t.Errorf("%s: no %q in:\n%s", path, want, text)
		}
	}
	if got.status != 200 || got.header.Get("Content-Type") != "text/event-stream" || got.header.Get("Cache-Control") != "no-store" ||
		got.header.Get("X-Accel-Buffering") != "no" || !strings.HasSuffix(text, "\n\n") {
		t.Errorf("%d %v", got.status, got.header)
	}
}

// TestHeadOfStreams: a request for the headers of a stream ends with them. Else the connection would not be free for
// the next request until all has ended that the stream follows.
func TestHeadOfStreams(t *testing.T) {
	h := newServer(t, &fake{})
	for _, path := range []string{pathE + "/events", pathB + "/events", "/api/v1/stream?topic=tasks:mine", "/api/v1/human-tasks/stream"} {
		got := request{method: http.MethodHead, path: path}.to(h)
		if got.status != 200 || len(got.body) != 0 || got.header.Get("Content-Type") != sseMedia {
			t.Errorf("%s: %d %q, %v", path, got.status, got.body, got.header)
		}
	}
}

// TestHostileStreams: the answer to what a client gets wrong names the parameter.
func TestHostileStreams(t *testing.T) {
	h := newServer(t, &fake{})
	topic := "topic=execution:0197a5c4-2222-7000-8000-0000000000"
	var many []string
	for i := range 21 {
		many = append(many, fmt.Sprintf("%s%02d", topic, i))
	}
	for _, test := range []struct{ path, last, parameter string }{
		{"/api/v1/stream", "", "topic"},
		{"/api/v1/stream?topic=", "", "topic"},
		{"/api/v1/stream?topic=tasks:all", "", "topic"},
		{"/api/v1/stream?topic=tasks:mine:1", "", "topic"},
		{"/api/v1/stream?topic=tasks", "", "topic"},
		{"/api/v1/human-tasks/stream?topic=tasks:mine", "", "topic"},
		{"/api/v1/stream?topic=execution:1", "", "topic"},
		{"/api/v1/stream?topic=execution", "", "topic"},
		{"/api/v1/stream?topic=batch:%00", "", "topic"},
		{"/api/v1/stream?topic=batch:'%20or%201=1", "", "topic"},
		{"/api/v1/stream?" + strings.Join(many, "&"), "", "topic"},
		{"/api/v1/stream?" + many[0] + "&topics=1", "", "topics"},
		{pathE + "/events?after=-1", "", "after"},
		{pathE + "/events?after=1.5", "", "after"},
		{pathE + "/events?after=99999999999999999999", "", "after"},
		{pathE + "/events?after=1&after=2", "", "after"},
		{pathE + "/events", "x", "Last-Event-ID"},
		{pathE + "/events", "-7", "Last-Event-ID"},
		{pathB + "/events?after=1", "", "after"},
	} {
		q := request{path: test.path}
		if test.last != "" {
			q.header = map[string]string{"Last-Event-ID": test.last}
		}
		got := q.to(h)
		if got.status != 400 || !strings.Contains(string(got.body), `"parameter":"`+test.parameter+`"`) {
			t.Errorf("%s %s: %d %s", test.path, test.last, got.status, got.body)
		}
	}
	if got := (request{path: "/api/v1/stream?" + strings.Join(many[:20], "&") + "&" + many[0]}).to(h); got.status != 200 {
		t.Errorf("20 topics, one of them twice: %d %s", got.status, got.body)
	}
}
