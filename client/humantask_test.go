package client

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
)

const oneTask = `{"id":"t-1","status":"open","title":"Approve","later":1}`

// TestHumanTaskRequests: what is sent for each request.
func TestHumanTaskRequests(t *testing.T) {
	task := func(t *HumanTask, err error) (string, error) { return t.ID, err }
	for name, c := range map[string]struct {
		do     func(ctx context.Context, c *Client) (string, error)
		answer string
		method string
		uri    string
		body   string
	}{
		"list": {
			func(ctx context.Context, c *Client) (string, error) {
				p, err := c.ListHumanTasks(ctx, HumanTaskFilter{
					Statuses: []string{"open", "answered"}, Assignee: "me", Group: "finance", Unassigned: true, AnsweredBy: "me", Workflow: "w-1", Batch: "b-1",
					Execution: "e-1", Overdue: true, Search: "in voice", Sort: "priority",
				}, 5, "c-1")
				return p.Data[0].ID, err
			},
			`{"data":[` + oneTask + `],"cursor":null}`, "GET", "/human-tasks?answered_by=me&assignee=me&batch_id=b-1&cursor=c-1&execution_id=e-1&group=finance" +
				"&limit=5&overdue=true&q=in+voice&sort=priority&status=open&status=answered&unassigned=true&workflow_id=w-1", "",
		},
		"list without a filter": {
			func(ctx context.Context, c *Client) (string, error) {
				p, err := c.ListHumanTasks(ctx, HumanTaskFilter{}, 0, "")
				return p.Data[0].ID, err
			}, `{"data":[` + oneTask + `],"cursor":null}`, "GET", "/human-tasks", "",
		},
		"get":  {func(ctx context.Context, c *Client) (string, error) { return task(c.GetHumanTask(ctx, "t-1")) }, oneTask, "GET", "/human-tasks/t-1", ""},
		"take": {func(ctx context.Context, c *Client) (string, error) { return task(c.ClaimHumanTask(ctx, "t-1", false)) }, oneTask, "POST", "/human-tasks/t-1/claim", `{}`},
		"release": {func(ctx context.Context, c *Client) (string, error) {
			return task(c.ReleaseHumanTask(ctx, "t-1", true))
		}, oneTask, "POST", "/human-tasks/t-1/release", `{"force":true}`},
		"comment": {func(ctx context.Context, c *Client) (string, error) {
			return task(c.CommentHumanTask(ctx, "t-1", "why?"))
		}, oneTask, "POST", "/human-tasks/t-1/comments", `{"text":"why?"}`},
		"reassign": {func(ctx context.Context, c *Client) (string, error) {
			return task(c.ReassignHumanTask(ctx, "t-1", []string{"a"}, nil))
		}, oneTask, "POST", "/human-tasks/t-1/reassign", `{"users":["a"],"groups":[]}`},
		"answer": {
			func(ctx context.Context, c *Client) (string, error) {
				return task(c.AnswerHumanTask(ctx, "t-1", HumanTaskAnswer{
					Outcome: "approve", Data: json.RawMessage(`{"n":12345678901234567890}`), Comment: "fine", Files: []string{"f-1"}, OnBehalfOf: "ada@example.com",
				}))
			},
			oneTask, "POST", "/human-tasks/t-1/answer", `{"outcome":"approve","data":{"n":12345678901234567890},"comment":"fine","files":["f-1"],"on_behalf_of":"ada@example.com"}`,
		},
		"answer without data": {
			func(ctx context.Context, c *Client) (string, error) {
				return task(c.AnswerHumanTask(ctx, "t-1", HumanTaskAnswer{Outcome: "approve"}))
			},
			oneTask, "POST", "/human-tasks/t-1/answer", `{"outcome":"approve"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, s := serve(t, nil, problemAnswer(503, "unavailable"), answer(200, c.answer))
			id, err := c.do(t.Context(), client)
			if err != nil || id != "t-1" {
				t.Errorf("%s, %v", id, err)
			}
			if len(s.seen) != 2 || s.seen[0].idempotency != s.seen[1].idempotency || (s.seen[0].idempotency == "") != (c.method == "GET") {
				t.Errorf("sent %+v", s.seen)
			}
			if got := s.seen[1]; got.method != c.method || got.uri != "/api/v1"+c.uri || got.body != c.body {
				t.Errorf("sent %+v, want %s %s %s", got, c.method, c.uri, c.body)
			}
		})
	}
}

// TestHumanTaskRead: a task that is written again is what the server wrote, and an answer that is refused has
// pointers to what is wrong.
func TestHumanTaskRead(t *testing.T) {
	c, _ := serve(t, nil, answer(200, oneTask), answer(422, `{"status":422,"code":"answer_invalid","title":"T","errors":[{"pointer":"/data/n","code":"type","detail":"No."}]}`))
	task, err := c.GetHumanTask(t.Context(), "t-1")
	if err != nil || task.Final() {
		t.Fatal(task, err)
	}
	if text, err := json.Marshal(task); err != nil || string(text) != oneTask {
		t.Errorf("%s, %v", text, err)
	}
	_, err = c.AnswerHumanTask(t.Context(), "t-1", HumanTaskAnswer{Outcome: "a"})
	var refused *Error
	if !errors.As(err, &refused) || refused.Code != "answer_invalid" || len(refused.Errors) != 1 || refused.Errors[0].Pointer != "/data/n" {
		t.Errorf("%v", err)
	}
}

// TestTaskLinkRequests: the address of a link is shown once, so a request for one is not sent again.
func TestTaskLinkRequests(t *testing.T) {
	client, s := serve(t, nil, answer(201, `{"id":"l-1","url":"https://example.com/t/x","expires_at":"2026-01-31T09:30:00Z"}`), problemAnswer(503, "unavailable"), answer(204, ""))
	made, err := client.LinkHumanTask(t.Context(), "t-1", NewTaskLink{Name: "Eve", Email: "eve@example.com", ExpiresIn: "7d"})
	if err != nil || made.ID != "l-1" || made.URL != "https://example.com/t/x" || made.ExpiresAt.IsZero() {
		t.Fatalf("%+v, %v", made, err)
	}
	if got := s.seen[0]; got.method != "POST" || got.uri != "/api/v1/human-tasks/t-1/links" || got.body != `{"name":"Eve","email":"eve@example.com","expires_in":"7d"}` || got.idempotency != "" {
		t.Errorf("sent %+v", got)
	}
	if _, err := client.LinkHumanTask(t.Context(), "t-1", NewTaskLink{Name: "Eve"}); err == nil || len(s.seen) != 2 {
		t.Errorf("a request that failed was sent %d times, %v", len(s.seen)-1, err)
	}
	if err := client.RevokeTaskLink(t.Context(), "t-1", made.ID); err != nil || s.seen[2].method != "DELETE" || s.seen[2].uri != "/api/v1/human-tasks/t-1/links/l-1" {
		t.Errorf("sent %+v, %v", s.seen[2], err)
	}
}
