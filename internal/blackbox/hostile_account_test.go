package blackbox_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
)

// visitor is a browser with the cookie of a session, or none.
type visitor struct {
	server *servertest.Server
	cookie string
}

func (v *visitor) do(t *testing.T, method, path, body string, headers ...string) servertest.Answer {
	t.Helper()
	headers = append([]string{"X-Api-Key", "", "Cookie", v.cookie}, headers...)
	a := v.server.Do(t, method, path, body, headers...)
	for _, set := range a.Header["Set-Cookie"] {
		if pair, _, _ := strings.Cut(set, ";"); !strings.HasPrefix(pair, "chargehand-browser") {
			v.cookie = pair
		}
	}
	return a
}

// made sends what makes something, and returns a field of the answer.
func (v *visitor) made(t *testing.T, path, body, field string) string {
	t.Helper()
	a := v.do(t, "POST", path, body)
	var made map[string]any
	if err := json.Unmarshal(a.Body, &made); err != nil || a.Status/100 != 2 {
		t.Fatalf("POST %s: %d %s", path, a.Status, a.Body)
	}
	text, _ := made[field].(string)
	return text
}

var inviteToken = regexp.MustCompile(`/invitation#token=([A-Za-z0-9_-]+)`)

// accept makes the person of an invitation, whose address is somewhere in text.
func accept(t *testing.T, s *servertest.Server, text []byte, name string) *visitor {
	t.Helper()
	m := inviteToken.FindSubmatch(text)
	if m == nil {
		t.Fatalf("no invitation in %s", text)
	}
	v := &visitor{server: s}
	v.made(t, "/invitation", `{"token":"`+string(m[1])+`","name":"`+name+`","password":"four words of `+name+`"}`, "")
	return v
}

// TestAccountsAreApart: the admin of one account reaches nothing of another by its ids, and the two invite the same
// person without harm to each other.
func TestAccountsAreApart(t *testing.T) {
	servertest.Only(t, "sqlite")
	s := servertest.Start(t, servertest.Options{})
	token, err := os.ReadFile(filepath.Join(s.DataDir, "setup-token"))
	if err != nil {
		t.Fatal(err)
	}
	ada := &visitor{server: s}
	ada.made(t, "/setup", `{"token":"`+strings.TrimSpace(string(token))+`","name":"Ada","email":"ada@example.com","password":"four words in a row"}`, "")
	command := func(args ...string) []byte {
		out, err := servertest.Command(t, append(args, "--data-dir", s.DataDir)...).Output()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return out
	}
	command("accounts", "create", "other")
	eve := accept(t, s, command("users", "create", "--account", "other", "--email", "eve@example.com", "--name", "Eve", "--role", "admin"), "eve")

	a := ada.do(t, "POST", "/users", `{"email":"vic@example.com","name":"Vic","grants":[{"role":"viewer","environments":["live","test"]}]}`)
	vic := a.Object()["id"].(string)
	viewer := accept(t, s, a.Body, "vic")
	workflow := s.Apply(t, "document: {dsl: '1.0.3', namespace: a, name: b, version: '1.0.0'}\ndo:\n- a: {set: {x: 1}}\n")
	execution := ada.made(t, "/workflows/a.b/executions", `{"input":{}}`, "execution_id")
	key := ada.made(t, "/api-keys", `{"name":"k","scopes":["workflows:read"]}`, "id")
	group := ada.made(t, "/groups", `{"name":"g"}`, "id")
	grant := ada.made(t, "/grants", `{"group_id":"`+group+`","role":"viewer","environments":["live"]}`, "id")
	for _, try := range [][3]string{
		{"GET", "/users/" + vic}, {"PATCH", "/users/" + vic, `{"status":"disabled"}`}, {"DELETE", "/users/" + vic}, {"POST", "/users/" + vic + "/reset"},
		{"GET", "/workflows/" + workflow}, {"GET", "/workflows/a.b"}, {"DELETE", "/workflows/" + workflow},
		{"GET", "/workflows/" + workflow + "/executions/" + execution}, {"POST", "/executions/" + execution + "/cancel"},
		{"GET", "/api-keys/" + key}, {"PATCH", "/api-keys/" + key, `{"name":"x"}`}, {"DELETE", "/api-keys/" + key},
		{"GET", "/groups/" + group}, {"DELETE", "/groups/" + group}, {"PUT", "/groups/" + group + "/members/" + vic}, {"DELETE", "/grants/" + grant},
	} {
		if a := eve.do(t, try[0], try[1], try[2]); a.Status != http.StatusNotFound {
			t.Errorf("the admin of another account, %s %s: %d %s", try[0], try[1], a.Status, a.Body)
		}
		if a := viewer.do(t, try[0], try[1], try[2]); a.Status/100 == 2 && try[0] != "GET" {
			t.Errorf("a viewer, %s %s: %d %s", try[0], try[1], a.Status, a.Body)
		}
	}
	for _, holder := range []string{`"user_id":"` + vic, `"group_id":"` + group} {
		if a := eve.do(t, "POST", "/grants", `{`+holder+`","role":"admin","environments":["live","test"]}`); a.Status/100 == 2 {
			t.Errorf("a grant to %s of another account: %d %s", holder, a.Status, a.Body)
		}
	}

	const zoe = `{"email":"zoe@example.com","name":"Zoe"}`
	first, second := ada.do(t, "POST", "/users", zoe), eve.do(t, "POST", "/users", zoe)
	invited := accept(t, s, first.Body, "zoe")
	use := `{"token":"` + string(inviteToken.FindSubmatch(second.Body)[1]) + `","password":"another password of hers"}`
	for name, v := range map[string]*visitor{"no session": {server: s}, "the session of another person": viewer} {
		if a := v.do(t, "POST", "/invitation", use); a.Status != http.StatusUnauthorized {
			t.Errorf("the second invitation with %s: %d %s", name, a.Status, a.Body)
		}
	}
	if a := invited.do(t, "POST", "/invitation", use); a.Status != http.StatusCreated || !strings.Contains(string(a.Body), `"other"`) {
		t.Errorf("the second invitation with the session of the first: %d %s", a.Status, a.Body)
	}
	if a := invited.do(t, "POST", "/session/verify", `{"password":"four words of zoe"}`); a.Status != http.StatusOK {
		t.Errorf("the password of the first invitation: %d %s", a.Status, a.Body)
	}
}
