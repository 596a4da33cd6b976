package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/value"
)

// check compiles with external resources.
func check(t *testing.T, definition string, resources map[string][]byte) Result {
	t.Helper()
	doc, found := dsl.Parse([]byte(header + definition))
	return Check(doc, found, Options{Run: []string{"shell", "script", "container"}, Resources: resources})
}

func wantedURIs(r Result) []string {
	var uris []string
	for _, w := range r.Wanted {
		uris = append(uris, w.Kind+" "+w.URI)
	}
	return uris
}

const everyResource = `
use:
  catalogs:
    ours: {endpoint: {uri: 'https://github.com/acme/catalog/tree/main', authentication: {bearer: {token: t}}}}
do:
  - a: {set: {x: 1}, input: {schema: {resource: {endpoint: 'https://e.org/schema.yaml'}}}}
  - b: {call: grpc, with: {proto: {endpoint: 'https://e.org/p.proto'}, service: {name: S, host: h}, method: M}}
  - c: {run: {script: {language: js, source: {endpoint: 'https://e.org/s.js'}}}}
  - d: {call: 'greet:1.0.0@ours'}
  - e: {call: 'https://github.com/acme/f/blob/v1.2.0/f.yaml', with: {x: 1}}
  - f: {call: 'greet:1.0.0@ours', with: {y: 2}}
  - g: {call: 'log:1.0.0@default', with: {message: hi}}
`

// What has a constant address is wanted until it was fetched, and pinned then; functions may
// want more (T36, T69).
func TestResources(t *testing.T) {
	const greet = "https://raw.githubusercontent.com/acme/catalog/refs/heads/main/functions/greet/1.0.0/function.yaml"
	const byURL = "https://raw.githubusercontent.com/acme/f/v1.2.0/f.yaml"
	resources := map[string][]byte{}
	r := check(t, everyResource, resources)
	want := []string{"schema https://e.org/schema.yaml", "proto https://e.org/p.proto", "script https://e.org/s.js", "function " + greet, "function " + byURL}
	got := wantedURIs(r)
	slices.Sort(got)
	slices.Sort(want)
	if r.Plan != nil || len(r.Problems) != 0 || !slices.Equal(got, want) {
		t.Fatalf("wanted %v, problems %v", got, r.Problems)
	}
	for _, w := range r.Wanted {
		authentication, _ := w.Authentication.(map[string]any)
		if (w.URI == greet) != (authentication["token"] == "t") {
			t.Errorf("%s is fetched with %v", w.URI, authentication)
		}
		if w.URI == greet && w.Pointer != "/do/3/d/call" || w.Kind == ResourceSchema && w.Pointer != "/do/0/a/input/schema/resource/endpoint" {
			t.Errorf("%s is wanted by %s", w.URI, w.Pointer)
		}
	}
	resources["https://e.org/schema.yaml"] = []byte("type: object\nproperties: {a: {$ref: other.json}}")
	resources["https://e.org/p.proto"] = []byte(`syntax = "proto3";`)
	resources["https://e.org/s.js"] = []byte("1 + 1")
	resources[resourceKey(greet, bearer("t"))] = []byte("do:\n  - inner: {call: 'https://e.org/inner.yaml'}\n  - more: {emit: {event: {with: {type: x}}}}\nthen: end\n")
	resources[byURL] = []byte(`{"set": {"x": "${ .x }"}}`)
	r = check(t, everyResource, resources)
	if got := wantedURIs(r); !slices.Equal(got, []string{"function https://e.org/inner.yaml", "schema https://e.org/other.json"}) || r.Plan != nil {
		t.Fatalf("wanted %v, problems %v", got, r.Problems)
	}
	resources["https://e.org/inner.yaml"] = []byte("set: {inner: true}")
	resources["https://e.org/other.json"] = []byte(`{"type": "string", "minLength": 2}`)
	r = check(t, everyResource, resources)
	if r.Plan == nil || len(r.Wanted) != 0 {
		t.Fatalf("wanted %v, problems %v", wantedURIs(r), r.Problems)
	}
	checkPinned(t, r.Plan)
	first := r.Plan.Digest()
	resources["https://e.org/s.js"] = []byte("2 + 2")
	if again := check(t, everyResource, resources); again.Plan.Digest() == first {
		t.Error("the digest does not depend on the content of the resources")
	}
}

func bearer(token string) map[string]any {
	return map[string]any{"scheme": SchemeBearer, "token": token}
}

