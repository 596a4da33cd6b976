package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/netip"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/graph"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/testrun"
	"github.com/chargehand/chargehand/internal/testserve"
	"github.com/chargehand/chargehand/internal/value"
)

// fake is a Service made of functions. A function that is nil answers with a resource in
// which every field has a value.
type fake struct {
	limits   service.Limits
	scopes   service.Scopes // 0: all
	allow    func() error
	rate     service.Rate
	fail     error // the answer of every method below, if set
	degraded []string

	authenticate    func(key string) (*service.Principal, error)
	listWorkflows   func(service.ListWorkflows) (*service.WorkflowPage, error)
	applyWorkflow   func(service.ApplyWorkflow) (*service.AppliedWorkflow, bool, error)
	createExecution func(context.Context, service.CreateExecution) (*service.Execution, bool, error)
	getExecution    func(context.Context, service.View) (*service.Execution, error)
	listExecutions  func(service.ListExecutions) (*service.ExecutionPage, error)
	retryExecution  func(service.RetryExecution) (*service.Execution, bool, error)
	log             func(q service.LogQuery) (*service.ExecutionLog, error)
	archive         func() (*service.Archive, error)
	timeline        func(list service.ListTimeline) (*service.TimelinePage, error)
	createBatch     func(service.CreateBatch) (*service.Batch, bool, error)
	deleteBatch     func() error
	entries         func(service.BatchEntries, func(*service.BatchEntry) error) (int, error)
	uploadFile      func(service.UploadFile) (*service.File, bool, error)
	openFile        func() (*service.File, io.ReadSeekCloser, error)
	openLink        func(service.Link) (*service.File, io.ReadSeekCloser, error)
	createKey       func(service.CreateKey) (*service.Key, bool, error)
	counted         func(service.ListExecutions)
	overview        func(service.Overview)
	listAudit       func(service.ListAudit) (*service.Page[service.AuditEntry], error)
	putSecret       func(name string, body value.Value) (*service.Secret, bool, error)
	publishEvents   func(service.PublishEvents) (bool, error)
	operated        func(service.StartOperation)
	bulk            *service.ListHumanTasks // the filter of the last bulk answer
	link            *fakeLink
}

func (f *fake) AuthenticateSession(_ context.Context, token string, env chargehand.Environment) (*service.Principal, error) {
	if token != goodToken {
		return nil, chargehand.NewError(chargehand.CodeInvalidCredentials, "There is no such session.")
	}
	return &service.Principal{Kind: service.KindUser, Environment: env, Scopes: service.PresetAll, Outdated: true}, nil
}

func (f *fake) RenewSession(context.Context, *service.Principal, string) (string, error) {
	return "the-next-token", nil
}

// goodKey stands for a key in the tests; the fake knows no other.
const goodKey = "the-key"

// Ids of the fixtures.
var (
	workflowID  = mustID[chargehand.WorkflowID]("0197a5c4-1111-7000-8000-000000000001")
	executionID = mustID[chargehand.ExecutionID]("0197a5c4-2222-7000-8000-000000000002")
	batchID     = mustID[chargehand.BatchID]("0197a5c4-3333-7000-8000-000000000003")
	fileID      = mustID[chargehand.FileID]("0197a5c4-4444-7000-8000-000000000004")
	keyID       = mustID[chargehand.KeyID]("0197a5c4-5555-7000-8000-000000000005")
	userID      = mustID[chargehand.UserID]("0197a5c4-7777-7000-8000-000000000007")
	groupID     = mustID[chargehand.GroupID]("0197a5c4-8888-7000-8000-000000000008")
	sessionID   = mustID[chargehand.SessionID]("0197a5c4-aaaa-7000-8000-00000000000a")
	operationID = mustID[chargehand.OperationID]("0197a5c4-bbbb-7000-8000-00000000000b")
	grantID     = mustID[chargehand.GrantID]("0197a5c4-9999-7000-8000-000000000009")
)

// moment0 is a time with a fraction that must not be lost or rounded.
var moment0 = time.Date(2026, 1, 31, 9, 30, 0, 120*int(time.Millisecond), time.UTC)

func mustID[T any, P interface {
	*T
	UnmarshalText([]byte) error
}](text string) (id T) {
	if err := P(&id).UnmarshalText([]byte(text)); err != nil {
		panic(err)
	}
	return id
}

