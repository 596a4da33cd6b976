package api_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/api"
)

// driveSignIn sets an installation up with the token of its file, and signs in and out.
func driveSignIn(t *testing.T, i *installation) {
	t.Helper()
	cookie := ""
	do := func(operation, method, path, body string, status int) api.Exchange {
		t.Helper()
		x := api.Exchange{Operation: operation, Method: method, Path: path, Body: body, Status: status, Keyless: true, Header: map[string]string{}}
		if cookie != "" {
			x.Header["Cookie"] = cookie
		}
		x = i.Do(t, "", x)
		if set := x.AnswerHeader.Get("Set-Cookie"); set != "" {
			cookie, _, _ = strings.Cut(set, ";")
		}
		return x
	}
	path := filepath.Join(i.data, "setup-token")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the set-up token: %v, %v", info.Mode(), err)
	}
	if x := do("getSignInMethods", "GET", "/api/v1/auth/methods", "", 200); x.AnswerJSON["setup"] != true {
		t.Errorf("methods: %s", x.AnswerBody)
	}
	do("setUp", "POST", "/api/v1/setup", `{"token":"wrong","name":"Ada","email":"ada@example.com","password":"four words in a row"}`, 401)
	do("setUp", "POST", "/api/v1/setup", `{"token":"`+strings.TrimSpace(string(text))+`","name":"Ada","email":"ada@example.com","password":"four words in a row"}`, 201)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file of the set-up token stays: %v", err)
	}
	do("setUp", "POST", "/api/v1/setup", `{"token":"wrong","name":"Ada","email":"ada@example.com","password":"four words in a row"}`, 410)
	session := do("getSession", "GET", "/api/v1/session", "", 200)
	account := session.AnswerJSON["account"].(map[string]any)["id"].(string)
	do("switchAccount", "PATCH", "/api/v1/session", `{"account":"`+account+`"}`, 200)
	do("verifySession", "POST", "/api/v1/session/verify", `{"password":"four words in a row"}`, 200)
	do("changePassword", "PUT", "/api/v1/me/password", `{"old_password":"four words in a row","password":"four other words in a row"}`, 200)
	do("signOut", "DELETE", "/api/v1/session", "", 204)
	cookie = ""
	do("signIn", "POST", "/api/v1/session", `{"email":"ada@example.com","password":"four words in a row"}`, 401)
	do("signIn", "POST", "/api/v1/session", `{"email":"ADA@example.com","password":"four other words in a row"}`, 201)
	driveMe(t, i, do)
	driveDevice(t, i, cookie, do)
	driveLinks(t, do)
	do("acceptInvitation", "POST", "/api/v1/invitation", `{"token":"wrong"}`, 401)
	do("resetPassword", "POST", "/api/v1/password-reset", `{"token":"wrong","password":"four words in a row"}`, 401)
}

