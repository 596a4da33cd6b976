package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

func newExecutions(con console) *cobra.Command {
	c := &connection{console: con}
	return group("executions", "List, read, cancel and retry executions",
		c.executionsList(), c.executionsGet(), c.executionsTimeline(), c.executionsCancel(), c.executionsRetry())
}

func (c *connection) executionsList() *cobra.Command {
	var f client.ExecutionFilter
	var limit int
	var cursor string
	cmd := c.verb("list [WORKFLOW]", "List executions, newest first", atMostArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		if len(args) == 1 {
			w, err := api.FindWorkflow(ctx, args[0])
			if err != nil {
				return err
			}
			f.Workflow = w.ID
		}
		p, err := api.ListExecutions(ctx, f, limit, cursor)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, e := range p.Data {
			rows = append(rows, []string{e.ID, e.WorkflowID, e.Status, stamp(&e.CreatedAt), stamp(e.FinishedAt)})
		}
		if err := c.print(p, "ID WORKFLOW STATUS CREATED FINISHED", rows); err != nil {
			return err
		}
		if c.output != "json" && p.Cursor != "" {
			fmt.Fprintf(c.err, "more: --cursor %s\n", p.Cursor)
		}
		return nil
	})
	cmd.Flags().StringSliceVar(&f.Statuses, "status", nil, "initial, processing, human_in_the_loop, finished or error")
	cmd.Flags().StringVar(&f.Batch, "batch", "", "id of a batch")
	cmd.Flags().StringVar(&f.CreatedAfter, "created-after", "", "RFC 3339 time")
	cmd.Flags().StringVar(&f.CreatedBefore, "created-before", "", "RFC 3339 time")
	pageFlags(cmd, &limit, &cursor)
	return cmd
}

func pageFlags(cmd *cobra.Command, limit *int, cursor *string) {
	cmd.Flags().IntVar(limit, "limit", 20, "rows, 1 to 100")
	cmd.Flags().StringVar(cursor, "cursor", "", "continue where the last page ended")
}

func atMostArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := cobra.MaximumNArgs(n)(cmd, args); err != nil {
			return usage("%s: %w", cmd.UseLine(), err)
		}
		return nil
	}
}

// onExecution is an action on WORKFLOW and EXECUTION.
func (c *connection) onExecution(do func(ctx context.Context, api *client.Client, workflow, id string) error) action {
	return func(ctx context.Context, api *client.Client, args []string) error {
		w, err := api.FindWorkflow(ctx, args[0])
		if err != nil {
			return err
		}
		return do(ctx, api, w.ID, args[1])
	}
}

func (c *connection) executionsGet() *cobra.Command {
	var wait bool
	var download string
	cmd := c.verb("get WORKFLOW EXECUTION", "Read an execution", exactArgs(2), c.onExecution(func(ctx context.Context, api *client.Client, workflow, id string) error {
		e, err := api.GetExecution(ctx, workflow, id, 0)
		if err != nil {
			return err
		}
		if wait {
			return c.follow(ctx, api, e, false, download)
		}
		if err := printJSON(c.out, e); err != nil || download == "" {
			return err
		}
		return c.download(ctx, api, e, download)
	}))
	cmd.Flags().BoolVar(&wait, "wait", false, "follow it to its end")
	cmd.Flags().StringVar(&download, "download", "", "save the result files in this folder")
	return cmd
}

func (c *connection) executionsTimeline() *cobra.Command {
	return c.verb("timeline WORKFLOW EXECUTION", "Show the tasks of an execution in order of start", exactArgs(2),
		c.onExecution(func(ctx context.Context, api *client.Client, workflow, id string) error {
			all, err := everyPage(func(cursor string) ([]client.TimelineEntry, string, error) {
				p, err := api.Timeline(ctx, workflow, id, 100, cursor)
				return p.Data, p.Cursor, err
			})
			if err != nil {
				return err
			}
			var rows [][]string
			for _, e := range all {
				rows = append(rows, []string{fmt.Sprint(e.Seq), e.Phase, e.Reference, stamp(e.StartedAt), stamp(e.FinishedAt)})
			}
			return c.print(all, "SEQ PHASE TASK STARTED ENDED", rows)
		}))
}

