package api

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/graph"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/service"
)

func (f *fake) CreateExecution(ctx context.Context, _ *service.Principal, r service.CreateExecution) (*service.Execution, bool, error) {
	if f.createExecution != nil {
		return f.createExecution(ctx, r)
	}
	return orReplayed(f, fixtureInitial())
}

func (f *fake) GetExecution(ctx context.Context, _ *service.Principal, _ chargehand.WorkflowID, _ chargehand.ExecutionID, v service.View) (*service.Execution, error) {
	if f.getExecution != nil {
		return f.getExecution(ctx, v)
	}
	return or(f, fixtureExecution())
}

func (f *fake) ListExecutions(_ context.Context, _ *service.Principal, q service.ListExecutions) (*service.ExecutionPage, error) {
	if f.listExecutions != nil {
		return f.listExecutions(q)
	}
	return or(f, &service.ExecutionPage{
		Data: []*service.Execution{fixtureExecution(), fixtureInitial(), fixtureFaulted()}, Cursor: cursor1(),
	})
}

func (f *fake) CountExecutions(_ context.Context, _ *service.Principal, q service.ListExecutions) (service.ExecutionCount, error) {
	if f.counted != nil {
		f.counted(q)
	}
	return or(f, service.ExecutionCount{Count: 10_000, AtLeast: true, ExaminedUntil: countedAt})
}

func (f *fake) ListFailures(_ context.Context, _ *service.Principal, q service.ListExecutions) (*service.FailureGroups, error) {
	if f.counted != nil {
		f.counted(q)
	}
	return or(f, fixtureFailures())
}

var countedAt = time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)

func fixtureFailures() *service.FailureGroups {
	e := fixtureFaulted()
	return &service.FailureGroups{Data: []service.FailureGroup{
		{Workflow: e.Workflow, Code: "communication", Reference: "/do/0/call", Detail: "answered <number>", Count: 3, First: countedAt, Last: countedAt, Sample: e.ID},
		{Workflow: e.Workflow, Code: "internal", Count: 1, First: countedAt, Last: countedAt, Sample: e.ID},
	}}
}

func (f *fake) Overview(_ context.Context, _ *service.Principal, q service.Overview) (*service.OverviewReport, error) {
	if f.overview != nil {
		f.overview(q)
	}
	e := fixtureInitial()
	b := service.OverviewBucket{From: countedAt, Started: 4, Finished: 2, Failed: 1, Cancelled: 1, P50: time.Second, P95: time.Minute, Timed: true}
	return or(f, &service.OverviewReport{
		From: countedAt, To: countedAt.Add(2 * time.Hour), Step: time.Hour, AsOf: countedAt, Total: b,
		Buckets: []service.OverviewBucket{b, {From: countedAt.Add(time.Hour)}},
		Workflows: service.OverviewWorkflows{
			ByFailures: []service.OverviewWorkflow{{ID: e.Workflow, Name: "shop/order", OverviewBucket: b}},
			ByP95:      []service.OverviewWorkflow{{ID: e.Workflow, Name: "shop/order", OverviewBucket: b}},
			Count:      60, Compared: 50, AtLeast: true, ExaminedUntil: countedAt,
		},
		Now:      service.OverviewNow{Queued: 1, Oldest: &service.OldestExecution{ID: e.ID, Workflow: e.Workflow, Status: e.Status, Phase: e.Phase, CreatedAt: countedAt}},
		Failures: fixtureFailures(),
	})
}

func (f *fake) CancelExecution(context.Context, *service.Principal, service.ChangeExecution) (*service.Execution, bool, error) {
	return orReplayed(f, fixtureFaulted())
}

func (f *fake) SuspendExecution(context.Context, *service.Principal, service.ChangeExecution) (*service.Execution, bool, error) {
	e := fixtureInitial()
	e.Status, e.Phase = chargehand.Processing, chargehand.Suspended
	return orReplayed(f, e)
}

func (f *fake) ResumeExecution(context.Context, *service.Principal, service.ChangeExecution) (*service.Execution, bool, error) {
	return orReplayed(f, fixtureInitial())
}

func (f *fake) DeleteExecution(context.Context, *service.Principal, chargehand.WorkflowID, chargehand.ExecutionID) error {
	return f.fail
}

func (f *fake) RetryExecution(_ context.Context, _ *service.Principal, r service.RetryExecution) (*service.Execution, bool, error) {
	if f.retryExecution != nil {
		return f.retryExecution(r)
	}
	e := fixtureInitial()
	e.Newer = &service.NewerRevision{Version: "1.1.0", Revision: 3}
	return orReplayed(f, e)
}

