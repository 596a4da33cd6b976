package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

var taskStatuses = []string{"open", "claimed", "answered", "withdrawn"}

func newTasks(con console) *cobra.Command {
	c := &connection{console: con}
	return group("tasks", "List, show, claim, answer and comment human tasks, and make links to them",
		c.tasksList(), c.tasksCount(), c.tasksShow(), c.tasksClaim(), c.tasksRelease(), c.tasksReassign(), c.tasksAnswer(), c.tasksComment(),
		c.tasksLink(), c.tasksUnlink())
}

func (c *connection) tasksList() *cobra.Command {
	var f client.HumanTaskFilter
	cmd := newList(c, listing[client.HumanTask]{
		use: "list", short: "List open and claimed human tasks, those that are due first", args: exactArgs(0), limit: 20,
		columns: "ID STATUS TITLE~ DUE PRIORITY> FOR~ WORKFLOW~ EXECUTION* CREATED*",
		key:     func(t *client.HumanTask) string { return t.ID },
		row: func(t *client.HumanTask) []string {
			return []string{
				c.id(t.ID), t.Status, t.Title, c.when(t.DueAt), fmt.Sprint(t.Priority), firstOf(c.taskHolders(t), "-"), t.Workflow, c.id(t.ExecutionID), c.when(&t.CreatedAt),
			}
		},
		prepare: func(ctx context.Context, api *client.Client, _ []string) (fetch[client.HumanTask], error) {
			if err := resolveTaskFilter(ctx, api, &f); err != nil {
				return nil, err
			}
			return func(ctx context.Context, limit int, cursor string) (*client.Page[client.HumanTask], error) {
				return api.ListHumanTasks(ctx, f, limit, cursor)
			}, nil
		},
	})
	cmd.Long = `List human tasks: what workflows ask of people. Without --status they are those that are open or claimed.

FOR says who may answer: the person who has claimed the task, or the people and groups that it is assigned to; - stands
for all.`
	fl := cmd.Flags()
	choicesVar(fl, &f.Statuses, "status", "only tasks with one of these statuses", taskStatuses...)
	fl.StringVar(&f.Assignee, "assignee", "", "only open and claimed tasks of this person: me, an e-mail address or the id of a user")
	fl.StringVar(&f.Group, "group", "", "only open and claimed tasks of this group")
	fl.BoolVar(&f.Unassigned, "unassigned", false, "only open and claimed tasks without an assignee")
	choiceVar(fl, &f.AnsweredBy, "answered-by", "", "only tasks that this person has answered", "me")
	fl.StringVar(&f.Workflow, "workflow", "", "only tasks of this workflow")
	fl.StringVar(&f.Batch, "batch", "", "only tasks of the items of this batch")
	fl.StringVar(&f.Execution, "execution", "", "only tasks of this execution")
	fl.BoolVar(&f.Overdue, "overdue", false, "only tasks that are due")
	fl.StringVar(&f.Search, "search", "", "only tasks with this text in their title")
	choiceVar(fl, &f.Sort, "sort", "", "order: those that are due first, the newest first, the most important first", "due", "created", "priority")
	return cmd
}

// resolveTaskFilter makes whole ids of what the command line says. Tasks that have ended are sorted by when they were
// created, unless the command line says otherwise.
func resolveTaskFilter(ctx context.Context, api *client.Client, f *client.HumanTaskFilter) error {
	if f.Workflow != "" {
		id, err := workflowWithExecutions(ctx, api, f.Workflow)
		if err != nil {
			return err
		}
		f.Workflow = id
	}
	if f.Batch != "" && len(f.Batch) != fullIDLength {
		b, err := findBatch(ctx, api, f.Batch)
		if err != nil {
			return err
		}
		f.Batch = b.BatchID
	}
	if f.Execution != "" && len(f.Execution) != fullIDLength {
		e, err := findExecution(ctx, api, f.Execution)
		if err != nil {
			return err
		}
		f.Execution = e.ID
	}
	ended := func(status string) bool { return status == "answered" || status == "withdrawn" }
	if f.Sort == "" && (f.AnsweredBy != "" || slices.ContainsFunc(f.Statuses, ended)) {
		f.Sort = "created"
	}
	return nil
}

// taskHolders says who may answer a task; empty: all may.
func (c *connection) taskHolders(t *client.HumanTask) string {
	if t.ClaimedBy != nil {
		return firstOf(t.ClaimedBy.Name, c.id(t.ClaimedBy.ID))
	}
	holders := append(slices.Clone(t.Assignees.Users), t.Assignees.Groups...)
	for i, holder := range holders { // names, e-mails or ids: a definition says which
		if len(holder) == fullIDLength && partOfID.MatchString(holder) {
			holders[i] = c.id(holder)
		}
	}
	return strings.Join(holders, ", ")
}

func (c *connection) tasksCount() *cobra.Command {
	return c.verb("count", "Count open and claimed human tasks", exactArgs(0), func(ctx context.Context, api *client.Client, _ []string) error {
		n, err := api.CountHumanTasks(ctx)
		if err != nil {
			return err
		}
		if !c.tables() {
			return c.encode(n)
		}
		var rows [][]string
		for _, one := range []struct {
			name  string
			count client.HumanTaskCount
		}{{"mine", n.Mine}, {"of my groups", n.Groups}, {"unassigned", n.Unassigned}, {"overdue", n.Overdue}, {"all", n.All}} {
			text := fmt.Sprint(one.count.Count)
			if one.count.AtLeast {
				text += "+"
			}
			rows = append(rows, []string{one.name, text})
		}
		return c.table(columns("TASKS COUNT>"), rows, true)
	})
}

