package expr

import (
	"errors"
	"fmt"
	"github.com/chargehand/chargehand/internal/value"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

func TestUnwrap(t *testing.T) {
	tests := []struct {
		text     string
		source   string
		ok       bool
		embedded bool
	}{
		{"${ .a }", ".a", true, false},
		{"${.a}", ".a", true, false},
		{" \n\t${ .a } \n", ".a", true, false},
		{"${}", "", true, false},
		{`${ {a: "}"} }`, `{a: "}"}`, true, false},
		{`${ "\("}")" }`, `"\("}")"`, true, false},
		{"${ .a # } \n }", ".a # }", true, false},
		{"${ .a # } }", ".a # }", true, false}, // the comment never ends; the compiler says so
		{`${ "open }`, `"open`, true, false},
		{"${ .a } and ${ .b }", "", false, true},
		{`${ {a: 1} } x }`, "", false, true},
		{"Hello ${ .name }", "", false, true},
		{"${HOME}/bin", "", false, true},
		{"echo ${HOME}", "", false, true},
		{"${ .a", "", false, true},
		{"$ { .a }", "", false, false},
		{"{ .a }", "", false, false},
		{".a", "", false, false},
		{"", "", false, false},
		{"$", "", false, false},
		{"${", "", false, true},
	}
	for _, tt := range tests {
		source, ok := Unwrap(tt.text)
		if source != tt.source || ok != tt.ok {
			t.Errorf("Unwrap(%q) = %q, %v", tt.text, source, ok)
		}
		if got := IsEmbedded(tt.text); got != tt.embedded {
			t.Errorf("IsEmbedded(%q) = %v", tt.text, got)
		}
	}
}

func TestCompileOperandTakesBothForms(t *testing.T) {
	for _, mode := range []Mode{Strict, Loose} {
		for _, text := range []string{".a", "${ .a }", "  ${.a}\n"} {
			e, err := CompileOperand(text, mode, nil)
			if err != nil {
				t.Fatal(err)
			}
			if v, err := e.Eval(map[string]any{"a": 1}, nil); err != nil || v != 1 {
				t.Errorf("%q = %v, %v", text, v, err)
			}
		}
		for text, location := range map[string][2]int{
			".a | foo":            {1, 6},
			"${ .a | foo }":       {1, 9},
			" \n  ${ .a | foo }":  {2, 11},
			"${\n  .a\n  | foo }": {3, 5},
			"${ .a + ${ .b } }":   {1, 9},
			"plain words":         {1, 7},
		} {
			_, err := CompileOperand(text, mode, nil)
			var problem *CompileError
			if !errors.As(err, &problem) || problem.Line != location[0] || problem.Column != location[1] {
				t.Errorf("%q: %#v, want %v", text, err, location)
			}
		}
	}
}

func TestTemplate(t *testing.T) {
	env := &testEnv{values: map[string]Value{"context": map[string]any{"n": 1}, "item": "it"}}
	tests := []struct {
		name     string
		template string
		mode     Mode
		want     string
	}{
		{"expressions", `{"a":"${ .x }","b":["${ .y }",2,"plain"],"c":{"d":{"e":"${ $context.n }"}}}`, Strict,
			`{"a":{"k":"v"},"b":[[1,2],2,"plain"],"c":{"d":{"e":1}}}`},
		{"keys are no expressions", `{"${ .x }":"${ .y[0] }"}`, Strict, `{"${ .x }":1}`},
		{"bare texts are literals", `{"a":".x","b":"$item","c":"x ${ .x }"}`, Strict, `{"a":".x","b":"$item","c":"x ${ .x }"}`},
		{"a single text", `"${ .y[1] }"`, Strict, `2`},
		{"missing becomes null", `{"a":"${ .nothing }","b":"${ empty }"}`, Strict, `{"a":null,"b":null}`},
		{"numbers and literals", `{"a":1.0,"b":null,"c":true,"d":"${ 1.0 }"}`, Strict, `{"a":1.0,"b":null,"c":true,"d":1.0}`},
		{"loose: bare texts", `{"a":".x.k","b":"$item","c":"hello","d":"hello world","e":"1 + 1","f":"null"}`, Loose,
			`{"a":"v","b":"it","c":"hello","d":"hello world","e":2,"f":null}`},
		{"loose: fails when evaluated", `{"a":".x.k.deep","b":".y","c":"error(\"x\")"}`, Loose, `{"a":".x.k.deep","b":[1,2],"c":"error(\"x\")"}`},
		{"loose: refused names", `["env","input","halt","debug","now is here"]`, Loose, `["env","input","halt","debug","now is here"]`},
		{"loose: whole text", `".y"`, Loose, `[1,2]`},
		{"loose: with braces", `"${ .y }"`, Loose, `[1,2]`},
		{"loose: embedded", `"x ${ .y }"`, Loose, `"x ${ .y }"`},
		{"empty containers", `{"a":{},"b":[],"c":"${ . | length }"}`, Strict, `{"a":{},"b":[],"c":2}`},
	}
	dot := mustParse(t, `{"x":{"k":"v"},"y":[1,2]}`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			source := mustParse(t, tt.template)
			tmpl, problems := CompileTemplate(source, tt.mode, &Scope{Locals: []string{"item"}})
			if tmpl == nil {
				t.Fatalf("problems: %v", problems)
			}
			for range 2 { // the first evaluation leaves the template as it was
				v, err := tmpl.Eval(dot, env)
				if got := string(value.Marshal(v)); err != nil || got != tt.want {
					t.Errorf("got  %s, %v\nwant %s", got, err, tt.want)
				}
			}
			if string(value.Marshal(source)) != string(value.Marshal(mustParse(t, tt.template))) {
				t.Error("the source has changed")
			}
		})
	}
}

