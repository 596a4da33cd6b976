package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/jsonpointer"
)

var (
	statuses = []string{"initial", "processing", "human_in_the_loop", "finished", "error"}
	phases   = []string{"pending", "running", "waiting", "suspended", "cancelled", "faulted", "completed"}
	// taskPhases are those of a task: executions are suspended, tasks are not.
	taskPhases = []string{"pending", "running", "waiting", "cancelled", "faulted", "completed"}
)

func newExecutions(con console) *cobra.Command {
	c := &connection{console: con}
	return group("executions", "List, count, read, download, watch, suspend, cancel, retry and delete executions",
		c.executionsList(), c.executionsGet(), c.executionsWatch(), c.executionsTimeline(), c.executionsProgress(), c.executionsGraph(), c.executionsLog(), c.executionsDownload(), c.executionsRecordTest(),
		c.executionsCount(), c.executionsFailures(),
		c.executionsCancel(), c.executionsSuspend(),
		c.executionsResume(), c.executionsRetry(), c.executionsDelete())
}

func (c *connection) executionsList() *cobra.Command {
	var f client.ExecutionFilter
	var known *names
	cmd := newList(c, listing[client.Execution]{
		use: "list [WORKFLOW]", short: "List executions, newest first", args: atMostArgs(1), limit: 20,
		columns: "ID WORKFLOW~ VERSION* REVISION*> STATUS PHASE* CREATED TOOK BATCH ERROR~",
		key:     func(e *client.Execution) string { return e.ID },
		row: func(e *client.Execution) []string {
			fault := ""
			if e.Error != nil {
				fault = firstOf(e.Error.Title, e.Error.Code)
			}
			return []string{
				c.id(e.ID), c.workflowName(known, e.WorkflowID), e.WorkflowVersion, fmt.Sprint(e.Revision), stateOf(e), e.Phase, c.when(&e.CreatedAt),
				between(e.StartedAt, e.FinishedAt), c.id(e.BatchID), fault,
			}
		},
		prepare: func(ctx context.Context, api *client.Client, args []string) (fetch[client.Execution], error) {
			if err := resolveFilter(ctx, api, &f, args); err != nil {
				return nil, err
			}
			known = newNames(api)
			f.Summary = f.Summary || c.tables() // which show no results
			return func(ctx context.Context, limit int, cursor string) (*client.Page[client.Execution], error) {
				p, err := api.ListExecutions(ctx, f, limit, cursor)
				if err == nil && c.tables() {
					known.learn(ctx, workflowsOf(p.Data))
				}
				return p, err
			}, nil
		},
	})
	filterFlags(cmd.Flags(), &f, "version")
	fl := cmd.Flags()
	fl.BoolVar(&f.OldestFirst, "oldest-first", false, "list the oldest first")
	fl.BoolVar(&f.Input, "input", false, "show the inputs, with --output json or yaml")
	fl.BoolVar(&f.Summary, "summary", false, "leave the results out, with --output json or yaml")
	return cmd
}

// resolveFilter makes whole ids and times of what the command line says.
func resolveFilter(ctx context.Context, api *client.Client, f *client.ExecutionFilter, args []string) error {
	if len(args) == 1 {
		id, err := workflowWithExecutions(ctx, api, args[0])
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
	for _, id := range []*string{&f.Root, &f.RetryOf} {
		if *id != "" && len(*id) != fullIDLength {
			found, err := findExecution(ctx, api, *id)
			if err != nil {
				return err
			}
			*id = found.ID
		}
	}
	return resolveTimes(&f.CreatedAfter, &f.CreatedBefore)
}

// resolveTimes makes times of what --created-after and --created-before say.
func resolveTimes(after, before *string) error {
	if err := resolveTime("--created-after", after); err != nil {
		return err
	}
	return resolveTime("--created-before", before)
}

// resolveTime makes a time of what a flag says: a time, or how long ago. Empty stays empty.
func resolveTime(flag string, value *string) error {
	if *value == "" {
		return nil
	}
	if ago, err := parseDays(*value); err == nil {
		*value = time.Now().Add(-ago).UTC().Format(time.RFC3339Nano)
	} else if _, err := time.Parse(time.RFC3339Nano, *value); err != nil {
		return usage("%s: %q is not a time such as 2026-01-31T09:30:00Z, nor a duration such as 1h or 7d for so long ago", flag, *value)
	}
	return nil
}

// tables reports whether the output is a table.
func (c *connection) tables() bool { return c.output == formatTable || c.output == formatWide }

// workflowName is namespace/name, or a short id of a workflow that was deleted.
func (c *connection) workflowName(known *names, id string) string {
	if name := known.of(id); strings.Contains(name, "/") {
		return name
	}
	return c.id(id)
}

func workflowsOf(list []client.Execution) []string {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].WorkflowID
	}
	return ids
}

// stateOf is the status of an execution in one word; of a cancelled or suspended one it is the phase.
func stateOf(e *client.Execution) string { return stateWord(e.Status, e.Phase) }

func stateWord(status, phase string) string {
	if phase == "cancelled" || phase == "suspended" {
		return phase
	}
	return status
}

