package api_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/api"
	"github.com/chargehand/chargehand/internal/store"
)

// activate makes an invited user active, as accepting the invitation does.
func (i *installation) activate(t *testing.T, id string) {
	t.Helper()
	user, err := chargehand.ParseID[struct{}](id)
	if err != nil {
		t.Fatal(err)
	}
	i.update(t, func(tx *store.Tx) error {
		m, err := tx.MemberByID(1, chargehand.UserID(user))
		if err != nil {
			return err
		}
		return tx.SetMemberStatus(m.No, store.Invited, store.Active)
	})
}

const approval = `
document: {dsl: '1.0.3', namespace: default, name: approval, version: '1.0.0'}
do:
  - ask:
      call: human:1.0.0@default
      with:
        title: Approve it
        outcomes: [approve, reject]
        form: {type: object, required: [total], properties: {total: {type: number}}}
`

// driveHumanTasks answers a human task, badly too.
func driveHumanTasks(t *testing.T, i *installation) {
	const path = "/api/v1/human-tasks"
	do := func(operation, method, path, body string, status int, code ...string) api.Exchange {
		t.Helper()
		x := api.Exchange{Operation: operation, Method: method, Path: path, Body: body, Status: status}
		if len(code) > 0 {
			x.Code, x.AgainstTheDocument = code[0], status == 400
		}
		return i.Do(t, i.key, x)
	}
	w := i.apply(t, approval)
	do("createExecution", "POST", w+"/executions", "", 201)
	var list []any
	for deadline := time.Now().Add(2 * time.Minute); len(list) == 0 && time.Now().Before(deadline); {
		list = do("listHumanTasks", "GET", path+"?status=open", "", 200).AnswerJSON["data"].([]any)
	}
	if len(list) != 1 {
		t.Fatalf("open tasks: %v", list)
	}
	one := path + "/" + list[0].(map[string]any)["id"].(string)
	do("countHumanTasks", "GET", path+"/counts", "", 200)
	do("getHumanTask", "GET", one, "", 200)
	do("claimHumanTask", "POST", one+"/claim", "{}", 200)
	do("releaseHumanTask", "POST", one+"/release", "{}", 200)
	do("commentHumanTask", "POST", one+"/comments", `{"text":"Which total?"}`, 201)
	do("putHumanTaskDraft", "PUT", one+"/draft", `{"outcome":"approve","data":{"total":"much"}}`, 200)
	made := do("linkHumanTask", "POST", one+"/links", `{"name":"Eve","email":"eve@example.org","expires_in":"7d"}`, 201).AnswerJSON
	do("linkHumanTask", "POST", one+"/links", `{"name":"Eve","email":"eve"}`, 400, "invalid_body")
	do("getHumanTask", "GET", one, "", 200)
	link := one + "/links/" + made["id"].(string)
	do("revokeTaskLink", "DELETE", link, "", 204)
	do("revokeTaskLink", "DELETE", one+"/links/"+strings.Repeat("0", 8)+"-0000-7000-8000-000000000000", "", 404, "task_link_not_found")
	do("reassignHumanTask", "POST", one+"/reassign", `{"users":["ada@example.org"]}`, 200)
	do("putHumanTaskDraft", "PUT", one+"/draft", `{"outcome":"approve"}`, 403, "not_assigned")
	if x := do("getHumanTaskDraft", "GET", one+"/draft", "", 200); x.AnswerJSON["outcome"] != "approve" {
		t.Errorf("draft: %s", x.AnswerBody)
	}
	do("answerHumanTask", "POST", one+"/answer", `{"outcome":"approve","data":{"total":1}}`, 403, "not_assigned")
	do("reassignHumanTask", "POST", one+"/reassign", `{"users":[]}`, 200)
	do("answerHumanTask", "POST", one+"/answer", `{"outcome":"approve","data":{"total":"much"}}`, 422, "answer_invalid")
	id := list[0].(map[string]any)["id"].(string)
	x := do("answerHumanTasks", "POST", path+"/answer", `{"ids":["`+id+`"],"outcome":"approve","data":{"total":"much"}}`, 200)
	if string(x.AnswerBody) != `{"answered":0,"failed":[{"id":"`+id+`","code":"answer_invalid"}]}` {
		t.Errorf("many answers: %s", x.AnswerBody)
	}
	do("answerHumanTasks", "POST", path+"/answer", `{"outcome":"approve"}`, 400, "invalid_body")
	do("answerHumanTask", "POST", one+"/answer", `{"outcome":"approve","data":{"total":1}}`, 200)
	x = do("answerHumanTasks", "POST", path+"/answer", `{"ids":["`+id+`"],"outcome":"approve","data":{"total":1}}`, 200)
	if string(x.AnswerBody) != `{"answered":1,"failed":[]}` {
		t.Errorf("the same answer again: %s", x.AnswerBody)
	}
	do("answerHumanTask", "POST", one+"/answer", `{"outcome":"reject","data":{"total":1}}`, 409, "answer_conflict")
	do("putHumanTaskDraft", "PUT", one+"/draft", `{"outcome":"approve"}`, 409, "state_conflict")
	if x := do("getHumanTask", "GET", one, "", 200); x.AnswerJSON["status"] != "answered" {
		t.Errorf("answered: %s", x.AnswerBody)
	}
}

