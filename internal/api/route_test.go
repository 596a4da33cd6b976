package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
)

// TestEveryRouteIsClosed walks the whole table without a key.
func TestEveryRouteIsClosed(t *testing.T) {
	s := newServer(t, &fake{})
	var public []string
	for _, rt := range routes(s) {
		q := samples[rt.id][0]
		q.keyless = true
		if rt.session {
			q.header = nil
		}
		for _, method := range []string{rt.method, http.MethodHead, http.MethodOptions, http.MethodPut, "BREW"} {
			q.method = method
			a := q.to(s)
			if a.status == http.StatusUnauthorized {
				if method != http.MethodHead {
					code := "missing_api_key"
					if rt.session && method == rt.method {
						code = "invalid_credentials"
					}
					wantProblem(t, a, 401, code)
				}
				continue
			}
			if method == rt.method {
				public = append(public, rt.method+" "+rt.path)
			}
			if !rt.public {
				t.Errorf("%s %s answers %d without a key", method, q.path, a.status)
			}
		}
	}
	slices.Sort(public)
	want := slices.Sorted(slices.Values(publicRoutes))
	if !slices.Equal(public, want) {
		t.Errorf("public are %q, the list says %q", public, want)
	}
	for _, name := range slices.Concat(publicRoutes, signedRoutes) {
		if !slices.ContainsFunc(routes(s), func(rt *route) bool { return rt.method+" "+rt.path == name }) {
			t.Errorf("the list names %s, which is no route", name)
		}
	}
}

// TestPublicRoutesAreDocumented: the reference lists what needs no key, and nothing else.
func TestPublicRoutesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n| Without a key | For |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var documented, want []string
	for _, found := range regexp.MustCompile("`([A-Z]+ /[^`]*)`").FindAllStringSubmatch(table, -1) {
		documented = append(documented, found[1])
	}
	for _, name := range slices.Concat(publicRoutes, signedRoutes) {
		want = append(want, strings.Replace(name, chargehand.APIPath, "", 1))
	}
	slices.Sort(documented)
	slices.Sort(want)
	if want = slices.Compact(want); !slices.Equal(documented, want) {
		t.Errorf("docs/reference/api.md has\n%q\nwithout a key are\n%q", documented, want)
	}
}

// TestUnknownPaths: below /api/v1 a key is asked for first; elsewhere there is nothing to hide.
func TestUnknownPaths(t *testing.T) {
	s := newServer(t, &fake{})
	for _, path := range []string{"/api/v1", "/api/v1/", "/api/v1/nothing", "/api/v1/workflows/", "/api/v1//workflows", pathW + "/executions/"} {
		wantProblem(t, request{path: path, keyless: true}.to(s), 401, "missing_api_key")
		wantProblem(t, request{path: path}.to(s), 404, "route_not_found")
	}
	for _, path := range []string{"/", "/favicon.ico", "/api", "/api/v2/workflows", "/healthz/", "/api/v1x", "/../etc/passwd"} {
		wantProblem(t, request{path: path, keyless: true}.to(s), 404, "route_not_found")
	}
}

func TestMethods(t *testing.T) {
	s := newServer(t, &fake{})
	a := request{method: "PUT", path: pathE}.to(s)
	wantProblem(t, a, 405, "method_not_allowed")
	if allow := a.header.Get("Allow"); allow != "GET, HEAD, DELETE, OPTIONS" {
		t.Errorf("Allow %q", allow)
	}
	a = request{method: "PUT", path: pathW + "/executions"}.to(s)
	wantProblem(t, a, 405, "method_not_allowed")
	if allow := a.header.Get("Allow"); allow != "POST, GET, HEAD, OPTIONS" {
		t.Errorf("Allow %q", allow)
	}
	a = request{method: "OPTIONS", path: "/api/v1/workflows"}.to(s)
	if a.status != 204 || a.header.Get("Allow") != "GET, HEAD, POST, OPTIONS" || len(a.body) != 0 {
		t.Errorf("OPTIONS: %d, Allow %q", a.status, a.header.Get("Allow"))
	}
	wantProblem(t, request{method: "POST", path: "/healthz", keyless: true}.to(s), 405, "method_not_allowed")
	a = request{method: "HEAD", path: pathE}.to(s)
	if a.status != 200 || len(a.body) != 0 || a.header.Get("ETag") != `"tag-1"` {
		t.Errorf("HEAD: %d with %d bytes, ETag %s", a.status, len(a.body), a.header.Get("ETag"))
	}
}