// onExecution is an action on EXECUTION.
func (c *connection) onExecution(do func(ctx context.Context, api *client.Client, e *client.Execution) error) action {
	return func(ctx context.Context, api *client.Client, args []string) error {
		e, err := findExecution(ctx, api, args[0])
		if err != nil {
			return err
		}
		return do(ctx, api, e)
	}
}

// showExecution prints an execution.
func (c *connection) showExecution(ctx context.Context, api *client.Client, e *client.Execution) error {
	if !c.tables() {
		return c.encode(e)
	}
	known := newNames(api)
	known.learn(ctx, []string{e.WorkflowID})
	fields := []field{
		{"id", e.ID}, {"workflow", fmt.Sprintf("%s %s, revision %d", known.of(e.WorkflowID), e.WorkflowVersion, e.Revision)}, {"environment", e.Environment},
		{"status", stateOf(e)}, {"waits for", blockedBy(e.WaitingFor)}, {"labels", labelText(e.Labels)},
		{"batch", e.BatchID}, {"started by", e.ParentID}, {"retry of", e.RetryOf},
		{"created", exactly(&e.CreatedAt)}, {"started", exactly(e.StartedAt)}, {"finished", exactly(e.FinishedAt)}, {"took", between(e.StartedAt, e.FinishedAt)},
	}
	for i := range e.HumanTasks {
		t := &e.HumanTasks[i]
		fields = append(fields, field{"human task", t.ID + "  " + printable(t.Title)})
	}
	if e.Phase != e.Status && e.Phase != stateOf(e) && !e.Final() {
		fields = append(fields, field{"phase", e.Phase})
	}
	if e.Error != nil {
		fields = append(fields, field{"error", faultText(e.Error)}, field{"at", locationText(e.Error)})
	}
	if len(e.Output) > 0 {
		fields = append(fields, field{"output", string(e.Output)})
	}
	for _, r := range e.Results {
		fields = append(fields, field{"result", fmt.Sprintf("%s (%d bytes, %s)", r.Filename, r.Size, r.ContentType)})
	}
	return c.show(e, fields)
}

// blockedBy says what an execution waits for, until when, and which events.
func blockedBy(w *client.WaitingFor) string {
	if w == nil {
		return ""
	}
	text := w.Kind
	if w.Title != "" {
		text += ": " + printable(w.Title)
	}
	if w.Filter != nil && len(w.Filter.Types) > 0 {
		text += " " + strings.Join(w.Filter.Types, ", ")
	}
	if w.Until != nil {
		text += " until " + exactly(w.Until)
	}
	return text
}

// labelText is labels as --label takes them, in the order of their names.
func labelText(labels map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		list = append(list, name+":"+labels[name])
	}
	return strings.Join(list, ", ")
}

// exactly is a time with its zone, and how long ago it was.
func exactly(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s (%s)", t.UTC().Format("2006-01-02T15:04:05.000Z"), relative(time.Until(*t)))
}

// faultText is an error of an execution in a line.
func faultText(e *client.ExecutionError) string {
	return strings.TrimSuffix(strings.TrimSpace(firstOf(e.Title, e.Code)+": "+e.Detail), ":")
}

// locationText is the task of the definition at which an execution failed: with line and column, as editors
// and compilers write them, if they are known.
func locationText(e *client.ExecutionError) string {
	if e.Line == 0 {
		return e.Instance
	}
	return fmt.Sprintf("definition:%d:%d %s", e.Line, e.Column, e.Instance)
}

func (c *connection) executionsGet() *cobra.Command {
	var wait bool
	var save saving
	cmd := c.verb("get EXECUTION", "Show an execution", exactArgs(1), c.onExecution(func(ctx context.Context, api *client.Client, e *client.Execution) error {
		if err := save.check(); err != nil {
			return err
		}
		if wait {
			return c.follow(ctx, api, e, false, save)
		}
		if err := c.showExecution(ctx, api, e); err != nil {
			return err
		}
		return c.download(ctx, api, e, save)
	}))
	cmd.Flags().BoolVar(&wait, "wait", false, "follow it to its end")
	save.register(cmd.Flags())
	return cmd
}

func (c *connection) executionsWatch() *cobra.Command {
	return c.verb("watch EXECUTION", "Follow an execution to its end, as run does", exactArgs(1), c.onExecution(func(ctx context.Context, api *client.Client, e *client.Execution) error {
		return c.follow(ctx, api, e, false, saving{})
	}))
}

// taskPath is the names in a reference: /do/1/pay/try/0/call is pay/call.
func taskPath(reference string) string {
	segments := strings.Split(strings.TrimPrefix(reference, "/"), "/")
	var path []string
	for i, segment := range segments {
		if i > 0 && isIndex(segments[i-1]) {
			path = append(path, jsonpointer.Unescape(segment))
		}
	}
	if len(path) == 0 {
		return reference
	}
	return strings.Join(path, "/")
}

func isIndex(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
}