func TestTemplateErrors(t *testing.T) {
	dot := map[string]any{"s": "text"}
	tests := []struct {
		template string
		mode     Mode
		want     string
		limit    bool
	}{
		{`{"a":"${ .s.deep }"}`, Strict, "expected an object", false},
		{`["${ .s.deep }"]`, Loose, "expected an object", false},
		{`{"b":"${ error(\"second\") }","a":"${ error(\"first\") }"}`, Strict, "first", false},
		{`{"a":"[range(1e9)]"}`, Loose, "entries", true},
		{`["${ [range(1e9)] }"]`, Strict, "entries", true},
		{`["${ \"x\" * 9000000 }","${ \"x\" * 9000000 }"]`, Strict, "16 MiB", true},
	}
	for _, tt := range tests {
		tmpl, problems := CompileTemplate(mustParse(t, tt.template), tt.mode, nil)
		if tmpl == nil {
			t.Fatalf("%s: %v", tt.template, problems)
		}
		_, err := tmpl.Eval(dot, &testEnv{})
		var problem *EvalError
		if !errors.As(err, &problem) || !strings.Contains(problem.Detail, tt.want) || problem.Limit != tt.limit {
			t.Errorf("%s: %v, want %s", tt.template, err, tt.want)
		}
	}
}

func TestTemplateProblems(t *testing.T) {
	tests := []struct {
		template string
		mode     Mode
		want     string // pointer code line:column, each with a semicolon; warnings in parentheses
	}{
		{`{"a":"${ .x","b":"fine"}`, Strict, `(/a embedded_expression 1:1);`},
		{`{"a/b":{"~":["x","${ $nope }"]}}`, Strict, `/a~1b/~0/1 invalid_expression 1:4;`},
		{`{"b":"${ foo }","a":"${ . } ${ . }"}`, Strict, `(/a embedded_expression 1:1);/b invalid_expression 1:4;`},
		{`{"a":"line one\n and ${ . }"}`, Strict, `(/a embedded_expression 2:6);`},
		{`"${ .[] }"`, Strict, `( several_results 1:1);`},
		{`{"a":"${ .a | }"}`, Strict, `/a invalid_expression 1:8;`},
		{`{"a":"$nope","b":"foo("}`, Loose, ``},
		{`{"a":"${ $nope }"}`, Loose, `/a invalid_expression 1:4;`},
	}
	for _, tt := range tests {
		tmpl, problems := CompileTemplate(mustParse(t, tt.template), tt.mode, nil)
		got, fatal := "", false
		for _, p := range problems {
			text := fmt.Sprintf("%s %s %d:%d", p.Pointer, p.Code, p.Line, p.Column)
			if p.Warning {
				text = "(" + text + ")"
			} else {
				fatal = true
			}
			got += text + ";"
			if p.Detail == "" {
				t.Errorf("%s: no detail", tt.template)
			}
		}
		if got != tt.want || (tmpl == nil) != fatal {
			t.Errorf("%s\n got %s %v\nwant %s", tt.template, got, tmpl == nil, tt.want)
		}
	}
	var deep Value = "${ 1 }"
	for range value.MaxDepth + 1 {
		deep = []any{deep}
	}
	if tmpl, problems := CompileTemplate(deep, Strict, nil); tmpl != nil || len(problems) != 1 || problems[0].Code != CodeTemplateTooDeep {
		t.Errorf("a template that is too deep: %v", problems)
	}
}