// driveMe makes personal keys with the session of do, and uses them.
func driveMe(t *testing.T, i *installation, do func(operation, method, path, body string, status int) api.Exchange) {
	t.Helper()
	x := do("getMe", "GET", "/api/v1/me", "", 200)
	if x.AnswerJSON["user"].(map[string]any)["email"] != "ada@example.com" || len(x.AnswerJSON["environments"].([]any)) != 2 {
		t.Errorf("me: %s", x.AnswerBody)
	}
	do("updateMe", "PATCH", "/api/v1/me", `{"name":"Ada Lovelace","locale":"en"}`, 200)
	do("updateMe", "PATCH", "/api/v1/me", `{"locale":"de_AT"}`, 400)
	do("putSettings", "PUT", "/api/v1/me/settings", `{"theme":"dark"}`, 200)
	if x = do("getSettings", "GET", "/api/v1/me/settings", "", 200); string(x.AnswerBody) != `{"theme":"dark"}` {
		t.Errorf("settings: %s", x.AnswerBody)
	}
	do("signIn", "POST", "/api/v1/session", `{"email":"ada@example.com","password":"four other words in a row"}`, 201)
	for _, each := range do("listSessions", "GET", "/api/v1/me/sessions", "", 200).AnswerJSON["data"].([]any) {
		if s := each.(map[string]any); s["current"] == false {
			do("endSession", "DELETE", "/api/v1/me/sessions/"+s["id"].(string), "", 204)
		}
	}
	do("endOtherSessions", "DELETE", "/api/v1/me/sessions", "", 204)
	x = do("listSessions", "GET", "/api/v1/me/sessions", "", 200)
	if sessions := x.AnswerJSON["data"].([]any); len(sessions) != 1 || sessions[0].(map[string]any)["current"] != true {
		t.Errorf("sessions: %s", x.AnswerBody)
	}
	do("endSession", "DELETE", "/api/v1/me/sessions/0197a5c4-6666-7000-8000-000000000006", "", 404)
	x = do("createPersonalKey", "POST", "/api/v1/me/api-keys", `{"name":"laptop","scopes":["workflows:read"]}`, 201)
	key, path := x.AnswerJSON["key"].(string), strings.TrimPrefix(x.AnswerHeader.Get("Location"), i.base)
	do("createPersonalKey", "POST", "/api/v1/me/api-keys", `{"name":"laptop","expires_at":null}`, 400)
	do("createPersonalKey", "POST", "/api/v1/me/api-keys", `{"name":"laptop","scopes":["tasks:impersonate"]}`, 403)
	if x = do("listPersonalKeys", "GET", "/api/v1/me/api-keys", "", 200); len(x.AnswerJSON["data"].([]any)) != 1 {
		t.Errorf("personal keys: %s", x.AnswerBody)
	}
	i.Do(t, key, api.Exchange{Operation: "listWorkflows", Path: "/api/v1/workflows", Status: 200})
	i.Do(t, key, api.Exchange{Operation: "listExecutions", Path: "/api/v1/executions", Status: 403, Code: "insufficient_scope"})
	i.Do(t, key, api.Exchange{Operation: "getPersonalKey", Path: path, Status: 200})
	i.Do(t, key, api.Exchange{
		Operation: "createPersonalKey", Method: "POST", Path: "/api/v1/me/api-keys", Body: `{"name":"x"}`, Status: 403, Code: "insufficient_scope",
	})
	i.Do(t, i.key, api.Exchange{Operation: "listPersonalKeys", Path: "/api/v1/me/api-keys", Status: 403, Code: "insufficient_scope"})
	old := key
	x = do("rotatePersonalKey", "POST", path+"/rotate", "", 200)
	key = x.AnswerJSON["key"].(string)
	i.Do(t, old, api.Exchange{Operation: "getPersonalKey", Path: path, Status: 200})
	i.Do(t, key, api.Exchange{Operation: "rotatePersonalKey", Method: "POST", Path: path + "/rotate", Status: 403, Code: "insufficient_scope"})
	admins := strings.Replace(path, "/me/", "/", 1)
	i.Do(t, i.key, api.Exchange{Operation: "updateAPIKey", Method: "PATCH", Path: admins, Body: `{"name":"mine"}`, Status: 403, Code: "insufficient_scope"})
	i.Do(t, key, api.Exchange{Operation: "revokePersonalKey", Method: "DELETE", Path: path, Status: 204})
	i.Do(t, key, api.Exchange{Operation: "listWorkflows", Path: "/api/v1/workflows", Status: 401, Code: "invalid_api_key"})
}

// driveLinks invites a person, lets the person accept, and lets the person set a new password by a link of the admin.
// The last session is that of the person.
func driveLinks(t *testing.T, do func(operation, method, path, body string, status int) api.Exchange) {
	t.Helper()
	tokenOf := func(link any) string {
		address, _ := link.(map[string]any)["url"].(string)
		_, token, found := strings.Cut(address, "#token=")
		if !found {
			t.Fatalf("no token in %v", link)
		}
		return token
	}
	bob := do("inviteUser", "POST", "/api/v1/users", `{"email":"bob@example.com","name":"Bob"}`, 201).AnswerJSON
	invitation := tokenOf(bob["invitation"])
	do("signOut", "DELETE", "/api/v1/session", "", 204)
	do("acceptInvitation", "POST", "/api/v1/invitation", `{"token":"`+invitation+`","password":"five words of bob here"}`, 201)
	do("signIn", "POST", "/api/v1/session", `{"email":"ada@example.com","password":"four other words in a row"}`, 201)
	reset := do("resetUser", "POST", "/api/v1/users/"+bob["id"].(string)+"/reset", "", 201).AnswerJSON
	do("resetPassword", "POST", "/api/v1/password-reset", `{"token":"`+tokenOf(reset)+`","password":"five other words of bob"}`, 201)
}
