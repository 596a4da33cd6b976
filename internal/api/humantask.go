package api

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/danielgtaylor/huma/v2"
)

// The bodies as the document describes them; the service reads them.
type (
	claimBody struct {
		Force bool `json:"force,omitempty" doc:"Take the task from the person who has claimed it. It needs executions:manage."`
	}
	releaseBody struct {
		Force bool `json:"force,omitempty" doc:"Take back the claim of another person. It needs executions:manage."`
	}
	reassignBody struct {
		Users  []string `json:"users,omitempty" nullable:"false" maxItems:"100" doc:"E-mail addresses or ids of users."`
		Groups []string `json:"groups,omitempty" nullable:"false" maxItems:"100" doc:"Names of groups."`
	}
	taskCommentBody struct {
		Text string `json:"text" minLength:"1"`
	}
	linkBody struct {
		Name      string `json:"name" minLength:"1" doc:"Of the person whom the link is for."`
		Email     string `json:"email,omitempty" doc:"E-mail address of that person. It is required where the task has assignees, or excludes people."`
		ExpiresIn string `json:"expires_in,omitempty" example:"7d" doc:"How long the link counts, such as 12h or 7d: at most 30d, which is the default. It ends with the task in any case."`
	}
	answerBody struct {
		Outcome    string   `json:"outcome" minLength:"1" doc:"The name of one of the outcomes."`
		Data       any      `json:"data,omitempty" doc:"What the form asks for."`
		Comment    string   `json:"comment,omitempty"`
		Files      []string `json:"files,omitempty" nullable:"false" maxItems:"100" doc:"Ids of files that were uploaded for the answer."`
		OnBehalfOf string   `json:"on_behalf_of,omitempty" doc:"E-mail address of the person whose answer it is. It needs tasks:impersonate."`
	}
)

var taskSorts = []any{"due", "created", "priority"}

