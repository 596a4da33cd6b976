package api

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/graph"
	"github.com/chargehand/chargehand/internal/service"
)

// The examples of the document, by the type of the answer or body. They tell one story: the
// workflow shop/order, an execution of it that finished, one that failed, and a batch of both.

const exampleHost = "https://chargehand.example.com"

func exampleID[T ~[16]byte](text string) T {
	id, err := chargehand.ParseID[struct{}](text)
	if err != nil {
		panic("api: example " + text + ": " + err.Error())
	}
	return T(id)
}

func exampleTime(text string) moment {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic("api: example " + text + ": " + err.Error())
	}
	return at(t)
}

func pointTo[T any](v T) *T { return &v }

const (
	exampleWorkflowID  = "019c13f2-8a01-7c55-9d0f-5b3a1e0c7d11"
	exampleExecutionID = "019c13f3-1d40-7b0e-8a3c-2f6d9e4b5a21"
	exampleFailedID    = "019c13f3-1d41-7e92-b1f7-6c0a8d2e4f33"
	exampleBatchID     = "019c13f3-1d3f-7a11-8c2d-0b9e7f6a5d10"
	exampleTaskID      = "019c13f3-3c20-7e5f-8a4b-8f2d6c9e7153"
	exampleFileID      = "019c13f3-2b10-7d4e-9f3a-7e1c5b8d6042"
	exampleUserID      = "019c13f0-7b00-7a2c-9d41-3c5e7a9b1d20"
	exampleAccountID   = "019c13f0-7a00-7b1e-8c30-2b4d6f8a0c19"
	exampleKeyID       = "019c13f1-0c00-7f3b-a2d4-9e8b7c6f5a43"
	exampleGroupID     = "019c13f0-2b00-7e3f-9c5d-7a6b8c9d0e12"
	exampleGrantID     = "019c13f0-3c00-7f40-8d6e-8b7c9d0e1f23"
	exampleFailure     = "kZP0hZ7cF6kvZG8vMC9jb25maXJt"
	exampleSessionID   = "019c13f2-7a10-7c02-a4d5-2e3f40516273"
	examplePasskeyID   = "019c13f0-4d00-7a51-9e7f-9c8d0e1f2a34"
	exampleAuditID     = "019c13f2-9b20-7a01-b3c4-1d2e3f405162"
	exampleOperationID = "019c13f4-6c10-7b22-a1d3-4c5d6e7f8091"
	exampleCursor      = "AZwT8x1AAAABnBPzHUB7Doo8L22eS1oh"

	exampleYAML = `document:
  dsl: 1.0.3
  namespace: shop
  name: order
  version: 1.0.0
  title: Take an order
input:
  schema:
    document:
      type: object
      required: [item]
do:
- confirm:
    set:
      confirmed: ${ .item }
`
	exampleDefinition = `{"document":{"dsl":"1.0.3","namespace":"shop","name":"order","version":"1.0.0","title":"Take an order"},` +
		`"input":{"schema":{"document":{"type":"object","required":["item"]}}},"do":[{"confirm":{"set":{"confirmed":"${ .item }"}}}]}`
	exampleSchema = `{"type":"object","required":["item"]}`
)

// exampleGraph is the control flow of exampleDefinition.
func exampleGraph() *graph.Graph {
	list := "/do"
	return &graph.Graph{
		Digest: strings.Repeat("4e", 32),
		Scopes: []graph.Scope{{ID: list, Role: graph.List, Nodes: []string{"/do/0/confirm"}}},
		Nodes:  []graph.Node{{ID: "/do/0/confirm", Kind: "set", Name: "confirm", Detail: "confirmed", Scope: list, Line: 13}},
		Edges:  []graph.Edge{{From: "/do/0/confirm", Kind: graph.Next, Leaves: graph.LeavesList, Scope: list}},
	}
}

