package api

import (
	"context"
	"io"
	"net/netip"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/graph"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/testserve"
	"github.com/chargehand/chargehand/internal/value"
)

// Service is what this package needs of *service.Service. The methods and their errors are
// described there.
type Service interface {
	AuthenticateSession(ctx context.Context, token string, env chargehand.Environment) (*service.Principal, error)
	RenewSession(ctx context.Context, p *service.Principal, token string) (renewed string, err error)
	Authenticate(ctx context.Context, key string, from netip.Addr) (*service.Principal, error)
	Allow(p *service.Principal) (service.Rate, error)
	Limits() service.Limits
	ListLimits(ctx context.Context, p *service.Principal) ([]service.UsedLimit, error)
	Degraded() []string
	RequireOperator(ctx context.Context, p *service.Principal) error

	ListWorkflows(ctx context.Context, p *service.Principal, q service.ListWorkflows) (*service.WorkflowPage, error)
	WorkflowNamed(ctx context.Context, p *service.Principal, namespace, name string) (chargehand.WorkflowID, error)
	GetWorkflow(ctx context.Context, p *service.Principal, id chargehand.WorkflowID) (*service.WorkflowDetail, error)
	ApplyWorkflow(ctx context.Context, p *service.Principal, r service.ApplyWorkflow) (*service.AppliedWorkflow, bool, error)
	ValidateWorkflow(ctx context.Context, p *service.Principal, definition []byte) (*service.Validation, error)
	DeleteWorkflow(ctx context.Context, p *service.Principal, id chargehand.WorkflowID) error
	ListVersions(ctx context.Context, p *service.Principal, id chargehand.WorkflowID, limit int, after service.Cursor) (*service.Page[service.Version], error)
	Outline(ctx context.Context, p *service.Principal, id chargehand.WorkflowID) ([]form.Field, error)
	Graph(ctx context.Context, p *service.Principal, id chargehand.WorkflowID, version string, number int64) (*graph.Graph, error)
	GetVersion(ctx context.Context, p *service.Principal, id chargehand.WorkflowID, version string, number int64) (*service.Version, error)
	PublishVersion(ctx context.Context, p *service.Principal, r service.PublishVersion) (*service.Version, bool, error)

	CreateExecution(ctx context.Context, p *service.Principal, r service.CreateExecution) (*service.Execution, bool, error)
	GetExecution(ctx context.Context, p *service.Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID, v service.View) (*service.Execution, error)
	WorkflowOf(ctx context.Context, p *service.Principal, id chargehand.ExecutionID) (chargehand.WorkflowID, error)
	ListExecutions(ctx context.Context, p *service.Principal, q service.ListExecutions) (*service.ExecutionPage, error)
	CountExecutions(ctx context.Context, p *service.Principal, q service.ListExecutions) (service.ExecutionCount, error)
	ListFailures(ctx context.Context, p *service.Principal, q service.ListExecutions) (*service.FailureGroups, error)
	Overview(ctx context.Context, p *service.Principal, q service.Overview) (*service.OverviewReport, error)
	CancelExecution(ctx context.Context, p *service.Principal, r service.ChangeExecution) (*service.Execution, bool, error)
	SuspendExecution(ctx context.Context, p *service.Principal, r service.ChangeExecution) (*service.Execution, bool, error)
	ResumeExecution(ctx context.Context, p *service.Principal, r service.ChangeExecution) (*service.Execution, bool, error)
	DeleteBatch(ctx context.Context, p *service.Principal, workflow chargehand.WorkflowID, id chargehand.BatchID) error
	DeleteExecution(ctx context.Context, p *service.Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID) error
	RetryExecution(ctx context.Context, p *service.Principal, r service.RetryExecution) (*service.Execution, bool, error)
	FollowExecution(ctx context.Context, p *service.Principal, r service.FollowExecution, send func([]service.StreamEvent) error) error
	FollowBatch(ctx context.Context, p *service.Principal, workflow chargehand.WorkflowID, id chargehand.BatchID, v service.View, send func([]service.StreamEvent) error) error
	Follow(ctx context.Context, p *service.Principal, topics []service.Topic, v service.View, send func([]service.StreamEvent) error) error
	Evaluate(ctx context.Context, p *service.Principal, body value.Value) (value.Value, error)
	TestWorkflow(ctx context.Context, p *service.Principal, body value.Value) (*testserve.Run, error)
	Hold(ctx context.Context, p *service.Principal) (held context.Context, release func())
	Log(ctx context.Context, p *service.Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID, q service.LogQuery) (*service.ExecutionLog, error)
	Archive(ctx context.Context, p *service.Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID, v service.View) (*service.Archive, error)
	Timeline(ctx context.Context, p *service.Principal, list service.ListTimeline) (*service.TimelinePage, error)
	Recording(ctx context.Context, p *service.Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID) (*service.Recording, error)
	Progress(ctx context.Context, p *service.Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID) (*service.Progress, error)
	ExecutionGraph(ctx context.Context, p *service.Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID) (*graph.Graph, error)

	CreateBatch(ctx context.Context, p *service.Principal, r service.CreateBatch) (*service.Batch, bool, error)
	GetBatch(ctx context.Context, p *service.Principal, workflow chargehand.WorkflowID, id chargehand.BatchID, v service.View) (*service.Batch, error)
	WorkflowOfBatch(ctx context.Context, p *service.Principal, id chargehand.BatchID) (chargehand.WorkflowID, error)
	ListBatches(ctx context.Context, p *service.Principal, q service.ListBatches) (*service.BatchPage, error)
	Entries(ctx context.Context, b *service.Batch, q service.BatchEntries, each func(*service.BatchEntry) error) (int, error)
	CancelBatch(ctx context.Context, p *service.Principal, r service.ChangeBatch) (*service.Batch, bool, error)

	StartOperation(ctx context.Context, p *service.Principal, r service.StartOperation) (*service.Operation, bool, error)
	PreviewOperation(ctx context.Context, p *service.Principal, r service.StartOperation) (*service.OperationPreview, error)
	GetOperation(ctx context.Context, p *service.Principal, id chargehand.OperationID) (*service.Operation, error)
	ListOperations(ctx context.Context, p *service.Principal, limit int, after service.Cursor) (*service.Page[*service.Operation], error)
	ListOperationItems(ctx context.Context, p *service.Principal, q service.ListOperationItems) (*service.Page[service.OperationItem], error)
	CancelOperation(ctx context.Context, p *service.Principal, r service.CancelOperation) (*service.Operation, bool, error)

	ListHumanTasks(ctx context.Context, p *service.Principal, q service.ListHumanTasks) (*service.Page[service.HumanTask], error)
	CountHumanTasks(ctx context.Context, p *service.Principal) (service.TaskCounts, error)
	GetHumanTask(ctx context.Context, p *service.Principal, id chargehand.HumanTaskID) (service.HumanTask, error)
	ClaimHumanTask(ctx context.Context, p *service.Principal, id chargehand.HumanTaskID, body value.Value) (service.HumanTask, error)
	ReleaseHumanTask(ctx context.Context, p *service.Principal, id chargehand.HumanTaskID, body value.Value) (service.HumanTask, error)
	ReassignHumanTask(ctx context.Context, p *service.Principal, id chargehand.HumanTaskID, body value.Value) (service.HumanTask, error)
	AnswerHumanTask(ctx context.Context, p *service.Principal, q service.AnswerHumanTask) (service.HumanTask, bool, error)
	AnswerHumanTasks(ctx context.Context, p *service.Principal, q service.AnswerHumanTasks) (service.BulkAnswers, bool, error)
	HumanTaskDraft(ctx context.Context, p *service.Principal, id chargehand.HumanTaskID) (service.TaskDraft, error)
	PutHumanTaskDraft(ctx context.Context, p *service.Principal, id chargehand.HumanTaskID, body value.Value) (service.TaskDraft, error)
	CommentHumanTask(ctx context.Context, p *service.Principal, id chargehand.HumanTaskID, body value.Value, i *service.Idempotency) (service.HumanTask, bool, error)

	LinkHumanTask(ctx context.Context, p *service.Principal, q service.LinkHumanTask) (service.TaskLink, bool, error)
	RevokeTaskLink(ctx context.Context, p *service.Principal, task chargehand.HumanTaskID, id chargehand.TaskLinkID) error
	LinkedTask(ctx context.Context, secret string, v service.View) (*service.LinkedTask, error)
	UploadByLink(ctx context.Context, secret string, u service.LinkUpload) (service.LinkedFile, error)
	LinkedFiles(ctx context.Context, secret string, texts []string) ([]service.LinkedFile, error)
	CheckAnswerByLink(ctx context.Context, q service.AnswerByLink) error
	AnswerTaskByLink(ctx context.Context, q service.AnswerByLink) error

	UploadFile(ctx context.Context, p *service.Principal, r service.UploadFile) (*service.File, bool, error)
	GetFile(ctx context.Context, p *service.Principal, q service.ReadFile, v service.View) (*service.File, error)
	DeleteFile(ctx context.Context, p *service.Principal, id chargehand.FileID) error
	OpenFile(ctx context.Context, p *service.Principal, q service.ReadFile) (*service.File, io.ReadSeekCloser, error)
	OpenLink(ctx context.Context, l service.Link) (*service.File, io.ReadSeekCloser, error)

	CreateKey(ctx context.Context, p *service.Principal, r service.CreateKey) (*service.Key, bool, error)
	ListKeys(ctx context.Context, p *service.Principal, limit int, after service.Cursor) (*service.Page[service.Key], error)
	GetKey(ctx context.Context, p *service.Principal, id chargehand.KeyID) (*service.Key, error)
	PatchKey(ctx context.Context, p *service.Principal, id chargehand.KeyID, body value.Value) (*service.Key, error)
	RotateKey(ctx context.Context, p *service.Principal, r service.RotateKey) (*service.Key, bool, error)
	RotatePersonalKey(ctx context.Context, p *service.Principal, r service.RotateKey) (*service.Key, bool, error)
	RevokeKey(ctx context.Context, p *service.Principal, id chargehand.KeyID) error

	GetMe(ctx context.Context, p *service.Principal) (*service.Me, error)
	PatchMe(ctx context.Context, p *service.Principal, body value.Value) (*service.Me, error)
	Settings(ctx context.Context, p *service.Principal) ([]byte, error)
	PutSettings(ctx context.Context, p *service.Principal, body value.Value) ([]byte, error)
	ListSessions(ctx context.Context, p *service.Principal, limit int, after service.Cursor) (*service.Page[service.Session], error)
	RevokeSession(ctx context.Context, p *service.Principal, id chargehand.SessionID) error
	RevokeOtherSessions(ctx context.Context, p *service.Principal) error

	CreatePersonalKey(ctx context.Context, p *service.Principal, r service.CreateKey) (*service.Key, bool, error)
	ListPersonalKeys(ctx context.Context, p *service.Principal, limit int, after service.Cursor) (*service.Page[service.Key], error)
	GetPersonalKey(ctx context.Context, p *service.Principal, id chargehand.KeyID) (*service.Key, error)
	RevokePersonalKey(ctx context.Context, p *service.Principal, id chargehand.KeyID) error

	RequireFresh(p *service.Principal) error
	ListUsers(ctx context.Context, p *service.Principal, q service.ListUsers) (*service.Page[service.User], error)
	GetUser(ctx context.Context, p *service.Principal, id chargehand.UserID) (service.User, error)
	InviteUser(ctx context.Context, p *service.Principal, r service.InviteUser) (service.User, bool, error)
	PatchUser(ctx context.Context, p *service.Principal, id chargehand.UserID, body value.Value) (service.User, error)
	RemoveUser(ctx context.Context, p *service.Principal, id chargehand.UserID) error
	ResetUser(ctx context.Context, p *service.Principal, id chargehand.UserID, base string, i *service.Idempotency) (service.OneUseLink, bool, error)
	FindPeople(ctx context.Context, p *service.Principal, text string, limit int) (*service.FoundPeople, error)

	ListGroups(ctx context.Context, p *service.Principal, limit int, after service.Cursor) (*service.Page[service.Group], error)
	GetGroup(ctx context.Context, p *service.Principal, id chargehand.GroupID) (service.Group, error)
	CreateGroup(ctx context.Context, p *service.Principal, body value.Value, i *service.Idempotency) (service.Group, bool, error)
	PatchGroup(ctx context.Context, p *service.Principal, id chargehand.GroupID, body value.Value) (service.Group, error)
	DeleteGroup(ctx context.Context, p *service.Principal, id chargehand.GroupID) error
	GroupMembers(ctx context.Context, p *service.Principal, id chargehand.GroupID, limit int, after service.Cursor) (*service.Page[service.FoundUser], error)
	JoinGroup(ctx context.Context, p *service.Principal, id chargehand.GroupID, user chargehand.UserID) error
	LeaveGroup(ctx context.Context, p *service.Principal, id chargehand.GroupID, user chargehand.UserID) error

	ListGrants(ctx context.Context, p *service.Principal, q service.ListGrants) (*service.Page[service.Grant], error)
	GiveGrant(ctx context.Context, p *service.Principal, body value.Value, i *service.Idempotency) (service.Grant, bool, error)
	TakeGrant(ctx context.Context, p *service.Principal, id chargehand.GrantID) error

	PutSecret(ctx context.Context, p *service.Principal, name string, body value.Value) (*service.Secret, bool, error)
	ListSecrets(ctx context.Context, p *service.Principal, limit int, after service.Cursor) (*service.Page[service.Secret], error)
	GetSecret(ctx context.Context, p *service.Principal, name string) (*service.Secret, error)
	RollBackSecret(ctx context.Context, p *service.Principal, name string, body value.Value) (*service.Secret, error)
	DeleteSecret(ctx context.Context, p *service.Principal, name string) error

	ListAudit(ctx context.Context, p *service.Principal, q service.ListAudit) (*service.Page[service.AuditEntry], error)

	PublishEvents(ctx context.Context, p *service.Principal, r service.PublishEvents) (replayed bool, err error)
}

var _ Service = (*service.Service)(nil)