func (f *fake) Authenticate(_ context.Context, key string, _ netip.Addr) (*service.Principal, error) {
	if f.authenticate != nil {
		return f.authenticate(key)
	}
	if key != goodKey {
		return nil, chargehand.NewError(chargehand.CodeInvalidAPIKey, "The API key is not valid.")
	}
	scopes := f.scopes
	if scopes == 0 {
		scopes = service.PresetAll
	}
	return &service.Principal{Key: keyID, Scopes: scopes, Environment: chargehand.Live}, nil
}

func (f *fake) Allow(*service.Principal) (service.Rate, error) {
	if f.allow != nil {
		return f.rate, f.allow()
	}
	return f.rate, nil
}

func (f *fake) Limits() service.Limits {
	l := service.Limits{
		BodyBytes: 1 << 20, BatchBodyBytes: 32 << 20, DefinitionBytes: 1 << 20, EventsBytes: 8 << 20, UploadBytes: 1 << 20,
		JSONDepth: 64, BatchItems: 10_000, Concurrency: 100, Wait: 60 * time.Second, IdempotencyKeyBytes: 255,
	}
	if f.limits.UploadBytes != 0 {
		l.UploadBytes = f.limits.UploadBytes
	}
	return l
}

func fixtureWorkflow() service.Workflow {
	return service.Workflow{
		ID: workflowID, Namespace: "default", Name: "greet", Title: "Say hello", Version: "1.0.0", Draft: true, Tags: []string{"team:pay"},
		CreatedAt: moment0, UpdatedAt: moment0.Add(time.Hour),
		Activity: &service.Activity{Last: executionID, LastStatus: chargehand.Finished, LastAt: moment0, NextSchedule: moment0, Counts: map[chargehand.Status]int{chargehand.Finished: 100}, AtLeast: true},
	}
}

func fixtureVersion() *service.Version {
	return &service.Version{
		Workflow: workflowID, Version: "1.0.0", Revision: 2, Title: "Say hello", Published: true, Draft: true,
		CreatedAt: moment0, UpdatedAt: moment0, Definition: []byte(`{"do":[]}`), Source: []byte("do: []"), SourceType: "application/yaml",
		CreatedBy: service.Actor{Kind: "user", ID: userID.String(), Name: "Ada"}, Message: "why",
		Revisions: []service.Revision{{Number: 2, Published: true, CreatedAt: moment0, Message: "why"}, {Number: 1, Draft: true, CreatedAt: moment0}},
	}
}

func fixtureExecution() *service.Execution {
	return &service.Execution{
		WorkflowName: "shop/order", Cause: service.Cause{Kind: "api"},
		ID: executionID, Workflow: workflowID, WorkflowVersion: "1.0.0", Revision: 2, Environment: chargehand.Live,
		Status: chargehand.Finished, Phase: chargehand.Completed, Batch: batchID, RetryOf: executionID,
		CreatedAt: moment0, StartedAt: moment0.Add(time.Millisecond), FinishedAt: moment0.Add(time.Second),
		StartedBy: service.Actor{Kind: "user", ID: userID.String(), Name: "Ada"}, Output: []byte(`{"n":12345678901234567890123}`), Results: []service.Result{fixtureResult()}, ETag: "tag-1",
	}
}

// fixtureInitial is an execution of which only the beginning is known.
func fixtureInitial() *service.Execution {
	return &service.Execution{
		WorkflowName: "shop/order", Cause: service.Cause{Kind: "api"},
		ID: executionID, Workflow: workflowID, WorkflowVersion: "1.0.0", Revision: 2, Environment: chargehand.Test,
		Status: chargehand.Initial, Phase: chargehand.Pending, CreatedAt: moment0, ETag: "tag-0",
	}
}

func fixtureFaulted() *service.Execution {
	e := fixtureInitial()
	e.Status, e.Phase, e.ETag, e.Error = chargehand.Errored, chargehand.Faulted, "tag-2", fixtureError()
	e.StartedAt, e.FinishedAt = moment0, moment0
	return e
}

func fixtureError() *service.ExecutionError {
	return &service.ExecutionError{
		Type: "https://open-workflow-specification.org/spec/1.0.0/errors/timeout", Status: 408, Title: "Timeout",
		Detail: `took "too" long`, Instance: "/do/0/wait", Code: "timeout", Origin: "workflow", Retryable: true,
	}
}

func fixtureResult() service.Result {
	return service.Result{
		Filename: "sheet \"1\".png", URL: "http://files.test/api/v1/files/" + fileID.String() + "/content?expires=1&signature=s&x=<>",
		Size: 42, ContentType: "image/png", SHA256: strings.Repeat("0f", 32), ExpiresAt: moment0.Add(time.Hour),
	}
}