func exampleOverview(failures failureGroups) overview {
	bucket := OverviewTotal{Started: 1840, Finished: 1610, Failed: 214, Cancelled: 3, P50: pointTo(int64(420)), P95: pointTo(int64(3700))}
	workflows := []overviewWorkflow{{exampleID[chargehand.WorkflowID](exampleWorkflowID), "shop/order", bucket}}
	return overview{
		From: exampleTime("2026-01-31T10:00:00Z"), To: exampleTime("2026-01-31T11:00:00Z"), Step: 3600, AsOf: exampleTime("2026-01-31T10:30:00Z"),
		Buckets: []overviewBucket{{exampleTime("2026-01-31T10:00:00Z"), bucket}}, Total: bucket,
		Workflows: overviewWorkflows{ByFailures: workflows, ByP95: workflows, Count: 1, Compared: 1},
		Now: overviewNow{Queued: 2, Running: 8, Waiting: 3, Human: 1, Delayed: 1, Oldest: &oldestExecution{
			ID: exampleID[chargehand.ExecutionID](exampleExecutionID), Workflow: exampleID[chargehand.WorkflowID](exampleWorkflowID),
			Status: "processing", Phase: "waiting", CreatedAt: exampleTime("2026-01-31T10:00:00Z"),
		}},
		Failures: failures,
	}
}

// exampleExecutionGraph is the same with the state of the execution.
func exampleExecutionGraph() *graph.Graph {
	g := exampleGraph()
	g.SetStates(map[string]*graph.NodeState{
		"/do/0/confirm": {Phase: "completed", Counts: graph.PhaseCounts{Completed: 1}, LastSeq: 1, Attempts: 1},
	})
	return g
}

