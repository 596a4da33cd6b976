package dsl

import (
	"reflect"
	"slices"
	"testing"
)

// unused is the number of properties of everything that mean nothing here, and give a warning each.
const unused = 2

// everything uses each construct of the language once.
const everything = `document:
  dsl: '1.0.2'
  namespace: finance
  name: report
  version: 2.1.0
  title: Report
  summary: Makes it.
  tags: {team: red}
  metadata: {x: [1]}
input: {schema: {document: {type: object}}, from: '${ .a }'}
output: {schema: {format: json, resource: {name: s, endpoint: https://example.com/s.json}}, as: {b: '${ .b }'}}
timeout: long
schedule: {every: PT1H, cron: 0 0 * * *, after: {days: 1}, on: {any: [{with: {type: a}}], until: .done}, read: raw}
evaluate: {language: jq, mode: strict}
use:
  authentications:
    basicOne: {basic: {username: u, password: p}}
    bearerOne: {bearer: {use: tokenSecret}}
    digestOne: {digest: {username: u, password: p}}
    oauthOne:
      oauth2:
        authority: https://example.com/r
        grant: client_credentials
        client: {id: i, secret: s, assertion: a, authentication: none}
        request: {encoding: application/json}
        endpoints: {token: /t, revocation: /r, introspection: /i}
        issuers: [is]
        scopes: [sc]
        audiences: [au]
        username: u
        password: p
        subject: {token: st, type: sy}
        actor: {token: at, type: ay}
    oidcOne: {oidc: {authority: https://example.com, grant: password}}
  catalogs: {mine: {endpoint: {uri: https://example.com/c, authentication: {use: basicOne}}}}
  errors: {gone: {type: https://example.com/gone, status: 410, instance: /do, title: Gone, detail: '${ .d }'}}
  extensions: [{log: {extend: composite, when: .a, before: [{b: {set: {a: 1}}}], after: [{c: {set: {a: 1}}}]}}]
  functions: {double: {set: {x: '${ .x * 2 }'}}}
  retries: {often: {when: .w, exceptWhen: .e, delay: PT1S, backoff: {linear: {}}, limit: {attempt: {count: 3, duration: PT2S}, duration: PT3S}, jitter: {from: PT0S, to: PT4S}}}
  secrets: [tokenSecret]
  timeouts: {long: {after: P1M}}
do:
  - first:
      if: .ok
      input: {schema: {format: 'json:2020-12', document: true}, from: {c: 1}}
      set: {x: 1}
      output: {as: .x}
      export: {as: '$context + {x: .}', schema: {document: {}}}
      timeout: {after: {minutes: 1, milliseconds: 5}}
      then: loop
      metadata: {y: z}
  - loop:
      for: {each: pet, in: '.pets', at: i}
      while: .go
      do: [{inner: {wait: PT1M}}]
  - race: {fork: {compete: true, branches: [{l: {do: []}}, {r: {wait: '${ .delay }'}}]}}
  - guard:
      try: [{t: {raise: {error: gone}}}]
      catch:
        errors: {with: {type: https://example.com/gone, status: 410, instance: /do, title: Gone, detail: d}}
        as: problem
        when: .w
        exceptWhen: .e
        retry: often
        do: [{h: {raise: {error: {type: '${ .t }', status: 400}}}}]
        then: end
  - pick: {switch: [{low: {when: .a < 1, then: exit}}, {rest: {then: race}}]}
  - emit: {emit: {event: {with: {type: t, data: {a: 1}}}}}
  - listen:
      listen: {to: {any: [{with: {type: a}, correlate: {room: {from: .r, expect: .e}}}], until: {all: [{with: {type: b}}]}}, read: envelope}
      foreach: {item: event, at: n, do: [{g: {set: {a: 1}}}], output: {as: .o}, export: {as: .p}}
  - shell: {run: {shell: {command: ls, stdin: '${ . }', arguments: [a, 5], environment: {A: b}}, await: false, return: all}}
  - script: {run: {script: {language: js, source: {endpoint: https://example.com/s.js}, stdin: x, arguments: {a: 1}, environment: {A: b}}}}
  - code: {run: {script: {language: python, code: print()}, return: none}}
  - box: {run: {container: {image: i, name: n, command: c, ports: {80: 8080}, volumes: {a: b}, environment: {A: b}, stdin: s, arguments: [x], pullPolicy: never, lifetime: {cleanup: eventually, after: PT5S}}}}
  - child: {run: {workflow: {namespace: n, name: m, version: 1.2.3, input: [1]}}}
  - http:
      call: http
      with: {method: post, endpoint: {uri: 'https://example.com/{id}', authentication: {bearer: {token: t}}}, headers: {a: b}, query: '${ .q }', body: null, output: response, redirect: true}
  - openapi: {call: openapi, with: {document: {endpoint: d}, operationId: o, parameters: {p: 1}, authentication: {use: basicOne}, output: raw, redirect: true}}
  - grpc: {call: grpc, with: {proto: {endpoint: p}, service: {name: S, host: h, port: 99, authentication: {use: basicOne}}, method: M, arguments: {a: 1}}}
  - asyncapi: {call: asyncapi, with: {document: {endpoint: d}, operation: o, server: {name: s, variables: {v: 1}}, protocol: nats, message: {payload: {a: 1}, headers: {b: 2}}, authentication: {use: basicOne}}}
  - subscribe: {call: asyncapi, with: {document: {endpoint: d}, channel: c, subscription: {filter: .f, consume: {amount: 5, for: PT1S}, foreach: {do: []}}}}
  - while: {call: asyncapi, with: {document: {endpoint: d}, channel: c, subscription: {consume: {while: .w}}}}
  - until: {call: asyncapi, with: {document: {endpoint: d}, channel: c, subscription: {consume: {until: .u}}}}
  - a2a: {call: a2a, with: {method: tasks/get, agentCard: {endpoint: c}, server: https://example.com, parameters: {p: 1}}}
  - mcp: {call: mcp, with: {protocolVersion: '2025', method: tools/list, parameters: {p: 1}, timeout: PT9S, transport: {http: {endpoint: e, headers: {a: b}}, options: {o: p}}, client: {name: n, version: v}}}
  - stdio: {call: mcp, with: {method: tools/call, transport: {stdio: {command: c, arguments: [x], environment: {A: b}}}}}
  - custom: {call: 'log:1.0.0@default', with: {message: hi}}
`

