package api

import (
	"encoding/json"
	"net/http"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
)

// draftBody is what a draft may have. None of it is held to the task.
type draftBody struct {
	Outcome string   `json:"outcome,omitempty" doc:"The name of an outcome."`
	Data    any      `json:"data,omitempty" doc:"What has been entered into the form so far."`
	Comment string   `json:"comment,omitempty"`
	Files   []string `json:"files,omitempty" nullable:"false" maxItems:"100" doc:"Ids of files that were uploaded for the answer."`
}

// taskDraft is a draft as it is shown; without fields there is none.
type taskDraft struct {
	Outcome   string          `json:"outcome,omitempty" doc:"The name of an outcome."`
	Data      json.RawMessage `json:"data,omitempty" doc:"What has been entered into the form so far."`
	Comment   string          `json:"comment,omitempty"`
	Files     []string        `json:"files,omitempty" nullable:"false" doc:"Ids of files that were uploaded for the answer."`
	UpdatedAt moment          `json:"updated_at,omitempty" doc:"When it was put. Left out: there is no draft."`
}

func humanDraftEndpoints() []endpoint {
	const tag = "Human tasks"
	one := []answer{{status: 200, about: "The draft", view: taskDraft{}}}
	return []endpoint{
		{
			method: get, path: "/human-tasks/{taskId}/draft", id: "getHumanTaskDraft", tag: tag,
			summary: "Get the own draft of an answer",
			about:   "What you have put last. An empty object: there is none, or the task has ended. No other person sees it.",
			scopes:  service.ScopeTasksRespond, answers: one, serve: (*call).getHumanTaskDraft,
		},
		{
			method: put, path: "/human-tasks/{taskId}/draft", id: "putHumanTaskDraft", tag: tag,
			summary: "Keep a draft of an answer",
			about: "It replaces the one that you have put before; an empty object deletes it. At most 64 KiB, and nothing in it is checked against the task. " +
				"It is deleted when the task ends, and is not part of the task's ETag.",
			scopes: service.ScopeTasksRespond, body: jsonBody(draftBody{}, true), answers: one,
			problems: []chargehand.Code{
				chargehand.CodeHumanTaskNotFound, chargehand.CodeNotAssigned, chargehand.CodeExcluded, chargehand.CodeStateConflict,
				chargehand.CodeStorageReserve, chargehand.CodeQuotaExceeded,
			},
			unaudited: "a draft decides nothing, and its author alone sees it",
			serve:     (*call).putHumanTaskDraft,
		},
	}
}

func (c *call) getHumanTaskDraft() error {
	d, err := c.server.service.HumanTaskDraft(c.r.Context(), c.principal, c.task)
	return c.viewDraft(&d, err)
}

func (c *call) putHumanTaskDraft() error {
	d, err := c.server.service.PutHumanTaskDraft(c.r.Context(), c.principal, c.task, c.value)
	return c.viewDraft(&d, err)
}

func (c *call) viewDraft(d *service.TaskDraft, err error) error {
	if err != nil {
		return err
	}
	return c.view(http.StatusOK, taskDraft{d.Outcome, rawValue(d.Data), d.Comment, d.Files, at(d.UpdatedAt)})
}