// examples makes all examples.
func examples() map[reflect.Type]any {
	created, updated := exampleTime("2026-01-31T09:30:00Z"), exampleTime("2026-01-31T09:31:00Z")
	started, finished := exampleTime("2026-01-31T10:00:01Z"), exampleTime("2026-01-31T10:00:02Z")
	expires := exampleTime("2026-01-31T11:00:00Z")
	second := time.Second.Milliseconds()
	workflow := Workflow{
		ID: exampleID[chargehand.WorkflowID](exampleWorkflowID), Name: "order", Namespace: "shop", Title: "Take an order", Version: "1.0.0",
		CreatedAt: created, UpdatedAt: updated,
	}
	warning := fieldError{
		Pointer: pointTo("/do/0/confirm/set/confirmed"), Code: "unknown_property",
		Detail: "The schema of the input has no property item.", Line: 13, Column: 18,
	}
	one := version{
		Workflow: workflow.ID, Version: "1.0.0", Revision: 2, Title: workflow.Title, Published: true, PublishedRevision: 2,
		CreatedAt: created, UpdatedAt: updated,
	}
	whole := one
	whole.Definition, whole.Source, whole.SourceType = json.RawMessage(exampleDefinition), exampleYAML, "application/yaml"
	file1 := result{
		Filename: "output.json", URL: exampleHost + "/api/v1/files/" + exampleFileID + "/content?expires=1769857200&signature=k3Yb0Q",
		Size: 21, ContentType: "application/json", SHA256: strings.Repeat("9f", 32), ExpiresAt: expires,
	}
	execution := Execution{
		ID: exampleID[chargehand.ExecutionID](exampleExecutionID), Workflow: workflow.ID, Status: "finished",
		StartedBy: &startedBy{"key", exampleKeyID, "shop front"}, CreatedAt: exampleTime("2026-01-31T10:00:00Z"), Results: []result{file1}, Phase: "completed", WorkflowVersion: "1.0.0", Revision: 2,
		Environment: "live", StartedAt: started, FinishedAt: finished, Output: json.RawMessage(`{"confirmed":"lamp"}`),
		WorkflowName: "shop/order", Title: "Order", Labels: map[string]string{"team": "blue"}, Cause: cause{Kind: "api"},
		RetainedUntil: exampleTime("2026-03-02T10:00:01Z"), Input: json.RawMessage(`{"item":"lamp"}`),
	}
	fresh := execution
	fresh.Status, fresh.Phase, fresh.Results, fresh.Output, fresh.StartedAt, fresh.FinishedAt = "initial", "pending", nil, nil, 0, 0
	fresh.RetainedUntil, fresh.Input = 0, nil
	fault := &executionError{
		Type: "https://open-workflow-specification.org/spec/1.0.0/errors/communication", Status: 503, Title: "Communication Error",
		Detail: "The stock server answered 503.", Instance: "/do/0/confirm", Code: "communication", Origin: "workflow", Retryable: true,
	}
	failed := execution
	failed.ID = exampleID[chargehand.ExecutionID](exampleFailedID)
	failed.Status, failed.Phase, failed.Results, failed.Output, failed.Error = "error", "faulted", nil, nil, fault
	createdOne := CreatedExecution{ExecutionID: fresh.ID, Execution: fresh}
	retried := createdOne
	retried.RetryOf, retried.Cause = &failed.ID, cause{"retry", exampleFailedID}
	entries := []batchEntry{
		{Execution: execution.ID, Inputs: map[string]any{"item": "lamp"}, Status: "finished", Phase: "completed", DurationMs: pointTo[int64](1000)},
		{Execution: failed.ID, Inputs: map[string]any{"item": "desk"}, Status: "error", Phase: "faulted", DurationMs: pointTo[int64](1000), Index: 1, Error: fault},
	}
	run := batch{
		BatchID: exampleID[chargehand.BatchID](exampleBatchID), ID: exampleID[chargehand.BatchID](exampleBatchID), Workflow: workflow.ID,
		Status: "completed", Phase: "completed", Total: 2, Completed: 1, Failed: 1, Concurrency: 5, EffectiveConcurrency: 5, WorkflowVersion: "1.0.0", Revision: 2,
		Environment: "live", StartedBy: execution.StartedBy, CreatedAt: execution.CreatedAt, StartedAt: started, CompletedAt: finished, Executions: entries,
	}
	uri := "/api/v1/files/" + exampleFileID
	upload := file{
		ID: exampleID[chargehand.FileID](exampleFileID), URI: uri, Name: "order.json", URL: file1.URL, Size: 21,
		ContentType: "application/json", SHA256: file1.SHA256, CreatedAt: created, ExpiresAt: expires,
		Reference: fileReference{URI: uri, Name: "order.json", MediaType: "application/json", Size: 21, Digest: "sha256:" + file1.SHA256},
	}
	key := apiKey{
		ID: exampleID[chargehand.KeyID](exampleKeyID), Name: "shop front", Environment: "live", Prefix: "sk_live_", LastFour: "wxyz",
		Scopes: []string{"workflows:read", "executions:create", "executions:read"}, Workflows: []chargehand.WorkflowID{workflow.ID},
		CreatedAt: created, LastUsedAt: finished,
	}
	team := userGroup{
		ID: exampleID[chargehand.GroupID](exampleGroupID), Name: "Finance", Members: []chargehand.UserID{exampleID[chargehand.UserID](exampleUserID)}, CreatedAt: created,
	}
	member := user{
		ID: exampleID[chargehand.UserID](exampleUserID), Email: "ada@example.org", Name: "Ada", Status: "invited", Groups: []chargehand.GroupID{}, Methods: []string{},
		CreatedAt: created, Invitation: &oneUseLink{exampleHost + "/invitation#token=TOKEN", expires, true},
	}
	seen := member
	seen.Status, seen.Groups, seen.Methods, seen.LastSeenAt, seen.Invitation = "active", []chargehand.GroupID{team.ID}, []string{"passkey"}, finished, nil
	role := grant{
		ID: exampleID[chargehand.GrantID](exampleGrantID), Group: &team.ID, Role: "operator", Namespace: "shop", Environments: []string{"live", "test"},
		CreatedAt: created, CreatedBy: exampleUserID,
	}
	token := secret{
		Name: "stock-token", Version: 3, CreatedAt: created, UpdatedAt: updated,
		Versions: []secretVersion{{Version: 3, SetAt: updated, Restores: 1}, {Version: 2, SetAt: updated}, {Version: 1, SetAt: created}},
		UsedBy:   []secretUser{{WorkflowID: workflow.ID, Workflow: "shop/order"}},
	}
	listed := token
	listed.Versions, listed.UsedBy = nil, nil
	event := cloudEvent{
		SpecVersion: "1.0", ID: "order-4711-paid", Source: "/shop", Type: "org.example.order.paid", Subject: "4711",
		Time: "2026-01-31T10:00:00Z", Data: map[string]any{"order": 4711},
	}
	signed := session{
		User:    sessionUser{ID: exampleID[chargehand.UserID](exampleUserID), Email: "ada@example.com", Name: "Ada Lovelace", Locale: "en"},
		Account: sessionAccount{ID: exampleID[chargehand.AccountID](exampleAccountID), Name: "default"}, ExpiresAt: updated, FreshUntil: finished,
	}
	signed.Accounts = []sessionAccount{signed.Account}
	connected := deviceKeys{User: signed.User, Account: signed.Account, Keys: []deviceKey{{
		ID: exampleID[chargehand.KeyID](exampleKeyID), Environment: "live", Key: "KEY", Scopes: []string{"workflows:read", "executions:read", "tasks:read"}, ExpiresAt: finished,
	}}}
	opened := ownSession{
		ID: exampleID[chargehand.SessionID](exampleSessionID), Method: "passkey", Address: "203.0.113.7", Agent: "Mozilla/5.0", Current: true,
		CreatedAt: created, LastSeenAt: updated, ExpiresAt: finished,
	}
	failures := failureGroups{Data: []failureGroup{{
		Workflow: workflow.ID, Code: "communication", Reference: "/do/0/confirm", Detail: "The stock server answered <number>.",
		Count: 214, First: started, Last: finished, Sample: failed.ID, Failure: exampleFailure,
	}}}
	published := auditEntry{
		ID: exampleID[chargehand.AuditID](exampleAuditID), At: updated, Actor: auditActor{"key", exampleKeyID, "deploy"}, Action: "workflow.published",
		Target: &auditTarget{"workflow", exampleWorkflowID, "shop/order"}, Environment: "live", Address: "203.0.113.7", RequestID: "req_5d1c0f6a3b9e8274",
		Changes: map[string]auditChange{"version": {"1.0.0", "1.1.0"}, "revision": {2, 1}}, Count: 1,
	}
	bulk := operation{
		ID: exampleID[chargehand.OperationID](exampleOperationID), Action: "retry", Status: "running", Environment: "live", StartedBy: execution.StartedBy,
		Filter: &operationFilter{Statuses: []string{"error"}, ErrorCodes: []string{"communication"}, WorkflowNames: []string{"shop/order"}}, Version: "published",
		Total: 214, Pending: 120, Succeeded: 92, Skipped: 1, Failed: 1, CreatedAt: finished,
	}
	refused := operationItem{Execution: failed.ID, Outcome: "failed", Error: &operationError{"input_invalid", "The input does not match the input_schema of the workflow."}}
	oneBulk := bulk
	oneBulk.Failures = []operationItem{refused}
	next, seq := exampleCursor, int64(3)
	asked := exampleTask()
	all := map[reflect.Type]any{}
	phone := passkeyView{ID: exampleID[chargehand.PasskeyID](examplePasskeyID), Name: "Phone", CreatedAt: created, LastUsedAt: started}
	for _, v := range []any{
		workflow, whole, execution, createdOne, run, upload, token, event, []cloudEvent{event},
		workflowPage{Data: []Workflow{workflow}},
		workflowDetail{
			Workflow: workflow, Revision: 2, PublishedVersion: "1.0.0", InputSchema: json.RawMessage(exampleSchema),
			Definition: json.RawMessage(exampleDefinition), Source: exampleYAML, SourceType: "application/yaml",
		},
		appliedWorkflow{Workflow: workflow, Revision: 2, Warnings: []fieldError{warning}},
		validation{Valid: true, Errors: []fieldError{}, Warnings: []fieldError{warning}},
		evaluated{Value: json.RawMessage(`{"total":12.5}`)}, evaluateBody{Expression: "${ {total: ([.items[].price] | add)} }", Input: map[string]any{"items": []any{map[string]any{"price": 12.5}}}},
		exampleTestedWorkflow(), testBody{Definition: exampleYAML, Tests: exampleTests},
		versionPage{Data: []version{one}}, *exampleGraph(),
		retriedExecution{CreatedExecution: retried, NewerVersion: "1.1.0", NewerRevision: 1},
		executionPage{Data: []Execution{failed, withoutOutput(execution)}, Cursor: &next},
		timelinePage{Data: []timelineEntry{{
			Seq: 1, Name: "confirm", Kind: "set", Reference: "/do/0/confirm", Iterations: []int{}, Attempt: 1, Phase: "completed", StartedAt: started, FinishedAt: finished,
			Input: json.RawMessage(`{"item":"lamp"}`), Output: json.RawMessage(`{"confirmed":"lamp"}`),
		}}},
		executionProgress{Data: []taskProgress{{
			Reference: "/do/0/confirm", Name: "confirm", Kind: "set", Phase: "completed", Counts: graph.PhaseCounts{Completed: 1}, Attempts: 1,
			LastSeq: 1, MinDurationMs: &second, MeanDurationMs: &second, MaxDurationMs: &second,
		}}},
		recording{
			Execution: execution.ID, Workflow: execution.Workflow, WorkflowName: execution.WorkflowName, Version: "1.0.0", Revision: 2, StartedAt: started, ElapsedMs: 1000,
			Phase: "completed", Input: json.RawMessage(`{"item":"lamp"}`), Output: json.RawMessage(`{"price":12.5}`), Secrets: []string{},
			Tasks:    []recordedTask{{Seq: 1, Name: "ask", Kind: "call", Reference: "/do/0/ask", Iterations: []int{}, Attempt: 1, Phase: "completed", EndedMs: 1000}},
			Outcomes: []recordedOutcome{{Seq: 1, Reference: "/do/0/ask", Kind: "activity", AtMs: 1000, Output: json.RawMessage(`{"item":"lamp","price":12.5}`), Files: []recordedFile{}}},
		},
		batchPage{Data: []batch{withoutEntries(run)}},
		batchItemPage{Data: []batchItem{batchItem(entries[0]), batchItem(entries[1])}},
		oneBulk, operationPage{Data: []operation{bulk}}, operationItemPage{Data: []operationItem{refused}, Cursor: &next},
		operationBody{Action: "retry", Filter: bulk.Filter, Version: "published"},
		operationPreview{DryRun: true, Action: "cancel", Count: 12408, Limit: service.MaxOperationExecutions},
		member, userPage{Data: []user{seen}}, *member.Invitation,
		asked, humanTaskPage{Data: []humanTask{inList(asked)}}, humanTaskCounts{Mine: humanTaskCount{Count: 3}, Unassigned: humanTaskCount{Count: 1}, All: humanTaskCount{10_000, true}},
		claimBody{}, releaseBody{}, reassignBody{Groups: []string{"Finance"}}, taskCommentBody{Text: "The total is right."},
		linkBody{Name: "Eve Example", Email: "eve@example.org", ExpiresIn: "7d"},
		newTaskLink{exampleID[chargehand.TaskLinkID](exampleTaskID), exampleHost + "/t/TOKEN", expires},
		answerBody{Outcome: "approve", Data: map[string]any{"total": 12.5}, Comment: "Paid on Friday."},
		draftBody{Outcome: "approve", Data: map[string]any{"total": 12.5}},
		taskDraft{Outcome: "approve", Data: json.RawMessage(`{"total":12.5}`), UpdatedAt: exampleTime("2026-01-31T09:45:00Z")},
		bulkAnswerBody{Filter: &taskSelection{Assignee: "me", Search: "order"}, Outcome: "approve"},
		bulkAnswers{Answered: 11, Failed: []bulkAnswerFailed{{exampleID[chargehand.HumanTaskID](exampleTaskID), chargehand.CodeClaimedByOther}}},
		team, userGroupPage{Data: []userGroup{team}}, memberPage{Data: []foundUser{{seen.ID, seen.Name, seen.Email}}},
		foundPeople{Users: []foundUser{{seen.ID, seen.Name, seen.Email}}, Groups: []foundGroup{{team.ID, team.Name}}},
		role, grantPage{Data: []grant{role}}, groupBody{Name: "Finance"}, patchUserBody{Status: "disabled"},
		inviteUserBody{Email: "ada@example.org", Name: "Ada", Grants: []firstGrant{{Role: "operator", Namespace: "shop"}}},
		giveGrantBody{Group: exampleGroupID, Role: "operator", Namespace: "shop", Environments: []string{"live"}},
		key, apiKeyPage{Data: []apiKey{key}},
		secretPage{Data: []secret{listed}},
		me{
			User: seen, Grants: []grant{role}, Scopes: meScopes{Live: key.Scopes, Test: []string{"workflows:read"}}, Environments: []string{"live", "test"},
			Version: "1.0.0",
		},
		patchMeBody{Name: "Ada Lovelace", Locale: pointTo("en")}, settings{"theme": "dark"}, ownSessionPage{Data: []ownSession{opened}},
		signInMethods{Password: true, Passkeys: true, OIDC: []signInProvider{{"company", "Example Ltd."}}}, signed, passkeyOptions{Options: passkeyExample}, credentialBody{Credential: credentialExample},
		renamePasskeyBody{Name: "Laptop"}, addPasskeyBody{Name: "Phone", Credential: credentialExample}, phone, passkeyList{Data: []passkeyView{phone}},
		identityBody{Provider: "company"}, identityBegun{URL: "https://id.example.com/authorize"},
		identityList{Data: []identityView{{Provider: "company", Title: "Example Ltd.", CreatedAt: created}}},
		setupBody{Token: "TOKEN", Name: "Ada Lovelace", Email: "ada@example.com", Password: "four words in a row"},
		signInBody{Email: "ada@example.com", Password: "four words in a row"}, verifyBody{Password: "four words in a row"},
		switchBody{Account: exampleAccountID}, invitationBody{Token: "TOKEN", Name: "Ada Lovelace", Password: "four words in a row"},
		resetBody{Token: "TOKEN", Password: "four words in a row"}, passwordBody{OldPassword: "four words in a row", Password: "four other words in a row"},
		deviceBody{Name: "chargehand on laptop"}, deviceTokenBody{DeviceCode: "DEVICE_CODE"}, connected,
		deviceCode{DeviceCode: "DEVICE_CODE", UserCode: "BCDF-GHJK", VerificationURI: exampleHost + "/device", ExpiresIn: 600, Interval: 5},
		logLine{Line: 12, At: updated, Seq: &seq, Level: "info", Stream: "stdout", Text: "12 rows read"},
		published, auditPage{Data: []auditEntry{published}},
		executionCount{Count: 214}, failures, exampleOverview(failures),
		limitPage{Data: []limit{{Name: "body_bytes", Value: 1 << 20, Description: "Body of a request, unless another limit is named for it."}}},
		health{Status: "ok"},
		system{
			OK: true, Version: "1.0.0", Engine: "embedded", Database: "sqlite", StartedAt: created, AsOf: finished, WriterLagMs: pointTo(int64(2)),
			Executions: systemExecutions{Queued: 2, Ready: 1, Active: 8, Parked: 12, Delayed: 1}, OldestReady: started, Processes: []systemProcess{{"shop-1 (process 4711)", finished, false}, {"shop-2 (process 815)", finished, true}},
			Disks: []systemDisk{{"/var/lib/chargehand", 80 << 30, 100 << 30}}, LastBackup: created,
			Findings: []systemFinding{{What: "write-ahead log", OK: true, Detail: "4194304 bytes in chargehand.db-wal"}},
		},
		problemPage{
			Type: exampleHost + "/api/v1/problems/queue_full", Code: "queue_full", Status: 429,
			Title: problemTypes[chargehand.CodeQueueFull].title, Description: problemTypes[chargehand.CodeQueueFull].about,
		},
		map[string]any{"openapi": "3.1.0", "info": map[string]any{"title": "Chargehand", "version": "1"}},
		createExecutionBody{Input: map[string]any{"item": "lamp"}},
		createBatchBody{Items: []map[string]any{{"item": "lamp"}, {"item": "desk"}}, Concurrency: 5},
		retryBody{Input: map[string]any{"item": "lamp"}, Version: "published"},
		cancelBody{Reason: "The order was withdrawn."},
		nothing{}, publishBody{Revision: 2},
		createKeyBody{Name: "shop front", Preset: "run", Workflows: []string{exampleWorkflowID}},
		patchKeyBody{Name: "shop front, old"}, rotateKeyBody{Grace: "24h"},
		rollBackSecretBody{Version: 1},
		putSecretBody{Value: map[string]any{"username": "shop", "password": "correct horse battery staple"}},
	} {
		all[reflect.TypeOf(v)] = v
	}
	return all
}