func fixtureBatch() *service.Batch {
	return &service.Batch{
		ID: batchID, Workflow: workflowID, WorkflowVersion: "1.0.0", Revision: 2, Environment: chargehand.Live,
		Status: chargehand.BatchRunning, Phase: "running", ETAMs: 1500, Total: 3, Completed: 1, Failed: 1, Cancelled: 1, Running: 1, Concurrency: 500,
		StartedBy: service.Actor{Kind: "key", ID: keyID.String(), Name: "ci"}, EffectiveConcurrency: 100, CreatedAt: moment0, StartedAt: moment0, CompletedAt: moment0, ETag: "batch-1",
	}
}

func fixtureEntries(q service.BatchEntries, each func(*service.BatchEntry) error) (int, error) {
	statuses := []chargehand.Status{chargehand.Finished, chargehand.Errored, chargehand.Processing}
	phases := []chargehand.Phase{chargehand.Completed, chargehand.Faulted, chargehand.Running}
	faults := []*service.ExecutionError{nil, fixtureError(), nil}
	for i := q.From; i < len(statuses); i++ {
		e := service.BatchEntry{
			Index: i, ItemID: "item", Execution: executionID, Inputs: []byte(`{"i":1.0}`), Status: statuses[i], Phase: phases[i],
			Ended: statuses[i].Final(), DurationMs: int64(i * 10), Error: faults[i],
		}
		if q.Summary {
			e.Inputs = nil
		}
		if err := each(&e); err != nil {
			return -1, err
		}
		if q.Limit > 0 && i-q.From+1 == q.Limit && i+1 < len(statuses) {
			return i + 1, nil
		}
	}
	return -1, nil
}

func fixtureFile() *service.File {
	return &service.File{
		ID: fileID, Name: "Bücher \"1\".txt", ContentType: "text/html", Size: 10, SHA256: strings.Repeat("ab", 32),
		CreatedAt: moment0, URL: "http://files.test/api/v1/files/x/content?signature=s", ExpiresAt: moment0,
	}
}

func fixtureKey() *service.Key {
	k := &service.Key{
		ID: keyID, Name: "ci", Environment: chargehand.Live, Prefix: "sk_live_", LastFour: "wxyz",
		Scopes: service.PresetRun, RatePerSecond: 25,
		CreatedAt: moment0, ExpiresAt: moment0, LastUsedAt: moment0, CreatedBy: keyID,
	}
	k.Addresses = []string{"192.0.2.0/24"}
	k.Limits.Workflows, k.Limits.Namespaces = []chargehand.WorkflowID{workflowID}, []string{"finance"}
	return k
}

type nopCloser struct{ *bytes.Reader }

func (nopCloser) Close() error { return nil }

func fixtureContent() io.ReadSeekCloser { return nopCloser{bytes.NewReader([]byte("0123456789"))} }

func cursor1() service.Cursor { return service.Cursor{Milli: 1, ID: [16]byte{1}} }

// or gives the answer of a method that was not set.
func or[T any](f *fake, v T) (T, error) {
	if f.fail != nil {
		var zero T
		return zero, f.fail
	}
	return v, nil
}

func orReplayed[T any](f *fake, v T) (T, bool, error) {
	v, err := or(f, v)
	return v, false, err
}

func (f *fake) WorkflowNamed(_ context.Context, _ *service.Principal, namespace, name string) (chargehand.WorkflowID, error) {
	if namespace != "default" || name != "greet" {
		return chargehand.WorkflowID{}, chargehand.NewError(chargehand.CodeWorkflowNotFound, "There is no such workflow.")
	}
	return or(f, workflowID)
}

func (f *fake) ListWorkflows(_ context.Context, _ *service.Principal, q service.ListWorkflows) (*service.WorkflowPage, error) {
	if f.listWorkflows != nil {
		return f.listWorkflows(q)
	}
	return or(f, &service.WorkflowPage{Data: []service.Workflow{fixtureWorkflow()}, Cursor: moment0})
}

func (f *fake) GetWorkflow(context.Context, *service.Principal, chargehand.WorkflowID) (*service.WorkflowDetail, error) {
	return or(f, &service.WorkflowDetail{
		Workflow: fixtureWorkflow(), Revision: 1, PublishedVersion: "1.0.0", InputSchema: []byte(`{"type":"object"}`),
		Definition: []byte(`{"do":[1.0]}`), Source: []byte("do: [1.0]\n"), SourceType: "application/yaml",
	})
}

