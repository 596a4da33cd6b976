package api

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode"

	cloudevents "github.com/cloudevents/sdk-go/v2/event"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/value"
)

const pathEvents = "/api/v1/events"

// ceHeaders are the attributes of an event in binary mode, with others over them.
func ceHeaders(more ...string) map[string]string {
	h := map[string]string{"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/s", "ce-type": "t"}
	for i := 0; i < len(more); i += 2 {
		h[more[i]] = more[i+1]
	}
	return h
}

// receiver keeps the events that pass the rules of the service.
type receiver struct {
	events []map[string]any
	last   service.PublishEvents
}

func (r *receiver) publish(p service.PublishEvents) (bool, error) {
	events, err := service.ReadEvents(p.Body, p.Batch)
	r.events, r.last = append(r.events, events...), p
	return false, err
}

// TestEventModes: the same event in every mode is the same event.
func TestEventModes(t *testing.T) {
	const attributes = `"specversion":"1.0","id":"1","source":"/s","type":"t"`
	tests := []struct {
		name   string
		header map[string]string
		body   string
		want   string // the events
	}{
		{"structured", map[string]string{"Content-Type": eventMedia}, `{` + attributes + `,"data":{"n":12345678901234567890123,"f":1.0},"subject":null}`,
			`[{"data":{"f":1.0,"n":12345678901234567890123},"id":"1","source":"/s","specversion":"1.0","type":"t"}]`},
		{"structured with a charset", map[string]string{"Content-Type": eventMedia + "; charset=UTF-8"}, `{` + attributes + `,"data":null,"n":7,"ok":true}`,
			`[{"data":null,"id":"1","n":7,"ok":true,"source":"/s","specversion":"1.0","type":"t"}]`},
		{"batch", map[string]string{"Content-Type": batchMedia}, `[{` + attributes + `},{` + attributes + `,"data_base64":"AP8="}]`,
			`[{"id":"1","source":"/s","specversion":"1.0","type":"t"},{"data_base64":"AP8=","id":"1","source":"/s","specversion":"1.0","type":"t"}]`},
		{"no batch at all", map[string]string{"Content-Type": batchMedia}, `[]`, `[]`},
		{"binary with JSON", ceHeaders("Content-Type", "application/json; charset=utf-8"), `{"n":12345678901234567890123}`,
			`[{"data":{"n":12345678901234567890123},"datacontenttype":"application/json; charset=utf-8","id":"1","source":"/s","specversion":"1.0","type":"t"}]`},
		{"binary with a JSON of its own", ceHeaders("Content-Type", "application/vnd.x+json"), `[1]`,
			`[{"data":[1],"datacontenttype":"application/vnd.x+json","id":"1","source":"/s","specversion":"1.0","type":"t"}]`},
		{"binary with text", ceHeaders("Content-Type", "text/plain"), "grüß", `[{"data":"grüß","datacontenttype":"text/plain","id":"1","source":"/s","specversion":"1.0","type":"t"}]`},
		{"binary with text that is none", ceHeaders("Content-Type", "text/plain"), "\xff", `[{"data_base64":"/w==","datacontenttype":"text/plain","id":"1","source":"/s","specversion":"1.0","type":"t"}]`},
		{"binary with another charset", ceHeaders("Content-Type", "text/plain;charset=latin1"), "a", `[{"data_base64":"YQ==","datacontenttype":"text/plain;charset=latin1","id":"1","source":"/s","specversion":"1.0","type":"t"}]`},
		{"binary with bytes", ceHeaders("Content-Type", "image/png"), "\x00\xff", `[{"data_base64":"AP8=","datacontenttype":"image/png","id":"1","source":"/s","specversion":"1.0","type":"t"}]`},
		{"binary without data", ceHeaders(), "", `[{"id":"1","source":"/s","specversion":"1.0","type":"t"}]`},
		{"binary with extensions", ceHeaders("Content-Type", "", "CE-Subject", "a%20b%e2%82%aC%", "ce-trace1", `"a\"b"`), "",
			`[{"id":"1","source":"/s","specversion":"1.0","subject":"a b€%","trace1":"a\"b","type":"t"}]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := &receiver{events: []map[string]any{}}
			a := request{method: "POST", path: pathEvents, body: test.body, header: test.header}.to(newServer(t, &fake{publishEvents: r.publish}))
			if a.status != http.StatusAccepted || len(a.body) != 0 {
				t.Fatalf("%d %s", a.status, a.body)
			}
			list := make([]any, len(r.events))
			for i, event := range r.events {
				list[i] = event
			}
			if got := string(value.Marshal(list)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestEventRefusals: every refusal says where and what.
func TestEventRefusals(t *testing.T) {
	good := map[string]any{"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
	with := func(name string, v any) string {
		event := maps.Clone(good)
		event[name] = v
		if v == nil {
			delete(event, name)
		}
		return string(value.Marshal(event))
	}
	structured, batch := map[string]string{"Content-Type": eventMedia}, map[string]string{"Content-Type": batchMedia}
	many := "[" + strings.TrimSuffix(strings.Repeat(with("x", 1)+",", 1001), ",") + "]"
	tests := []struct {
		name   string
		header map[string]string
		body   string
		status int
		code   string
		at     string // "": none
	}{
		{"plain JSON", map[string]string{"Content-Type": "application/json"}, with("x", 1), 415, "unsupported_media_type", ""},
		{"no type at all", map[string]string{"Content-Type": ""}, "x", 415, "unsupported_media_type", ""},
		{"another format", map[string]string{"Content-Type": "application/cloudevents+avro"}, "x", 415, "unsupported_media_type", ""},
		{"another charset", map[string]string{"Content-Type": eventMedia + ";charset=utf-16"}, "{}", 415, "unsupported_media_type", ""},
		{"packed", map[string]string{"Content-Type": eventMedia, "Content-Encoding": "gzip"}, "x", 415, "unsupported_media_type", ""},
		{"no JSON", structured, "{", 400, "invalid_json", ""},
		{"name twice", structured, `{"id":"1","id":"2"}`, 400, "invalid_json", "/id"},
		{"empty", structured, "", 400, "invalid_json", ""},
		{"no object", structured, "[]", 400, "invalid_body", ""},
		{"null", structured, "null", 400, "invalid_body", ""},
		{"no array", batch, "{}", 400, "invalid_body", ""},
		{"no object in a batch", batch, "[" + with("x", 1) + ",7]", 400, "invalid_body", "/1"},
		{"too many", batch, many, 422, "too_many_items", ""},
		{"old version", structured, with("specversion", "0.3"), 400, "invalid_body", "/specversion"},
		{"no version", structured, with("specversion", nil), 400, "invalid_body", "/specversion"},
		{"no id", structured, with("id", nil), 400, "invalid_body", "/id"},
		{"no source", structured, with("source", nil), 400, "invalid_body", "/source"},
		{"no type, the fourth", batch, "[" + strings.Repeat(with("x", 1)+",", 3) + with("type", nil) + "]", 400, "invalid_body", "/3/type"},
		{"empty id", structured, with("id", ""), 400, "invalid_body", "/id"},
		{"number as type", structured, with("type", 7), 400, "invalid_body", "/type"},
		{"long type", structured, with("type", strings.Repeat("t", 1025)), 400, "invalid_body", "/type"},
		{"control character", structured, with("type", "a\nb"), 400, "invalid_body", "/type"},
		{"bad source", structured, with("source", "%zz"), 400, "invalid_body", "/source"},
		{"empty subject", structured, with("subject", ""), 400, "invalid_body", "/subject"},
		{"bad time", structured, with("time", "yesterday"), 400, "invalid_body", "/time"},
		{"bad media type", structured, with("datacontenttype", "json"), 400, "invalid_body", "/datacontenttype"},
		{"relative schema", structured, with("dataschema", "/x"), 400, "invalid_body", "/dataschema"},
		{"upper case", structured, with("traceId", "x"), 400, "invalid_body", "/traceId"},
		{"long name", structured, with(strings.Repeat("a", 21), "x"), 400, "invalid_body", "/" + strings.Repeat("a", 21)},
		{"object as extension", structured, with("ext", map[string]any{}), 400, "invalid_body", "/ext"},
		{"large number", structured, with("ext", 1<<31), 400, "invalid_body", "/ext"},
		{"fraction", structured, with("ext", 1.5), 400, "invalid_body", "/ext"},
		{"bad base64", structured, with("data_base64", "a"), 400, "invalid_body", "/data_base64"},
		{"base64 in lines", structured, with("data_base64", "AP\n8="), 400, "invalid_body", "/data_base64"},
		{"no text", structured, with("data_base64", 1), 400, "invalid_body", "/data_base64"},
		{"both", structured, strings.TrimSuffix(with("data_base64", "AP8="), "}") + `,"data":1}`, 400, "invalid_body", "/data_base64"},
		{"large", structured, with("data", strings.Repeat("x", 1<<20)), 413, "payload_too_large", ""},
		{"large in a batch", batch, "[" + with("x", 1) + "," + with("data", strings.Repeat("x", 1<<20)) + "]", 413, "payload_too_large", "/1"},
		{"header twice missing", ceHeaders("ce-id", ""), "", 400, "invalid_parameter", "ce-id"},
		{"old version in a header", ceHeaders("ce-specversion", "0.2"), "", 400, "invalid_parameter", "ce-specversion"},
		{"only the version", map[string]string{"ce-specversion": "1.0"}, "", 400, "invalid_parameter", "ce-id"},
		{"type in two headers", ceHeaders("ce-datacontenttype", "text/plain"), "x", 400, "invalid_parameter", "ce-datacontenttype"},
		{"data in a header", ceHeaders("ce-data", "x"), "x", 400, "invalid_parameter", "ce-data"},
		{"bad name of a header", ceHeaders("ce-a_b", "x"), "", 400, "invalid_parameter", "ce-a_b"},
		{"no UTF-8 in a header", ceHeaders("ce-subject", "%ff"), "x", 400, "invalid_parameter", "ce-subject"},
		{"bad media type of data", ceHeaders("Content-Type", "json"), "x", 400, "invalid_parameter", "Content-Type"},
		{"no JSON as data", ceHeaders("Content-Type", "application/json"), "{", 400, "invalid_json", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := &receiver{}
			s := newServer(t, &fake{publishEvents: r.publish})
			p := wantProblem(t, request{method: "POST", path: pathEvents, body: test.body, header: test.header}.to(s), test.status, test.code)
			if test.at != "" && !slices.Contains(locations(p), test.at) {
				t.Errorf("at %q, want %q: %v", locations(p), test.at, p)
			}
			if len(r.events) > 0 {
				t.Errorf("%d events were taken in all the same", len(r.events))
			}
		})
	}
	s := newServer(t, &fake{})
	p := wantProblem(t, request{method: "POST", path: pathEvents, body: strings.Repeat(" ", 8<<20+1), header: batch}.to(s), 413, "payload_too_large")
	if !strings.Contains(p["detail"].(string), "8388608") {
		t.Errorf("detail %q", p["detail"])
	}
}

// TestEventIdempotency: in binary mode the headers are part of what was sent.
func TestEventIdempotency(t *testing.T) {
	r := &receiver{}
	s := newServer(t, &fake{publishEvents: r.publish})
	hash := func(id string) [32]byte {
		a := request{method: "POST", path: pathEvents, header: ceHeaders("ce-id", id, "Idempotency-Key", "k")}.to(s)
		if a.status != 202 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		return r.last.Idempotency.BodyHash
	}
	first, again := hash("1"), hash("1")
	if first != again || first == hash("2") {
		t.Error("the hash does not tell events from one another")
	}
}

// FuzzCloudEvents: what is accepted is an event to the library of CloudEvents too, with the
// same attributes; what is refused is a problem with a place or a hint.
func FuzzCloudEvents(f *testing.F) {
	event := `{"specversion":"1.0","id":"1","source":"/s","type":"t","data":{"n":12345678901234567890}}`
	f.Add(eventMedia, "", event)
	f.Add(eventMedia+"; charset=utf-8", "", `{"specversion":"1.0","id":"ü","source":"urn:x","type":"t","subject":"s","time":"2030-01-31T12:00:00.5+02:00","datacontenttype":"text/xml","dataschema":"https://x/y","data":"<a/>","ext1":"x","n":-5,"ok":false}`)
	f.Add(eventMedia, "", `{"specversion":"1.0","id":"1","source":"/s","type":"t","data_base64":"AP8=","subject":null,"Ext":1}`)
	f.Add(batchMedia, "", "["+event+","+event+"]")
	f.Add(batchMedia, "", "[]")
	f.Add("application/json", "ce-specversion: 1.0\r\nce-id: 1\r\nce-source: /s\r\nce-type: t\r\nce-subject: a%20%e2%82%ac%zz", `{"a":[1.0]}`)
	f.Add("text/plain", "CE-SpecVersion: 1.0\r\nce-id: \"a\\\"b\"\r\nce-source: ../x?y#z\r\nce-type: t\r\nce-time: 2030-01-31T12:00:00Z\r\nce-ext: x", "\xff")
	f.Add("application/json", "", event)
	f.Add("image/png", "ce-specversion: 0.3\r\nce-datacontenttype: a/b", "\x00")
	r := &receiver{}
	s := New(Config{Service: &fake{publishEvents: r.publish}})
	f.Fuzz(func(t *testing.T, contentType, headers, body string) {
		q := request{method: "POST", path: pathEvents, body: body}.http()
		q.Header["Content-Type"] = []string{contentType}
		for line := range strings.SplitSeq(headers, "\r\n") {
			if name, value, ok := strings.Cut(line, ":"); ok && !strings.ContainsFunc(name, unicode.IsSpace) {
				q.Header.Add(name, strings.TrimSpace(value))
			}
		}
		r.events = nil
		a := serve(s, q)
		if a.status != http.StatusAccepted {
			var p chargehand.Error
			if a.status >= 500 || a.status < 400 || json.Unmarshal(a.body, &p) != nil || p.Detail == "" {
				t.Fatalf("%d %s", a.status, a.body)
			}
			return
		}
		for _, event := range r.events {
			if err := known(event); err != nil {
				t.Errorf("%v\n%s", err, value.Marshal(event))
			}
		}
	})
}

// known holds an event that was accepted against what the library of CloudEvents reads. To the
// library only application/json and text/json are JSON, where the specification knows every
// type whose subtype is json or ends with +json.
func known(event map[string]any) error {
	var other cloudevents.Event
	kind, _ := event["datacontenttype"].(string)
	kind, _, _ = strings.Cut(kind, ";")
	if strings.HasSuffix(strings.ToLower(strings.TrimSpace(kind)), "/json") {
		event = maps.Clone(event)
		event["datacontenttype"] = "application/json"
	}
	if err := json.Unmarshal(value.Marshal(event), &other); err != nil {
		return fmt.Errorf("the library cannot read it: %w", err)
	}
	if err := other.Validate(); err != nil {
		return fmt.Errorf("the library refuses it: %w", err)
	}
	if event["id"] != other.ID() || event["type"] != other.Type() {
		return fmt.Errorf("the library reads id %q and type %q", other.ID(), other.Type())
	}
	return nil
}

// TestAnswersByEventsAreLogged: an event that answers a human task is a change, with a line as any other has.
func TestAnswersByEventsAreLogged(t *testing.T) {
	f := &fake{}
	s, out := logging(slog.LevelInfo, f)
	const task = "0197a5c4-7777-7000-8000-000000000007"
	answers := func(subject string) string {
		return `{"specversion":"1.0","id":"1","source":"/desk","type":"io.chargehand.human.completed.v1","subject":"` + subject + `","data":{"outcome":"done"}}`
	}
	publish := func(media, body string) answered {
		return request{method: "POST", path: pathEvents, body: body, header: map[string]string{"Content-Type": media}}.to(s)
	}
	a := publish(eventMedia, answers(task))
	lines := out.Take()
	if a.status != http.StatusAccepted || len(lines) != 1 || lines[0]["msg"] != "human task answered" || lines[0]["human_task"] != task ||
		lines[0]["request_id"] != a.header.Get("X-Request-Id") || lines[0]["actor"] == nil {
		t.Errorf("an answer: %d, lines %v", a.status, lines)
	}
	for what, a := range map[string]answered{
		"of another type": publish(eventMedia, `{"specversion":"1.0","id":"1","source":"/s","type":"t","subject":"`+task+`"}`),
		"of no task":      publish(eventMedia, answers("order-7")),
		"in a batch":      publish(batchMedia, "["+answers(task)+"]"), // which the service refuses
	} {
		if text := out.String(); a.status != http.StatusAccepted || text != "" {
			t.Errorf("an event %s: %d, logged as %s", what, a.status, text)
		}
	}
	f.fail = chargehand.NewError(chargehand.CodeHumanTaskNotFound, "no")
	if publish(eventMedia, answers(task)); out.String() == "" || out.Take()[0]["msg"] != "request failed" {
		t.Error("an answer that is refused is not logged as such")
	}
}