func withoutOutput(e Execution) Execution {
	e.Output = nil
	return e
}

func withoutEntries(b batch) batch {
	b.Executions = nil
	return b
}

// What browsers are given, and answer, with passkeys.
var (
	passkeyExample    = map[string]any{"challenge": "uLx8QpAJ0y1Qp7ZrV0p2nPq0E3yq7kYVt1cDOaW8m2Q", "rpId": "chargehand.example.com", "timeout": 300000, "userVerification": "preferred"}
	credentialExample = map[string]any{
		"id": "bG9uZyByYW5kb20gaWQ", "rawId": "bG9uZyByYW5kb20gaWQ", "type": "public-key",
		"response": map[string]any{"clientDataJSON": "eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0"},
	}
)

// exampleTask is a task that was answered.
func exampleTask() humanTask {
	return humanTask{
		ID: exampleID[chargehand.HumanTaskID](exampleTaskID), Status: "answered", Title: "Approve the order", Priority: 50,
		Assignees: taskAssignees{Users: []string{}, Groups: []string{"Finance"}, Exclude: []string{}},
		CreatedAt: exampleTime("2026-01-31T09:30:00Z"), DueAt: exampleTime("2026-02-01T09:30:00Z"), EndedAt: exampleTime("2026-01-31T10:00:00Z"),
		Workflow: exampleID[chargehand.WorkflowID](exampleWorkflowID), Name: "shop/order", Execution: exampleID[chargehand.ExecutionID](exampleExecutionID),
		Reference: "/do/1/approve", Iterations: []int{}, Seq: 2, Environment: "live", Refused: chargehand.CodeAnswerConflict,
		Form: json.RawMessage(`{"type":"object","properties":{"total":{"type":"number"}}}`), Outcomes: []taskOutcome{{Name: "approve", Title: "Approve"}},
		Answer: &taskAnswer{
			Outcome: "approve", Data: json.RawMessage(`{"total":12.5}`), Comment: "Paid on Friday.", Files: []json.RawMessage{}, At: "2026-01-31T10:00:00.000Z", Used: true,
			By: taskAnswerer{ID: exampleUserID, Name: "Ada Lovelace", Via: taskVia{Kind: "session", ID: exampleSessionID}},
		},
	}
}