// followed sends one of each event, and ends.
func (f *fake) followed(ctx context.Context, send func([]service.StreamEvent) error, events ...service.StreamEvent) error {
	if _, err := or(f, true); err != nil {
		return err
	}
	for _, e := range events {
		if err := errors.Join(send([]service.StreamEvent{e}), ctx.Err()); err != nil {
			return err
		}
	}
	if err := send(nil); err != nil {
		return err
	}
	return &service.StreamEnd{Reason: service.EndComplete, Detail: "Nothing else will happen."}
}

func (f *fake) FollowExecution(ctx context.Context, _ *service.Principal, r service.FollowExecution, send func([]service.StreamEvent) error) error {
	topic := service.Topic{Kind: service.TopicExecution, ID: r.Execution}
	task := &service.TaskEvent{No: r.After + 3, At: time.UnixMilli(1_769_851_800_120), Ended: true, Seq: 2, Parent: 1, Name: "pay", Kind: "call", Reference: "/do/1/pay", Iterations: []int{2, 5}, Attempt: 1, Phase: chargehand.Faulted, Error: fixtureFaulted().Error}
	return f.followed(ctx, send, service.StreamEvent{Topic: topic, Execution: fixtureFaulted()},
		service.StreamEvent{Topic: topic, Gap: &service.Gap{From: r.After + 1, To: r.After + 2}}, service.StreamEvent{Topic: topic, Task: task})
}

func (f *fake) FollowBatch(ctx context.Context, _ *service.Principal, _ chargehand.WorkflowID, id chargehand.BatchID, _ service.View, send func([]service.StreamEvent) error) error {
	return f.followed(ctx, send, service.StreamEvent{Topic: service.Topic{Kind: service.TopicBatch, ID: id}, Batch: fixtureBatch()})
}

func (f *fake) Follow(ctx context.Context, _ *service.Principal, topics []service.Topic, _ service.View, send func([]service.StreamEvent) error) error {
	var events []service.StreamEvent
	for _, t := range topics {
		if t == service.MyTasks {
			task := fixtureTask()
			task.Full = nil
			events = append(events, service.StreamEvent{Topic: t, Tasks: &service.TaskNews{
				Counts: service.TaskCounts{Mine: service.TaskCount{Count: 1}}, Changed: []service.HumanTask{task}, Removed: []chargehand.HumanTaskID{task.ID}, More: true,
			}})
			continue
		}
		events = append(events, service.StreamEvent{Topic: t, Gone: true})
	}
	return f.followed(ctx, send, events...)
}

func (f *fake) Log(_ context.Context, _ *service.Principal, _ chargehand.WorkflowID, _ chargehand.ExecutionID, q service.LogQuery) (*service.ExecutionLog, error) {
	if f.log != nil {
		return f.log(q)
	}
	return or(f, &service.ExecutionLog{Complete: true, Lines: func(_ context.Context, show func(*service.LogLine) error) error {
		return errors.Join(
			show(&service.LogLine{Line: 1, At: moment0, Seq: 3, Level: chargehand.LogInfo, Stream: chargehand.LogStdout, Text: "12 rows \"read\""}),
			show(&service.LogLine{Line: 2, At: moment0, Level: chargehand.LogError, Stream: chargehand.LogLines, Text: "http, attempt 1: failed"}),
		)
	}})
}

func (f *fake) Archive(context.Context, *service.Principal, chargehand.WorkflowID, chargehand.ExecutionID, service.View) (*service.Archive, error) {
	if f.archive != nil {
		return f.archive()
	}
	return or(f, fixtureArchive())
}