func TestTemplateSharesWhatIsConstant(t *testing.T) {
	constant := map[string]any{"x": []any{1, 2}}
	source := map[string]any{"fixed": constant, "n": "${ .n }"}
	tmpl, _ := CompileTemplate(source, Strict, nil)
	v, err := tmpl.Eval(map[string]any{"n": 1}, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	if got := v.(map[string]any)["fixed"]; reflect.ValueOf(got).Pointer() != reflect.ValueOf(constant).Pointer() {
		t.Error("a constant part is copied")
	}
	if _, ok := tmpl.Constant(); ok {
		t.Error("a template with an expression is called constant")
	}

	tmpl, _ = CompileTemplate(constant, Strict, nil)
	got, ok := tmpl.Constant()
	if !ok || reflect.ValueOf(got).Pointer() != reflect.ValueOf(constant).Pointer() {
		t.Error("a constant template is not itself")
	}
	if allocs := testing.AllocsPerRun(100, func() {
		if _, err := tmpl.Eval(nil, nil); err != nil {
			t.Error(err)
		}
	}); allocs != 0 {
		t.Errorf("a constant template allocates %v times", allocs)
	}
}

func TestTemplateVariables(t *testing.T) {
	env := &testEnv{values: map[string]Value{"context": 1, "input": 2}, asked: map[string]int{}}
	tmpl, _ := CompileTemplate(mustParse(t, `{"a":"${ $context }","b":["${ $context + $input }","${ [$input, $context] }"]}`), Strict, nil)
	if !tmpl.Uses("context") || !tmpl.Uses("input") || tmpl.Uses("output") {
		t.Error("Uses is wrong")
	}
	if _, err := tmpl.Eval(nil, env); err != nil {
		t.Fatal(err)
	}
	for name, times := range env.asked {
		if times != 1 {
			t.Errorf("$%s was asked for %d times", name, times)
		}
	}
	tmpl, _ = CompileTemplate("${ now }", Strict, nil)
	if v, err := tmpl.Eval(nil, &testEnv{nowMs: 5000}); err != nil || v != 5 {
		t.Errorf("now = %v, %v", v, err)
	}
	tmpl, _ = CompileTemplate([]any{"${ now }"}, Strict, nil)
	if v, err := tmpl.Eval(nil, &testEnv{nowMs: 5000}); err != nil || !value.Equal(v, []any{5}) {
		t.Errorf("now = %v, %v", v, err)
	}
}

func TestURITemplate(t *testing.T) {
	dot := mustParse(t, `{"id":7,"name":"a b/c?d&é","yes":true,"none":null,"price":1.50,"whole":2.0,"big":12345678901234567890123,
		"a.b":"dotted","list":[1],"object":{},"safe":"A-z_0.9~","pet-id":"p"}`)
	tests := []struct{ template, want string }{
		{"", ""},
		{"https://example.com/pets/{id}", "https://example.com/pets/7"},
		{"/x/{name}", "/x/a%20b%2Fc%3Fd%26%C3%A9"},
		{"?status={yes}&n={none}&m={missing}!", "?status=true&n=&m=!"},
		{"{price}/{whole}/{big}", "1.5/2/12345678901234567890123"},
		{"{a.b}{safe}{pet-id}", "dottedA-z_0.9~p"},
		{"{id}{id}", "77"},
		{"/a b/é/%41/%zz/\"", "/a%20b/%C3%A9/%41/%25zz/%22"},
		{"http://[::1]:80/p;v=1?q=a+b#f!$&'()*,@", "http://[::1]:80/p;v=1?q=a+b#f!$&'()*,@"},
		{"${ .id }", "$"},
	}
	for _, tt := range tests[:len(tests)-1] {
		u, err := CompileURITemplate(tt.template)
		if err != nil {
			t.Errorf("%s: %v", tt.template, err)
			continue
		}
		if got, err := u.Expand(dot); err != nil || got != tt.want {
			t.Errorf("%s = %s, %v; want %s", tt.template, got, err, tt.want)
		}
	}
	u, err := CompileURITemplate("/pets/{id}/x")
	if err != nil {
		t.Fatal(err)
	}
	for _, dot := range []Value{nil, "text", []any{map[string]any{"id": 1}}, 5} {
		if got, err := u.Expand(dot); err != nil || got != "/pets//x" {
			t.Errorf("on %v: %s, %v", dot, got, err)
		}
	}
	for _, name := range []string{"list", "object"} {
		u, _ := CompileURITemplate("{" + name + "}")
		_, err := u.Expand(dot)
		var problem *EvalError
		if !errors.As(err, &problem) || problem.Limit || !strings.Contains(problem.Detail, name) {
			t.Errorf("{%s}: %v", name, err)
		}
	}
	u, _ = CompileURITemplate("{x}")
	if got, err := u.Expand(map[string]any{"x": strings.Repeat("x", maxAddressBytes)}); err != nil || len(got) != maxAddressBytes {
		t.Errorf("an address of 64 KiB: %d bytes, %v", len(got), err)
	}
	long, _ := CompileURITemplate("{y}" + strings.Repeat("x", maxAddressBytes))
	for name, expand := range map[string]func() (string, error){
		"of a value":          func() (string, error) { return u.Expand(map[string]any{"x": strings.Repeat("x", maxAddressBytes+1)}) },
		"of a value, encoded": func() (string, error) { return u.Expand(map[string]any{"x": strings.Repeat(" ", maxAddressBytes/2)}) },
		"of a literal":        func() (string, error) { return long.Expand(map[string]any{"y": "y"}) },
	} {
		_, err := expand()
		var problem *EvalError
		if !errors.As(err, &problem) || !problem.Limit {
			t.Errorf("a long address %s: %v", name, err)
		}
	}
}

func TestURITemplateDoesNotLeadToAnotherPath(t *testing.T) {
	dot := map[string]any{"up": "..", "dot": ".", "none": "", "dots": "...", "path": "../x", "id": 7}
	for template, want := range map[string]string{
		"https://h/rooms/{dots}/{path}/{id}":   "https://h/rooms/.../..%2Fx/7",
		"https://h/rooms/v{up}/{dot}{dot}{id}": "https://h/rooms/v../..7",
		"https://h/rooms?q={up}&x=/{up}/#{up}": "https://h/rooms?q=..&x=/../#..",
		"https://h/a/../b/{id}":                "https://h/a/../b/7", // what the author wrote
		"https://h/a/..{none}/b":               "https://h/a/../b",
	} {
		u, err := CompileURITemplate(template)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := u.Expand(dot); err != nil || got != want {
			t.Errorf("%s = %s, %v; want %s", template, got, err, want)
		}
	}
	for template, name := range map[string]string{
		"https://h/rooms/{up}/events": "up", "https://h/rooms/{up}": "up", "https://h/rooms/{dot}?x": "dot", "{up}/x": "up", "{up}": "up",
		"https://h/rooms/{dot}{none}{dot}/x": "dot", "https://h/rooms/.{dot}#/": "dot", "https://h/rooms/%2E{dot}/x": "dot",
		"https://h/{id}/{dot}%2e/": "dot",
	} {
		u, err := CompileURITemplate(template)
		if err != nil {
			t.Fatal(err)
		}
		got, err := u.Expand(dot)
		var problem *EvalError
		if !errors.As(err, &problem) || problem.Limit || !strings.Contains(problem.Detail, `"`+name+`" would lead the address to another path`) {
			t.Errorf("%s = %s, %v", template, got, err)
		}
	}
}

// What a template expands to is an address of the characters that RFC 3986 knows, and each
// value can be read back from it.
func FuzzURITemplate(f *testing.F) {
	for _, template := range []string{
		"https://example.com/pets/{id}", "{id}{id}", "/a b/é/%41/%zz/\"", "http://[::1]:80/p;v=1?q={id}#f!$&'()*,@", "{", "}", "{}", "{{id}}",
		"{+id}", "{id*}", "{id,id}", "{é}", "${ .id }", "%{id}", "{id}%2", "\xff{id}\x00",
	} {
		f.Add(template, `"a b/c?d&é\u0000"`)
		f.Add(template, `-1.50e10`)
	}
	f.Fuzz(func(t *testing.T, template, text string) {
		u, err := CompileURITemplate(template)
		if err != nil {
			var problem *CompileError
			if !errors.As(err, &problem) || problem.Line < 1 || problem.Column < 1 || problem.Detail == "" || problem.Hint == "" {
				t.Fatalf("%q: %#v", template, err)
			}
			return
		}
		v, err := value.Parse([]byte(text), value.Limits{})
		if err != nil {
			v = strings.ToValidUTF8(text, "?")
		}
		object := map[string]any{"id": v}
		var whole strings.Builder
		for _, part := range u.parts {
			object[part.name] = v
		}
		for _, part := range u.parts {
			one := URITemplate{parts: []uriPart{part}}
			text, err := one.Expand(object)
			if err != nil {
				return // a list or an object, too long, or a step up
			}
			whole.WriteString(text)
			if part.name == "" {
				continue
			}
			want, _ := uriValue(part.name, v)
			if got, err := url.PathUnescape(text); err != nil || got != want {
				t.Fatalf("%q of %q is read back as %q, %v", text, want, got, err)
			}
		}
		got, err := u.Expand(object)
		if problem := (*EvalError)(nil); errors.As(err, &problem) && !problem.Limit {
			path, _, _ := strings.Cut(whole.String(), "?")
			path, _, _ = strings.Cut(path, "#")
			path, _ = url.PathUnescape(strings.ReplaceAll(path, "%2F", ""))
			if path = "/" + path + "/"; !strings.Contains(path, "/./") && !strings.Contains(path, "/../") {
				t.Fatalf("%q with %q: %v", template, v, err)
			}
			return
		}
		if tooLong := whole.Len() > maxAddressBytes; tooLong != (err != nil) || !tooLong && got != whole.String() {
			t.Fatalf("%q expands to %q, %v; its parts to %q", template, got, err, whole.String())
		}
		if strings.ContainsFunc(got, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"<>\\^`{|}", r) }) {
			t.Fatalf("%q expands to %q", template, got)
		}
	})
}