func (f *fake) ApplyWorkflow(_ context.Context, _ *service.Principal, r service.ApplyWorkflow) (*service.AppliedWorkflow, bool, error) {
	if f.applyWorkflow != nil {
		return f.applyWorkflow(r)
	}
	return orReplayed(f, &service.AppliedWorkflow{
		Workflow: fixtureWorkflow(), Revision: 1, Draft: r.Draft, Created: !r.Draft,
		Warnings: []chargehand.FieldError{{Pointer: "/do/0", Code: "warned", Detail: "Hm.", Line: 3, Column: 5}},
	})
}

func (f *fake) ValidateWorkflow(context.Context, *service.Principal, []byte) (*service.Validation, error) {
	return or(f, &service.Validation{Errors: []chargehand.FieldError{{Pointer: "", Code: "missing", Detail: "No.", Line: 1, Column: 1}}})
}

func (f *fake) DeleteWorkflow(context.Context, *service.Principal, chargehand.WorkflowID) error {
	return f.fail
}

func (f *fake) ListVersions(context.Context, *service.Principal, chargehand.WorkflowID, int, service.Cursor) (*service.Page[service.Version], error) {
	return or(f, &service.Page[service.Version]{Data: []service.Version{*fixtureVersion()}, Cursor: cursor1()})
}

func (f *fake) GetVersion(context.Context, *service.Principal, chargehand.WorkflowID, string, int64) (*service.Version, error) {
	return or(f, fixtureVersion())
}

func (f *fake) Outline(context.Context, *service.Principal, chargehand.WorkflowID) ([]form.Field, error) {
	return or(f, []form.Field{{Pointer: "/name", Title: "Name", Kind: form.Text, Required: true}})
}

func (f *fake) Graph(context.Context, *service.Principal, chargehand.WorkflowID, string, int64) (*graph.Graph, error) {
	return or(f, exampleGraph())
}

func (f *fake) PublishVersion(context.Context, *service.Principal, service.PublishVersion) (*service.Version, bool, error) {
	return orReplayed(f, fixtureVersion())
}

func (f *fake) DeleteBatch(context.Context, *service.Principal, chargehand.WorkflowID, chargehand.BatchID) error {
	if f.deleteBatch != nil {
		return f.deleteBatch()
	}
	return f.fail
}

// Hold is asked for by everything that waits.
func (f *fake) Hold(ctx context.Context, _ *service.Principal) (context.Context, func()) {
	return ctx, func() {}
}

func (f *fake) Evaluate(context.Context, *service.Principal, value.Value) (value.Value, error) {
	return or[value.Value](f, map[string]any{"n": 2})
}

func (f *fake) TestWorkflow(context.Context, *service.Principal, value.Value) (*testserve.Run, error) {
	example := exampleTestedWorkflow()
	return or(f, &testserve.Run{
		Counts: testrun.Counts{Tests: 1, Failed: 1}, TookMs: 3, Tests: example.Results, Warnings: example.Warnings, Coverage: example.Coverage,
	})
}

func (f *fake) CreateBatch(_ context.Context, _ *service.Principal, r service.CreateBatch) (*service.Batch, bool, error) {
	if f.createBatch != nil {
		return f.createBatch(r)
	}
	return orReplayed(f, fixtureBatch())
}

func (f *fake) GetBatch(context.Context, *service.Principal, chargehand.WorkflowID, chargehand.BatchID, service.View) (*service.Batch, error) {
	return or(f, fixtureBatch())
}

func (f *fake) WorkflowOfBatch(context.Context, *service.Principal, chargehand.BatchID) (chargehand.WorkflowID, error) {
	return or(f, workflowID)
}

func (f *fake) ListBatches(context.Context, *service.Principal, service.ListBatches) (*service.BatchPage, error) {
	return or(f, &service.BatchPage{Data: []*service.Batch{fixtureBatch(), fixtureBatch()}, Cursor: cursor1()})
}

func (f *fake) Entries(ctx context.Context, _ *service.Batch, q service.BatchEntries, each func(*service.BatchEntry) error) (int, error) {
	if f.entries != nil {
		next, err := f.entries(q, each)
		return next, errors.Join(err, ctx.Err())
	}
	if f.fail != nil {
		return 0, f.fail
	}
	return fixtureEntries(q, each)
}

func (f *fake) CancelBatch(context.Context, *service.Principal, service.ChangeBatch) (*service.Batch, bool, error) {
	return orReplayed(f, fixtureBatch())
}

