package api

import (
	"log/slog"
	"net/http"
	"strconv"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/service"
)

type (
	bulkAnswerBody struct {
		IDs     []string       `json:"ids,omitempty" nullable:"false" minItems:"1" maxItems:"1000" doc:"The tasks, by their ids. Not together with filter."`
		Filter  *taskSelection `json:"filter,omitempty" doc:"Which open and claimed tasks are meant, as the list of tasks takes it; {} stands for all that you see. Not together with ids."`
		Outcome string         `json:"outcome" minLength:"1" doc:"The name of an outcome that each task has."`
		Data    any            `json:"data,omitempty" doc:"What the forms ask for."`
		Comment string         `json:"comment,omitempty"`
	}
	// taskSelection has the filters of a list of human tasks that say which ones are meant, by their names.
	taskSelection struct {
		Statuses   []string `json:"status,omitempty" nullable:"false" enum:"open,claimed" doc:"Tasks with one of these statuses."`
		Assignee   string   `json:"assignee,omitempty" doc:"Tasks of this person: me, an e-mail address or the id of a user. my-groups: those of your groups."`
		Group      string   `json:"group,omitempty" doc:"Tasks of this group."`
		Unassigned bool     `json:"unassigned,omitempty" doc:"Tasks without an assignee."`
		Workflow   string   `json:"workflow_id,omitempty" format:"uuid" doc:"Tasks of this workflow."`
		Batch      string   `json:"batch_id,omitempty" format:"uuid" doc:"Tasks of this batch."`
		Execution  string   `json:"execution_id,omitempty" format:"uuid" doc:"Tasks of this execution."`
		Overdue    bool     `json:"overdue,omitempty" doc:"Tasks that are due."`
		Search     string   `json:"q,omitempty" doc:"Tasks with this text in their title."`
	}
	bulkAnswers struct {
		Answered int                `json:"answered" minimum:"0" doc:"How many tasks have this answer of yours now."`
		Failed   []bulkAnswerFailed `json:"failed" nullable:"false" doc:"The others, in the order of the request."`
	}
	bulkAnswerFailed struct {
		ID   chargehand.HumanTaskID `json:"id" format:"uuid"`
		Code chargehand.Code        `json:"code" doc:"Why its answer was refused: the code that an answer to this task alone gets."`
	}
)

func humanBulkEndpoints() []endpoint {
	return []endpoint{{
		method: post, path: "/human-tasks/answer", id: "answerHumanTasks", tag: "Human tasks",
		summary: "Give many human tasks the same answer",
		about: "Each task is answered by itself, as if it were the only one: what is refused is listed, and the others are answered. " +
			"At most " + strconv.Itoa(service.MaxBulkAnswers) + " tasks; with more, nothing is done. " +
			"A request that is repeated with its Idempotency-Key is about the same tasks, also with a filter.",
		scopes: service.ScopeTasksRespond, parameters: []*parameter{idempotencyParameter}, body: jsonBody(bulkAnswerBody{}, true), slow: true,
		answers:  []answer{{status: 200, about: "What came of it", view: bulkAnswers{}, headers: []string{"Idempotency-Replayed"}}},
		problems: []chargehand.Code{chargehand.CodeTooManyTasks},
		change:   "human tasks answered", audits: []audit.Action{audit.TaskAnswered}, serve: (*call).answerHumanTasks,
	}}
}

func (c *call) answerHumanTasks() error {
	q := service.AnswerHumanTasks{Body: c.value, Idempotency: c.idempotency()}
	given, err := c.readBodyFilter(humanTaskSelection)
	if err != nil {
		return err
	}
	if given {
		filter := c.args.tasks
		q.Filter = &filter
	}
	done, replayed, err := c.server.service.AnswerHumanTasks(c.r.Context(), c.principal, q)
	if err != nil {
		return err
	}
	c.replayed(replayed)
	c.changed = append(c.changed, slog.Int("answered", done.Answered), slog.Int("failed", len(done.Failed)))
	v := bulkAnswers{Answered: done.Answered, Failed: make([]bulkAnswerFailed, len(done.Failed))}
	for i, f := range done.Failed {
		v.Failed[i] = bulkAnswerFailed{f.ID, f.Code}
	}
	return c.view(http.StatusOK, v)
}