func TestURITemplateProblems(t *testing.T) {
	for template, column := range map[string]int{
		"/a/{": 4, "/a/{x": 4, "/a}": 3, "/a/{x{y}}": 4, "/a/{}": 5, "{+x}": 2, "{#x}": 2, "{?x}": 2, "{/x}": 2, "{.x}": 2, "{;x}": 2, "{&x}": 2,
		"{x*}": 2, "{x:3}": 2, "{x,y}": 2, "{x y}": 2, "é{=x}": 3, "${ .id }": 3,
	} {
		_, err := CompileURITemplate(template)
		var problem *CompileError
		if !errors.As(err, &problem) || problem.Line != 1 || problem.Column != column || problem.Hint == "" {
			t.Errorf("%s: %#v, want column %d", template, err, column)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add(`{"a":"${ .x }","b":[".y"]}`, true)
	f.Fuzz(func(t *testing.T, text string, loose bool) {
		v, err := value.Parse([]byte(text), value.Limits{})
		if err != nil {
			return
		}
		mode := Strict
		if loose {
			mode = Loose
		}
		tmpl, problems := CompileTemplate(v, mode, nil)
		for _, p := range problems {
			if p.Code == "" || p.Line < 1 || p.Column < 1 || p.Detail == "" {
				t.Fatalf("%s: %#v", text, p)
			}
		}
		if tmpl != nil && len(text) < 200 && !strings.Contains(text, "r") { // no range, repeat, recurse: they take long
			before := string(value.Marshal(v))
			if _, err := tmpl.Eval(v, &testEnv{}); err != nil && err.Error() == "" {
				t.Fatalf("%s: empty error", text)
			}
			if string(value.Marshal(v)) != before {
				t.Fatalf("%s: the source has changed", text)
			}
		}
	})
}