func parseEverything(t testing.TB) *Document {
	t.Helper()
	document, problems := Parse([]byte(everything))
	if len(problems) != len(problems.Warnings()) || len(problems) != unused {
		t.Fatal(problems)
	}
	return document
}

func check(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is %+v, want %+v", what, got, want)
	}
}

func TestDocument(t *testing.T) {
	d := parseEverything(t)
	check(t, "header", []string{d.DSL, d.Namespace, d.Name, d.Version, d.Title, d.Summary},
		[]string{"1.0.2", "finance", "report", "2.1.0", "Report", "Makes it."})
	check(t, "tags", d.Tags, map[string]any{"team": "red"})
	check(t, "metadata", d.Metadata, map[string]any{"x": []any{1}})
	check(t, "input", d.Input, &Input{Pointer: "/input", From: Operand{"/input/from", "${ .a }"},
		Schema: &Schema{Pointer: "/input/schema", Format: "json", Document: Operand{"/input/schema/document", map[string]any{"type": "object"}}}})
	check(t, "output", d.Output, &Output{Pointer: "/output", As: Operand{"/output/as", map[string]any{"b": "${ .b }"}},
		Schema: &Schema{Pointer: "/output/schema", Format: "json", Resource: &Resource{Pointer: "/output/schema/resource", Name: "s",
			Endpoint: &Endpoint{Pointer: "/output/schema/resource/endpoint",
				URI: Operand{"/output/schema/resource/endpoint", "https://example.com/s.json"}}}}})
	check(t, "timeout", d.Timeout, &Timeout{Pointer: "/timeout", Name: "long"})
	check(t, "evaluate", d.Evaluate, Evaluate{Pointer: "/evaluate", Language: "jq", Mode: Strict})
	check(t, "schedule", d.Schedule, &Schedule{
		Pointer: "/schedule",
		Every:   &Duration{Pointer: "/schedule/every", Span: Span{Milliseconds: 3600000}},
		Cron:    Operand{"/schedule/cron", "0 0 * * *"},
		After:   &Duration{Pointer: "/schedule/after", Span: Span{Milliseconds: 86400000}},
		On: &Strategy{Pointer: "/schedule/on", Mode: StrategyAny, Until: Operand{"/schedule/on/until", ".done"},
			Filters: []*EventFilter{{Pointer: "/schedule/on/any/0", With: Operand{"/schedule/on/any/0/with", map[string]any{"type": "a"}}}}},
		Read: ReadRaw,
	})
	check(t, "value", d.Value().(map[string]any)["timeout"], "long")
}

