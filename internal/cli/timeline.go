package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/app"
)

func (c *connection) executionsTimeline() *cobra.Command {
	var f client.TimelineFilter
	shown := map[int]*client.TimelineEntry{}
	depths := map[int]int{}
	cmd := newList(c, listing[client.TimelineEntry]{
		use: "timeline EXECUTION", short: "Show the tasks of an execution in order of start", args: exactArgs(1), limit: 1000,
		columns: "SEQ> TASK~ KIND? REFERENCE* PHASE ATTEMPT> ITERATIONS* STARTED? TOOK> DETAIL_",
		key:     func(t *client.TimelineEntry) string { return fmt.Sprint(t.Seq) },
		row: func(t *client.TimelineEntry) []string {
			shown[t.Seq] = t
			task, around := t.Name, 0
			if over := shown[t.ParentSeq]; over != nil {
				depths[t.Seq], around = depths[over.Seq]+1, len(over.Iterations)
			}
			iterations := "-"
			if n := len(t.Iterations); n > 0 {
				iterations = strings.Trim(strings.ReplaceAll(fmt.Sprint(t.Iterations), " ", ","), "[]")
				if n > around {
					task += fmt.Sprintf("[%d]", t.Iterations[n-1])
				}
			}
			started, took := "", "-"
			if t.StartedAt != nil {
				started = t.StartedAt.UTC().Format("15:04:05.000Z")
			}
			if c.output == formatWide {
				started = c.when(t.StartedAt)
			}
			if t.StartedAt != nil && t.FinishedAt != nil {
				took = fmt.Sprintf("%d ms", t.FinishedAt.Sub(*t.StartedAt).Milliseconds())
			}
			return []string{
				fmt.Sprint(t.Seq), strings.Repeat("  ", depths[t.Seq]) + task, t.Kind, t.Reference, t.Phase, fmt.Sprint(t.Attempt), iterations,
				started, took, c.taskDetail(t),
			}
		},
		prepare: func(ctx context.Context, api *client.Client, args []string) (fetch[client.TimelineEntry], error) {
			e, err := findExecution(ctx, api, args[0])
			if err != nil {
				return nil, err
			}
			f.Summary = c.tables()
			return func(ctx context.Context, limit int, cursor string) (*client.Page[client.TimelineEntry], error) {
				p, err := api.Timeline(ctx, e.WorkflowID, e.ID, f, limit, cursor)
				if p.Truncated {
					fmt.Fprintln(c.err, "older tasks are no longer in the timeline")
				}
				return &p.Page, err
			}, nil
		},
	})
	fl := cmd.Flags()
	fl.StringArrayVar(&f.References, "task", nil, "only the runs of the task at this JSON pointer; repeat it for several")
	fl.StringVar(&f.Under, "under", "", "only the task at this JSON pointer and what is in it")
	fl.Var(&choices{&f.Phases, taskPhases, nil}, "phase", "only runs in one of these phases: "+strings.Join(taskPhases, ", "))
	return cmd
}

// taskDetail is the error of a task, what it waits for, or the execution that it has started.
func (c *connection) taskDetail(t *client.TimelineEntry) string {
	switch {
	case t.Error != nil:
		return faultText(t.Error)
	case t.WaitingFor != nil && t.WaitingFor.Kind != "child":
		return waitText(t.WaitingFor)
	case t.ChildExecutionID != "":
		return "execution " + c.id(t.ChildExecutionID)
	}
	return ""
}

// waitText is what a task waits for in a few words.
func waitText(w *client.TaskWait) string {
	switch {
	case w == nil:
		return "waiting"
	case len(w.UnknownAssignees) > 0:
		return "waits for a person; not known here: " + strings.Join(w.UnknownAssignees, ", ")
	case w.Until != nil:
		return "until " + w.Until.UTC().Format(time.RFC3339)
	case w.Kind == "child":
		return "waits for another execution"
	case w.Kind == "person":
		return "waits for a person"
	case w.Filter != nil:
		return "waits for " + strings.Join(w.Filter.Types, ", ")
	default:
		return "waits for an event"
	}
}

func (c *connection) executionsProgress() *cobra.Command {
	cmd := c.verb("progress EXECUTION", "Count the runs of each task of an execution", exactArgs(1),
		c.onExecution(func(ctx context.Context, api *client.Client, e *client.Execution) error {
			p, err := api.Progress(ctx, e.WorkflowID, e.ID)
			if err != nil {
				return err
			}
			if p.Truncated {
				fmt.Fprintln(c.err, "older runs are not counted")
			}
			if !c.tables() {
				return c.encode(p)
			}
			rows := make([][]string, len(p.Data))
			for i := range p.Data {
				t := &p.Data[i]
				first := ""
				if t.FirstFailedSeq != 0 {
					first = fmt.Sprint(t.FirstFailedSeq)
				}
				n := &t.Counts
				rows[i] = []string{
					taskPath(t.Reference), t.Kind, t.Reference, t.Phase, number(n.Completed), number(n.Faulted), number(n.Running + n.Waiting), number(n.Cancelled),
					fmt.Sprint(t.Attempts), first, duration(t.MinDurationMs), duration(t.MeanDurationMs), duration(t.MaxDurationMs),
				}
			}
			return c.table(columns("TASK~ KIND? REFERENCE* PHASE DONE> FAILED> OPEN> CANCELLED*> ATTEMPTS*> FIRST> MIN*> MEAN> MAX>"), rows, true)
		}))
	cmd.Long = `Count the runs of each task of an execution, however many there are: a loop of 10,000 is one row. DONE are
completed runs, OPEN those that are at work or wait. FIRST is the number of the first run that failed, as in the
timeline. MEAN and MAX are durations of the runs that have ended.`
	return cmd
}

// number is a count, "-" for none.
func number(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func duration(ms *int64) string {
	if ms == nil {
		return "-"
	}
	return fmt.Sprintf("%d ms", *ms)
}

// executionsGraph draws what an execution has done.
func (c *connection) executionsGraph() *cobra.Command {
	var format string
	cmd := c.verb("graph EXECUTION", "Draw the control flow of an execution, with the state of each task", exactArgs(1),
		c.onExecution(func(ctx context.Context, api *client.Client, e *client.Execution) error {
			drawn, err := api.ExecutionGraph(ctx, e.WorkflowID, e.ID, format)
			if err != nil {
				return err
			}
			_, err = c.out.Write(drawn)
			return err
		}))
	cmd.Long = `Draw the revision of the workflow that an execution runs, with what has become of each task: as Mermaid, which
many editors and forges show, as DOT for Graphviz, or as JSON with the nodes, lists and edges.`
	choiceVar(cmd.Flags(), &format, "format", app.GraphMermaid, "how to draw", app.GraphMermaid, app.GraphDOT, app.GraphJSON)
	return cmd
}