func humanTaskEndpoints() []endpoint {
	const tag = "Human tasks"
	one := []answer{{status: 200, about: "The task", view: humanTask{}, headers: []string{"ETag"}}}
	acting := []chargehand.Code{chargehand.CodeNotAssigned, chargehand.CodeExcluded, chargehand.CodeClaimedByOther}
	return []endpoint{
		{
			method: get, path: "/human-tasks", id: "listHumanTasks", tag: tag,
			summary: "List human tasks",
			about: "Open and claimed ones, those that are due first. Users who may not read executions see those that are assigned to them, to their groups or not at all. " +
				"A search looks at 50,000 tasks for a page; it may be short, and have a cursor.",
			scopes: service.ScopeTasksRead, parameters: humanTaskFilters,
			answers: []answer{{status: 200, about: "List of tasks", view: humanTaskPage{}}},
			serve:   (*call).listHumanTasks,
		},
		{
			method: get, path: "/human-tasks/counts", id: "countHumanTasks", tag: tag,
			summary: "Count human tasks", about: "Open and claimed ones, up to 10,000 of each kind.", scopes: service.ScopeTasksRead,
			answers: []answer{{status: 200, about: "The counts", view: humanTaskCounts{}}},
			serve:   (*call).countHumanTasks,
		},
		{
			method: get, path: "/human-tasks/{taskId}", id: "getHumanTask", tag: tag,
			summary: "Get a human task", about: "With its form, and the answer once there is one.", scopes: service.ScopeTasksRead,
			parameters: []*parameter{ifNoneMatchParameter},
			answers:    append(one, answer{status: 304, about: "Nothing has changed since the answer with this ETag", headers: []string{"ETag"}}),
			serve:      (*call).getHumanTask,
		},
		{
			method: post, path: "/human-tasks/{taskId}/claim", id: "claimHumanTask", tag: tag,
			summary: "Claim a human task", about: "No other person answers it then.", scopes: service.ScopeTasksRespond, body: jsonBody(claimBody{}, false),
			answers: one, problems: append(acting, chargehand.CodeStateConflict), change: "human task claimed", audits: []audit.Action{audit.TaskClaimed}, serve: (*call).claimHumanTask,
		},
		{
			method: post, path: "/human-tasks/{taskId}/release", id: "releaseHumanTask", tag: tag,
			summary: "Release a human task", about: "It takes back a claim.", scopes: service.ScopeTasksRespond, body: jsonBody(releaseBody{}, false),
			answers: one, problems: []chargehand.Code{chargehand.CodeClaimedByOther, chargehand.CodeStateConflict},
			change: "human task released", audits: []audit.Action{audit.TaskReleased}, serve: (*call).releaseHumanTask,
		},
		{
			method: post, path: "/human-tasks/{taskId}/reassign", id: "reassignHumanTask", tag: tag,
			summary: "Reassign a human task", about: "It says anew who may answer, and takes back a claim. The people whom it excludes stay excluded, and do not reassign it.",
			scopes: service.ScopeExecutionsManage, body: jsonBody(reassignBody{}, true),
			answers: one, problems: []chargehand.Code{chargehand.CodeExcluded, chargehand.CodeStateConflict}, change: "human task reassigned", audits: []audit.Action{audit.TaskReassigned}, serve: (*call).reassignHumanTask,
		},
		{
			method: post, path: "/human-tasks/{taskId}/answer", id: "answerHumanTask", tag: tag,
			summary: "Answer a human task",
			about: "The task ends, and the execution continues with the answer. Of two people who answer at once, one wins. The same answer again changes nothing. " +
				"An answer that does not fit the form is refused with pointers, and the task stays open.",
			scopes: service.ScopeTasksRespond, parameters: []*parameter{idempotencyParameter}, body: jsonBody(answerBody{}, true),
			answers:  []answer{{status: 200, about: "Answered", view: humanTask{}, headers: []string{"ETag", "Idempotency-Replayed"}}},
			problems: append(acting, chargehand.CodeAnswerInvalid, chargehand.CodeAnswerConflict, chargehand.CodeTaskWithdrawn),
			change:   "human task answered", audits: []audit.Action{audit.TaskAnswered}, serve: (*call).answerHumanTask,
		},
		{
			method: post, path: "/human-tasks/{taskId}/comments", id: "commentHumanTask", tag: tag,
			summary: "Comment on a human task", about: "Also when it has ended.", scopes: service.ScopeTasksRespond,
			parameters: []*parameter{idempotencyParameter}, body: jsonBody(taskCommentBody{}, true),
			answers:   []answer{{status: 201, about: "The task with the comment", view: humanTask{}, headers: []string{"ETag", "Idempotency-Replayed"}}},
			problems:  []chargehand.Code{chargehand.CodeStateConflict, chargehand.CodeQuotaExceeded},
			unaudited: "The comment itself says who has written it and when.", serve: (*call).commentHumanTask,
		},
		{
			method: post, path: "/human-tasks/{taskId}/links", id: "linkHumanTask", tag: tag,
			summary: "Make a link to a human task",
			about: "A person who has the link answers the task on a page, without signing in. The address is shown once. You must be assigned to the task or have executions:manage; " +
				"the person must be allowed to answer it. Where answers by the link are excluded later, you are excluded too. A task has at most 100 links.",
			scopes: service.ScopeTasksRespond, parameters: []*parameter{idempotencyParameter}, body: jsonBody(linkBody{}, true),
			answers:  []answer{{status: 201, about: "The link", view: newTaskLink{}, headers: []string{"Idempotency-Replayed"}}},
			problems: []chargehand.Code{chargehand.CodeNotAssigned, chargehand.CodeExcluded, chargehand.CodeStateConflict},
			change:   "link to a human task made", audits: []audit.Action{audit.TaskLinkCreated}, serve: (*call).linkHumanTask,
		},
		{
			method: remove, path: "/human-tasks/{taskId}/links/{linkId}", id: "revokeTaskLink", tag: tag,
			summary: "Revoke a link to a human task", about: "Its maker may do so, the people whom the task is assigned to, and those with executions:manage.",
			scopes: service.ScopeTasksRespond, answers: []answer{{status: 204, about: "Revoked"}},
			problems: []chargehand.Code{chargehand.CodeNotAssigned, chargehand.CodeStateConflict},
			change:   "link to a human task revoked", audits: []audit.Action{audit.TaskLinkRevoked}, serve: (*call).revokeTaskLink,
		},
	}
}