func TestEvaluateDefault(t *testing.T) {
	d, _ := Parse([]byte(header + "do: []"))
	check(t, "evaluate", d.Evaluate, Evaluate{Language: "jq", Mode: Strict})
	d, _ = Parse([]byte(header + "do: []\nevaluate: {mode: loose}"))
	check(t, "evaluate", d.Evaluate, Evaluate{Pointer: "/evaluate", Language: "jq", Mode: Loose})
}

func TestUse(t *testing.T) {
	u := parseEverything(t).Use
	var names []string
	for _, entry := range u.Authentications.Entries {
		names = append(names, entry.Name)
		check(t, "pointer", entry.Pointer, "/use/authentications/"+entry.Name)
	}
	check(t, "order", names, []string{"basicOne", "bearerOne", "digestOne", "oauthOne", "oidcOne"})
	p := "/use/authentications/"
	basic, _ := u.Authentications.Get("basicOne")
	check(t, "basic", basic.Basic, &Password{Pointer: p + "basicOne/basic",
		Username: Operand{p + "basicOne/basic/username", "u"}, Password: Operand{p + "basicOne/basic/password", "p"}})
	bearer, _ := u.Authentications.Get("bearerOne")
	check(t, "bearer", bearer.Bearer, &Bearer{Pointer: p + "bearerOne/bearer", Secret: "tokenSecret"})
	digest, _ := u.Authentications.Get("digestOne")
	check(t, "digest", digest.Digest.Username.Text(), "u")
	if _, ok := u.Authentications.Get("none"); ok {
		t.Error("found an authentication that is not there")
	}
	oauth, _ := u.Authentications.Get("oauthOne")
	p += "oauthOne/oauth2"
	check(t, "oauth2", oauth.OAuth2, &OAuth2{
		Pointer: p, Authority: Operand{p + "/authority", "https://example.com/r"}, Grant: "client_credentials",
		ClientID: Operand{p + "/client/id", "i"}, ClientSecret: Operand{p + "/client/secret", "s"},
		ClientAssertion: Operand{p + "/client/assertion", "a"}, ClientAuthentication: "none",
		Encoding: "application/json", TokenEndpoint: "/t", RevocationEndpoint: "/r", IntrospectionEndpoint: "/i",
		Issuers: []Operand{{p + "/issuers/0", "is"}}, Scopes: []Operand{{p + "/scopes/0", "sc"}}, Audiences: []Operand{{p + "/audiences/0", "au"}},
		Username: Operand{p + "/username", "u"}, Password: Operand{p + "/password", "p"},
		Subject: &OAuth2Token{p + "/subject", Operand{p + "/subject/token", "st"}, Operand{p + "/subject/type", "sy"}},
		Actor:   &OAuth2Token{p + "/actor", Operand{p + "/actor/token", "at"}, Operand{p + "/actor/type", "ay"}},
	})
	oidc, _ := u.Authentications.Get("oidcOne")
	check(t, "oidc defaults", []string{oidc.OIDC.ClientAuthentication, oidc.OIDC.Encoding, oidc.OIDC.TokenEndpoint,
		oidc.OIDC.RevocationEndpoint, oidc.OIDC.IntrospectionEndpoint}, []string{"client_secret_post",
		"application/x-www-form-urlencoded", "/oauth2/token", "/oauth2/revoke", "/oauth2/introspect"})

	catalog, _ := u.Catalogs.Get("mine")
	check(t, "catalog", catalog, &Endpoint{Pointer: "/use/catalogs/mine/endpoint", URI: Operand{"/use/catalogs/mine/endpoint/uri", "https://example.com/c"},
		Authentication: &Authentication{Pointer: "/use/catalogs/mine/endpoint/authentication", Use: "basicOne"}})
	gone, _ := u.Errors.Get("gone")
	check(t, "error", gone, &Error{Pointer: "/use/errors/gone", Type: Operand{"/use/errors/gone/type", "https://example.com/gone"},
		Status: Operand{"/use/errors/gone/status", 410}, Instance: Operand{"/use/errors/gone/instance", "/do"},
		Title: Operand{"/use/errors/gone/title", "Gone"}, Detail: Operand{"/use/errors/gone/detail", "${ .d }"}})
	check(t, "extension", []any{u.Extensions[0].Name, u.Extensions[0].Pointer, u.Extensions[0].Extend, u.Extensions[0].When.Text(),
		u.Extensions[0].Before[0].Pointer, u.Extensions[0].After[0].Pointer},
		[]any{"log", "/use/extensions/0/log", "composite", ".a", "/use/extensions/0/log/before/0/b", "/use/extensions/0/log/after/0/c"})
	function, _ := u.Functions.Get("double")
	check(t, "function", []any{function.Name, function.Pointer, function.Kind}, []any{"double", "/use/functions/double", KindSet})
	count := 3
	often, _ := u.Retries.Get("often")
	p = "/use/retries/often"
	check(t, "retry", often, &Retry{
		Pointer: p, When: Operand{p + "/when", ".w"}, ExceptWhen: Operand{p + "/exceptWhen", ".e"},
		Delay: &Duration{Pointer: p + "/delay", Span: Span{Milliseconds: 1000}}, Backoff: BackoffLinear,
		Limit: RetryLimit{Pointer: p + "/limit", AttemptCount: &count,
			AttemptDuration: &Duration{Pointer: p + "/limit/attempt/duration", Span: Span{Milliseconds: 2000}},
			Duration:        &Duration{Pointer: p + "/limit/duration", Span: Span{Milliseconds: 3000}}},
		JitterFrom: &Duration{Pointer: p + "/jitter/from"},
		JitterTo:   &Duration{Pointer: p + "/jitter/to", Span: Span{Milliseconds: 4000}},
	})
	check(t, "secrets", u.Secrets, []string{"tokenSecret"})
	long, _ := u.Timeouts.Get("long")
	check(t, "timeout", long, &Timeout{Pointer: "/use/timeouts/long", After: &Duration{Pointer: "/use/timeouts/long/after", Span: Span{Months: 1}}})
}

