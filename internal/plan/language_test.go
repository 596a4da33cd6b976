package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/value"
)

func authenticated(policy string) string {
	return "do: [{a: {call: http, with: {method: get, endpoint: {uri: 'https://e.org', authentication: " + policy + "}}}}]"
}

// Constant policies become what activities take (T68, docs/language/authentication.md).
func TestAuthenticationShapes(t *testing.T) {
	tests := []struct{ policy, want string }{
		{"{basic: {username: u, password: p}}", `{"scheme": "basic", "username": "u", "password": "p"}`},
		{"{digest: {username: u, password: p}}", `{"scheme": "digest", "username": "u", "password": "p"}`},
		{"{bearer: {token: t}}", `{"scheme": "bearer", "token": "t"}`},
		{"{oauth2: {authority: 'https://a.example/x', grant: client_credentials}}", `{"scheme": "oauth2", "authority": "https://a.example/x",
			"grant": "client_credentials", "encoding": "application/x-www-form-urlencoded", "client": {"authentication": "client_secret_post"},
			"endpoints": {"token": "/oauth2/token", "revocation": "/oauth2/revoke", "introspection": "/oauth2/introspect"}}`},
		{`{oidc: {authority: 'https://a.example', grant: password, client: {id: i, secret: s, assertion: x, authentication: none},
			request: {encoding: application/json}, issuers: [i], scopes: [a, b], audiences: [c], username: u, password: p,
			subject: {token: t, type: y}, actor: {token: t2, type: y2}}}`,
			`{"scheme": "oidc", "authority": "https://a.example", "grant": "password", "encoding": "application/json",
			"client": {"id": "i", "secret": "s", "assertion": "x", "authentication": "none"},
			"issuers": ["i"], "scopes": ["a", "b"], "audiences": ["c"], "username": "u", "password": "p",
			"subject": {"token": "t", "type": "y"}, "actor": {"token": "t2", "type": "y2"}}`},
	}
	for _, test := range tests {
		t.Run(test.policy, func(t *testing.T) {
			p := mustCompile(t, authenticated(test.policy))
			got, ok := p.Tasks[0].Activity.Endpoint.Authentication.Constant()
			want, err := value.Parse([]byte(test.want), value.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if !ok || !value.Equal(got, want) {
				t.Errorf("got %s, want %s", value.Marshal(got), test.want)
			}
		})
	}
	for _, policy := range []string{"{basic: {use: s}}", "{bearer: {token: '${ .t }'}}",
		"{oauth2: {authority: 'https://{h}', grant: password}}", "{oauth2: {authority: 'https://h', grant: password, scopes: ['${ .s }']}}"} {
		p := mustCompile(t, "use: {secrets: [s]}\n"+authenticated(policy))
		if _, ok := p.Tasks[0].Activity.Endpoint.Authentication.Constant(); ok {
			t.Errorf("%s is constant", policy)
		}
	}
	uses := mustCompile(t, "use: {secrets: [s]}\n"+authenticated("{bearer: {token: '${ $secrets.s }'}}")).Tasks[0].Activity.Endpoint.Authentication
	if !uses.Uses("secrets") || uses.Uses("context") || (*Authentication)(nil).Uses("secrets") {
		t.Error("it does not know what the policy uses")
	}
	if got, ok := (*Authentication)(nil).Constant(); got != nil || !ok {
		t.Error("no policy is not constant")
	}
}

// A secret holds the properties of the inline form (T68).
func TestSecretPolicies(t *testing.T) {
	tests := []struct{ scheme, secret, want string }{
		{SchemeBearer, `"t"`, `{"scheme": "bearer", "token": "t"}`},
		{SchemeBearer, `{"token": "t", "other": "x"}`, `{"scheme": "bearer", "token": "t"}`},
		{SchemeBasic, `{"username": "u", "password": "p"}`, `{"scheme": "basic", "username": "u", "password": "p"}`},
		{SchemeOAuth2, `{"authority": "https://a", "grant": "password", "client": {"id": "i"}, "endpoints": {"token": "/t"}, "request": {"encoding": "application/json"}, "scopes": ["s"]}`,
			`{"scheme": "oauth2", "authority": "https://a", "grant": "password", "client": {"id": "i", "authentication": "client_secret_post"},
			"endpoints": {"token": "/t", "revocation": "/oauth2/revoke", "introspection": "/oauth2/introspect"}, "encoding": "application/json", "scopes": ["s"]}`},
		{SchemeOIDC, `{"authority": "https://a", "grant": "password"}`,
			`{"scheme": "oidc", "authority": "https://a", "grant": "password", "client": {"authentication": "client_secret_post"}, "encoding": "application/x-www-form-urlencoded"}`},
		{SchemeBasic, `"text"`, ""}, {SchemeBasic, `{"username": "u"}`, ""}, {SchemeBearer, `{}`, ""}, {SchemeBearer, `5`, ""},
		{SchemeDigest, `{"username": "u", "password": 5}`, ""}, {SchemeOAuth2, `{"authority": "https://a"}`, ""},
		{SchemeOAuth2, `{"authority": "https://a", "grant": "password", "scopes": [5]}`, ""},
	}
	for _, test := range tests {
		t.Run(test.scheme+" "+test.secret, func(t *testing.T) {
			secret, err := value.Parse([]byte(test.secret), value.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := (&Authentication{Scheme: test.scheme}).FromSecret(secret)
			if test.want == "" {
				if err == nil || strings.Contains(err.Error(), "5") {
					t.Errorf("got %v, %v", got, err)
				}
				return
			}
			want, bad := value.Parse([]byte(test.want), value.Limits{})
			if bad != nil {
				t.Fatal(bad)
			}
			if err != nil || !value.Equal(got, want) {
				t.Errorf("got %s, %v, want %s", value.Marshal(got), err, test.want)
			}
		})
	}
}

// Undeclared secrets are refused where they can be seen, also in policies (T75).
func TestUndeclaredSecretOfPolicy(t *testing.T) {
	_, problems := compile(t, "use: {secrets: [token]}\n"+authenticated("{basic: {use: tokens}}"))
	if len(problems) != 1 || problems[0].Code != CodeUnknownSecret || problems[0].Pointer != "/do/0/a/with/endpoint/authentication/basic/use" ||
		problems[0].Hint != `Did you mean "token"?` {
		t.Errorf("problems %v", problems)
	}
}

// Extensions apply to tasks by kind, in the order of the definition; not to each other, and
// to functions for what they do (T35).
func TestExtensionsOfTasks(t *testing.T) {
	p := mustCompile(t, `
use:
  extensions:
    - one: {extend: all, before: [{x: {set: {x: 1}}}]}
    - two: {extend: composite, after: [{y: {do: [{z: {set: {x: 1}}}]}}]}
    - three: {extend: set}
    - four: {extend: call}
  functions:
    f: {set: {x: 1}}
    g: {do: [{h: {set: {x: 1}}}]}
do:
  - a: {set: {x: 1}}
  - b: {do: [{c: {call: f}}]}
  - d: {fork: {branches: [{e: {wait: PT1S}}]}}
`)
	names := func(tasks ...*Task) (names []string) {
		for _, task := range tasks {
			list := task.Reference + ":"
			for _, e := range task.Extensions {
				list += " " + e.Name
			}
			names = append(names, list)
		}
		return names
	}
	want := []string{
		"/do/0/a: one three", "/do/1/b: one two", "/do/1/b/do/0/c: one four", "/do/2/d: one two", "/do/2/d/fork/branches/0/e: one",
		"/use/functions/f: three", "/use/functions/g: two", "/use/functions/g/do/0/h: one three",
		"/use/extensions/0/one/before/0/x:", "/use/extensions/1/two/after/0/y:", "/use/extensions/1/two/after/0/y/do/0/z:",
	}
	if got := names(p.Tasks...); !slices.Equal(got, want) {
		t.Errorf("extensions\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if e := p.Extensions[2]; e.Before != nil || e.After != nil || e.When != nil {
		t.Errorf("an extension of nothing: %+v", e)
	}
	_, problems := compile(t, "use: {extensions: [{e: {extend: set, when: '$item', before: [{a: {set: {x: 1}, then: b}}, {c: {set: '${ ] }'}}, {b: {set: {x: 1}}}]}}]}\ndo: [{a: {set: {x: 1}}}]")
	got := problemLines(problems)
	wantLines := []string{"error /use/extensions/0/e/when invalid_expression", "warning /use/extensions/0/e/before/1/c unreachable_task",
		"error /use/extensions/0/e/before/1/c/set invalid_expression"}
	slices.Sort(got)
	slices.Sort(wantLines)
	if !slices.Equal(got, wantLines) {
		t.Errorf("problems %v", got)
	}
}

func TestSchedules(t *testing.T) {
	at := func(text string) int64 {
		moment, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return moment.UnixMilli()
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	p := mustCompile(t, "schedule: {every: PT1H, after: {minutes: 5}, cron: '30 2 * * MON-FRI'}\ndo: [{a: {set: {x: 1}}}]")
	s := p.Schedule
	if s.Every.Milliseconds != 3_600_000 || s.After.Milliseconds != 300_000 || s.Cron.Text != "30 2 * * MON-FRI" || s.Read != "" {
		t.Errorf("schedule %+v", s)
	}
	tests := []struct {
		cron, after, next string
		zone              *time.Location
	}{
		{"30 2 * * MON-FRI", "2026-01-02T03:00:00Z", "2026-01-05T02:30:00Z", time.UTC},
		{"30 2 * * *", "2026-01-01T00:00:00Z", "2026-01-01T01:30:00Z", berlin},
		{"*/10 * * * * *", "2026-01-01T00:00:01Z", "2026-01-01T00:00:10Z", time.UTC}, // T84
		{"0 0 1 * MON", "2026-01-02T00:00:00Z", "2026-01-05T00:00:00Z", time.UTC},    // either day
		{"0 0 29 2 *", "2026-01-02T00:00:00Z", "2028-02-29T00:00:00Z", time.UTC},
	}
	for _, test := range tests {
		p := mustCompile(t, "schedule: {cron: '"+test.cron+"'}\ndo: [{a: {set: {x: 1}}}]")
		if got := p.Schedule.Cron.NextMs(at(test.after), test.zone); got != at(test.next) {
			t.Errorf("%s after %s is %s, want %s", test.cron, test.after, time.UnixMilli(got).UTC(), test.next)
		}
	}
	for _, bad := range []string{"cron: '* * * *'", "cron: '@hourly'", "cron: '61 * * * *'", "cron: 'TZ=UTC * * * * *'", "cron: '0 0 31 2 *'",
		"cron: '${ .x }'", "every: '${ .x }'", "every: PT0S", "after: {milliseconds: 1}"} {
		p, problems := compile(t, "schedule: {"+bad+"}\ndo: [{a: {set: {x: 1}}}]")
		if p != nil || problems[0].Code != CodeSchedule || problems[0].Detail == "" {
			t.Errorf("%s: %v", bad, problems)
		}
	}
	if mustCompile(t, "do: [{a: {set: {x: 1}}}]").Schedule != nil {
		t.Error("a workflow without a schedule has one")
	}
}

// Activities get what the design of their kind says; what is absent is not given.
func TestProtocolArguments(t *testing.T) {
	p := mustCompile(t, `
do:
  - grpc: {call: grpc, with: {proto: {endpoint: '${ .p }'}, service: {name: S, host: h, port: 90, authentication: {bearer: {token: t}}}, method: M, arguments: {a: 1}}}
  - mcp: {call: mcp, with: {method: tools/list, timeout: PT5S, client: {name: n, version: v}, transport: {http: {endpoint: 'https://e.org', headers: {x: y}}}}}
  - stdio: {call: mcp, with: {method: tools/call, parameters: {name: t}, transport: {stdio: {command: c, arguments: [a], environment: {A: b}}}}}
  - a2a: {call: a2a, with: {method: message/send, agentCard: {endpoint: 'https://e.org/card'}, server: 'https://e.org', parameters: {m: 1}}}
  - sub: {run: {workflow: {namespace: n, name: w}, await: false, return: none}}
`)
	for i, want := range []struct{ kind, fields, resources string }{
		{"grpc", "host arguments", "proto"}, {"mcp", "parameters http.headers", "http"},
		{"mcp", "parameters stdio.command stdio.arguments stdio.environment", ""}, {"a2a", "parameters", "server agentCard"},
	} {
		a := p.Tasks[i].Activity
		var fields, resources []string
		for _, f := range a.Fields {
			fields = append(fields, strings.TrimPrefix(f.In+"."+f.Name, "."))
		}
		for _, r := range a.Resources {
			resources = append(resources, r.Name)
		}
		if _, ok := a.Constants["parameters"]; ok {
			fields = append([]string{"parameters"}, fields...)
		}
		if a.Kind != want.kind || strings.Join(fields, " ") != want.fields || strings.Join(resources, " ") != want.resources {
			t.Errorf("%s: fields %v, resources %v", a.Kind, fields, resources)
		}
	}
	if c := p.Tasks[0].Activity.Constants; c["port"] != 90 || c["service"] != "S" || c["method"] != "M" || p.Tasks[0].Activity.Authentication == nil {
		t.Errorf("grpc: %v", c)
	}
	if a := p.Tasks[1].Activity; a.Durations[0].Name != "timeoutMs" || a.Constants["protocolVersion"] != "2025-06-18" ||
		!value.Equal(a.Constants["client"], map[string]any{"name": "n", "version": "v"}) {
		t.Errorf("mcp: %+v", a)
	}
	if sub := p.Tasks[4]; !sub.Detached || sub.Child.Version != "latest" || !sub.Child.NoOutput || !sub.Leaf() || sub.Child.Input != nil {
		t.Errorf("workflow: %+v", sub.Child)
	}
}

// A check of proto files may be plugged in (T38).
func TestCheckProto(t *testing.T) {
	doc, _ := dsl.Parse([]byte(header + "do: [{a: {call: grpc, with: {proto: {endpoint: 'https://e.org/p'}, service: {name: S, host: h}, method: M}}}]"))
	opt := Options{Resources: map[string][]byte{"https://e.org/p": []byte("x")}}
	opt.CheckProto = func(proto []byte, service, method string) error {
		if string(proto) != "x" || service != "S" || method != "M" {
			t.Errorf("checked %s, %s, %s", proto, service, method)
		}
		return strings.NewReader("").UnreadByte()
	}
	if p, problems := Compile(doc, opt); p != nil || problems[0].Code != CodeResource || problems[0].Pointer != "/do/0/a/with/proto" {
		t.Errorf("problems %v", problems)
	}
}

func TestContainers(t *testing.T) {
	const definition = "do: [{a: {run: {container: {image: i, name: NAME, command: 'echo ${X}', ports: {80: 8080}, arguments: [a], lifetime: {cleanup: eventually, after: PT1M}}}}}]"
	doc, _ := dsl.Parse([]byte(header + strings.Replace(definition, "NAME", "plain-name", 1)))
	if p, problems := Compile(doc, Options{}); p != nil || problems[0].Code != CodeRunNotAllowed {
		t.Errorf("problems %v", problems)
	}
	p, problems := Compile(doc, Options{Run: []string{"container"}})
	if p == nil {
		t.Fatal(problems.Err())
	}
	a := p.Tasks[0].Activity
	name := a.Fields[slices.IndexFunc(a.Fields, func(f Field) bool { return f.Name == "name" })]
	if v, _ := name.Operand.Constant(); a.Kind != "container" || v != "plain-name" || a.Durations[0].Name != "cleanupAfterMs" ||
		a.Constants["cleanup"] != "eventually" || !value.Equal(a.Constants["workflow"], map[string]any{"namespace": "test", "name": "plan"}) || a.Constants["pullPolicy"] != "ifNotPresent" || a.Constants["return"] != "stdout" {
		t.Errorf("container: %+v", a)
	}
	for _, f := range a.Fields { // an expression without a text is a fault, and not left out
		if (f.Name == "name" || f.Name == "command") && f.Type != Text {
			t.Errorf("%s may be other than a text: %v", f.Name, f.Type)
		}
	}
	doc, _ = dsl.Parse([]byte(header + strings.Replace(definition, "NAME", ".name", 1)))
	p, _ = Compile(doc, Options{Run: []string{"container"}})
	if _, constant := p.Tasks[0].Activity.Fields[1].Operand.Constant(); constant {
		t.Error("an expression is taken for a name")
	}
}

// Servers of tools over stdio are processes (T80).
func TestStdioNotAllowed(t *testing.T) {
	doc, _ := dsl.Parse([]byte(header + "do: [{a: {call: mcp, with: {method: tools/list, transport: {stdio: {command: x}}}}}]"))
	for kind, allowed := range map[string]bool{"js": false, "shell": true, "mcp": true} {
		if p, _ := Compile(doc, Options{Run: []string{kind}}); (p != nil) != allowed {
			t.Errorf("with %s it is allowed: %v", kind, p != nil)
		}
	}
}

// Unknown names come with what may have been meant (T36, T74).
func TestHints(t *testing.T) {
	tests := []struct{ definition, hint string }{
		{"do: [{a: {call: htpp, with: {x: 1}}}]", `Did you mean "http"?`},
		{"use: {functions: {greet: {set: {x: 1}}}}\ndo: [{a: {call: great}}]", `Did you mean "greet"?`},
		{"do: [{a: {call: 'log:1.0.0'}}]", `Did you mean "log:1.0.0@default"?`},
		{"do: [{a: {call: 'log:1.0.1@default'}}]", `Did you mean "log:1.0.0"?`},
		{"do: [{a: {call: 'log:1.0.0@defualt'}}]", `Did you mean "default"?`},
		{"do: [{a: {call: 'zzzzzzzzzz'}}]", "Built in are"},
		{"use: {timeouts: {short: {after: PT1S}}}\ndo: [{a: {timeout: shrot, set: {x: 1}}}]", `Did you mean "short"?`},
		{"use: {timeouts: {short: {after: PT1S}}}\ndo: [{a: {timeout: quitelong, set: {x: 1}}}]", "use.timeouts has: short."},
	}
	for _, test := range tests {
		_, problems := compile(t, test.definition)
		if len(problems) != 1 || !strings.HasPrefix(problems[0].Hint, test.hint) {
			t.Errorf("%s: %v", test.definition, problems)
		}
	}
}

// Conditions that cannot be false are suspicious (T13).
func TestConstantConditions(t *testing.T) {
	for condition, suspicious := range map[string]bool{`"red"`: true, `5`: true, `[.x]`: true, `${ "x" }`: true, `.x`: false, `"a" == .x`: false, `true`: false, `false`: false} {
		_, problems := compile(t, "do: [{a: {if: '"+condition+"', set: {x: 1}}}]")
		if (len(problems) == 1 && problems[0].Code == CodeCondition) != suspicious {
			t.Errorf("%s: %v", condition, problems)
		}
	}
}

// TestArgumentOrder keeps the keys of a map of arguments as they are written (T46).
func TestArgumentOrder(t *testing.T) {
	for arguments, want := range map[string]value.Value{
		"{z-source: null, m: '${ .x }', a-dest: null}": []any{"z-source", "m", "a-dest"},
		"{a: 1, b: 2}":                     nil,
		"[b, a]":                           nil,
		"'${ {b: 1, a: 2} }'":              nil,
		"{b: 1, a: {d: 1, c: 2}}":          []any{"b", "a"},
		"{\"--x\": 1, \"-a\": 2, B: null}": nil,
	} {
		p := mustCompile(t, "do: [{a: {run: {shell: {command: ls, arguments: "+arguments+"}}}}]")
		if got := p.Tasks[0].Activity.Constants["argumentOrder"]; !value.Equal(got, want) {
			t.Errorf("%s: %v, want %v", arguments, got, want)
		}
	}
}
