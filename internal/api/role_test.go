package api

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
)

var update = flag.Bool("update", false, "write the matrix of docs/reference/roles.md")

const (
	rolesPage   = "../../docs/reference/roles.md"
	matrixBegin = "<!-- matrix: written by go test ./internal/api -run TestMatrixOfRoles -update -->\n"
)

// TestMatrixOfRoles walks every route with every role in both environments, over what the role is granted on and over
// another workflow, and holds what the server answers against the matrix of the page of roles.
func TestMatrixOfRoles(t *testing.T) {
	var matrix strings.Builder
	matrix.WriteString("| Route |")
	rule := "|---|"
	for _, role := range service.Roles() {
		matrix.WriteString(" `" + role.Name + "` |")
		rule += "---|"
	}
	matrix.WriteString("\n" + rule + "\n")
	s := newServer(t, &fake{})
	for _, rt := range routes(s) {
		if rt.public || rt.path != chargehand.APIPath+rt.endpoint.path {
			continue
		}
		matrix.WriteString("| `" + rt.method + " " + rt.endpoint.path + "` |")
		for _, role := range service.Roles() {
			live, test := answerTo(t, rt, role, chargehand.Live), answerTo(t, rt, role, chargehand.Test)
			if live != test {
				live = "live: " + live + ", test: " + test
			}
			matrix.WriteString(" " + live + " |")
		}
		matrix.WriteString("\n")
	}
	page, err := os.ReadFile(rolesPage)
	if err != nil {
		t.Fatal(err)
	}
	before, written, found := strings.Cut(string(page), matrixBegin)
	if !found {
		t.Fatalf("the page has no line %s", matrixBegin)
	}
	if *update {
		if err := os.WriteFile(rolesPage, []byte(before+matrixBegin+"\n"+matrix.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if written != "\n"+matrix.String() {
		t.Errorf("the matrix of %s is not what the server does, which is\n%s", rolesPage, matrix.String())
	}
}

// answerTo asks the server for a route as a role, and says what it does: yes, own (in part), or no. A role over one
// workflow shows no other.
func answerTo(t *testing.T, rt *route, role service.Role, env chargehand.Environment) string {
	t.Helper()
	everything := &service.Principal{Key: keyID, Scopes: role.Scopes(env), Environment: env}
	own := *everything
	own.Workflows = []chargehand.WorkflowID{workflowID}
	f := &fake{authenticate: func(string) (*service.Principal, error) { return everything, nil }}
	path := rt.path
	for name, value := range map[string]string{
		"workflowId": workflowID.String(), "executionId": executionID.String(), "batchId": batchID.String(), "taskId": taskID1.String(), "linkId": linkID1.String(), "fileId": fileID.String(), "keyId": keyID.String(),
		"userId": userID.String(), "groupId": groupID.String(), "grantId": grantID.String(), "operationId": operationID.String(), "sessionId": sessionID.String(), "version": "1.0.0", "name": "token", "code": "internal",
	} {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	a := request{method: rt.method, path: path}.to(newServer(t, f))
	refused := a.status == 403 && strings.Contains(string(a.body), string(chargehand.CodeInsufficientScope))
	view, err := service.May(&own, rt.scopes, rt.instead)
	whole := (rt.id == "getMetrics" || rt.id == "getSystem") && env == chargehand.Test // it shows live too
	if rt.scopes != 0 && refused != (err != nil || whole) {
		t.Errorf("%s %s as %s in %s: %d, although the scopes say %v", rt.method, rt.path, role.Name, env, a.status, err)
	}
	switch {
	case rt.scopes == 0:
		return "yes"
	case refused:
		return "no"
	case view.Sees(chargehand.WorkflowID{9}):
		t.Errorf("%s %s as %s in %s shows another workflow", rt.method, rt.path, role.Name, env)
	case !view.SeesWhole(workflowID):
		return "own"
	}
	return "yes"
}

// TestFreshSignIns: a session that was left open changes no users, groups, grants or secrets, and makes no personal
// key.
func TestFreshSignIns(t *testing.T) {
	for _, e := range endpoints() {
		first, _, _ := strings.Cut(strings.TrimPrefix(e.path, "/"), "/")
		want := e.method != get && slices.Contains([]string{"users", "groups", "grants", "secrets"}, first) || slices.Contains([]string{"createPersonalKey", "rotatePersonalKey"}, e.id)
		if e.fresh != want {
			t.Errorf("%s %s needs a fresh sign-in: %t, want %t", e.method, e.path, e.fresh, want)
		}
	}
}