// What is behind one address may depend on who asks for it.
func TestResourcesByAuthentication(t *testing.T) {
	const definition = `
use:
  catalogs:
    one: {endpoint: {uri: 'https://e.org/c?ref=main', authentication: {bearer: {token: t1}}}}
    two: {endpoint: {uri: 'https://e.org/c/?ref=main#part', authentication: {bearer: {token: t2}}}}
do:
  - a: {run: {script: {language: js, source: {endpoint: {uri: 'https://e.org/s.js', authentication: {bearer: {token: t1}}}}}}}
  - b: {run: {script: {language: js, source: {endpoint: {uri: 'https://e.org/s.js', authentication: {bearer: {token: t2}}}}}}}
  - c: {run: {script: {language: js, source: {endpoint: 'https://e.org/s.js'}}}}
  - d: {run: {script: {language: js, source: {endpoint: {uri: 'https://e.org/s.js', authentication: {bearer: {token: t1}}}}}}}
  - e: {call: 'f:1.0.0@one'}
  - f: {call: 'f:1.0.0@two'}
`
	r := check(t, definition, nil)
	resources := map[string][]byte{}
	for _, w := range r.Wanted {
		token := "none"
		if a, ok := w.Authentication.(map[string]any); ok {
			token = a["token"].(string)
		}
		switch {
		case resources[w.Key] != nil:
			t.Errorf("%s is wanted twice", w.Key)
		case strings.Contains(w.Key, "t1") || w.Key == w.URI && token != "none":
			t.Errorf("the key %q with the token %s", w.Key, token)
		}
		resources[w.Key] = []byte(token)
		if w.Kind == ResourceFunction {
			if w.URI != "https://e.org/c/functions/f/1.0.0/function.yaml?ref=main" {
				t.Errorf("the function is at %s", w.URI)
			}
			resources[w.Key] = []byte("set: {token: " + token + "}")
		}
	}
	if r = check(t, definition, resources); r.Plan == nil || len(resources) != 5 || len(r.Plan.Pinned) != 5 {
		t.Fatalf("%d resources, wanted %v, problems %v", len(resources), r.Wanted, r.Problems)
	}
	tasks := r.Plan.Body.Tasks
	for i, want := range []string{"t1", "t2", "none", "t1"} {
		if code := tasks[i].Activity.Constants["code"]; code != want {
			t.Errorf("script %s is what was read with %v, want %s", tasks[i].Name, code, want)
		}
	}
	if one, two := tasks[4].Call.Body, tasks[5].Call.Body; one == two {
		t.Error("two catalogs share a function")
	}
}

// An empty address is one mistake: nothing is wanted for it, which could not be fetched either.
func TestEmptyAddressIsOneProblem(t *testing.T) {
	for _, definition := range []string{
		"do: [{a: {call: http, with: {method: get, endpoint: ' '}}}]",
		"do: [{a: {run: {script: {language: js, source: {endpoint: ''}}}}}]",
		"do: [{a: {run: {script: {language: js, source: {endpoint: {uri: ''}}}}}}]",
		"do: [{a: {call: openapi, with: {document: {endpoint: ''}, operationId: x}}}]",
		"do: [{a: {call: grpc, with: {proto: {endpoint: ''}, service: {name: S, host: h}, method: M}}}]",
		"use: {catalogs: {c: {endpoint: ''}}}\ndo: [{a: {call: 'f:1.0.0@c'}}]",
		"input: {schema: {resource: {endpoint: ''}}}\ndo: [{a: {set: {x: 1}}}]",
		"do: [{a: {call: http, with: {method: get, endpoint: {uri: 'https://e.org', authentication: {oauth2: {authority: '', grant: client_credentials}}}}}}]",
	} {
		r := check(t, definition, nil)
		if len(r.Problems) != 1 || len(r.Wanted) != 0 {
			t.Errorf("%s: problems %v, wanted %v", definition, r.Problems, r.Wanted)
		}
	}
}

// Definitions that were stored before may have one content for an address.
func TestStoredResourceByAddressAlone(t *testing.T) {
	const definition = `
do: [{a: {run: {script: {language: js, source: {endpoint: {uri: 'https://e.org/s.js', authentication: {bearer: {token: t}}}}}}}}]
`
	doc, _ := dsl.Parse([]byte(header + definition))
	p, problems := Compile(doc, Options{Run: AnyRun(), Resources: map[string][]byte{"https://e.org/s.js": []byte("1")}})
	if p == nil || p.Tasks[0].Activity.Constants["code"] != "1" || p.Pinned[0].Key != "https://e.org/s.js" {
		t.Errorf("problems %v", problems)
	}
}