// task finds a task of everything by name.
func task(t *testing.T, name string) *Task {
	t.Helper()
	for _, task := range parseEverything(t).Do {
		if task.Name == name {
			return task
		}
	}
	t.Fatalf("no task %q", name)
	return nil
}

func TestCommonProperties(t *testing.T) {
	first := task(t, "first")
	p := "/do/0/first"
	check(t, "value", first.Value["then"], "loop")
	first.Value = nil
	check(t, "task", first, &Task{
		Name: "first", Pointer: p, Kind: KindSet,
		If: Operand{p + "/if", ".ok"},
		Input: &Input{Pointer: p + "/input", From: Operand{p + "/input/from", map[string]any{"c": 1}},
			Schema: &Schema{Pointer: p + "/input/schema", Format: "json:2020-12", Document: Operand{p + "/input/schema/document", true}}},
		Output: &Output{Pointer: p + "/output", As: Operand{p + "/output/as", ".x"}},
		Export: &Output{Pointer: p + "/export", As: Operand{p + "/export/as", "$context + {x: .}"},
			Schema: &Schema{Pointer: p + "/export/schema", Format: "json", Document: Operand{p + "/export/schema/document", map[string]any{}}}},
		Timeout:  &Timeout{Pointer: p + "/timeout", After: &Duration{Pointer: p + "/timeout/after", Span: Span{Milliseconds: 60005}}},
		Then:     Directive{p + "/then", FlowJump, "loop"},
		Metadata: map[string]any{"y": "z"},
		Set:      Operand{p + "/set", map[string]any{"x": 1}},
	})
	if first.Wait != nil || !first.If.Present() || first.Output.Schema != nil || (Operand{}).Present() {
		t.Error("absent properties are present, or the other way round")
	}
}

