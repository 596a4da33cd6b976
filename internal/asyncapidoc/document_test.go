package asyncapidoc

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

const version2 = `
asyncapi: 2.6.0
defaultContentType: application/json
servers:
  queue: {url: 'kafka.example.com', protocol: kafka}
  secure:
    url: '{host}:{port}/base/'
    protocol: wss
    variables: {host: {default: a.example.com, enum: [a.example.com, b.example.com]}, port: {default: 443}}
  bus: {url: 'nats://bus.example.com:4222', protocol: nats}
channels:
  chat/{room}:
    parameters: {room: {location: '$message.payload#/room', schema: {type: string}}}
    publish: {message: {$ref: '#/components/messages/line'}}
    subscribe: {operationId: hear, message: {oneOf: [{$ref: '#/components/messages/line'}, {contentType: text/plain}]}}
  news:
    servers: [bus]
    bindings: {nats: {x: 1}}
    subscribe: {operationId: news, bindings: {nats: {queue: workers}}}
  gone: {$ref: 'https://elsewhere.example.com/x.json'}
  loop: {$ref: '#/channels/loop'}
components:
  messages:
    line:
      traits: [{$ref: '#/components/messageTraits/tracked'}]
  messageTraits:
    tracked: {contentType: application/vnd.x+json, correlationId: {location: '$message.header#/trace'}}
`

const version3 = `{
	"asyncapi": "3.0.0",
	"servers": {
		"zeta": {"host": "{region}.example.com:8443", "pathname": "/v1", "protocol": "https", "variables": {"region": {"default": "eu"}}},
		"alpha": {"host": "alpha.example.com", "protocol": "http"},
		"mq": {"host": "mq.example.com", "protocol": "mqtt"}
	},
	"channels": {
		"orders": {
			"address": "orders/{id}", "parameters": {"id": {"default": "all/of them"}},
			"messages": {"created": {"contentType": "application/json", "correlationId": {"$ref": "#/components/correlationIds/byId"}}, "other": {}}
		},
		"events": {"address": "events", "servers": [{"$ref": "#/servers/alpha"}, {"$ref": "#/servers/zeta"}]},
		"queue": {"address": "q", "servers": [{"$ref": "#/servers/mq"}]},
		"nowhere": {"address": null}
	},
	"operations": {
		"placeOrder": {"action": "receive", "channel": {"$ref": "#/channels/orders"}, "bindings": {"http": {"method": "PUT"}},
			"messages": [{"$ref": "#/channels/orders/messages/created"}]},
		"anyOrder": {"action": "receive", "channel": {"$ref": "#/channels/orders"}},
		"listen": {"action": "send", "channel": {"$ref": "#/channels/events"}},
		"queued": {"channel": {"$ref": "#/channels/queue"}},
		"lost": {"channel": {"$ref": "#/channels/nowhere"}}
	},
	"components": {"correlationIds": {"byId": {"location": "$message.payload#/order/id"}}}
}`