func checkPinned(t *testing.T, p *Plan) {
	t.Helper()
	if len(p.Pinned) != 7 || p.Pinned[0].Key > p.Pinned[1].Key {
		t.Errorf("pinned: %v", p.Pinned)
	}
	tasks := p.Body.Tasks
	if problems := tasks[0].InputSchema.Validate(map[string]any{"a": "x"}); len(problems) != 1 || problems[0].Pointer != "/a" {
		t.Errorf("the schema finds %v", problems)
	}
	if _, steps := tasks[0].InputSchema.Check(map[string]any{"a": "xx"}); steps == 0 {
		t.Error("checking an external schema costs nothing")
	}
	proto := tasks[1].Activity.Resources[0]
	if proto.Name != "proto" || proto.Endpoint != nil || !strings.Contains(proto.Content, "proto3") || !strings.HasPrefix(proto.Digest, "sha256:") {
		t.Errorf("proto: %+v", proto)
	}
	if code := tasks[2].Activity.Constants["code"]; code != "1 + 1" || len(tasks[2].Activity.Resources) != 0 {
		t.Errorf("code: %v", code)
	}
	d, f := tasks[3].Call, tasks[5].Call
	if d.Body != f.Body || len(d.Body.Tasks) != 1 || d.Body.Tasks[0].Then.Kind != dsl.FlowNone {
		t.Error("the function is not compiled once")
	}
	body := d.Body.Tasks[0]
	if !body.Remote || body.Function != "greet:1.0.0@ours" || !body.Body.Tasks[0].Remote || body.Number <= tasks[6].Number {
		t.Errorf("function: %+v", body)
	}
	if source := body.Body.Tasks[1].DefaultSource; source != "/test/plan/1.0.0" {
		t.Errorf("events of a function have the source %s", source)
	}
}

// Addresses that depend on the data are read at run time where that is possible.
func TestInconstantResources(t *testing.T) {
	r := check(t, `
do:
  - b: {call: grpc, with: {proto: {endpoint: '${ .p }'}, service: {name: S, host: h}, method: M}}
  - c: {run: {script: {language: js, source: {endpoint: {uri: 'https://e.org/{s}', authentication: {bearer: {token: '${ .t }'}}}}}}}
`, nil)
	if r.Plan == nil {
		t.Fatalf("problems %v, wanted %v", r.Problems, r.Wanted)
	}
	if p := r.Plan.Body.Tasks[0].Activity.Resources[0]; p.Endpoint == nil || p.Endpoint.Expression == nil {
		t.Errorf("proto: %+v", p)
	}
	if s := r.Plan.Body.Tasks[1].Activity.Resources[0]; s.Name != "source" || s.Endpoint.Template == nil || s.Endpoint.Authentication == nil {
		t.Errorf("source: %+v", s)
	}
}

// Problems of functions from outside are reported at their call.
func TestRemoteProblems(t *testing.T) {
	const uri = "https://e.org/f.yaml"
	call := "use: {secrets: [s], timeouts: {mine: {after: PT1S}}}\ndo: [{a: {call: '" + uri + "'}}]"
	tests := []struct{ name, definition, content, code, detail string }{
		{"no YAML", call, "{", dsl.CodeSyntax, "In line"},
		{"no task", call, "1", dsl.CodeWrongType, "In line 1 of the function https://e.org/f.yaml"},
		{"no kind", call, "input: {}", dsl.CodeKindMissing, "does not say what to do"},
		{"expression", call, "set:\n  a: 1\n  b: '${ ] }'", CodeExpression, "In line 3"},
		{"secrets", call, "set: '${ $secrets.s }'", CodeUnknownSecret, "has no secrets"},
		{"names", call, "timeout: mine\nset: {a: 1}", CodeUnknownName, "no timeout"},
		{"functions", call, "call: other", CodeUnknownCall, "no function named"},
		{"recursion", call, "do: [{again: {call: '" + uri + "'}}]", CodeRecursion, "calls itself"},
		{"jumps", call, "switch: [{a: {then: nowhere}}]", dsl.CodeTarget, "nowhere"},
		{"catalog", "do: [{a: {call: 'f:1.0.0@none'}}]", "", CodeUnknownName, "no catalog named"},
		{"version", "do: [{a: {call: 'log:9.0.0@default'}}]", "", CodeUnknownCall, "has no function log:9.0.0"},
		{"name", "do: [{a: {call: 'f@none'}}]", "", CodeUnknownCall, "is no name of a function"},
		{"too large", call, "set: {a: '" + strings.Repeat("x", MaxResourceBytes) + "'}", CodeResource, "at most"},
		{"schema", "do: [{a: {set: {x: 1}, input: {schema: {resource: {endpoint: '" + uri + "'}}}}}]", "{", CodeResource, "cannot be read"},
		{"schema of schema", "do: [{a: {set: {x: 1}, input: {schema: {document: {$ref: 'urn:x'}}}}}]", "", CodeSchema, "cannot be used"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := check(t, test.definition, map[string][]byte{uri: []byte(test.content)})
			if r.Plan != nil || len(r.Problems) == 0 {
				t.Fatalf("it is accepted: %v", r.Problems)
			}
			got := r.Problems[0]
			if got.Code != test.code || !strings.Contains(got.Detail, test.detail) || !strings.HasPrefix(got.Pointer, "/do/0/a") || got.Line == 0 {
				t.Errorf("problem %s %s %q", got.Pointer, got.Code, got.Detail)
			}
		})
	}
}