func TestFlowTasks(t *testing.T) {
	loop := task(t, "loop")
	inner := loop.For.Do
	check(t, "wait", []any{inner[0].Kind, inner[0].Pointer, inner[0].Wait.Span, inner[0].Wait.Constant()},
		[]any{KindWait, "/do/1/loop/do/0/inner", Span{Milliseconds: 60000}, true})
	loop.For.Do = nil
	check(t, "for", loop.For, &For{Pointer: "/do/1/loop/for", Each: "pet", At: "i", In: Operand{"/do/1/loop/for/in", ".pets"}, While: Operand{"/do/1/loop/while", ".go"}})

	race := task(t, "race").Fork
	check(t, "fork", []any{race.Pointer, race.Compete, len(race.Branches), race.Branches[0].Kind, len(race.Branches[0].Do)},
		[]any{"/do/2/race/fork", true, 2, KindDo, 0})
	wait := race.Branches[1].Wait
	check(t, "wait", wait, &Duration{Pointer: "/do/2/race/fork/branches/1/r/wait", Expression: Operand{"/do/2/race/fork/branches/1/r/wait", "${ .delay }"}})
	check(t, "constant", wait.Constant(), false)

	guard := task(t, "guard").Try
	check(t, "raise by name", guard.Do[0].Raise, &Raise{Pointer: "/do/3/guard/try/0/t/raise/error", Name: "gone"})
	p := "/do/3/guard/catch"
	handler := guard.Catch.Do[0].Raise.Error
	check(t, "raise", handler, &Error{Pointer: p + "/do/0/h/raise/error", Type: Operand{p + "/do/0/h/raise/error/type", "${ .t }"},
		Status: Operand{p + "/do/0/h/raise/error/status", 400}})
	guard.Catch.Do = nil
	check(t, "catch", guard.Catch, &Catch{
		Pointer: p, As: "problem", When: Operand{p + "/when", ".w"}, ExceptWhen: Operand{p + "/exceptWhen", ".e"},
		Retry: &Retry{Pointer: p + "/retry", Name: "often"}, HasDo: true, Then: Directive{p + "/then", FlowEnd, ""},
		Errors: &ErrorFilter{Pointer: p + "/errors/with", Type: Operand{p + "/errors/with/type", "https://example.com/gone"},
			Status: Operand{p + "/errors/with/status", 410}, Instance: Operand{p + "/errors/with/instance", "/do"},
			Title: Operand{p + "/errors/with/title", "Gone"}, Detail: Operand{p + "/errors/with/detail", "d"}},
	})

	cases := task(t, "pick").Switch
	check(t, "first case", cases[0], &Case{"low", "/do/4/pick/switch/0/low", Operand{"/do/4/pick/switch/0/low/when", ".a < 1"},
		Directive{"/do/4/pick/switch/0/low/then", FlowExit, ""}})
	check(t, "default case", []any{cases[1].When.Present(), cases[1].Then.Target}, []any{false, "race"})
}

