package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/getkin/kin-openapi/openapi3"
)

const (
	pathW = "/api/v1/workflows/0197a5c4-1111-7000-8000-000000000001"
	pathE = pathW + "/executions/0197a5c4-2222-7000-8000-000000000002"
	pathB = pathW + "/batch/0197a5c4-3333-7000-8000-000000000003"
	pathF = "/api/v1/files/0197a5c4-4444-7000-8000-000000000004"
	pathK = "/api/v1/api-keys/0197a5c4-5555-7000-8000-000000000005"
	pathM = "/api/v1/me/api-keys/0197a5c4-5555-7000-8000-000000000005"
	pathU = "/api/v1/users/0197a5c4-7777-7000-8000-000000000007"
	pathG = "/api/v1/groups/0197a5c4-8888-7000-8000-000000000008"
	pathS = "/api/v1/secrets/token"
	pathO = "/api/v1/operations/0197a5c4-bbbb-7000-8000-00000000000b"
)

// samples has a good request for every operation; more than one where answers differ.
var samples = map[string][]request{
	"listWorkflows": {{path: "/api/v1/workflows?limit=10&cursor=2026-01-31T09:30:00.120Z&namespace=shop&name=order&q=pay&tag=a&tag=b:c&drafts=true&include=activity"}},
	"applyWorkflow": {
		{method: "POST", path: "/api/v1/workflows", body: "document: {}", header: map[string]string{"Content-Type": "application/yaml"}},
		{method: "POST", path: "/api/v1/workflows?draft=true&message=why", body: "{}", header: map[string]string{"Idempotency-Key": "k", "If-Match": `"1-2"`}},
	},
	"validateWorkflow":   {{method: "POST", path: "/api/v1/workflows/validate", body: "a: b", header: map[string]string{"Content-Type": "text/yaml; charset=UTF-8"}}},
	"evaluateExpression": {{method: "POST", path: "/api/v1/expressions/evaluate", body: `{"expression":"${ .n + $i }","input":{"n":1},"context":{},"variables":{"i":1}}`}},
	"testWorkflow":       {{method: "POST", path: "/api/v1/workflows/test", body: `{"definition":"document: {}","tests":"tests: []","files":{"a.txt":"text"}}`}},
	"getWorkflow":        {{path: pathW}, {path: pathW + "?include=outline"}},
	"deleteWorkflow":     {{method: "DELETE", path: pathW}},
	"listVersions":       {{path: pathW + "/versions?limit=1"}},
	"getVersion":         {{path: pathW + "/versions/1.0.0-rc%2F1"}},
	"getWorkflowGraph":   {{path: pathW + "/graph?version=1.0.0&revision=2&format=json", header: map[string]string{"Accept": "application/json"}}},
	"publishVersion":     {{method: "POST", path: pathW + "/versions/1.0.0/publish"}},
	"createExecution": {
		{method: "POST", path: pathW + "/executions", body: `{"input":{"name":"Ada"}}`},
		{method: "POST", path: pathW + "/executions?wait=1s&version=1.0.0"},
	},
	"listWorkflowExecutions": {{path: pathW + "/executions?status=finished&phase=completed&batch_id=0197a5c4-3333-7000-8000-000000000003&created_after=2026-01-31T09:30:00Z&created_before=2027-01-31T09:30:00Z"}},
	"listExecutions":         {{path: "/api/v1/executions"}, {path: "/api/v1/executions?fields=summary"}},
	"countExecutions": {
		{path: "/api/v1/executions/count"},
		{path: "/api/v1/executions/count?status=error&phase=faulted&created_after=2026-01-01T00:00:00Z&created_before=2026-02-01T00:00:00Z&workflow_id=0197a5c4-1111-7000-8000-000000000001"},
		{path: "/api/v1/executions/count?workflow=shop/order&label=team:blue&error_code=timeout&cause=api&waiting_for=slot&version=1.0.0&min_duration_ms=5&q=blue&root_id=0197a5c4-2222-7000-8000-000000000002&retry_of=0197a5c4-2222-7000-8000-000000000002&failure=AAAAAAAAAAcvZG8vMC9h"},
	},
	"listHumanTasks": {
		{path: "/api/v1/human-tasks?status=open&status=claimed&assignee=me&workflow_id=0197a5c4-1111-7000-8000-000000000001&q=invoice&sort=priority&limit=5"},
		{path: "/api/v1/human-tasks?group=Finance&overdue=true&batch_id=0197a5c4-3333-7000-8000-000000000003"},
		{path: "/api/v1/human-tasks?unassigned=true&execution_id=0197a5c4-2222-7000-8000-000000000002"},
		{path: "/api/v1/human-tasks?answered_by=me&sort=created"},
		{path: "/api/v1/human-tasks?assignee=my-groups"},
	},
	"countHumanTasks":   {{path: "/api/v1/human-tasks/counts"}},
	"followHumanTasks":  {{path: "/api/v1/human-tasks/stream"}},
	"getHumanTask":      {{path: pathT}, {path: pathT, header: map[string]string{"If-None-Match": `"4-1u-1r-answer_conflict"`}}},
	"claimHumanTask":    {{method: "POST", path: pathT + "/claim"}, {method: "POST", path: pathT + "/claim", body: `{"force":true}`}},
	"releaseHumanTask":  {{method: "POST", path: pathT + "/release", body: `{"force":true}`}},
	"reassignHumanTask": {{method: "POST", path: pathT + "/reassign", body: `{"users":["ada@example.org"],"groups":["Finance"]}`}},
	"answerHumanTask": {
		{method: "POST", path: pathT + "/answer", body: `{"outcome":"approve","data":{"total":5},"comment":"ok","files":[],"on_behalf_of":"ada@example.org"}`},
		{method: "POST", path: pathT + "/answer", body: `{"outcome":"approve"}`, header: map[string]string{"Idempotency-Key": "k"}},
	},
	"commentHumanTask": {{method: "POST", path: pathT + "/comments", body: `{"text":"hello"}`}},
	"answerHumanTasks": {
		{method: "POST", path: "/api/v1/human-tasks/answer", body: `{"ids":["0197a5c4-aaaa-7000-8000-00000000000a"],"outcome":"approve","data":{"total":5},"comment":"ok"}`},
		{method: "POST", path: "/api/v1/human-tasks/answer", body: `{"filter":{"status":["open"],"assignee":"me","workflow_id":"0197a5c4-1111-7000-8000-000000000001","overdue":true,"q":"invoice"},"outcome":"approve"}`, header: map[string]string{"Idempotency-Key": "k"}},
		{method: "POST", path: "/api/v1/human-tasks/answer", body: `{"filter":{"group":"Finance","batch_id":"0197a5c4-3333-7000-8000-000000000003","execution_id":"0197a5c4-2222-7000-8000-000000000002"},"outcome":"approve"}`},
		{method: "POST", path: "/api/v1/human-tasks/answer", body: `{"filter":{"unassigned":true},"outcome":"approve"}`},
	},
	"getHumanTaskDraft": {{path: pathT + "/draft"}},
	"putHumanTaskDraft": {
		{method: "PUT", path: pathT + "/draft", body: `{"outcome":"approve","data":{"total":"5 or 6"},"comment":"to do","files":["` + exampleFileID + `"]}`},
		{method: "PUT", path: pathT + "/draft", body: `{}`},
	},
	"linkHumanTask": {
		{method: "POST", path: pathT + "/links", body: `{"name":"Eve","email":"eve@example.org","expires_in":"7d"}`},
		{method: "POST", path: pathT + "/links", body: `{"name":"Eve"}`, header: map[string]string{"Idempotency-Key": "k"}},
	},
	"revokeTaskLink": {{method: "DELETE", path: pathT + "/links/0197a5c4-aaaa-7000-8000-00000000000b"}},
	"listFailures":   {{path: "/api/v1/executions/failures?limit=1"}, {path: "/api/v1/executions/failures?workflow=shop/order&label=team:blue&error_code=timeout&cause=batch"}},
	"getOverview": {
		{path: "/api/v1/overview"},
		{path: "/api/v1/overview?from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z&step=6h&workflow_id=0197a5c4-1111-7000-8000-000000000001"},
	},
	"getExecution": {{path: pathE}, {path: pathE, header: map[string]string{"If-None-Match": `"tag-1"`}}},
	"getExecutionById": {
		{path: "/api/v1/executions/0197a5c4-2222-7000-8000-000000000002"},
		{path: "/api/v1/executions/0197a5c4-2222-7000-8000-000000000002", header: map[string]string{"If-None-Match": `"tag-1"`}},
	},
	"getTimelineById":  {{path: "/api/v1/executions/0197a5c4-2222-7000-8000-000000000002/timeline?limit=1&cursor=0"}},
	"getTimeline":      {{path: pathE + "/timeline?limit=5&cursor=3&reference=/do/0/a&under=/do/0&phase=running&after_seq=1&order=desc&fields=summary"}},
	"getProgress":      {{path: pathE + "/progress"}},
	"getProgressById":  {{path: "/api/v1/executions/0197a5c4-2222-7000-8000-000000000002/progress"}},
	"getRecording":     {{path: pathE + "/recording"}},
	"getRecordingById": {{path: "/api/v1/executions/0197a5c4-2222-7000-8000-000000000002/recording"}},
	"getArchive":       {{path: pathE + "/archive"}},
	"getArchiveById":   {{path: "/api/v1/executions/0197a5c4-2222-7000-8000-000000000002/archive"}},
	"getExecutionGraph": {
		{path: pathE + "/graph?format=json"}, {path: pathE + "/graph", header: map[string]string{"Accept": "text/vnd.mermaid"}},
	},
	"getExecutionGraphById": {{path: "/api/v1/executions/0197a5c4-2222-7000-8000-000000000002/graph?format=dot"}},
	"followExecution":       {{path: pathE + "/events?after=4"}, {path: pathE + "/events", header: map[string]string{"Last-Event-ID": "end"}}},
	"followExecutionById": {
		{path: "/api/v1/executions/0197a5c4-2222-7000-8000-000000000002/events", header: map[string]string{"Last-Event-ID": "7"}},
		{path: "/api/v1/executions/0197a5c4-2222-7000-8000-000000000002/events", header: map[string]string{"Last-Event-ID": "end"}},
	},
	"followBatch": {{path: pathB + "/events"}, {path: pathB + "/events", header: map[string]string{"Last-Event-ID": "end"}}},
	"follow": {
		{path: "/api/v1/stream?topic=execution:0197a5c4-2222-7000-8000-000000000002&topic=batch:0197a5c4-3333-7000-8000-000000000003"},
		{path: "/api/v1/stream?topic=execution:0197a5c4-2222-7000-8000-000000000002", header: map[string]string{"Last-Event-ID": "end"}},
	},
	"cancelExecution":  {{method: "POST", path: pathE + "/cancel", body: `{"reason":"no more"}`}},
	"retryExecution":   {{method: "POST", path: pathE + "/retry", body: `{"input":{"name":"Ada"},"version":"published"}`}, {method: "POST", path: pathE + "/retry?wait=1s"}},
	"getLog":           {{path: pathE + "/log?after=1&seq=1&seq=2&level=info&stream=stdout&q=x&limit=10"}},
	"getLogById":       {{path: "/api/v1/executions/0197a5c4-2222-7000-8000-000000000002/log"}},
	"runBatch":         {{method: "POST", path: pathW + "/batch", body: `{"items":[{"a":1},{}],"concurrency":2}`, header: map[string]string{"Prefer": "wait=1"}}},
	"listBatches":      {{path: pathW + "/batch?executions=page"}},
	"getBatch":         {{path: pathB}, {path: pathB + "?executions=none"}, {path: pathB, header: map[string]string{"If-None-Match": "*"}}},
	"listBatchItems":   {{path: pathB + "/items?status=error&limit=1"}, {path: pathB + "/items?fields=summary"}},
	"cancelBatch":      {{method: "POST", path: pathB + "/cancel"}},
	"suspendExecution": {{method: "POST", path: pathE + "/suspend"}},
	"resumeExecution":  {{method: "POST", path: pathE + "/resume", body: `{}`}},
	"deleteBatch":      {{method: "DELETE", path: pathB}},
	"deleteExecution":  {{method: "DELETE", path: pathE}},
	"listAllBatches":   {{path: "/api/v1/batches?limit=2"}},
	"getBatchById": {
		{path: "/api/v1/batches/0197a5c4-3333-7000-8000-000000000003?executions=none"},
		{path: "/api/v1/batches/0197a5c4-3333-7000-8000-000000000003", header: map[string]string{"If-None-Match": "*"}},
	},
	"getSystem": {{path: "/api/v1/system"}},
	"startOperation": {
		{method: "POST", path: "/api/v1/operations", body: `{"action":"cancel","filter":{"status":["processing"],"label":["team:blue"],"min_duration_ms":5},"reason":"no more"}`},
		{method: "POST", path: "/api/v1/operations", body: `{"action":"retry","ids":["0197a5c4-2222-7000-8000-000000000002"],"version":"published"}`, header: map[string]string{"Idempotency-Key": "k"}},
		{method: "POST", path: "/api/v1/operations", body: `{"action":"cancel","filter":{},"dry_run":true}`},
	},
	"listOperations":     {{path: "/api/v1/operations?limit=2"}},
	"getOperation":       {{path: pathO}},
	"listOperationItems": {{path: pathO + "/items?outcome=failed&outcome=skipped&limit=5"}},
	"cancelOperation":    {{method: "POST", path: pathO + "/cancel"}},
	"publishEvents": {
		{method: "POST", path: "/api/v1/events", body: `{"specversion":"1.0","id":"1","source":"/s","type":"t"}`, header: map[string]string{"Content-Type": "application/cloudevents+json"}},
		{method: "POST", path: "/api/v1/events", body: `[]`, header: map[string]string{"Content-Type": "application/cloudevents-batch+json", "Idempotency-Key": "k"}},
	},
	"deleteFile": {{method: "DELETE", path: pathF}},
	"uploadFile": {{method: "POST", path: "/api/v1/files?filename=a.txt", body: "text", header: map[string]string{"Content-Type": "application/octet-stream"}}},
	"getFile":    {{path: pathF}, {path: pathF + "?task_id=0197a5c4-aaaa-7000-8000-00000000000a"}},
	"getFileContent": {
		{path: pathF + "/content"},
		{path: pathF + "/content?task_id=0197a5c4-aaaa-7000-8000-00000000000a"},
		{path: pathF + "/content?expires=1&signature=good", keyless: true},
		{path: pathF + "/content?expires=1&signature=elsewhere", keyless: true},
		{path: pathF + "/content", header: map[string]string{"Range": "bytes=2-4"}},
		{path: pathF + "/content", header: map[string]string{"If-None-Match": `"` + strings.Repeat("ab", 32) + `"`}},
	},
	"listUsers":         {{path: "/api/v1/users?limit=1"}},
	"inviteUser":        {{method: "POST", path: "/api/v1/users", body: `{"email":"ada@example.org","name":"Ada","grants":[{"role":"viewer"}]}`, header: map[string]string{"Idempotency-Key": "k"}}},
	"getUser":           {{path: pathU}},
	"updateUser":        {{method: "PATCH", path: pathU, body: `{"status":"disabled"}`}},
	"removeUser":        {{method: "DELETE", path: pathU}},
	"resetUser":         {{method: "POST", path: pathU + "/reset"}},
	"findPeople":        {{path: "/api/v1/people?q=a&limit=5"}},
	"listGroups":        {{path: "/api/v1/groups"}},
	"createGroup":       {{method: "POST", path: "/api/v1/groups", body: `{"name":"Finance"}`}},
	"getGroup":          {{path: pathG}},
	"updateGroup":       {{method: "PATCH", path: pathG, body: `{"name":"Treasury"}`}},
	"deleteGroup":       {{method: "DELETE", path: pathG}},
	"listGroupMembers":  {{path: pathG + "/members?limit=2"}},
	"joinGroup":         {{method: "PUT", path: pathG + "/members/" + userID.String()}},
	"leaveGroup":        {{method: "DELETE", path: pathG + "/members/" + userID.String()}},
	"listGrants":        {{path: "/api/v1/grants?user_id=" + userID.String()}, {path: "/api/v1/grants?group_id=" + groupID.String()}, {path: "/api/v1/grants?workflow_id=" + workflowID.String()}},
	"giveGrant":         {{method: "POST", path: "/api/v1/grants", body: `{"user_id":"` + userID.String() + `","role":"operator","environments":["live"]}`}},
	"takeGrant":         {{method: "DELETE", path: "/api/v1/grants/" + grantID.String()}},
	"listAPIKeys":       {{path: "/api/v1/api-keys"}},
	"createAPIKey":      {{method: "POST", path: "/api/v1/api-keys", body: `{"name":"ci","preset":"run","expires_at":"2027-01-01T00:00:00Z","rate_limit":null}`}},
	"getAPIKey":         {{path: pathK}},
	"updateAPIKey":      {{method: "PATCH", path: pathK, body: `{"workflows":null}`}},
	"rotateAPIKey":      {{method: "POST", path: pathK + "/rotate", body: `{"grace":"1h"}`}},
	"revokeAPIKey":      {{method: "DELETE", path: pathK}},
	"getMe":             {{path: "/api/v1/me"}},
	"updateMe":          {{method: "PATCH", path: "/api/v1/me", body: `{"name":"Ada","locale":null}`}},
	"getSettings":       {{path: "/api/v1/me/settings"}},
	"putSettings":       {{method: "PUT", path: "/api/v1/me/settings", body: `{"theme":"dark"}`}},
	"listSessions":      {{path: "/api/v1/me/sessions?limit=1"}},
	"endOtherSessions":  {{method: "DELETE", path: "/api/v1/me/sessions"}},
	"endSession":        {{method: "DELETE", path: "/api/v1/me/sessions/" + sessionID.String()}},
	"listPersonalKeys":  {{path: "/api/v1/me/api-keys?limit=1"}},
	"createPersonalKey": {{method: "POST", path: "/api/v1/me/api-keys", body: `{"name":"laptop","scopes":["workflows:start"]}`}},
	"getPersonalKey":    {{path: pathM}},
	"rotatePersonalKey": {{method: "POST", path: pathM + "/rotate"}},
	"revokePersonalKey": {{method: "DELETE", path: pathM}},
	"getSignInMethods":  {{path: "/api/v1/auth/methods", keyless: true}},
	"setUp":             {{method: "POST", path: "/api/v1/setup", body: `{"token":"t","name":"Ada","email":"ada@example.com","password":"x"}`, keyless: true}},
	"signIn":            {{method: "POST", path: "/api/v1/session", body: `{"email":"ada@example.com","password":"x"}`, keyless: true}},
	"getSession":        {{path: "/api/v1/session", header: map[string]string{"Cookie": "chargehand-80=" + goodToken}, keyless: true}},
	"switchAccount":     {{method: "PATCH", path: "/api/v1/session", body: `{"account":"0197a5c4-6666-7000-8000-000000000006"}`, header: map[string]string{"Cookie": "chargehand-80=" + goodToken}, keyless: true}},
	"signOut":           {{method: "DELETE", path: "/api/v1/session", header: map[string]string{"Cookie": "chargehand-80=" + goodToken}, keyless: true}},
	"verifySession":     {{method: "POST", path: "/api/v1/session/verify", body: `{"password":"x"}`, header: map[string]string{"Cookie": "chargehand-80=" + goodToken}, keyless: true}},
	"acceptInvitation":  {{method: "POST", path: "/api/v1/invitation", body: `{"token":"t"}`, keyless: true}},
	"resetPassword":     {{method: "POST", path: "/api/v1/password-reset", body: `{"token":"t","password":"x"}`, keyless: true}},
	"startDevice": {
		{method: "POST", path: "/api/v1/device", body: `{"name":"chargehand on laptop","environments":["live"]}`, keyless: true},
	},
	"redeemDevice":         {{method: "POST", path: "/api/v1/device/token", body: `{"device_code":"c"}`, keyless: true}},
	"changePassword":       {{method: "PUT", path: "/api/v1/me/password", body: `{"password":"x"}`, header: map[string]string{"Cookie": "chargehand-80=" + goodToken}, keyless: true}},
	"beginPasskeySignIn":   {{method: "POST", path: "/api/v1/auth/passkey/options", keyless: true}},
	"signInWithPasskey":    {{method: "POST", path: "/api/v1/auth/passkey", body: `{"credential":{"id":"AA"}}`, keyless: true}},
	"listPasskeys":         {{path: "/api/v1/me/passkeys", header: map[string]string{"Cookie": "chargehand-80=" + goodToken}, keyless: true}},
	"beginPasskey":         {{method: "POST", path: "/api/v1/me/passkeys/options", header: map[string]string{"Cookie": "chargehand-80=" + goodToken}, keyless: true}},
	"addPasskey":           {{method: "POST", path: "/api/v1/me/passkeys", body: `{"name":"Phone","credential":{"id":"AA"}}`, header: map[string]string{"Cookie": "chargehand-80=" + goodToken}, keyless: true}},
	"listIdentities":       {{path: "/api/v1/me/identities", header: map[string]string{"Cookie": "chargehand-80=" + goodToken}, keyless: true}},
	"beginIdentity":        {{method: "POST", path: "/api/v1/me/identities", body: `{"provider":"company"}`, header: map[string]string{"Cookie": "chargehand-80=" + goodToken}, keyless: true}},
	"removeIdentity":       {{method: "DELETE", path: "/api/v1/me/identities/company", header: map[string]string{"Cookie": "chargehand-80=" + goodToken}, keyless: true}},
	"renamePasskey":        {{method: "PATCH", path: "/api/v1/me/passkeys/0197a5c4-8888-7000-8000-000000000008", body: `{"name":"Laptop"}`, header: map[string]string{"Cookie": "chargehand-80=" + goodToken}, keyless: true}},
	"removePasskey":        {{method: "DELETE", path: "/api/v1/me/passkeys/0197a5c4-8888-7000-8000-000000000008", header: map[string]string{"Cookie": "chargehand-80=" + goodToken}, keyless: true}},
	"beginProviderSignIn":  {{path: "/api/v1/auth/oidc/company?verify=false", keyless: true}},
	"finishProviderSignIn": {{path: "/api/v1/auth/oidc/company/callback?state=a&code=b", keyless: true}},
	"listSecrets":          {{path: "/api/v1/secrets?limit=1"}},
	"listAuditLog": {
		{path: "/api/v1/audit-log?limit=1&actor=system&action=secret.set&target=token&after=2026-01-01T00:00:00Z&before=2026-02-01T00:00:00Z"},
		{path: "/api/v1/audit-log", header: map[string]string{"Accept": "application/jsonl"}},
	},
	"putSecret": {
		{method: "PUT", path: "/api/v1/secrets/new%2Fone", body: `{"value":"v"}`},
		{method: "PUT", path: pathS, body: `{"value":{"username":"ci","password":"v"}}`},
	},
	"getSecret":         {{path: pathS}},
	"rollBackSecret":    {{method: "POST", path: pathS + "/rollback", body: `{"version":2}`}},
	"deleteSecret":      {{method: "DELETE", path: pathS}},
	"getLimits":         {{path: "/api/v1/limits"}},
	"getOpenAPI":        {{path: "/api/v1/openapi.json", keyless: true}},
	"getWorkflowSchema": {{path: "/api/v1/schemas/workflow.json", keyless: true}},
	"getTestSchema":     {{path: "/api/v1/schemas/test.json", keyless: true}},
	"getProblem":        {{path: "/api/v1/problems/invalid_json", keyless: true}},
	"getHealth":         {{path: "/healthz", keyless: true}},
	"getReadiness":      {{path: "/readyz", keyless: true}},
	"getMetrics":        {{path: "/metrics"}},
}