// A catalog named default takes the place of the server's own.
func TestDefaultCatalogOverridden(t *testing.T) {
	r := check(t, "use: {catalogs: {default: {endpoint: 'https://e.org/c/'}}}\ndo: [{a: {call: 'log:1.0.0@default'}}]", nil)
	if got := wantedURIs(r); !slices.Equal(got, []string{"function https://e.org/c/functions/log/1.0.0/function.yaml"}) {
		t.Errorf("wanted %v", got)
	}
}

func TestTooManyResources(t *testing.T) {
	var b strings.Builder
	b.WriteString("do:\n")
	for i := range MaxResources + 1 {
		b.WriteString("  - t" + strings.Repeat("x", i) + ": {call: 'https://e.org/" + strings.Repeat("x", i+1) + "'}\n")
	}
	r := check(t, b.String(), nil)
	if len(r.Wanted) != MaxResources || len(r.Problems) != 1 || r.Problems[0].Code != CodeTooManyResources {
		t.Errorf("%d wanted, problems %v", len(r.Wanted), r.Problems)
	}
}

func TestRawURI(t *testing.T) {
	tests := []struct {
		address, want string
		root          bool
	}{
		{"https://github.com/o/r/tree/main", "https://raw.githubusercontent.com/o/r/refs/heads/main", true},
		{"https://github.com/o/r/tree/main/", "https://raw.githubusercontent.com/o/r/refs/heads/main", true},
		{"https://www.github.com/o/r/blob/main/a/f.yaml?x=1", "https://raw.githubusercontent.com/o/r/refs/heads/main/a/f.yaml", false},
		{"https://github.com/o/r/tree/0123abc/sub", "https://raw.githubusercontent.com/o/r/0123abc/sub", true},
		{"https://github.com/o/r/raw/v1.0/f.yaml", "https://raw.githubusercontent.com/o/r/v1.0/f.yaml", false},
		{"https://github.com/o/r", "https://raw.githubusercontent.com/o/r/HEAD", true},
		{"https://github.com/o/r.git", "https://raw.githubusercontent.com/o/r/HEAD", true},
		{"https://github.com/o/r", "https://github.com/o/r", false},
		{"https://gitlab.com/g/s/p/-/tree/main/c", "https://gitlab.com/g/s/p/-/raw/main/c", true},
		{"https://gitlab.acme.org/g/p/-/blob/main/f.yaml", "https://gitlab.acme.org/g/p/-/raw/main/f.yaml", false},
		{"https://gitlab.com/g/p", "https://gitlab.com/g/p/-/raw/HEAD", true},
		{"https://e.org/tree/main", "https://e.org/tree/main", true},
		{"file:///catalog", "file:///catalog", true},
		{"https://[", "https://[", true},
	}
	for _, test := range tests {
		if got := rawURI(test.address, test.root); got != test.want {
			t.Errorf("%s becomes %s, want %s", test.address, got, test.want)
		}
	}
}