func TestEventTasks(t *testing.T) {
	emit := task(t, "emit").Emit
	check(t, "emit", emit, &Emit{Pointer: "/do/5/emit/emit", With: Operand{"/do/5/emit/emit/event/with", map[string]any{"type": "t", "data": map[string]any{"a": 1}}}})
	listen := task(t, "listen").Listen
	p := "/do/6/listen/listen/to"
	check(t, "read", listen.Read, ReadEnvelope)
	correlation, _ := listen.To.Filters[0].Correlate.Get("room")
	check(t, "correlation", correlation, Correlation{From: Operand{p + "/any/0/correlate/room/from", ".r"}, Expect: Operand{p + "/any/0/correlate/room/expect", ".e"}})
	check(t, "until", listen.To.UntilEvents, &Strategy{Pointer: p + "/until", Mode: StrategyAll,
		Filters: []*EventFilter{{Pointer: p + "/until/all/0", With: Operand{p + "/until/all/0/with", map[string]any{"type": "b"}}}}})
	foreach := listen.Foreach
	check(t, "foreach", []any{foreach.Item, foreach.At, foreach.Do[0].Pointer, foreach.Output.As.Text(), foreach.Export.As.Text()},
		[]any{"event", "n", "/do/6/listen/foreach/do/0/g", ".o", ".p"})
}

func TestRunTasks(t *testing.T) {
	run := task(t, "shell").Run
	p := "/do/7/shell/run"
	check(t, "shell", run, &Run{Pointer: p, Await: false, Return: ReturnAll, Shell: &Shell{
		Pointer: p + "/shell", Command: Operand{p + "/shell/command", "ls"}, Stdin: Operand{p + "/shell/stdin", "${ . }"},
		Arguments: Operand{p + "/shell/arguments", []any{"a", 5}}, Environment: Operand{p + "/shell/environment", map[string]any{"A": "b"}}}})
	script := task(t, "script").Run
	check(t, "defaults", []any{script.Await, script.Return}, []any{true, ReturnStdout})
	check(t, "script", []any{script.Script.Language, script.Script.Code.Present(), script.Script.Source.Endpoint.URI.Text(),
		script.Script.Stdin.Text(), script.Script.Arguments.Value, script.Script.Environment.Value},
		[]any{"js", false, "https://example.com/s.js", "x", map[string]any{"a": 1}, map[string]any{"A": "b"}})
	check(t, "code", task(t, "code").Run.Script.Code.Text(), "print()")
	box := task(t, "box").Run.Container
	p = "/do/10/box/run/container"
	check(t, "container", box, &Container{
		Pointer: p, Image: Operand{p + "/image", "i"}, Name: Operand{p + "/name", "n"}, Command: Operand{p + "/command", "c"},
		Ports: Operand{p + "/ports", map[string]any{"80": 8080}}, Volumes: Operand{p + "/volumes", map[string]any{"a": "b"}},
		Environment: Operand{p + "/environment", map[string]any{"A": "b"}}, Stdin: Operand{p + "/stdin", "s"},
		Arguments: Operand{p + "/arguments", []any{"x"}}, PullPolicy: "never", Cleanup: "eventually",
		CleanupAfter: &Duration{Pointer: p + "/lifetime/after", Span: Span{Milliseconds: 5000}}})
	p = "/do/11/child/run/workflow"
	check(t, "workflow", task(t, "child").Run.Workflow, &Subflow{p, "n", "m", "1.2.3", Operand{p + "/input", []any{1}}})
}

