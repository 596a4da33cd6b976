package machine

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
)

const callTo = "call: http, with: {method: get, endpoint: 'https://e.org'"

// What an author can get wrong at run time is a fault that names task, operand and reason.
func TestFaults(t *testing.T) {
	tests := []struct {
		name, definition string
		kind             string
		instance         string
		detail           string
	}{
		{"headers", "do: [{a: {" + callTo + ", headers: '${ [1] }'}}}]", ErrExpression, "/do/0/a", "with.headers: must be an object, but is a list"},
		{"query", "do: [{a: {" + callTo + ", query: '${ \"x\" }'}}}]", ErrExpression, "/do/0/a", "with.query: must be an object, but is a text"},
		{"method", "do: [{a: {call: http, with: {method: '${ true }', endpoint: 'https://e.org'}}}]", ErrExpression, "/do/0/a",
			"with.method: must be a text, but is a boolean"},
		{"field", "do: [{a: {" + callTo + ", body: '${ .x | error(\"no\") }'}}}]", ErrExpression, "/do/0/a", "with.body: "},
		{"endpoint", "do: [{a: {call: http, with: {method: get, endpoint: '${ .missing }'}}}]", ErrExpression, "/do/0/a",
			"with.endpoint: an address must be a text, but is null"},
		{"endpoint's expression", "do: [{a: {call: http, with: {method: get, endpoint: '${ error }'}}}]", ErrExpression, "/do/0/a", "with.endpoint: "},
		{"template", "do: [{a: {call: http, with: {method: get, endpoint: 'https://e.org/{list}'}}}]", ErrExpression, "/do/0/a", "with.endpoint: "},
		{"username", "do: [{a: {call: http, with: {method: get, endpoint: {uri: 'https://e.org', authentication: {basic: {username: '${ 1 }', password: x}}}}}}]",
			ErrExpression, "/do/0/a", "with.endpoint.authentication.basic.username: must be a text, but is a number"},
		{"password", "do: [{a: {call: http, with: {method: get, endpoint: {uri: 'https://e.org', authentication: {basic: {username: x, password: '${ error }'}}}}}}]",
			ErrExpression, "/do/0/a", "with.endpoint.authentication.basic.password: "},
		{"token", "use: {authentications: {t: {bearer: {token: '${ .missing }'}}}}\ndo: [{a: {call: http, with: {method: get, endpoint: {uri: 'https://e.org', authentication: {use: t}}}}}]",
			ErrExpression, "/do/0/a", "use.authentications.t.bearer.token: must be a text, but is null"},
		{"authorization", "do: [{a: {call: http, with: {method: get, headers: {x: '${ $authorization }'}, endpoint: {uri: 'https://e.org', authentication: {bearer: {token: '${ {} }'}}}}}}]",
			ErrExpression, "/do/0/a", "with.endpoint.authentication.bearer.token: must be a text, but is an object"},
		{"authentication of OpenAPI", "do: [{a: {call: openapi, with: {document: {endpoint: 'https://e.org'}, operationId: x, authentication: {bearer: {token: '${ error }'}}}}}]",
			ErrExpression, "/do/0/a", "with.authentication.bearer.token: "},
		{"arguments", "do: [{a: {run: {shell: {command: x, arguments: '${ 5 }'}}}}]", ErrExpression, "/do/0/a",
			"run.shell.arguments: must be a list or an object, but is a number"},
		{"command", "do: [{a: {run: {shell: {command: '${ null }'}}}}]", ErrExpression, "/do/0/a", "run.shell.command: must be a text, but is null"},
		{"type of an error", "do: [{a: {raise: {error: {type: '${ 5 }', status: 500}}}}]", ErrExpression, "/do/0/a", "raise.error.type: "},
		{"error's expression", "do: [{a: {raise: {error: {type: 'x:y', status: 500, title: '${ error }'}}}}]", ErrExpression, "/do/0/a", "raise.error: "},
		{"title that is no text", "do: [{a: {raise: {error: {type: 'x:y', status: 500, title: '${ {a: 1} }', detail: '${ [2] }'}}}}]", "x:y", "/do/0/a", "[2]"},
		{"event", "do: [{a: {emit: {event: {with: {type: '${ error }'}}}}}]", ErrExpression, "/do/0/a", "emit.event.with: "},
		{"function's input", "use: {functions: {f: {set: {x: 1}}}}\ndo: [{a: {call: f, with: {x: '${ error }'}}}]", ErrExpression, "/do/0/a", "with: "},
		{"function's expression", "use: {functions: {f: {set: '${ error }'}}}\ndo: [{a: {call: f}}]", ErrExpression, "/do/0/a", "set: "},
		{"composite function", "use: {functions: {f: {do: [{b: {set: '${ error }'}}]}}}\ndo: [{a: {call: f}}]", ErrExpression, "/use/functions/f/do/0/b", "set: "},
		{"composite function's output", "use: {functions: {f: {do: [{b: {set: {x: 1}}}], output: {as: error}}}}\ndo: [{a: {call: f}}]", ErrExpression, "/use/functions/f", "output.as: "},
		{"loop's list", "do: [{a: {for: {in: error}, do: [{b: {set: {x: 1}}}]}}]", ErrExpression, "/do/0/a", "for.in: "},
		{"while", "do: [{a: {for: {in: '[1]'}, while: error, do: [{b: {set: {x: 1}}}]}}]", ErrExpression, "/do/0/a", "while: "},
		{"switch", "do: [{a: {switch: [{b: {when: error, then: end}}]}}]", ErrExpression, "/do/0/a", "switch.0.b.when: "},
		{"input", "do: [{a: {input: {from: error}, set: {x: 1}}}]", ErrExpression, "/do/0/a", "input.from: "},
		{"export", "do: [{a: {export: {as: error}, set: {x: 1}}}]", ErrExpression, "/do/0/a", "export.as: "},
		{"timeout", "do: [{a: {timeout: {after: '${ 5 }'}, set: {x: 1}}}]", ErrExpression, "/do/0/a", "timeout.after: a duration must be ISO 8601 text such as PT30S, but the expression yields 5; here . is the raw input of the task"},
		{"timeout's text", "do: [{a: {timeout: {after: '${ \"soon\" }'}, set: {x: 1}}}]", ErrExpression, "/do/0/a", "timeout.after: "},
		{"workflow's timeout", "timeout: {after: '${ error }'}\ndo: [{a: {set: {x: 1}}}]", ErrExpression, "/timeout", "timeout.after: "},
		{"workflow's input", "input: {from: error}\ndo: [{a: {set: {x: 1}}}]", ErrExpression, "/input/from", "input.from: "},
		{"limit.duration", "do: [{a: {try: [{b: {set: {x: 1}}}], catch: {retry: {limit: {duration: '${ error }'}}}}}]", ErrExpression, "/do/0/a", "catch.retry.limit.duration: "},
		{"attempt.duration", "do: [{a: {try: [{b: {set: {x: 1}}}], catch: {retry: {limit: {attempt: {duration: '${ error }'}}}}}}]", ErrExpression, "/do/0/a", "catch.retry.limit.attempt.duration: "},
		{"exceptWhen", tried("exceptWhen: error"), ErrExpression, "/do/0/a", "catch.exceptWhen: "},
		{"retry.when", tried("retry: {when: error}"), ErrExpression, "/do/0/a", "catch.retry.when: "},
		{"delay", tried("retry: {delay: '${ error }'}"), ErrExpression, "/do/0/a", "catch.retry.delay: "},
		{"jitter", tried("retry: {jitter: {from: '${ error }', to: PT1S}}"), ErrExpression, "/do/0/a", "catch.retry.jitter.from: "},
		{"jitter's end", tried("retry: {jitter: {from: PT1S, to: '${ error }'}}"), ErrExpression, "/do/0/a", "catch.retry.jitter.to: "},
		{"secrets that are not declared", "do: [{a: {set: '${ $secrets[.name] }'}}]", ErrAuthorization, "/do/0/a", "set: no secret is available"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := New(compilePlan(t, testHeader+test.definition), testIdentity(t))
			commands := m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{"list": []any{}, "name": "x"}})
			last := commands[len(commands)-1]
			if last.Phase != chargehand.Faulted {
				t.Fatalf("it ended with %s", commandText(last))
			}
			if f := last.Fault; f.Type != test.kind || f.Instance != test.instance || !strings.HasPrefix(f.Detail, test.detail) {
				t.Errorf("fault %s, want %s at %s: %q", faultText(f), test.kind, test.instance, test.detail)
			}
		})
	}
}

func tried(catch string) string {
	return "do: [{a: {try: [{b: {raise: {error: {type: 'x:y', status: 500}}}}], catch: {" + catch + "}}}]"
}

func TestFaultAndFileAsData(t *testing.T) {
	f := &Fault{Type: "x:y", Status: 500, Title: "T", Detail: "d"}
	if f.Error() != "T: d" {
		t.Errorf("the fault is %q as an error", f.Error())
	}
	reference := File{ID: "1", Name: "n", MediaType: "m", Size: 5, Digest: "sha256:0"}.Reference()
	if reference["uri"] != "/api/v1/files/1" || reference["size"] != 5 || len(reference) != 5 {
		t.Errorf("reference %v", reference)
	}
}

// `now` is the time of the event, never the clock (T14).
func TestNow(t *testing.T) {
	m := New(compilePlan(t, testHeader+"do: [{a: {set: '${ now }'}}]"), testIdentity(t))
	commands := m.Apply(Event{Kind: Started, TimeMs: scriptEpoch + 500})
	if got := commands[0].Output; got != float64(scriptEpoch+500)/1000 {
		t.Errorf("now is %v", got)
	}
}