// fixtureArchive has two files that are called the same, and lacks another one.
func fixtureArchive() *service.Archive {
	file := service.ArchivedFile{ID: fileID, Name: "a.txt", ContentType: "text/plain", Size: 10, SHA256: strings.Repeat("ab", 32), Result: true}
	second, gone := file, file
	second.Result, second.Seq = false, 1
	gone.Name, gone.SHA256 = "gone.txt", ""
	return &service.Archive{
		Execution: fixtureExecution(), Definition: []byte("document: {}\n"), DefinitionType: "application/yaml",
		Files: []service.ArchivedFile{file, second}, Missing: []service.ArchivedFile{gone},
		Timeline: func(_ context.Context, show func(*service.TimelineEntry) error) error {
			return errors.Join(
				show(&service.TimelineEntry{Seq: 1, Name: "a", Kind: "call", Reference: "/do/0/a", Attempt: 1, Phase: chargehand.Completed, StartedAt: moment0}),
				show(&service.TimelineEntry{Seq: 2, Name: "b", Kind: "wait", Reference: "/do/1/b", Attempt: 1, Phase: chargehand.Waiting, StartedAt: moment0}),
			)
		},
		Log: func(_ context.Context, show func(*service.LogLine) error) error {
			return show(&service.LogLine{Line: 1, At: moment0, Seq: 1, Level: chargehand.LogInfo, Stream: chargehand.LogStdout, Text: "12 rows"})
		},
		Open:  func(context.Context, int) (io.ReadCloser, error) { return fixtureContent(), nil },
		Close: func() {},
	}
}

func (f *fake) Timeline(_ context.Context, _ *service.Principal, list service.ListTimeline) (*service.TimelinePage, error) {
	if f.timeline != nil {
		return f.timeline(list)
	}
	return or(f, &service.TimelinePage{
		Data: []service.TimelineEntry{
			{
				Seq: 1, Name: "a", Kind: "call", Reference: "/do/0/a", Iterations: []int{2}, Attempt: 1, Phase: chargehand.Faulted, StartedAt: moment0,
				FinishedAt: moment0, Input: []byte("1.0"), Output: []byte("null"), Error: fixtureError(), Files: []service.Result{fixtureResult()},
				Document: "sha256:0a",
			},
			{
				Seq: 2, Parent: 1, Name: "b", Kind: "run", Reference: "/do/1/b", Attempt: 1, Phase: chargehand.Waiting, StartedAt: moment0,
				WaitingFor: &service.TaskWait{Kind: "child"}, Child: chargehand.ExecutionID{6: 0x70, 8: 0x80},
			},
			{
				Seq: 3, Name: "c", Kind: "wait", Reference: "/do/2/c", Attempt: 1, Phase: chargehand.Waiting, StartedAt: moment0,
				WaitingFor: &service.TaskWait{Kind: "timer", Until: moment0},
			},
		},
		Next: 2, Truncated: true,
	})
}

func (f *fake) Progress(context.Context, *service.Principal, chargehand.WorkflowID, chargehand.ExecutionID) (*service.Progress, error) {
	return or(f, &service.Progress{Data: []service.TaskProgress{
		{
			Reference: "/do/0/a", Name: "a", Kind: "call", Phase: chargehand.Faulted, Counts: graph.PhaseCounts{Faulted: 2}, FirstFailedSeq: 1, LastSeq: 2,
			Attempts: 2, Ended: 2, MinMs: 1, MeanMs: 2, MaxMs: 3,
		},
		{Reference: "/do/1/b", Name: "b", Kind: "run", Phase: chargehand.Waiting, Counts: graph.PhaseCounts{Waiting: 1}, LastSeq: 3, Attempts: 1},
	}})
}

func (f *fake) Recording(context.Context, *service.Principal, chargehand.WorkflowID, chargehand.ExecutionID) (*service.Recording, error) {
	e := fixtureExecution()
	return or(f, &service.Recording{
		Execution: e, Secrets: []string{"token"},
		Tasks: []service.RecordedTask{{Seq: 1, Name: "a", Kind: "call", Reference: "/do/0/a", Iterations: []int{2}, Attempt: 1, Phase: chargehand.Faulted, Ended: time.Second}},
		Outcomes: []service.RecordedOutcome{
			{Seq: 1, Reference: "/do/0/a", Kind: "message", At: time.Second, Output: []byte("1.0")},
			{Seq: 1, Reference: "/do/0/a", Kind: "activity", Asked: time.Millisecond, At: time.Second, Error: fixtureError(), Files: []machine.File{{
				ID: "0197a5c4-3333-7000-8000-000000000003", Name: "a.txt", MediaType: "text/plain", Size: 2, Digest: "sha256:0a",
			}}},
		},
	})
}

func (f *fake) ExecutionGraph(context.Context, *service.Principal, chargehand.WorkflowID, chargehand.ExecutionID) (*graph.Graph, error) {
	return or(f, exampleExecutionGraph())
}

func (f *fake) WorkflowOf(context.Context, *service.Principal, chargehand.ExecutionID) (chargehand.WorkflowID, error) {
	return or(f, workflowID)
}