// drivePeople invites two users and gives one of them roles by a group, badly too.
func drivePeople(t *testing.T, i *installation) {
	do := func(operation, method, path, body string, status int, code ...string) api.Exchange {
		t.Helper()
		x := api.Exchange{Operation: operation, Method: method, Path: "/api/v1" + path, Body: body, Status: status}
		if len(code) > 0 {
			x.Code, x.AgainstTheDocument = code[0], status == 400
		}
		return i.Do(t, i.key, x)
	}
	x := do("inviteUser", "POST", "/users", `{"email":"Ada@Example.org","name":"Ada","grants":[{"role":"viewer"}]}`, 201)
	link, _ := x.AnswerJSON["invitation"].(map[string]any)
	if url, _ := link["url"].(string); !strings.HasPrefix(url, i.base+"/invitation#token=") || x.AnswerJSON["status"] != "invited" {
		t.Errorf("invited: %s", x.AnswerBody)
	}
	ada := strings.TrimPrefix(x.AnswerHeader.Get("Location"), i.base+"/api/v1")
	if again := do("inviteUser", "POST", "/users", `{"email":"ada@EXAMPLE.org","name":"Ada"}`, 201); again.AnswerJSON["id"] != x.AnswerJSON["id"] {
		t.Errorf("invited again: %s", again.AnswerBody)
	}
	for _, bad := range []string{
		`{}`, `{"email":"ada","name":"Ada"}`, `{"email":"x@y.org","name":"A\u202eda"}`, `{"email":"x@y.org","name":"` + strings.Repeat("a", 10_000) + `"}`,
		`{"email":"x@y.org","name":"X","grants":[{"role":"root"}]}`, `{"email":"x@y.org","name":"X","grants":[{"role":"admin","namespace":"a"}]}`,
	} {
		do("inviteUser", "POST", "/users", bad, 400, "invalid_body")
	}
	do("getUser", "GET", ada, "", 200)
	do("updateUser", "PATCH", ada, `{"status":"active"}`, 409, "state_conflict")
	do("updateUser", "PATCH", ada, `{"status":"gone"}`, 400, "invalid_body")
	do("resetUser", "POST", ada+"/reset", "", 409, "state_conflict")
	i.activate(t, x.AnswerJSON["id"].(string))
	do("updateUser", "PATCH", ada, `{"status":"disabled"}`, 200)
	do("updateUser", "PATCH", ada, `{"status":"active"}`, 200)
	do("resetUser", "POST", ada+"/reset", "", 201)
	do("findPeople", "GET", "/people?q=ada", "", 200)
	x = do("createGroup", "POST", "/groups", `{"name":"Finance"}`, 201)
	group, groupID := strings.TrimPrefix(x.AnswerHeader.Get("Location"), i.base+"/api/v1"), x.AnswerJSON["id"].(string)
	do("createGroup", "POST", "/groups", `{"name":"FINANCE"}`, 409, "state_conflict")
	do("updateGroup", "PATCH", group, `{"name":"Treasury"}`, 200)
	member := group + "/members" + strings.TrimPrefix(ada, "/users")
	do("joinGroup", "PUT", member, "", 204)
	if x = do("getGroup", "GET", group, "", 200); len(x.AnswerJSON["members"].([]any)) != 1 {
		t.Errorf("group: %s", x.AnswerBody)
	}
	do("listGroupMembers", "GET", group+"/members", "", 200)
	x = do("giveGrant", "POST", "/grants", `{"group_id":"`+groupID+`","role":"operator","namespace":"finance","environments":["live"]}`, 201)
	grant := x.AnswerJSON["id"].(string)
	do("giveGrant", "POST", "/grants", `{"group_id":"`+groupID+`","role":"operator","environments":["prod"]}`, 400, "invalid_body")
	do("giveGrant", "POST", "/grants", `{"group_id":"`+grant+`","role":"operator"}`, 404, "group_not_found")
	do("listGrants", "GET", "/grants?limit=1", "", 200)
	do("takeGrant", "DELETE", "/grants/"+grant, "", 204)
	do("takeGrant", "DELETE", "/grants/"+grant, "", 404, "grant_not_found")
	do("leaveGroup", "DELETE", member, "", 204)
	do("leaveGroup", "DELETE", member, "", 404, "user_not_found")
	do("listGroups", "GET", "/groups", "", 200)
	do("deleteGroup", "DELETE", group, "", 204)
	do("listUsers", "GET", "/users?limit=1", "", 200)
	if x = do("listUsers", "GET", "/users?q=ADA@example.O&status=active", "", 200); len(x.AnswerJSON["data"].([]any)) != 1 {
		t.Errorf("found: %s", x.AnswerBody)
	}
	if x = do("listUsers", "GET", "/users?status=invited", "", 200); len(x.AnswerJSON["data"].([]any)) != 0 {
		t.Errorf("invited: %s", x.AnswerBody)
	}
	do("listUsers", "GET", "/users?status=gone", "", 400, "invalid_parameter")
	do("removeUser", "DELETE", ada, "", 204)
	do("getUser", "GET", ada, "", 404, "user_not_found")
}