func (f *fake) UploadFile(_ context.Context, _ *service.Principal, r service.UploadFile) (*service.File, bool, error) {
	if f.uploadFile != nil {
		return f.uploadFile(r)
	}
	if _, err := io.Copy(io.Discard, r.Content); err != nil {
		return nil, false, err
	}
	return orReplayed(f, fixtureFile())
}

func (f *fake) GetFile(context.Context, *service.Principal, service.ReadFile, service.View) (*service.File, error) {
	return or(f, fixtureFile())
}

func (f *fake) DeleteFile(context.Context, *service.Principal, chargehand.FileID) error {
	return f.fail
}

func (f *fake) Degraded() []string { return f.degraded }

func (f *fake) RequireOperator(context.Context, *service.Principal) error { return nil }

func (f *fake) ListLimits(context.Context, *service.Principal) (list []service.UsedLimit, err error) {
	for _, l := range f.Limits().List() {
		list = append(list, service.UsedLimit{Limit: l, Counted: l.Name == "json_depth", Used: 3})
	}
	return list, f.fail
}

func (f *fake) OpenFile(context.Context, *service.Principal, service.ReadFile) (*service.File, io.ReadSeekCloser, error) {
	if f.openFile != nil {
		return f.openFile()
	}
	v, err := or(f, fixtureFile())
	return v, fixtureContent(), err
}

func (f *fake) OpenLink(_ context.Context, l service.Link) (*service.File, io.ReadSeekCloser, error) {
	if f.openLink != nil {
		return f.openLink(l)
	}
	if l.Signature == "elsewhere" {
		v := fixtureFile()
		v.Location = "https://bucket.example.com/ab/cd?X-Amz-Signature=s"
		return v, nil, nil
	}
	if l.Signature != "good" {
		return nil, nil, chargehand.NewError(chargehand.CodeFileNotFound, "There is no such file.")
	}
	v, err := or(f, fixtureFile())
	return v, fixtureContent(), err
}

func fixtureSecret() *service.Secret {
	return &service.Secret{
		Name: "token", Version: 3, CreatedAt: moment0, UpdatedAt: moment0,
		Versions: []service.SecretVersion{{Version: 3, SetAt: moment0, Restores: 1}, {Version: 2, SetAt: moment0}},
		UsedBy:   []service.SecretUser{{ID: workflowID, Namespace: "shop", Name: "order"}},
	}
}

func (f *fake) PutSecret(_ context.Context, _ *service.Principal, name string, body value.Value) (*service.Secret, bool, error) {
	if f.putSecret != nil {
		return f.putSecret(name, body)
	}
	v := fixtureSecret()
	v.Name = name
	v, err := or(f, v)
	return v, name != "token", err
}

func (f *fake) ListAudit(_ context.Context, _ *service.Principal, q service.ListAudit) (*service.Page[service.AuditEntry], error) {
	if f.listAudit != nil {
		return f.listAudit(q)
	}
	return or(f, &service.Page[service.AuditEntry]{Data: []service.AuditEntry{fixtureAudit()}})
}

// fixtureAudit has a value in every field.
func fixtureAudit() service.AuditEntry {
	return service.AuditEntry{
		ID: mustID[chargehand.AuditID]("0197a5c4-6666-7000-8000-000000000006"), At: moment0, Environment: chargehand.Live,
		Actor: audit.Actor{Kind: audit.Key, ID: keyID.String(), Name: "deploy"}, Action: audit.SecretSet,
		Target: audit.Target{Kind: "secret", ID: "token", Name: "token"}, Address: "192.0.2.1", RequestID: "req_1",
		Changes: []byte(`{"version":{"before":null,"after":1}}`), Count: 1,
	}
}

func (f *fake) ListSecrets(context.Context, *service.Principal, int, service.Cursor) (*service.Page[service.Secret], error) {
	return or(f, &service.Page[service.Secret]{Data: []service.Secret{*fixtureSecret()}, Cursor: cursor1()})
}

func (f *fake) GetSecret(context.Context, *service.Principal, string) (*service.Secret, error) {
	return or(f, fixtureSecret())
}

func (f *fake) RollBackSecret(context.Context, *service.Principal, string, value.Value) (*service.Secret, error) {
	return or(f, fixtureSecret())
}

func (f *fake) DeleteSecret(context.Context, *service.Principal, string) error { return f.fail }

func (f *fake) PublishEvents(_ context.Context, _ *service.Principal, r service.PublishEvents) (bool, error) {
	if f.publishEvents != nil {
		return f.publishEvents(r)
	}
	return or(f, r.Idempotency != nil)
}