func (c *connection) executionsCancel() *cobra.Command {
	m := &many{action: client.ActionCancel}
	cmd := c.onMany(m, "Cancel an execution, or many", "Cancel an execution that has not ended, or many.",
		c.changeExecution(func(api *client.Client, ctx context.Context, workflow, id string) (*client.Execution, error) {
			return api.CancelExecution(ctx, workflow, id, m.reason)
		}))
	cmd.Flags().StringVar(&m.reason, "reason", "", "shown in the error of what is cancelled")
	return cmd
}

func (c *connection) executionsSuspend() *cobra.Command {
	const long = `Keep an execution from starting anything until it is resumed, or many.

Tasks that run are left to end; then its slot is free. Executions that it has started continue. Timers, events and
outcomes of the time between take effect when it is resumed, deadlines too.`
	return c.onMany(&many{action: client.ActionSuspend}, "Keep an execution, or many, from starting anything", long,
		c.changeExecution((*client.Client).SuspendExecution))
}

func (c *connection) executionsResume() *cobra.Command {
	return c.onMany(&many{action: client.ActionResume}, "Let a suspended execution continue, or many", "Let a suspended execution continue, or many.",
		c.changeExecution((*client.Client).ResumeExecution))
}

func (c *connection) executionsDelete() *cobra.Command {
	m := &many{action: client.ActionDelete, asks: true}
	const long = `Delete an execution that has ended, with its input, output, timeline and files, or many.

Files that another execution uses stay. Items of a batch go with their batch. Executions that it has started stay, and
can be deleted after it.`
	return c.onMany(m, "Delete an execution that has ended, or many", long, c.onExecution(func(ctx context.Context, api *client.Client, e *client.Execution) error {
		what := fmt.Sprintf("delete the execution %s (%s) with its input, output, timeline and files", e.ID, e.Status)
		if err := c.confirm(ctx, m.yes, what); err != nil {
			return err
		}
		if err := api.DeleteExecution(ctx, e.WorkflowID, e.ID); err != nil {
			return err
		}
		fmt.Fprintln(c.err, "deleted", e.ID)
		return nil
	}))
}

// changeExecution shows an execution as it is after a request.
func (c *connection) changeExecution(change func(*client.Client, context.Context, string, string) (*client.Execution, error)) action {
	return c.onExecution(func(ctx context.Context, api *client.Client, e *client.Execution) error {
		e, err := change(api, ctx, e.WorkflowID, e.ID)
		if err != nil {
			return err
		}
		return c.showExecution(ctx, api, e)
	})
}

func (c *connection) executionsRetry() *cobra.Command {
	var input, from string
	var wait bool
	m := &many{action: client.ActionRetry, forOne: []string{"from", "input", "wait"}}
	again := func(ctx context.Context, api *client.Client, old *client.Execution) error {
		o := client.RetryOptions{Version: m.version, From: from}
		if input != "" {
			given, err := c.readInput(input)
			if err != nil {
				return err
			}
			if o.Input, err = json.Marshal(given); err != nil {
				return err
			}
		}
		e, err := api.RetryExecution(ctx, old.WorkflowID, old.ID, o)
		if err != nil {
			return err
		}
		if e.ID == "" {
			e.ID = e.ExecutionID
		}
		c.tellRetry(ctx, api, old, e)
		if wait {
			return c.follow(ctx, api, e, false, saving{})
		}
		return c.showExecution(ctx, api, e)
	}
	const long = `Run an execution that has ended again, or many, as a new execution, with the same input or the one of --input.

It runs the same revision of the workflow that the first one ran, also if the definition was changed since:
then a message says so. With --version published it runs what a start would run now, with --version and a version the
newest revision of that version.

With --from it begins with that task, with the data that the task began with last, so that the tasks before it do not
run again: their outputs are kept. The task is one of the definition's own list, by its reference, which
executions timeline shows.

Of what filters select, it takes what has failed, and not what was cancelled, unless --status or --phase say so.`
	cmd := c.onMany(m, "Run an execution again, with the same or another input, or many", long, c.onExecution(again))
	cmd.Flags().StringVar(&from, "from", "", "reference of the task to begin with, such as /do/1/pay")
	cmd.Flags().StringVar(&input, "input", "", "another input: JSON, @FILE, or - for standard input")
	cmd.Flags().StringVar(&m.version, "version", "", "published, same, or a version, whose newest revision it runs")
	cmd.Flags().BoolVar(&wait, "wait", false, "follow it to its end")
	return cmd
}

// tellRetry says what a retry runs, and what a start would run now.
func (c *connection) tellRetry(ctx context.Context, api *client.Client, old, e *client.Execution) {
	known := newNames(api)
	known.learn(ctx, []string{e.WorkflowID})
	fmt.Fprintf(c.err, "runs %s %s, revision %d\n", known.of(e.WorkflowID), e.WorkflowVersion, e.Revision)
	if e.NewerRevision == 0 {
		return
	}
	newer := firstOf(e.NewerVersion, e.WorkflowVersion)
	fmt.Fprintf(c.err, "%s: that is not what a start runs now, which is version %s, revision %d\nrun that with the same input: chargehand executions retry %s --version published\n",
		c.paint("33", "note"), newer, e.NewerRevision, old.ID)
}