func (c *connection) executionsCancel() *cobra.Command {
	return c.verb("cancel WORKFLOW EXECUTION", "End an execution as cancelled", exactArgs(2),
		c.onExecution(func(ctx context.Context, api *client.Client, workflow, id string) error {
			e, err := api.CancelExecution(ctx, workflow, id)
			if err != nil {
				return err
			}
			return printJSON(c.out, e)
		}))
}

func (c *connection) executionsRetry() *cobra.Command {
	return c.verb("retry WORKFLOW EXECUTION", "Start a new execution with the same input and revision", exactArgs(2),
		c.onExecution(func(ctx context.Context, api *client.Client, workflow, id string) error {
			e, err := api.RetryExecution(ctx, workflow, id, client.StartOptions{})
			if err != nil {
				return err
			}
			return printJSON(c.out, e)
		}))
}

func newBatches(con console) *cobra.Command {
	c := &connection{console: con}
	return group("batches", "List, read and cancel batches", c.batchesList(), c.batchesGet(), c.batchesItems(), c.batchesCancel())
}

func (c *connection) batchesList() *cobra.Command {
	var limit int
	var cursor string
	cmd := c.verb("list WORKFLOW", "List the batches of a workflow, newest first", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		w, err := api.FindWorkflow(ctx, args[0])
		if err != nil {
			return err
		}
		p, err := api.ListBatches(ctx, w.ID, limit, cursor)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, b := range p.Data {
			rows = append(rows, []string{b.BatchID, b.Status, fmt.Sprint(b.Total), fmt.Sprint(b.Completed), fmt.Sprint(b.Failed), stamp(b.StartedAt)})
		}
		return c.print(p, "ID STATUS TOTAL COMPLETED FAILED STARTED", rows)
	})
	pageFlags(cmd, &limit, &cursor)
	return cmd
}

func (c *connection) batchesGet() *cobra.Command {
	var wait bool
	var download, executions string
	cmd := c.verb("get WORKFLOW BATCH", "Read a batch", exactArgs(2), c.onExecution(func(ctx context.Context, api *client.Client, workflow, id string) error {
		b, err := api.GetBatch(ctx, workflow, id, executions, 0)
		if err != nil {
			return err
		}
		if wait {
			return c.followBatch(ctx, api, b, download)
		}
		return printJSON(c.out, b)
	}))
	cmd.Flags().BoolVar(&wait, "wait", false, "follow it to its end")
	cmd.Flags().StringVar(&executions, "executions", "none", "full, none or page")
	cmd.Flags().StringVar(&download, "download", "", "with --wait: save the result files in this folder")
	return cmd
}

func (c *connection) batchesItems() *cobra.Command {
	var limit int
	var cursor string
	var statuses []string
	cmd := c.verb("items WORKFLOW BATCH", "List the items of a batch", exactArgs(2), c.onExecution(func(ctx context.Context, api *client.Client, workflow, id string) error {
		p, err := api.BatchItems(ctx, workflow, id, client.ItemFilter{Statuses: statuses}, limit, cursor)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, item := range p.Data {
			took := "-"
			if item.DurationMS != nil {
				took = fmt.Sprintf("%dms", *item.DurationMS)
			}
			rows = append(rows, []string{fmt.Sprint(item.Index), item.ExecutionID, item.Status, took, string(item.Inputs)})
		}
		return c.print(p, "INDEX EXECUTION STATUS DURATION INPUTS", rows)
	}))
	cmd.Flags().StringSliceVar(&statuses, "status", nil, "only items with this status")
	pageFlags(cmd, &limit, &cursor)
	return cmd
}

func (c *connection) batchesCancel() *cobra.Command {
	return c.verb("cancel WORKFLOW BATCH", "Cancel every item that has not ended", exactArgs(2),
		c.onExecution(func(ctx context.Context, api *client.Client, workflow, id string) error {
			b, err := api.CancelBatch(ctx, workflow, id)
			if err != nil {
				return err
			}
			return printJSON(c.out, b)
		}))
}