func driveKeys(t *testing.T, i *installation) {
	x := i.Do(t, i.key, api.Exchange{
		Operation: "createAPIKey", Method: "POST", Path: "/api/v1/api-keys", Status: 201,
		Body: `{"name":"narrow","scopes":["workflows:read"],"rate_limit":7}`, Header: map[string]string{"Idempotency-Key": "k"},
	})
	narrow, k := x.AnswerJSON["key"].(string), strings.TrimPrefix(x.AnswerHeader.Get("Location"), i.base)
	x = i.Do(t, i.key, api.Exchange{
		Operation: "createAPIKey", Method: "POST", Path: "/api/v1/api-keys", Status: 201,
		Body: `{"name":"narrow","scopes":["workflows:read"],"rate_limit":7}`, Header: map[string]string{"Idempotency-Key": "k"},
	})
	if x.AnswerJSON["key"] != nil || x.AnswerHeader.Get("Idempotency-Replayed") != "true" {
		t.Errorf("replayed key: %s", x.AnswerBody)
	}
	i.Do(t, narrow, api.Exchange{Operation: "listWorkflows", Path: "/api/v1/workflows", Status: 200})
	i.Do(t, narrow, api.Exchange{Operation: "listAPIKeys", Path: "/api/v1/api-keys", Status: 403, Code: "insufficient_scope"})
	x = i.Do(t, i.key, api.Exchange{Operation: "updateAPIKey", Method: "PATCH", Path: k, Body: `{"name":"narrower","rate_limit":0}`, Status: 200})
	if x.AnswerJSON["name"] != "narrower" || x.AnswerJSON["rate_limit"] != json.Number("0") {
		t.Errorf("changed: %s", x.AnswerBody)
	}
	i.Do(t, i.key, api.Exchange{Operation: "getAPIKey", Path: k, Status: 200})
	i.Do(t, i.key, api.Exchange{Operation: "listAPIKeys", Path: "/api/v1/api-keys?limit=1", Status: 200})
	rotate := api.Exchange{Operation: "rotateAPIKey", Method: "POST", Path: k + "/rotate", Body: `{"grace":"1h"}`, Header: map[string]string{"Idempotency-Key": "r"}, Status: 200}
	i.Do(t, i.key, rotate)
	if x = i.Do(t, i.key, rotate); x.AnswerJSON["key"] != nil || x.AnswerHeader.Get("Idempotency-Replayed") != "true" || x.AnswerJSON["previous_key_until"] == nil {
		t.Errorf("rotated again: %s", x.AnswerBody)
	}
	i.Do(t, narrow, api.Exchange{Operation: "listWorkflows", Path: "/api/v1/workflows", Status: 200})
	x = i.Do(t, i.key, api.Exchange{Operation: "rotateAPIKey", Method: "POST", Path: k + "/rotate", Body: `{"grace":"0s"}`, Status: 200})
	i.Do(t, narrow, api.Exchange{Operation: "listWorkflows", Path: "/api/v1/workflows", Status: 401, Code: "invalid_api_key"})
	narrow = x.AnswerJSON["key"].(string)
	i.Do(t, narrow, api.Exchange{Operation: "listWorkflows", Path: "/api/v1/workflows", Status: 200})
	i.Do(t, i.key, api.Exchange{Operation: "updateAPIKey", Method: "PATCH", Path: k, Body: `{"allowed_addresses":["192.0.2.0/24"]}`, Status: 200})
	i.Do(t, narrow, api.Exchange{Operation: "listWorkflows", Path: "/api/v1/workflows", Status: 403, Code: "address_not_allowed"})
	i.Do(t, i.key, api.Exchange{Operation: "updateAPIKey", Method: "PATCH", Path: k, Body: `{"allowed_addresses":["127.0.0.0/16"]}`, Status: 200})
	i.Do(t, narrow, api.Exchange{Operation: "listWorkflows", Path: "/api/v1/workflows", Status: 200})
	i.Do(t, i.key, api.Exchange{Operation: "revokeAPIKey", Method: "DELETE", Path: k, Status: 204})
	i.Do(t, i.key, api.Exchange{Operation: "getAPIKey", Path: k, Status: 404, Code: "api_key_not_found"})
	i.Do(t, narrow, api.Exchange{Operation: "listWorkflows", Path: "/api/v1/workflows", Status: 401, Code: "invalid_api_key"})
}

