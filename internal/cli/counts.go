package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/app"
)

// What the flags for the time of creation do.
const (
	createdAfterText  = "only what was created after this time: 2026-01-31T09:30:00Z, or 1h, 7d for so long ago"
	createdBeforeText = "only what was created before this time"
)

// filterFlags are the flags that say which executions are listed, counted, grouped or acted on. version is the name of
// the flag for the version of their workflow.
func filterFlags(fl *pflag.FlagSet, f *client.ExecutionFilter, version string) {
	statesVar(fl, &f.Statuses, &f.Phases, "executions")
	fl.StringVar(&f.Batch, "batch", "", "only the executions of this batch")
	timeVar(fl, &f.CreatedAfter, "created-after", createdAfterText)
	timeVar(fl, &f.CreatedBefore, "created-before", createdBeforeText)
	fl.StringArrayVar(&f.Labels, "label", nil, "only executions with this label, NAME:VALUE (repeatable: with all of them)")
	fl.StringArrayVar(&f.ErrorCodes, "error-code", nil, "only executions that failed with this code (repeatable)")
	fl.StringArrayVar(&f.Causes, "cause", nil, "only executions that were started by "+alternatives(app.CauseKinds())+" (repeatable)")
	fl.StringArrayVar(&f.WaitingFor, "waiting-for", nil, "only executions that wait for "+alternatives(app.WaitKinds())+" (repeatable)")
	fl.StringArrayVar(&f.Versions, version, nil, "only executions of this version (repeatable)")
	fl.StringVar(&f.Root, "root", "", "only executions that this one has started, directly or through others")
	fl.StringVar(&f.RetryOf, "retry-of", "", "only executions that repeat this one")
	fl.StringVar(&f.Failure, "failure", "", "only executions that failed like a group of executions failures, whose failure it is (--output json); use it with --error-code and a workflow")
	fl.Var((*milliseconds)(&f.MinDurationMs), "min-duration", "only executions that took at least this long, or run for this long: 5s, 10m")
	fl.StringVar(&f.Search, "search", "", "only executions with this id, beginning or last 8 digits of an id, id of an item, or value of a label")
}

// milliseconds is a flag: a duration.
type milliseconds int64

func (m *milliseconds) Set(text string) error {
	d, err := time.ParseDuration(text)
	*m = milliseconds(d.Milliseconds())
	return err
}

func (m *milliseconds) String() string { return (time.Duration(*m) * time.Millisecond).String() }
func (m *milliseconds) Type() string   { return "duration" }

func (c *connection) executionsCount() *cobra.Command {
	var f client.ExecutionFilter
	cmd := c.verb("count [WORKFLOW]", "Count executions, up to 10,000", atMostArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		if err := resolveFilter(ctx, api, &f, args); err != nil {
			return err
		}
		n, err := api.CountExecutions(ctx, f)
		if err != nil {
			return err
		}
		if !c.tables() {
			return c.encode(n)
		}
		_, err = fmt.Fprintln(c.out, atLeast(n.Count, n.AtLeast))
		c.tellExamined(n.ExaminedUntil)
		return err
	})
	filterFlags(cmd.Flags(), &f, "version")
	return cmd
}

// atLeast is a number, with a plus if there may be more.
func atLeast(n int64, more bool) string {
	if more {
		return fmt.Sprintf("%d+", n)
	}
	return fmt.Sprint(n)
}

func (c *connection) tellExamined(until *time.Time) {
	if until != nil {
		fmt.Fprintf(c.err, "executions that were created before %s were not looked at\n", until.UTC().Format(time.RFC3339))
	}
}

const failureColumns = "COUNT> WORKFLOW~ CODE~ TASK~ DETAIL~ FIRST* LAST SAMPLE"

func (c *connection) executionsFailures() *cobra.Command {
	var f client.ExecutionFilter
	var limit int
	cmd := c.verb("failures [WORKFLOW]", "Group executions that have failed in the same way", atMostArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		if limit < 1 || limit > maxPage {
			return usage("--limit: %d is not from 1 to %d", limit, maxPage)
		}
		if err := resolveFilter(ctx, api, &f, args); err != nil {
			return err
		}
		g, err := api.Failures(ctx, f, limit)
		if err != nil {
			return err
		}
		if !c.tables() {
			return c.encode(g)
		}
		if err := c.failuresTable(ctx, api, g.Data); err != nil {
			return err
		}
		if g.AtLeast && g.ExaminedUntil == nil {
			fmt.Fprintln(c.err, "there are more groups: --limit")
		}
		c.tellExamined(g.ExaminedUntil)
		return nil
	})
	cmd.Long = `Group executions that have failed in the same way: with the same code, in the same task of the same workflow, and with
details that differ only in numbers, ids and quoted text. The 10,000 newest failures are looked at. Executions that
were cancelled are not among them.`
	filterFlags(cmd.Flags(), &f, "version")
	cmd.Flags().IntVar(&limit, "limit", 20, "groups at most")
	return cmd
}