// A definition with mistakes of form is compiled as far as it can be read, so that all
// problems are reported at once; what only follows from a mistake is not.
func TestCheckOfBrokenDefinitions(t *testing.T) {
	r := check(t, `
use:
  timeouts: 5
  functions: {f: {nonsense: true}}
  secrets: {}
schedule: {every: nonsense, cron: '0 0 31 2 *'}
do:
  - a: {if: '.x ===', set: {x: 1}, typo: 1}
  - b: {call: http, with: {method: get, endpoint: 5}}
  - c: {call: http}
  - d: {timeout: none, call: f}
  - e: {set: {x: '${ $secrets.s }'}, then: nowhere}
  - f: {listen: {}}
  - g: {run: {}}
  - h: {for: {}, do: 1}
  - i: {try: 1}
  - j: {fork: {}}
  - k: {emit: {}}
  - l: {raise: {}}
  - m: {wait: 1}
  - n: {switch: 1}
  - o: {}
  - p: {call: grpc, with: {service: {}}}
  - q: {call: asyncapi, with: {}}
  - r: {call: mcp, with: {transport: {}}}
  - s: {call: a2a, with: {agentCard: {}}}
  - t: {run: {container: {}}}
  - u: {run: {script: {}}}
  - v: {call: http, with: {method: '${ ] }', endpoint: 'https://e.org/{'}}
`, nil)
	lines := problemLines(r.Problems)
	for _, want := range []string{
		"error /do/0/a/if invalid_expression", "error /do/0/a/typo unknown_property",
		"error /do/21/v/with/method invalid_expression", "error /do/21/v/with/endpoint invalid_uri",
		"error /schedule/cron invalid_schedule",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("%s is missing in\n%s", want, strings.Join(lines, "\n"))
		}
	}
	for _, line := range lines {
		for _, code := range []string{CodeUnknownName, CodeUnknownCall, CodeUnknownSecret, CodeUnreachable, CodeNotSupported} {
			if strings.HasSuffix(line, " "+code) {
				t.Errorf("%s is only a consequence", line)
			}
		}
	}
	if !slices.IsSortedFunc(r.Problems, func(a, b dsl.Problem) int { return a.Line - b.Line }) {
		t.Error("the problems are not sorted")
	}
	if r := Check(nil, dsl.Problems{{Code: dsl.CodeSyntax}}, Options{}); len(r.Problems) != 1 {
		t.Errorf("a text that cannot be read has the problems %v", r.Problems)
	}
}

// Whatever a definition holds, checking never panics, also if its reader has refused it,
// and gives a plan exactly if there is no error.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		everyResource,
		"use: {extensions: [{e: {extend: all, when: .x, before: [{a: {set: {x: 1}, then: exit}}], after: [{b: {call: f}}]}}], functions: {f: {do: [{a: {call: f}}]}}}\ndo: [{a: {call: f}}]",
		"schedule: {every: PT1S, cron: '*/5 * * * * *', after: {seconds: 1}}\ndo: [{a: {run: {await: false, workflow: {namespace: n, name: w}}}}]",
		"use: {authentications: {a: {oauth2: {authority: 'https://e.org', grant: password, client: {id: a}}}, b: {oidc: {use: s}}}, secrets: [s]}\ndo: [{a: {call: a2a, with: {method: message/send, server: {uri: 'https://e.org', authentication: {use: a}}}}}]",
		"do: [{a: {call: mcp, with: {method: tools/list, timeout: PT1S, transport: {stdio: {command: x}}}}}, {b: {call: 5}}]",
		"do: [{a: {run: {container: {image: i, name: .x, lifetime: {cleanup: eventually, after: PT1S}}}}}]",
		"use: {functions: {f: 1}}\ndo: [{a: {try: [], catch: {retry: r, then: b}}}, 5]",
	} {
		f.Add(header+seed, "set: {x: 1}")
	}
	f.Fuzz(func(t *testing.T, definition, content string) {
		doc, found := dsl.Parse([]byte(definition))
		opt := Options{Run: []string{"shell", "script", "container"}, Resources: map[string][]byte{}}
		r := Check(doc, found, opt)
		for _, w := range r.Wanted {
			opt.Resources[w.URI] = []byte(content)
		}
		if len(r.Wanted) > 0 {
			r = Check(doc, found, opt)
		}
		if (r.Plan == nil) != (r.Problems.HasErrors() || len(r.Wanted) > 0) {
			t.Fatalf("plan %v with %v and %v", r.Plan != nil, r.Problems, r.Wanted)
		}
		if r.Plan != nil {
			value.Marshal(r.Plan.Definition())
		}
	})
}