func document(t *testing.T, text string) *Document {
	t.Helper()
	d, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTargetsOfVersion2(t *testing.T) {
	d := document(t, version2)
	talk, err := d.Target(Selection{Channel: "chat/{room}", Payload: map[string]any{"room": "tea/break"}})
	if err != nil {
		t.Fatal(err)
	}
	want := &Target{Server: "secure", Protocol: "wss", Family: "ws", URL: "wss://a.example.com:443/base", Address: "chat/tea%2Fbreak",
		Messages: []Message{{"application/vnd.x+json", "$message.header#/trace"}}}
	if !reflect.DeepEqual(talk, want) {
		t.Errorf("%+v\nwant %+v", talk, want)
	}
	hear, err := d.Target(Selection{Operation: "hear", Subscribe: true, Protocol: "nats", Variables: map[string]string{"room": "r-1"}})
	if err != nil {
		t.Fatal(err)
	}
	if hear.URL != "nats://bus.example.com:4222" || hear.Address != "chat/r-1" || len(hear.Messages) != 2 || hear.Messages[1].ContentType != "text/plain" {
		t.Errorf("%+v", hear)
	}
	news, err := d.Target(Selection{Channel: "news", Subscribe: true})
	if err != nil {
		t.Fatal(err)
	}
	if news.Server != "bus" || news.OperationBinding["queue"] != "workers" || news.ChannelBinding["x"] != 1 || news.Messages[0].ContentType != "application/json" {
		t.Errorf("%+v", news)
	}
}

func TestTargetsOfVersion3(t *testing.T) {
	d := document(t, version3)
	for _, c := range []struct {
		s    Selection
		want string
	}{
		{Selection{Operation: "placeOrder"}, "zeta https://eu.example.com:8443/v1 orders/all%2Fof%20them PUT 1"},
		{Selection{Operation: "anyOrder", Variables: map[string]string{"region": "us", "id": "7"}}, "zeta https://us.example.com:8443/v1 orders/7 <nil> 2"},
		{Selection{Operation: "anyOrder", Server: "alpha"}, "alpha http://alpha.example.com orders/all%2Fof%20them <nil> 2"},
		{Selection{Operation: "listen", Subscribe: true}, "alpha http://alpha.example.com events <nil> 1"},
		{Selection{Channel: "events"}, "alpha http://alpha.example.com events <nil> 1"},
		{Selection{Operation: "anyOrder", Protocol: "http"}, "zeta https://eu.example.com:8443/v1 orders/all%2Fof%20them <nil> 2"},
	} {
		got, err := d.Target(c.s)
		if err != nil {
			t.Errorf("%+v: %v", c.s, err)
			continue
		}
		text := fmt.Sprintf("%s %s %s %v %d", got.Server, got.URL, got.Address, got.OperationBinding["method"], len(got.Messages))
		if text != c.want {
			t.Errorf("%+v: %s, want %s", c.s, text, c.want)
		}
	}
	created, err := d.Target(Selection{Operation: "placeOrder"})
	if err != nil || created.Messages[0].Correlation != "$message.payload#/order/id" {
		t.Errorf("%+v, %v", created, err)
	}
}

func TestWhatCannotBeFoundIsNamed(t *testing.T) {
	for _, c := range []struct {
		document string
		s        Selection
		want     string
	}{
		{version2, Selection{Channel: "no"}, "chat/{room}, gone, loop, news"},
		{version2, Selection{Channel: "news"}, "no publish operation"},
		{version2, Selection{Operation: "no"}, "operationId"},
		{version2, Selection{Channel: "chat/{room}"}, "{room} has no value"},
		{version2, Selection{Channel: "chat/{room}", Server: "queue"}, `protocol "kafka" of the server "queue" is not supported; supported are http, https, nats, ws, wss`},
		{version2, Selection{Channel: "chat/{room}", Variables: map[string]string{"room": "1", "host": "evil"}}, `one of "a.example.com", "b.example.com", not "evil"`},
		{version2, Selection{Channel: "chat/{room}", Variables: map[string]string{"room": "1", "hots": "x"}}, `no variable "hots"`},
		{version2, Selection{Channel: "news", Subscribe: true, Server: "secure"}, `no server "secure"; it has bus (nats)`},
		{version2, Selection{Channel: "gone"}, "leads out of the document"},
		{version2, Selection{Channel: "loop"}, "references follow one another"},
		{version3, Selection{Operation: "no"}, "anyOrder, listen, lost, placeOrder, queued"},
		{version3, Selection{Operation: "queued"}, "mq (mqtt)"},
		{version3, Selection{Operation: "lost"}, "no address"},
		{version3, Selection{Operation: "listen", Protocol: "nats"}, `no server of the protocol "nats"`},
	} {
		_, err := document(t, c.document).Target(c.s)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.s, err, c.want)
		}
	}
}

const led = `
asyncapi: 2.6.0
servers:
  web:
    url: 'https://{tenant}.api.example.com/{stage}/v1'
    protocol: https
    variables: {stage: {default: a/b}, tenant: {}}
  bus: {url: 'nats://{tenant}:4222', protocol: nats}
channels:
  rooms/{room}/events: {parameters: {room: {location: '$message.payload#/room'}}}
  rooms/{room}.x/{part}: {parameters: {part: {schema: {enum: ['*', all]}}}}
`