// humanTaskSelection says which tasks are meant. All are looked at together.
var humanTaskSelection = []*parameter{
	{
		name: "status", in: "query", many: true, example: "open", about: "Only tasks with this status. Repeat it for several. Default: open and claimed.",
		schema: huma.Schema{Type: "string", Enum: []any{"open", "claimed", "answered", "withdrawn"}},
		read: func(c *call, value string) (complaint string) {
			status, ok := service.ParseTaskStatus(value)
			if !ok {
				return "must be open, claimed, answered or withdrawn."
			}
			c.args.tasks.Statuses = append(c.args.tasks.Statuses, status)
			return ""
		},
	},
	taskText("assignee", "me", "Only open and claimed tasks of this person: me, an e-mail address or the id of a user. my-groups: those of your groups that are not assigned to you by name, nor claimed by you.", func(q *service.ListHumanTasks) *string { return &q.Assignee }),
	taskText("group", "finance", "Only open and claimed tasks of this group.", func(q *service.ListHumanTasks) *string { return &q.Group }),
	taskFlag("unassigned", "Only open and claimed tasks without an assignee.", func(q *service.ListHumanTasks) *bool { return &q.Unassigned }),
	taskID("workflow_id", exampleWorkflowID, "workflow", func(q *service.ListHumanTasks, text string) error { return setID(&q.Workflow, text) }),
	taskID("batch_id", exampleBatchID, "batch", func(q *service.ListHumanTasks, text string) error { return setID(&q.Batch, text) }),
	taskID("execution_id", exampleExecutionID, "execution", func(q *service.ListHumanTasks, text string) error { return setID(&q.Execution, text) }),
	taskFlag("overdue", "Only tasks that are due.", func(q *service.ListHumanTasks) *bool { return &q.Overdue }),
	taskText("q", "invoice", "Only tasks with this text in their title.", func(q *service.ListHumanTasks) *string { return &q.Search }),
}

// humanTaskFilters say which tasks are listed, and how.
var humanTaskFilters = append(slices.Clone(humanTaskSelection), []*parameter{
	{
		name: "answered_by", in: "query", example: "me", about: "me: only tasks that you have answered.", schema: huma.Schema{Type: "string", Enum: []any{"me"}},
		read: func(c *call, value string) (complaint string) {
			if c.args.tasks.AnsweredBy = value; value != "me" {
				return "must be me."
			}
			return ""
		},
	},
	{
		name: "sort", in: "query", example: "priority", about: "due: those that are due first; created: the newest first; priority: the most important first.",
		schema: huma.Schema{Type: "string", Enum: taskSorts, Default: "due"},
		read: func(c *call, value string) (complaint string) {
			for i, name := range taskSorts {
				if value == name {
					c.args.tasks.Sort = service.TaskSort(i)
					return ""
				}
			}
			return "must be due, created or priority."
		},
	},
	limitParameter, cursorParameter,
}...)

func taskText(name, example, about string, field func(*service.ListHumanTasks) *string) *parameter {
	return &parameter{
		name: name, in: "query", example: example, about: about, schema: huma.Schema{Type: "string", MinLength: count(1)},
		read: func(c *call, value string) (complaint string) {
			if value == "" || len(value) > service.MaxTaskText {
				return "must have 1 to " + strconv.Itoa(service.MaxTaskText) + " bytes."
			}
			*field(&c.args.tasks) = value
			return ""
		},
	}
}

func taskFlag(name, about string, field func(*service.ListHumanTasks) *bool) *parameter {
	return &parameter{
		name: name, in: "query", example: true, about: about, schema: huma.Schema{Type: "boolean", Default: false},
		read: func(c *call, value string) (complaint string) {
			if value != "true" && value != "false" {
				return "must be true or false."
			}
			*field(&c.args.tasks) = value == "true"
			return ""
		},
	}
}