// inList is a task as lists show it.
func inList(t humanTask) humanTask {
	t.Form, t.Outcomes, t.Answer = nil, nil, nil
	return t
}

// pathExamples are examples of the parameters of paths.
var pathExamples = map[paramKind]any{
	workflowParam: exampleWorkflowID, executionParam: exampleExecutionID, batchParam: exampleBatchID, taskParam: exampleTaskID, taskLinkParam: exampleTaskID, fileParam: exampleFileID,
	userParam: exampleUserID, groupParam: exampleGroupID, grantParam: exampleGrantID, passkeyParam: examplePasskeyID, providerParam: "company",
	operationParam: exampleOperationID,
	keyParam:       exampleKeyID, sessionParam: exampleSessionID, versionParam: "1.0.0", secretParam: "stock-token", problemParam: "queue_full",
}

// parameterExamples are examples of parameters, by name.
var parameterExamples = map[string]any{
	"user_id": exampleUserID, "group_id": exampleGroupID,
	"limit": 20, "cursor": exampleCursor, "namespace": "shop", "name": "order", "q": "order", "draft": true, "version": "1.0.0",
	"status": "error", "phase": "cancelled", "batch_id": exampleBatchID, "executions": "none", "wait": "30s",
	"created_after": "2026-01-31T00:00:00Z", "created_before": "2026-02-01T00:00:00Z", "filename": "order.json",
	"expires": "1769857200", "signature": "k3Yb0Q", "Idempotency-Key": "order-4711", "If-None-Match": `"d-a1b2c3"`,
}