// findTask reads the human task that text names.
func findTask(ctx context.Context, api *client.Client, text string) (*client.HumanTask, error) {
	if len(text) == fullIDLength {
		return api.GetHumanTask(ctx, text)
	}
	if !isPartOfID(text) {
		return nil, usage("%q is not the id of a human task: give the id, or its last %d digits as tables show them", text, shortIDLength)
	}
	text = strings.ToLower(text)
	found := map[string]string{}
	for _, filter := range []client.HumanTaskFilter{{Sort: "created"}, {Statuses: []string{"answered", "withdrawn"}, Sort: "created"}} {
		cursor := ""
		for rows := 0; rows < searchedRows; rows += maxPage {
			page, err := api.ListHumanTasks(ctx, filter, maxPage, cursor)
			if err != nil {
				return nil, err
			}
			for i := range page.Data {
				if id := page.Data[i].ID; matchesID(id, text) {
					found[id] = text
				}
			}
			if cursor = page.Cursor; cursor == "" {
				break
			}
		}
		if len(found) > 0 { // of tasks that have ended only where no other fits
			break
		}
	}
	id, err := onlyOne("human task", text, found)
	if err != nil {
		return nil, err
	}
	return api.GetHumanTask(ctx, id)
}

// onTask is an action on TASK.
func (c *connection) onTask(do func(ctx context.Context, api *client.Client, t *client.HumanTask) error) action {
	return func(ctx context.Context, api *client.Client, args []string) error {
		t, err := findTask(ctx, api, args[0])
		if err != nil {
			return err
		}
		return do(ctx, api, t)
	}
}

// changeTask shows a task as it is after a request.
func (c *connection) changeTask(change func(ctx context.Context, api *client.Client, id string) (*client.HumanTask, error)) action {
	return c.onTask(func(ctx context.Context, api *client.Client, t *client.HumanTask) error {
		t, err := change(ctx, api, t.ID)
		if err != nil {
			return err
		}
		return c.showTask(t)
	})
}

func (c *connection) tasksShow() *cobra.Command {
	return c.verb("show TASK", "Show a human task with all that is to be looked at", exactArgs(1), c.onTask(func(_ context.Context, _ *client.Client, t *client.HumanTask) error {
		return c.showTask(t)
	}))
}

func (c *connection) tasksClaim() *cobra.Command {
	var force bool
	cmd := c.verb("claim TASK", "Claim a human task, so that no other person answers it", exactArgs(1),
		c.changeTask(func(ctx context.Context, api *client.Client, id string) (*client.HumanTask, error) {
			return api.ClaimHumanTask(ctx, id, force)
		}))
	cmd.Flags().BoolVar(&force, "force", false, "take it from the person who has claimed it; needs the scope executions:manage")
	return cmd
}

func (c *connection) tasksRelease() *cobra.Command {
	var force bool
	cmd := c.verb("release TASK", "Take back the claim of a human task", exactArgs(1),
		c.changeTask(func(ctx context.Context, api *client.Client, id string) (*client.HumanTask, error) {
			return api.ReleaseHumanTask(ctx, id, force)
		}))
	cmd.Flags().BoolVar(&force, "force", false, "take back that of another person; needs the scope executions:manage")
	return cmd
}

func (c *connection) tasksReassign() *cobra.Command {
	var users, groups []string
	var all bool
	cmd := c.verb("reassign TASK", "Say anew who may answer a human task", exactArgs(1),
		c.changeTask(func(ctx context.Context, api *client.Client, id string) (*client.HumanTask, error) {
			if all == (len(users)+len(groups) > 0) {
				return nil, usage("give --user and --group for those who may answer, or --all-people")
			}
			return api.ReassignHumanTask(ctx, id, users, groups)
		}))
	cmd.Long = `Say anew who may answer a human task. A claim is taken back. The people whom the workflow excludes stay excluded.

It needs the scope executions:manage.`
	f := cmd.Flags()
	f.StringArrayVar(&users, "user", nil, "e-mail address or id of a person who may answer; give it several times for several people")
	f.StringArrayVar(&groups, "group", nil, "name of a group whose members may answer; give it several times for several groups")
	f.BoolVar(&all, "all-people", false, "all people may answer who may answer tasks at all")
	return cmd
}

func (c *connection) tasksComment() *cobra.Command {
	return c.verb("comment TASK TEXT", "Comment on a human task, also on one that has ended", exactArgs(2),
		func(ctx context.Context, api *client.Client, args []string) error {
			text, err := c.readGiven(args[1])
			if err != nil {
				return usage("%w", err)
			}
			return c.changeTask(func(ctx context.Context, api *client.Client, id string) (*client.HumanTask, error) {
				return api.CommentHumanTask(ctx, id, string(text))
			})(ctx, api, args)
		})
}

func completeTasks(ctx context.Context, api *client.Client, _ []string) ([]string, error) {
	page, err := api.ListHumanTasks(ctx, client.HumanTaskFilter{}, maxPage, "")
	if err != nil {
		return nil, err
	}
	words := make([]string, len(page.Data))
	for i := range page.Data {
		words[i] = page.Data[i].ID + "\t" + printable(page.Data[i].Title)
	}
	return words, nil
}