// routes returns the table as the server routes by it.
func routes(s *Server) []*route {
	var all []*route
	for _, e := range endpoints() {
		all = append(all, newRoutes(e, s.metrics)...)
	}
	return all
}

// TestDocumentIsTrue drives every operation, well and badly, and judges every exchange by
// the document.
func TestDocumentIsTrue(t *testing.T) {
	f := &fake{}
	s := newServer(t, f)
	o := newOracle(t, s)
	for _, rt := range routes(s) {
		t.Run(rt.id, func(t *testing.T) {
			o.t = t
			if len(samples[rt.id]) == 0 {
				t.Fatal("no sample request")
			}
			for _, q := range samples[rt.id] {
				if a := o.exchange(s, rt, q, true); a.status >= 400 {
					t.Errorf("%s %s: %d\n%s", q.method, q.path, a.status, a.body)
				}
			}
			driveProblems(t, o, s, f, rt)
			for _, a := range rt.answers {
				if !o.seen[rt.id+" "+itoa(a.status)] {
					t.Errorf("the answer %d was never driven", a.status)
				}
			}
		})
	}
}

// driveProblems provokes what can go wrong everywhere.
func driveProblems(t *testing.T, o *oracle, s *Server, f *fake, rt *route) {
	good := samples[rt.id][0]
	bad := func(status int, change func(*request)) {
		t.Helper()
		q := good
		q.header = maps.Clone(good.header)
		if q.header == nil {
			q.header = map[string]string{}
		}
		change(&q)
		if a := o.exchange(s, rt, q, false); a.status != status {
			t.Errorf("%s %s: %d, want %d\n%s", q.method, q.path, a.status, status, a.body)
		}
	}
	if rt.public {
		return
	}
	if rt.session {
		bad(401, func(q *request) { delete(q.header, "Cookie") })
		bad(400, func(q *request) { q.keyless = false })
		if rt.method != get {
			bad(403, func(q *request) { q.header["Sec-Fetch-Site"] = "cross-site" })
		}
		return
	}
	bad(401, func(q *request) { q.keyless = true })
	bad(400, func(q *request) { q.header["Authorization"] = "Bearer another" })
	f.allow = func() error {
		return &chargehand.Error{Code: chargehand.CodeRateLimited, Detail: "Slow down.", RetryAfter: 3}
	}
	bad(429, func(*request) {})
	f.allow = nil
	if rt.scopes != 0 {
		f.scopes = service.ScopeEventsWrite
		if rt.scopes == f.scopes {
			f.scopes = service.ScopeFilesWrite
		}
		bad(403, func(*request) {})
		f.scopes = 0
	}
	if len(rt.params) > 0 && strings.Contains(rt.path, "Id}") {
		bad(404, func(q *request) { q.path = strings.Replace(q.path, "0197a5c4", "nope", 1) })
	}
	if slices.Contains(rt.parameters, limitParameter) {
		bad(400, func(q *request) { q.path, _, _ = strings.Cut(q.path, "?"); q.path += "?limit=0" })
	}
	if rt.body != nil && !rt.body.stream {
		bad(415, func(q *request) { q.body, q.header["Content-Type"] = "x", "text/html" })
		bad(413, func(q *request) { q.body = strings.Repeat(" ", int(rt.body.limit(s.limits))+1) })
	}
	if rt.body != nil && rt.body.json {
		bad(400, func(q *request) { q.body = "{" })
	}
	if rt.scopes != 0 && rt.id != "getMetrics" {
		f.fail = errors.New("the insides")
		bad(500, func(*request) {})
		f.fail = chargehand.NewError(chargehand.CodeUnavailable, "Full.")
		bad(503, func(*request) {})
		f.fail = nil
	}
}