func taskID(name, example, what string, set func(*service.ListHumanTasks, string) error) *parameter {
	return &parameter{
		name: name, in: "query", example: example, about: "Only tasks of this " + what + ".", schema: huma.Schema{Type: "string", Format: "uuid"},
		read: func(c *call, value string) (complaint string) {
			if set(&c.args.tasks, value) != nil {
				return "must be the id of one " + what + "."
			}
			return ""
		},
	}
}

func (c *call) listHumanTasks() error {
	q := c.args.tasks
	q.Limit, q.After = c.args.limit, c.args.after
	page, err := c.server.service.ListHumanTasks(c.r.Context(), c.principal, q)
	return showPage(c, page, err, viewHumanTask)
}

func (c *call) countHumanTasks() error {
	n, err := c.server.service.CountHumanTasks(c.r.Context(), c.principal)
	if err != nil {
		return err
	}
	return c.view(http.StatusOK, viewTaskCounts(n))
}

func (c *call) getHumanTask() error {
	t, err := c.server.service.GetHumanTask(c.r.Context(), c.principal, c.task)
	if err != nil {
		return err
	}
	if c.notModified(taskTag(&t)) {
		c.empty(http.StatusNotModified)
		return nil
	}
	return c.viewTask(http.StatusOK, &t, nil)
}

// taskTag is the entity tag of a task.
func taskTag(t *service.HumanTask) string {
	tag := strconv.FormatInt(t.Step, 36)
	if t.Full != nil {
		tag += "-" + strconv.Itoa(len(t.Full.Comments))
		if t.Full.Used {
			tag += "u"
		}
		for i, l := range t.Full.Links {
			if i == 0 {
				tag += "-" + strconv.Itoa(len(t.Full.Links))
			}
			if !l.RevokedAt.IsZero() {
				tag += "r"
			}
		}
		if t.Refused != "" { // rights and groups change without the task
			tag += "-" + string(t.Refused)
		}
	}
	return tag
}

func (c *call) viewTask(status int, t *service.HumanTask, err error) error {
	if err != nil {
		return err
	}
	c.w.Header()["Etag"] = []string{`"` + taskTag(t) + `"`}
	return c.view(status, viewHumanTask(t))
}

func (c *call) claimHumanTask() error {
	t, err := c.server.service.ClaimHumanTask(c.r.Context(), c.principal, c.task, c.value)
	return c.viewTask(http.StatusOK, &t, err)
}

func (c *call) releaseHumanTask() error {
	t, err := c.server.service.ReleaseHumanTask(c.r.Context(), c.principal, c.task, c.value)
	return c.viewTask(http.StatusOK, &t, err)
}

func (c *call) reassignHumanTask() error {
	t, err := c.server.service.ReassignHumanTask(c.r.Context(), c.principal, c.task, c.value)
	return c.viewTask(http.StatusOK, &t, err)
}

func (c *call) answerHumanTask() error {
	t, replayed, err := c.server.service.AnswerHumanTask(c.r.Context(), c.principal, service.AnswerHumanTask{
		Task: c.task, Body: c.value, Idempotency: c.idempotency(),
	})
	c.replayed(replayed)
	return c.viewTask(http.StatusOK, &t, err)
}

func (c *call) commentHumanTask() error {
	t, replayed, err := c.server.service.CommentHumanTask(c.r.Context(), c.principal, c.task, c.value, c.idempotency())
	c.replayed(replayed)
	return c.viewTask(http.StatusCreated, &t, err)
}

func (c *call) linkHumanTask() error {
	l, replayed, err := c.server.service.LinkHumanTask(c.r.Context(), c.principal, service.LinkHumanTask{
		Task: c.task, Body: c.value, BaseURL: c.base(), Idempotency: c.idempotency(),
	})
	if err != nil {
		return err
	}
	c.replayed(replayed)
	return c.view(http.StatusCreated, newTaskLink{l.ID, l.URL, at(l.ExpiresAt)})
}

func (c *call) revokeTaskLink() error {
	return c.done(c.server.service.RevokeTaskLink(c.r.Context(), c.principal, c.task, c.taskLink))
}
