package api

import (
	"context"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
)

func fixtureOperation() *service.Operation {
	return &service.Operation{
		ID: operationID, Action: "retry", Status: "running", Environment: chargehand.Live,
		Filter: []byte(`{"status":["error"],"created_after":"2026-01-31T10:00:00Z"}`), Version: "published", Total: 3, Pending: 1, Succeeded: 1, Failed: 1, CreatedAt: countedAt,
		Failures: []service.OperationItem{{Execution: fixtureFaulted().ID, Outcome: "failed", Code: "workflow_not_found", Detail: "There is no such workflow."}},
	}
}

// System is the state of the installation, with every field.
func (f *fake) System(context.Context) (*service.System, error) {
	return or(f, &service.System{
		Version: "1", Engine: "temporal", Database: "postgresql", StartedAt: countedAt, AsOf: countedAt, Queued: 10_000, Ready: 1, Counted: 10_000, OldestWaiting: countedAt,
		TimersDue: 1, Messages: 2, MessagesLate: time.Second, Workers: 3, Processes: []service.SystemProcess{{Name: "a", SeenAt: countedAt}},
		Disks: []service.SystemDisk{{Folder: "/data", Free: 1, Total: 2}}, LastBackup: countedAt,
		Findings: []service.SystemFinding{{What: "disk", Detail: "full", Damages: []string{"a"}}},
	})
}

func (f *fake) StartOperation(_ context.Context, _ *service.Principal, r service.StartOperation) (*service.Operation, bool, error) {
	if f.operated != nil {
		f.operated(r)
	}
	return orReplayed(f, fixtureOperation())
}

func (f *fake) PreviewOperation(_ context.Context, _ *service.Principal, r service.StartOperation) (*service.OperationPreview, error) {
	if f.operated != nil {
		f.operated(r)
	}
	return or(f, &service.OperationPreview{Action: "cancel", ExecutionCount: service.ExecutionCount{Count: 12, AtLeast: true, ExaminedUntil: countedAt}})
}

func (f *fake) GetOperation(context.Context, *service.Principal, chargehand.OperationID) (*service.Operation, error) {
	return or(f, fixtureOperation())
}

func (f *fake) ListOperations(context.Context, *service.Principal, int, service.Cursor) (*service.Page[*service.Operation], error) {
	return or(f, &service.Page[*service.Operation]{Data: []*service.Operation{fixtureOperation()}})
}

func (f *fake) ListOperationItems(context.Context, *service.Principal, service.ListOperationItems) (*service.Page[service.OperationItem], error) {
	o := fixtureOperation()
	o.Failures[0].Started = o.Failures[0].Execution
	return or(f, &service.Page[service.OperationItem]{Data: o.Failures})
}

func (f *fake) CancelOperation(context.Context, *service.Principal, service.CancelOperation) (*service.Operation, bool, error) {
	o := fixtureOperation()
	o.Status, o.EndedAt, o.Code, o.Detail = "stopped", countedAt, "insufficient_scope", "The key has ended."
	return orReplayed(f, o)
}