// TestDocumentIsValid lets a third party read the document.
func TestDocumentIsValid(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(Document("1.2.3"))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	if doc.OpenAPI != "3.1.0" || doc.Info.Version != "1.2.3" {
		t.Errorf("openapi %s, version %s", doc.OpenAPI, doc.Info.Version)
	}
	if !bytes.Equal(Document("1"), Document("1")) {
		t.Error("two documents of one version differ")
	}
}

// TestDocumentOpensAnswersAndClosesBodies: answers may grow, so a client generated from the
// document must not refuse new fields; unknown fields of a body are refused.
func TestDocumentOpensAnswersAndClosesBodies(t *testing.T) {
	var doc struct {
		Components struct {
			Schemas map[string]map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(Document(""), &doc); err != nil {
		t.Fatal(err)
	}
	for name, schema := range doc.Components.Schemas {
		closed := schema["additionalProperties"] == false
		if isBody := strings.HasSuffix(name, "Body") || name == "Nothing"; closed != isBody {
			t.Errorf("%s: additionalProperties %v", name, schema["additionalProperties"])
		}
	}
}

// TestContractInDocument compares the four endpoints with docs/reference/api.md.
func TestContractInDocument(t *testing.T) {
	s := newServer(t, &fake{})
	o := newOracle(t, s)
	required := func(name string) []any { return o.at("components", "schemas", name)["required"].([]any) }
	for schema, fields := range map[string][]string{
		"Workflow":         {"id", "name", "created_at", "updated_at"},
		"WorkflowPage":     {"data", "cursor"},
		"CreatedExecution": {"execution_id", "workflow_id", "status", "created_at"},
		"Execution":        {"id", "workflow_id", "status", "created_at", "results"},
		"Result":           {"filename", "url"},
	} {
		for _, field := range fields {
			if !slices.Contains(required(schema), any(field)) {
				t.Errorf("%s does not require %s", schema, field)
			}
		}
	}
	enum := o.at("components", "schemas", "Execution", "properties", "status")["enum"]
	if want := []any{"initial", "processing", "human_in_the_loop", "finished", "error"}; !slices.Equal(enum.([]any), want) {
		t.Errorf("statuses %v", enum)
	}
	for _, field := range []string{"batch_id", "workflow_id", "status", "total", "completed", "failed", "executions", "started_at", "completed_at"} {
		if o.at("components", "schemas", "Batch", "properties", field) == nil {
			t.Errorf("Batch has no %s", field)
		}
	}
	limit := o.at("paths", "/workflows", "get")["parameters"].([]any)[0].(map[string]any)["schema"].(map[string]any)
	for key, want := range map[string]string{"minimum": "1", "maximum": "100", "default": "100"} {
		if limit[key] != json.Number(want) {
			t.Errorf("limit: %s is %v", key, limit[key])
		}
	}
}

// TestDocumentTag: the document and the schema of definitions are cacheable.
func TestDocumentTag(t *testing.T) {
	s := newServer(t, &fake{})
	for _, path := range []string{"/api/v1/openapi.json", "/api/v1/schemas/workflow.json", "/api/v1/schemas/test.json"} {
		first := request{path: path, keyless: true}.to(s)
		again := request{path: path, keyless: true, header: map[string]string{"If-None-Match": first.header.Get("ETag")}}.to(s)
		if first.status != 200 || again.status != 304 || len(again.body) != 0 {
			t.Errorf("%s: status %d, then %d with %d bytes", path, first.status, again.status, len(again.body))
		}
		r := httptest.NewRequest("HEAD", path, nil)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if b, _ := io.ReadAll(w.Body); w.Code != 200 || len(b) != 0 {
			t.Errorf("HEAD %s: %d with %d bytes", path, w.Code, len(b))
		}
	}
}