func (c *connection) failuresTable(ctx context.Context, api *client.Client, groups []client.FailureGroup) error {
	known := newNames(api)
	var ids []string
	for _, g := range groups {
		ids = append(ids, g.WorkflowID)
	}
	known.learn(ctx, ids)
	rows := [][]string{}
	for _, g := range groups {
		rows = append(rows, []string{
			fmt.Sprint(g.Count), c.workflowName(known, g.WorkflowID), g.Code, taskPath(g.Reference), g.Detail,
			c.when(&g.FirstAt), c.when(&g.LastAt), c.id(g.SampleID),
		})
	}
	return c.table(columns(failureColumns), rows, true)
}

func newOverview(con console) *cobra.Command {
	c := &connection{console: con}
	var f client.OverviewFilter
	cmd := c.verb("overview [WORKFLOW]", "Show what was done by the hour or day, and what is being done", atMostArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		if len(args) == 1 {
			id, err := workflowWithExecutions(ctx, api, args[0])
			if err != nil {
				return err
			}
			f.Workflow = id
		}
		for flag, value := range map[string]*string{"--from": &f.From, "--to": &f.To} {
			if err := resolveTime(flag, value); err != nil {
				return err
			}
		}
		o, err := api.Overview(ctx, f)
		if err != nil {
			return err
		}
		if !c.tables() {
			return c.encode(o)
		}
		return c.showOverview(ctx, api, o)
	})
	cmd.Long = `Show how many executions were accepted and have ended by the hour or day, how long they took, which workflows failed most
and took longest, what is being done, and what has failed most often. Executions stay counted when they are deleted.
Counts are some seconds behind.`
	fl := cmd.Flags()
	timeVar(fl, &f.From, "from", "beginning: 2026-01-31T09:30:00Z, or 1h, 7d for so long ago (default: a day before --to)")
	timeVar(fl, &f.To, "to", "end (default: now)")
	fl.StringVar(&f.Step, "step", "", "length of a row in hours or days, such as 1h, 6h, 1d (default: an hour, or a day for more than a week)")
	return cmd
}

// overviewColumns follow the first column of the tables of an overview.
const overviewColumns = " STARTED> FINISHED> ERROR> CANCELLED> P50> P95>"

func (c *connection) showOverview(ctx context.Context, api *client.Client, o *client.Overview) error {
	now := o.Now
	state := fmt.Sprintf("now: %s queued, %s running, %s waiting, %s of them for a person",
		atLeast(now.Queued, now.AtLeast), atLeast(now.Running, now.AtLeast), atLeast(now.Waiting, now.AtLeast), atLeast(now.Human, now.AtLeast))
	if now.Delayed > 0 {
		state += fmt.Sprintf("\ndelayed until later: %s", atLeast(now.Delayed, now.AtLeast))
	}
	if now.Oldest != nil {
		state += fmt.Sprintf("\nthe oldest of them: %s, from %s", c.id(now.Oldest.ID), c.when(&now.Oldest.CreatedAt))
	}
	fmt.Fprintln(c.out, state)
	form := "2006-01-02 15:04Z"
	if o.StepSeconds%86400 == 0 {
		form = "2006-01-02"
	}
	row := func(name string, b client.OverviewTotal) []string {
		return []string{name, fmt.Sprint(b.Started), fmt.Sprint(b.Finished), fmt.Sprint(b.Error), fmt.Sprint(b.Cancelled), millisText(b.DurationP50Ms), millisText(b.DurationP95Ms)}
	}
	var rows [][]string
	for _, b := range o.Buckets {
		rows = append(rows, row(b.At.UTC().Format(form), b.OverviewTotal))
	}
	rows = append(rows, row("total", o.Total))
	if err := c.table(columns("FROM"+overviewColumns), rows, true); err != nil {
		return err
	}
	if o.AsOf == nil {
		fmt.Fprintln(c.err, "nothing was counted yet; counts are some seconds behind")
	}
	if w := o.Workflows; w.Count > 1 || w.AtLeast {
		for _, list := range []struct {
			name string
			data []client.OverviewWorkflow
		}{{"FAILING~", w.ByFailures}, {"SLOWEST~", w.ByP95}} {
			if len(list.data) == 0 {
				continue
			}
			rows = nil
			for _, one := range list.data {
				rows = append(rows, row(one.Workflow, one.OverviewTotal))
			}
			fmt.Fprintln(c.out, strings.Repeat("-", 8))
			if err := c.table(columns(list.name+overviewColumns), rows, true); err != nil {
				return err
			}
		}
		c.tellWorkflows(w)
	}
	if len(o.Failures.Data) == 0 {
		return nil
	}
	fmt.Fprintln(c.out, strings.Repeat("-", 8))
	return c.failuresTable(ctx, api, o.Failures.Data)
}

// tellWorkflows says what the tables of workflows are not of.
func (c *connection) tellWorkflows(w client.OverviewWorkflows) {
	if w.Compared < w.Count {
		fmt.Fprintf(c.err, "durations are those of the %d workflows, of %d, of which most executions finished or failed\n", w.Compared, w.Count)
	}
	if w.ExaminedUntil != nil {
		fmt.Fprintf(c.err, "what happened before %s is not counted by workflow\n", w.ExaminedUntil.UTC().Format(time.RFC3339))
	} else if w.AtLeast {
		fmt.Fprintln(c.err, "what happened first is not counted by workflow")
	}
}

func millisText(ms *int64) string {
	if ms == nil {
		return "-"
	}
	return took(time.Duration(*ms) * time.Millisecond)
}