// driveSecrets: nothing that is answered holds a value.
func driveSecrets(t *testing.T, i *installation) {
	const one, other = "/api/v1/secrets/team%2Ftoken%20%C3%BC", "/api/v1/secrets/login"
	do := func(x api.Exchange) api.Exchange {
		t.Helper()
		x = i.Do(t, i.key, x)
		if strings.Contains(string(x.AnswerBody), "hunter2") {
			t.Errorf("%s %s shows the value: %s", x.Method, x.Path, x.AnswerBody)
		}
		return x
	}
	x := do(api.Exchange{Operation: "putSecret", Method: "PUT", Path: one, Body: `{"value":"hunter2"}`, Status: 201})
	if x.AnswerJSON["name"] != "team/token ü" || x.AnswerJSON["version"] != json.Number("1") || !strings.HasSuffix(x.AnswerHeader.Get("Location"), one) {
		t.Errorf("created: %s at %s", x.AnswerBody, x.AnswerHeader.Get("Location"))
	}
	x = do(api.Exchange{Operation: "putSecret", Method: "PUT", Path: one, Body: `{"value":"hunter2"}`, Status: 200})
	if x.AnswerJSON["version"] != json.Number("2") {
		t.Errorf("set again: %s", x.AnswerBody)
	}
	do(api.Exchange{Operation: "putSecret", Method: "PUT", Path: other, Body: `{"value":{"username":"ci","password":"hunter2"}}`, Status: 201})
	x = do(api.Exchange{Operation: "listSecrets", Path: "/api/v1/secrets?limit=1", Status: 200})
	first := x.AnswerJSON["data"].([]any)[0].(map[string]any)
	cursor, more := x.AnswerJSON["cursor"].(string)
	if first["name"] != "login" || !more {
		t.Errorf("list: %s", x.AnswerBody)
	}
	x = do(api.Exchange{Operation: "listSecrets", Path: "/api/v1/secrets?limit=1&cursor=" + cursor, Status: 200})
	if second := x.AnswerJSON["data"].([]any)[0].(map[string]any); second["name"] != "team/token ü" || x.AnswerJSON["cursor"] != nil {
		t.Errorf("second page: %s", x.AnswerBody)
	}
	x = do(api.Exchange{Operation: "getSecret", Path: one, Status: 200})
	if versions, ok := x.AnswerJSON["versions"].([]any); !ok || len(versions) != 2 {
		t.Errorf("versions: %s", x.AnswerBody)
	}
	x = do(api.Exchange{Operation: "rollBackSecret", Method: "POST", Path: one + "/rollback", Body: `{"version":1}`, Status: 200})
	if x.AnswerJSON["version"] != json.Number("3") {
		t.Errorf("rolled back: %s", x.AnswerBody)
	}
	do(api.Exchange{Operation: "rollBackSecret", Method: "POST", Path: one + "/rollback", Body: `{"version":9}`, Status: 404, Code: "version_not_found"})
	do(api.Exchange{Operation: "rollBackSecret", Method: "POST", Path: one + "/rollback", Body: `{}`, Status: 400, Code: "invalid_body", AgainstTheDocument: true})
	for _, bad := range []struct{ body, code string }{
		{`{}`, "invalid_body"}, {`{"value":null}`, "invalid_body"}, {`["hunter2"]`, "invalid_body"}, {`{"vlaue":"hunter2"}`, "unknown_field"},
		{`{"value":"hunter2`, "invalid_json"}, {`{"value":"` + strings.Repeat("hunter2", 10_000) + `"}`, "invalid_body"},
	} {
		do(api.Exchange{Operation: "putSecret", Method: "PUT", Path: one, Body: bad.body, Status: 400, Code: bad.code, AgainstTheDocument: true})
	}
	do(api.Exchange{Operation: "putSecret", Method: "PUT", Path: "/api/v1/secrets/%00", Body: `{"value":"hunter2"}`, Status: 400, Code: "invalid_parameter"})
	do(api.Exchange{Operation: "deleteSecret", Method: "DELETE", Path: one, Status: 204})
	do(api.Exchange{Operation: "deleteSecret", Method: "DELETE", Path: one, Status: 404, Code: "secret_not_found"})
	do(api.Exchange{Operation: "getSecret", Path: one, Status: 404, Code: "secret_not_found"})
	do(api.Exchange{Operation: "getSecret", Path: "/api/v1/secrets/%FF", Status: 404, Code: "secret_not_found"})
}