func TestValuesDoNotLeadElsewhere(t *testing.T) {
	d := document(t, led)
	for text, s := range map[string]Selection{
		"https://acme.api.example.com/a/b/v1 rooms/a%2F..%2Fb/events": {
			Server: "web", Channel: "rooms/{room}/events", Payload: map[string]any{"room": "a/../b"}, Variables: map[string]string{"tenant": "acme"}},
		"https://a-b.c.api.example.com/x/y/v1 rooms/.../events": {
			Server: "web", Channel: "rooms/{room}/events", Payload: map[string]any{"room": "..."}, Variables: map[string]string{"tenant": "a-b.c", "stage": "x/y"}},
		"nats://[::1]:4222 rooms/a-1.x/*": { // the document itself has the wildcard
			Server: "bus", Channel: "rooms/{room}.x/{part}", Subscribe: true, Variables: map[string]string{"tenant": "[::1]", "room": "a-1", "part": "*"}},
	} {
		got, err := d.Target(s)
		if err != nil || got.URL+" "+got.Address != text {
			t.Errorf("%+v, %v; want %s", got, err, text)
		}
	}
	for _, c := range []struct{ server, tenant, stage, room, want string }{
		{"web", "evil.example/", "x", "1", `{tenant} is in the host of the server, so "evil.example/" cannot be its value`},
		{"web", "evil.example?", "x", "1", "must not contain / ? # @ \\,"},
		{"web", "evil.example#", "x", "1", "{tenant}"},
		{"web", "user@evil.example", "x", "1", "{tenant}"},
		{"web", "evil.example\\", "x", "1", "{tenant}"},
		{"web", "evil example", "x", "1", "{tenant}"},
		{"web", "evil\x00", "x", "1", "{tenant}"},
		{"bus", "evil.example/", "", "1", "{tenant}"},
		{"web", "a", "x?", "1", "{stage} is in the path of the server"},
		{"web", "a", "..", "1", `another path: they make the segment ".."`},
		{"web", "a", "x/%2e%2E/y", "1", "another path"},
		{"web", "a", "x", "..", `another path: they make the segment ".." of "rooms/../events"`},
		{"web", "a", "x", ".", "another path"},
		{"bus", "a", "", ">", `{room} is one part of a subject of NATS, so ">" cannot be its value`},
		{"bus", "a", "", "*", "{room}"},
		{"bus", "a", "", "a.b", "{room}"},
		{"bus", "a", "", "a b", "{room}"},
		{"bus", "a", "", "", "{room}"},
	} {
		variables := map[string]string{"tenant": c.tenant}
		if c.stage != "" {
			variables["stage"] = c.stage
		}
		s := Selection{Server: c.server, Channel: "rooms/{room}/events", Variables: variables, Payload: map[string]any{"room": c.room}}
		if got, err := d.Target(s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
		variables["room"] = c.room
		s = Selection{Server: c.server, Channel: "rooms/{room}/events", Variables: variables, Subscribe: true}
		if got, err := d.Target(s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("subscribing with %+v: %+v, %v", c, got, err)
		}
	}
}

func TestErrorsShowOnlySomeOfAnEnumeration(t *testing.T) {
	values := strings.Repeat("'"+strings.Repeat("x", 1000)+"',", 3000)
	d := document(t, "asyncapi: 2.6.0\nservers: {s: {url: 'h', protocol: http}}\nchannels: {'c/{a}': {parameters: {a: {schema: {enum: ["+values+"]}}}}}")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := d.Target(Selection{Channel: "c/{a}", Variables: map[string]string{"a": "y"}})
	runtime.ReadMemStats(&after)
	if err == nil || len(err.Error()) > 3000 || !strings.Contains(err.Error(), "2990 more, not \"y\"") {
		t.Error(err)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 1<<20 {
		t.Errorf("an error about 3 MB of values took %d bytes", allocated)
	}
	large := map[string]any{"a": []any{strings.Repeat("x", 1000)}}
	if _, err := document(t, "asyncapi: 2.6.0\nservers: {s: {url: 'h', protocol: http}}\nchannels: {'c/{a}': {parameters: {a: {location: '$message.payload#/a'}}}}").
		Target(Selection{Channel: "c/{a}", Payload: large}); err == nil || !strings.Contains(err.Error(), "must be a text, a number or a boolean") {
		t.Error(err)
	}
}

func TestDocumentsThatCannotBeRead(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 9), ","))
	}
	for text, want := range map[string]string{
		"":                                   "no object",
		"[1]":                                "no object",
		"{":                                  "no JSON",
		"a: [":                               "neither JSON nor YAML",
		"asyncapi: 1.2.0":                    `"1.2.0"`,
		"openapi: 3.1.0":                     "2.6 and 3.0",
		`{"asyncapi": "4.0.0"}`:              `"4.0.0"`,
		bomb:                                 "aliasing",
		strings.Repeat("[", 300):             "",
		strings.Repeat(" ", MaxBytes) + "{}": "at most 4194304",
		`{"asyncapi":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}": "deep",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

func TestLocate(t *testing.T) {
	headers, payload := map[string]any{"X-Trace": "t", "a/b": 1}, map[string]any{"list": []any{map[string]any{"id": 7}}, "none": nil}
	for location, want := range map[string]any{
		"$message.header#/X-Trace": "t", "$message.header#/x-trace": "t", "$message.header#/a~1b": 1,
		"$message.payload#/list/0/id": 7, "$message.payload#/list/1/id": nil, "$message.payload#/none": nil,
		"$message.payload#/list/-1": nil, "$message.payload#x": nil, "payload#/list": nil, "": nil,
	} {
		if got, ok := Locate(location, headers, payload); got != want || ok != (want != nil) {
			t.Errorf("%s: %v, %t; want %v", location, got, ok, want)
		}
	}
}

func FuzzDocument(f *testing.F) {
	for _, seed := range []string{version2, version3, "asyncapi: 3.0.0\nservers: &s\n  a: *s", `{"asyncapi":"2.6.0","channels":{"c":{"$ref":"#"}}}`,
		"asyncapi: 2.6.0\nservers: {s: {url: '{a', protocol: ws}}\nchannels: {c: {publish: {message: [1]}}}"} {
		f.Add(seed, "c", "nats")
	}
	f.Fuzz(func(t *testing.T, text, name, protocol string) {
		d, err := Parse([]byte(text))
		if err != nil {
			return
		}
		for _, s := range []Selection{{Channel: name}, {Operation: name, Subscribe: true}, {Channel: name, Protocol: protocol, Payload: map[string]any{"a": 1}}} {
			target, err := d.Target(s)
			if err == nil && (Family(target.Protocol) == "" || !strings.Contains(target.URL, "://") || len(target.Messages) == 0) {
				t.Errorf("unusable target %+v", target)
			}
		}
	})
}