// exampleProblem is the example of an error code.
func exampleProblem(code chargehand.Code) problem {
	about := problemTypes[code]
	p := problem{
		Type: exampleHost + chargehand.APIPath + "/problems/" + string(code), Title: about.title, Status: about.status, Detail: about.about,
		Instance: chargehand.APIPath + "/workflows", Code: string(code), RequestID: "req_5d1c0f6a3b9e8274",
	}
	switch code {
	case chargehand.CodeInvalidParameter:
		p.Detail = "limit must be a whole number from 1 to 100."
		p.Errors = []fieldError{{Parameter: "limit", Code: string(code), Detail: p.Detail}}
	case chargehand.CodeUnknownParameter:
		p.Detail = `There is no query parameter "stauts" here. Did you mean status?`
		p.Errors = []fieldError{{Parameter: "stauts", Code: string(code), Detail: p.Detail}}
	case chargehand.CodeUnknownField:
		p.Detail = `The field "inputs" is not known here. Did you mean "input"?`
		p.Errors = []fieldError{{Pointer: pointTo("/inputs"), Code: string(code), Detail: p.Detail}}
	case chargehand.CodeInvalidJSON:
		p.Detail = "line 1, column 11: a value is missing."
		p.Errors = []fieldError{{Pointer: pointTo("/input"), Code: "syntax", Detail: "a value is missing.", Line: 1, Column: 11}}
	case chargehand.CodeInputInvalid:
		p.Detail = `The input does not match the input_schema of the workflow: /input: the property "item" is missing.`
		p.Errors = []fieldError{{Pointer: pointTo("/input"), Code: "required", Detail: `the property "item" is missing`}}
	case chargehand.CodeDefinitionInvalid:
		p.Errors = []fieldError{{Pointer: pointTo("/do/0/confirm"), Code: "unknown_task", Detail: "The task confirm has no known kind.", Line: 12, Column: 3}}
	}
	return p
}
