package api

import (
	"context"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

const pathT = "/api/v1/human-tasks/0197a5c4-aaaa-7000-8000-00000000000a"

var taskID1 = mustID[chargehand.HumanTaskID]("0197a5c4-aaaa-7000-8000-00000000000a")

var linkID1 = mustID[chargehand.TaskLinkID]("0197a5c4-aaaa-7000-8000-00000000000b")

// fixtureTask has every field, as far as they go together.
func fixtureTask() service.HumanTask {
	schema := map[string]any{"type": "object", "properties": map[string]any{"total": map[string]any{"type": "number"}}}
	return service.HumanTask{
		ID: taskID1, Environment: chargehand.Live, Status: "answered", Title: "Approve the invoice", Priority: 80,
		Assignees: store.TaskAssignees{Users: []string{"ada@example.org"}, Groups: []string{"Finance"}, Exclude: []string{"bob@example.org"}},
		ClaimedBy: service.Actor{Kind: "user", ID: userID.String(), Name: "Ada"}, DueAt: moment0.Add(time.Hour), CreatedAt: moment0, EndedAt: moment0,
		Workflow: workflowID, Name: "finance/invoice", Execution: executionID, Reference: "/do/1/approve", Iterations: []int{2}, Seq: 3,
		Batch: batchID, ItemID: "inv-7", Withdrawn: "timeout", Step: 4, Refused: chargehand.CodeAnswerConflict,
		Full: &service.FullTask{
			Request: human.Request{
				Instructions: "Check the *totals*.", Form: schema, Data: map[string]any{"total": 5}, Show: map[string]any{"supplier": "Acme"},
				Files: []value.Value{map[string]any{"uri": "/api/v1/files/" + exampleFileID}}, Upload: &human.Upload{Accept: []string{".pdf"}, Max: 2},
				Outcomes: []human.Outcome{{Name: "approve", Title: "Approve", Style: "primary"}},
			},
			InstructionsHTML: "<p>Check the <em>totals</em>.</p>", Outline: form.Of(schema, nil),
			Comments: []service.TaskComment{{ID: taskID1, By: service.Actor{Kind: "user", ID: userID.String(), Name: "Ada"}, Text: "Looks fine", At: moment0}},
			Links: []service.TaskLink{{
				ID: linkID1, Name: "Eve", Email: "eve@example.org", MadeBy: service.Actor{Kind: "user", ID: userID.String(), Name: "Ada"},
				CreatedAt: moment0, ExpiresAt: moment0.Add(time.Hour), RevokedAt: moment0,
			}},
			Answer: &human.Answer{
				Outcome: "approve", Data: map[string]any{"total": 5}, Comment: "ok", At: "2026-01-31T09:30:00.125Z",
				By:    human.By{ID: userID.String(), Name: "Ada", Via: human.Via{Kind: human.ViaLink, ID: exampleTaskID, MadeBy: exampleUserID, Behind: exampleUserID}},
				Files: []value.Value{map[string]any{"uri": "/api/v1/files/" + exampleFileID}},
			},
			Used: true,
		},
	}
}

func (f *fake) ListHumanTasks(context.Context, *service.Principal, service.ListHumanTasks) (*service.Page[service.HumanTask], error) {
	t := fixtureTask()
	t.Full = nil
	return or(f, &service.Page[service.HumanTask]{Data: []service.HumanTask{t}, Cursor: cursor1()})
}

func (f *fake) CountHumanTasks(context.Context, *service.Principal) (service.TaskCounts, error) {
	return or(f, service.TaskCounts{Mine: service.TaskCount{Count: 3}, All: service.TaskCount{Count: 10_000, AtLeast: true}})
}

func (f *fake) GetHumanTask(context.Context, *service.Principal, chargehand.HumanTaskID) (service.HumanTask, error) {
	return or(f, fixtureTask())
}

func (f *fake) ClaimHumanTask(context.Context, *service.Principal, chargehand.HumanTaskID, value.Value) (service.HumanTask, error) {
	return or(f, fixtureTask())
}

func (f *fake) ReleaseHumanTask(context.Context, *service.Principal, chargehand.HumanTaskID, value.Value) (service.HumanTask, error) {
	return or(f, fixtureTask())
}

func (f *fake) ReassignHumanTask(context.Context, *service.Principal, chargehand.HumanTaskID, value.Value) (service.HumanTask, error) {
	return or(f, fixtureTask())
}

func (f *fake) AnswerHumanTask(context.Context, *service.Principal, service.AnswerHumanTask) (service.HumanTask, bool, error) {
	return orReplayed(f, fixtureTask())
}

func (f *fake) AnswerHumanTasks(_ context.Context, _ *service.Principal, q service.AnswerHumanTasks) (service.BulkAnswers, bool, error) {
	f.bulk = q.Filter
	return orReplayed(f, service.BulkAnswers{Answered: 11, Failed: []service.FailedAnswer{{ID: taskID1, Code: chargehand.CodeClaimedByOther}}})
}

func fixtureDraft() service.TaskDraft {
	return service.TaskDraft{Outcome: "approve", Data: map[string]any{"total": "5 or 6"}, Comment: "to do", Files: []string{exampleFileID}, UpdatedAt: moment0}
}

func (f *fake) HumanTaskDraft(context.Context, *service.Principal, chargehand.HumanTaskID) (service.TaskDraft, error) {
	return or(f, fixtureDraft())
}

func (f *fake) PutHumanTaskDraft(context.Context, *service.Principal, chargehand.HumanTaskID, value.Value) (service.TaskDraft, error) {
	return or(f, fixtureDraft())
}

func (f *fake) CommentHumanTask(context.Context, *service.Principal, chargehand.HumanTaskID, value.Value, *service.Idempotency) (service.HumanTask, bool, error) {
	return orReplayed(f, fixtureTask())
}

func (f *fake) LinkHumanTask(_ context.Context, _ *service.Principal, q service.LinkHumanTask) (service.TaskLink, bool, error) {
	return orReplayed(f, service.TaskLink{ID: linkID1, URL: q.BaseURL + "/t/secret", ExpiresAt: moment0})
}

func (f *fake) RevokeTaskLink(context.Context, *service.Principal, chargehand.HumanTaskID, chargehand.TaskLinkID) error {
	return f.fail
}