func TestCallTasks(t *testing.T) {
	call := task(t, "http").Call
	p := "/do/12/http/with"
	check(t, "call", []any{call.Pointer, call.Function, call.Custom(), call.With.Pointer}, []any{"/do/12/http/call", "http", false, p})
	check(t, "http", call.HTTP, &HTTPCall{
		Pointer: p, Method: Operand{p + "/method", "post"}, Headers: Operand{p + "/headers", map[string]any{"a": "b"}},
		Query: Operand{p + "/query", "${ .q }"}, Body: Operand{p + "/body", nil}, Output: OutputResponse, Redirect: true,
		Endpoint: &Endpoint{Pointer: p + "/endpoint", URI: Operand{p + "/endpoint/uri", "https://example.com/{id}"},
			Authentication: &Authentication{Pointer: p + "/endpoint/authentication",
				Bearer: &Bearer{Pointer: p + "/endpoint/authentication/bearer", Token: Operand{p + "/endpoint/authentication/bearer/token", "t"}}}}})
	check(t, "null body", call.HTTP.Body.Present(), true)

	openapi := task(t, "openapi").Call.OpenAPI
	check(t, "openapi", []any{openapi.Document.Endpoint.URI.Text(), openapi.OperationID.Text(), openapi.Parameters.Value,
		openapi.Authentication.Use, openapi.Output, openapi.Redirect}, []any{"d", "o", map[string]any{"p": 1}, "basicOne", OutputRaw, true})
	grpc := task(t, "grpc").Call.GRPC
	check(t, "grpc", []any{grpc.Proto.Endpoint.URI.Text(), grpc.Service, grpc.Host.Text(), grpc.Port, grpc.Authentication.Use, grpc.Method, grpc.Arguments.Value},
		[]any{"p", "S", "h", 99, "basicOne", "M", map[string]any{"a": 1}})
	async := task(t, "asyncapi").Call.AsyncAPI
	check(t, "asyncapi", []any{async.Document.Endpoint.URI.Text(), async.Operation, async.Channel, async.ServerName, async.ServerVariables.Value,
		async.Protocol, async.Message.Payload.Value, async.Message.Headers.Value, async.Authentication.Use, async.Subscription == nil},
		[]any{"d", "o", "", "s", map[string]any{"v": 1}, "nats", map[string]any{"a": 1}, map[string]any{"b": 2}, "basicOne", true})
	subscription := task(t, "subscribe").Call.AsyncAPI.Subscription
	check(t, "subscription", []any{subscription.Filter.Text(), *subscription.Amount, subscription.For.Span.Milliseconds, subscription.Foreach.Item, subscription.Foreach.At},
		[]any{".f", 5, int64(1000), "item", "index"})
	check(t, "while", task(t, "while").Call.AsyncAPI.Subscription.While.Text(), ".w")
	check(t, "until", task(t, "until").Call.AsyncAPI.Subscription.Until.Text(), ".u")
	a2a := task(t, "a2a").Call.A2A
	check(t, "a2a", []any{a2a.Method, a2a.AgentCard.Endpoint.URI.Text(), a2a.Server.URI.Text(), a2a.Parameters.Value},
		[]any{"tasks/get", "c", "https://example.com", map[string]any{"p": 1}})
	mcp := task(t, "mcp").Call.MCP
	check(t, "mcp", []any{mcp.ProtocolVersion, mcp.Method, mcp.Parameters.Value, mcp.Timeout.Span.Milliseconds, mcp.HTTP.Endpoint.URI.Text(),
		mcp.HTTP.Headers.Value, mcp.Options.Value, mcp.ClientName, mcp.ClientVersion, mcp.Stdio == nil},
		[]any{"2025", "tools/list", map[string]any{"p": 1}, int64(9000), "e", map[string]any{"a": "b"}, map[string]any{"o": "p"}, "n", "v", true})
	stdio := task(t, "stdio").Call.MCP
	check(t, "stdio", []any{stdio.ProtocolVersion, stdio.Stdio.Command.Text(), stdio.Stdio.Arguments.Value, stdio.Stdio.Environment.Value},
		[]any{"2025-06-18", "c", []any{"x"}, map[string]any{"A": "b"}})
	custom := task(t, "custom").Call
	check(t, "custom", []any{custom.Custom(), custom.Function, custom.With.Value, custom.HTTP == nil},
		[]any{true, "log:1.0.0@default", map[string]any{"message": "hi"}, true})
}