// TestRouter looks at what the tree makes of paths.
func TestRouter(t *testing.T) {
	s := newServer(t, &fake{})
	const id = "0197a5c4-1111-7000-8000-000000000001"
	tests := []struct {
		path   string
		want   string // the pattern, "" for none
		params []string
	}{
		{"/api/v1/workflows", "/api/v1/workflows", nil},
		{"/api/v1/%77orkflows", "/api/v1/workflows", nil},
		{"/api/v1/workflows/validate", "/api/v1/workflows/validate", nil},
		{"/api/v1/workflows/" + id, "/api/v1/workflows/{workflowId}", []string{id}},
		{"/api/v1/workflows/a%2Fb", "/api/v1/workflows/{workflowId}", []string{"a/b"}},
		{"/api/v1/workflows/a%2Fexecutions", "/api/v1/workflows/{workflowId}", []string{"a/executions"}},
		{"/api/v1%2Fworkflows", "", nil},
		{"/api/v1/workflows/x/versions/1.0%2B%20%00/publish", "/api/v1/workflows/{workflowId}/versions/{version}/publish", []string{"x", "1.0+ \x00"}},
		{"/api/v1/workflows/x/executions/y/timeline", "/api/v1/workflows/{workflowId}/executions/{executionId}/timeline", []string{"x", "y"}},
		{"/api/v1/workflows/x/executions/y/event", "", nil},
		{"/api/v1/workflows//executions", "", nil},
		{"/api/v1/secrets/a%2Fb%20%C3%BC+", "/api/v1/secrets/{name}", []string{"a/b ü+"}},
		{"/api/v1/secrets/", "", nil},
		{"/api/v1/workflows/..", "/api/v1/workflows/{workflowId}", []string{".."}},
		{"/API/v1/workflows", "", nil},
	}
	for _, test := range tests {
		u, err := url.Parse(test.path)
		if err != nil {
			t.Fatal(err)
		}
		var m match
		s.tree.find(u, &m)
		if m.node == nil {
			if test.want != "" {
				t.Errorf("%s: no route, want %s", test.path, test.want)
			}
			continue
		}
		if got := m.node.routes[0].path; got != test.want {
			t.Errorf("%s: %s, want %s", test.path, got, test.want)
		}
		if got := m.params[:len(test.params)]; !slices.Equal(got, test.params) {
			t.Errorf("%s: params %q, want %q", test.path, got, test.params)
		}
	}
}

// TestMalformedIDs: an id that is none is the same as one that does not exist.
func TestMalformedIDs(t *testing.T) {
	s := newServer(t, &fake{})
	const good = "0197a5c4-1111-7000-8000-000000000001"
	bad := []string{
		"1", "null", "%00", "%FF%FE", "..%2F..%2Fetc", strings.Repeat("x", 10_000), "{" + good + "}",
		strings.ReplaceAll(good, "-", ""), good + "0", " " + good[1:], "0197a5c4-1111-7000-8000-00000000000g",
	}
	for _, id := range bad {
		id = strings.ReplaceAll(id, " ", "%20")
		wantProblem(t, request{path: "/api/v1/workflows/" + id}.to(s), 404, "workflow_not_found")
		wantProblem(t, request{path: pathW + "/executions/" + id}.to(s), 404, "execution_not_found")
		wantProblem(t, request{path: pathW + "/batch/" + id}.to(s), 404, "batch_not_found")
		wantProblem(t, request{path: "/api/v1/files/" + id}.to(s), 404, "file_not_found")
		wantProblem(t, request{path: "/api/v1/api-keys/" + id}.to(s), 404, "api_key_not_found")
		wantProblem(t, request{path: "/api/v1/problems/" + id}.to(s), 404, "problem_not_found")
		wantProblem(t, request{method: "POST", path: "/api/v1/workflows/" + id + "/executions", body: "{"}.to(s), 404, "workflow_not_found")
	}
	if a := (request{path: "/api/v1/workflows/" + strings.ToUpper(good)}).to(s); a.status != 200 {
		t.Errorf("an id in upper case: %d", a.status)
	}
}

// TestEveryCodeHasAPage: every code of the root package is mapped, and its type address
// answers without a key.
func TestEveryCodeHasAPage(t *testing.T) {
	s := newServer(t, &fake{})
	for code, about := range problemTypes {
		a := request{path: "/api/v1/problems/" + string(code), keyless: true}.to(s)
		v := decode(t, a.body)
		if a.status != 200 || v["code"] != string(code) || v["title"] != about.title || v["status"].(interface{ String() string }).String() != itoa(about.status) {
			t.Errorf("%s: %d %s", code, a.status, a.body)
		}
		if !strings.HasSuffix(v["type"].(string), "/api/v1/problems/"+string(code)) || v["description"] == "" {
			t.Errorf("%s: %s", code, a.body)
		}
	}
	for _, code := range errorCodes(t) {
		if problemTypes[code].status == 0 {
			t.Errorf("%s has no status", code)
		}
	}
}

// errorCodes are the constants of the type Code in the root package.
func errorCodes(t *testing.T) (codes []chargehand.Code) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		kind, ok := spec.Type.(*ast.Ident)
		if !ok || kind.Name != "Code" {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, chargehand.Code(text))
		return true
	})
	if len(codes) != len(problemTypes) {
		t.Errorf("error.go has %d codes, problemTypes %d", len(codes), len(problemTypes))
	}
	return codes
}