// TestEveryKindIsRead: each kind has a keyword, and what stands behind the keyword is decoded: a number is
// wrong for every kind.
func TestEveryKindIsRead(t *testing.T) {
	for kind := KindNone + 1; kind < kindCount; kind++ {
		keyword := kind.String()
		if keyword == "" || kindOf(keyword) != kind {
			t.Errorf("the kind %d has the keyword %q, which stands for %d", kind, keyword, kindOf(keyword))
			continue
		}
		_, problems := Parse([]byte(header + "do:\n  - a: {" + keyword + ": 12}\n"))
		found := slices.ContainsFunc(problems, func(p Problem) bool { return p.Pointer == "/do/0/a/"+keyword })
		if !found {
			t.Errorf("%s: 12 is not refused: %v", keyword, problems)
		}
	}
	if kindOf("") != KindNone || kindOf("with") != KindNone {
		t.Error("a word that is no keyword is a kind")
	}
}

func TestPosition(t *testing.T) {
	document, problems := Parse([]byte("document: {dsl: '1.0.3', namespace: a,\n  name: b, version: 1.0.0}\n" +
		"do:\n  - über/straße~:\n      set: {'a/b': 1, ü: [x, 'y', {z: 1}]}\n  -  {b: {set: {a: 1}}}\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for pointer, want := range map[string][2]int{
		"":                                  {1, 1},
		"/document":                         {1, 1},
		"/document/namespace":               {1, 26},
		"/document/name":                    {2, 3},
		"/do":                               {3, 1},
		"/do/0":                             {4, 5},
		"/do/0/über~1straße~0":              {4, 5},
		"/do/0/über~1straße~0/set":          {5, 7},
		"/do/0/über~1straße~0/set/a~1b":     {5, 13},
		"/do/0/über~1straße~0/set/ü":        {5, 23},
		"/do/0/über~1straße~0/set/ü/1":      {5, 30},
		"/do/0/über~1straße~0/set/ü/2/z":    {5, 36},
		"/do/0/über~1straße~0/set/ü/2/none": {5, 35},
		"/do/0/über~1straße~0/set/ü/03":     {5, 23},
		"/do/0/über~1straße~0/set/ü/-1":     {5, 23},
		"/do/0/über~1straße~0/set/ü/99":     {5, 23},
		"/do/1/b/set/a/too/deep":            {6, 17},
		"/none/at/all":                      {1, 1},
		"no pointer":                        {1, 1},
	} {
		line, column := document.Position(pointer)
		if line != want[0] || column != want[1] {
			t.Errorf("%q is at %d:%d, want %d:%d", pointer, line, column, want[0], want[1])
		}
	}
	check(t, "ErrorAt", document.ErrorAt("/do/1/b", "code", "Detail.", "Hint."),
		Problem{Pointer: "/do/1/b", Line: 6, Column: 7, Code: "code", Detail: "Detail.", Hint: "Hint."})
	check(t, "WarningAt", document.WarningAt("/do", "code", "Detail.", "").Severity, SeverityWarning)
}

// An alias stands where it is used, its content where it is written.
func TestPositionOfAlias(t *testing.T) {
	document, _ := Parse([]byte(header + "do:\n- a: {set: &s {x: 1}}\n- b:\n    set: *s\n- *s\n"))
	for pointer, want := range map[string][2]int{"/do/1/b/set": {5, 5}, "/do/1/b/set/x": {3, 16}, "/do/2": {6, 3}} {
		if line, column := document.Position(pointer); line != want[0] || column != want[1] {
			t.Errorf("%q is at %d:%d, want %v", pointer, line, column, want)
		}
	}
}
