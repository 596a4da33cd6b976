package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

func newBatches(con console) *cobra.Command {
	c := &connection{console: con}
	return group("batches", "List, read, watch, cancel and delete batches", c.batchesList(), c.batchesGet(), c.batchesWatch(), c.batchesItems(), c.batchesCancel(), c.batchesDelete())
}

var (
	batchStatuses = []string{"pending", "running", "completed", "failed"}
	batchPhases   = []string{"pending", "running", "completed", "failed", "cancelled"}
)

func (c *connection) batchesList() *cobra.Command {
	var f client.BatchFilter
	var known *names
	cmd := newList(c, listing[client.Batch]{
		use: "list [WORKFLOW]", short: "List batches, newest first", args: atMostArgs(1), limit: 20,
		columns: "ID WORKFLOW~ STATUS TOTAL> DONE> FAILED> CANCELLED*> RUNNING>? STARTED TOOK",
		key:     func(b *client.Batch) string { return b.BatchID },
		row: func(b *client.Batch) []string {
			return []string{
				c.id(b.BatchID), c.workflowName(known, b.WorkflowID), batchState(b), fmt.Sprint(b.Total), fmt.Sprint(b.Completed),
				fmt.Sprint(b.Failed - b.Cancelled), fmt.Sprint(b.Cancelled), fmt.Sprint(b.Running),
				c.when(b.StartedAt), between(b.StartedAt, b.CompletedAt),
			}
		},
		prepare: func(ctx context.Context, api *client.Client, args []string) (fetch[client.Batch], error) {
			known = newNames(api)
			if len(args) == 1 {
				id, err := workflowWithExecutions(ctx, api, args[0])
				if err != nil {
					return nil, err
				}
				f.Workflow = id
			}
			err := resolveTimes(&f.CreatedAfter, &f.CreatedBefore)
			return func(ctx context.Context, limit int, cursor string) (*client.Page[client.Batch], error) {
				p, err := api.ListBatches(ctx, f, limit, cursor)
				if err == nil && c.tables() {
					known.learn(ctx, workflowsOfBatches(p.Data))
				}
				return p, err
			}, err
		},
	})
	fl := cmd.Flags()
	onlyCancelled := map[string]string{"cancelled": "cancelled is a phase: --phase cancelled"}
	fl.Var(&choices{&f.Statuses, batchStatuses, onlyCancelled}, "status", "only batches with one of these statuses: "+strings.Join(batchStatuses, ", "))
	choicesVar(fl, &f.Phases, "phase", "only batches in one of these phases", batchPhases...)
	fl.StringArrayVar(&f.Labels, "label", nil, "only batches with this label, NAME:VALUE (repeatable: with all of them)")
	timeVar(fl, &f.CreatedAfter, "created-after", createdAfterText)
	timeVar(fl, &f.CreatedBefore, "created-before", createdBeforeText)
	return cmd
}

func workflowsOfBatches(list []client.Batch) []string {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].WorkflowID
	}
	return ids
}

// onBatch is an action on BATCH.
func (c *connection) onBatch(do func(ctx context.Context, api *client.Client, b *client.Batch) error) action {
	return func(ctx context.Context, api *client.Client, args []string) error {
		b, err := findBatch(ctx, api, args[0])
		if err != nil {
			return err
		}
		return do(ctx, api, b)
	}
}

func (c *connection) showBatch(ctx context.Context, api *client.Client, b *client.Batch) error {
	if !c.tables() {
		return c.encode(b)
	}
	known := newNames(api)
	known.learn(ctx, []string{b.WorkflowID})
	return c.show(b, []field{
		{"id", b.BatchID}, {"workflow", fmt.Sprintf("%s %s, revision %d", known.of(b.WorkflowID), b.WorkflowVersion, b.Revision)}, {"status", batchState(b)},
		{"items", itemCounts(b)},
		{"concurrency", fmt.Sprint(b.EffectiveConcurrency)},
		{"started", exactly(b.StartedAt)}, {"ended", exactly(b.CompletedAt)}, {"took", between(b.StartedAt, b.CompletedAt)},
	})
}

// batchState is the status of a batch in one word: "cancelled" for a failed batch whose failed
// items were all cancelled.
func batchState(b *client.Batch) string {
	if b.Status == "failed" && b.Cancelled > 0 && b.Cancelled == b.Failed {
		return "cancelled"
	}
	return b.Status
}

// failedCounts says how many items failed, and how many were cancelled if any were.
func failedCounts(b *client.Batch) string {
	text := fmt.Sprintf("%d failed", b.Failed-b.Cancelled)
	if b.Cancelled > 0 {
		text += fmt.Sprintf(", %d cancelled", b.Cancelled)
	}
	return text
}

// itemCounts says how many items there are, and where they stand.
func itemCounts(b *client.Batch) string {
	var parts []string
	for _, part := range []struct {
		count int
		state string
	}{
		{b.Completed, "finished"}, {b.Failed - b.Cancelled, "failed"}, {b.Cancelled, "cancelled"},
		{b.Running, "running"}, {b.Waiting, "waiting"}, {b.Queued, "queued"},
	} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.count, part.state))
		}
	}
	return strings.TrimSuffix(fmt.Sprintf("%d: %s", b.Total, strings.Join(parts, ", ")), ": ")
}

func (c *connection) batchesGet() *cobra.Command {
	var wait bool
	var executions string
	var save saving
	cmd := c.verb("get BATCH", "Show a batch", exactArgs(1), c.onBatch(func(ctx context.Context, api *client.Client, b *client.Batch) error {
		if err := save.check(); err != nil {
			return err
		}
		if wait {
			return c.followBatch(ctx, api, b, save)
		}
		if save.dir != "" && !b.Final() {
			return usage("--download needs a batch that has ended: add --wait")
		}
		if executions != "none" {
			var err error
			if b, err = api.GetBatch(ctx, b.WorkflowID, b.BatchID, executions, 0); err != nil {
				return err
			}
		}
		if err := c.showBatch(ctx, api, b); err != nil {
			return err
		}
		return c.downloadBatch(ctx, api, b, save)
	}))
	cmd.Flags().BoolVar(&wait, "wait", false, "follow it to its end")
	choiceVar(cmd.Flags(), &executions, "executions", "none", "entries of its executions in the output, with -o json or yaml", "full", "none", "page")
	save.register(cmd.Flags())
	return cmd
}

func (c *connection) batchesWatch() *cobra.Command {
	return c.verb("watch BATCH", "Follow a batch to its end, as batch does", exactArgs(1), c.onBatch(func(ctx context.Context, api *client.Client, b *client.Batch) error {
		return c.followBatch(ctx, api, b, saving{})
	}))
}

func (c *connection) batchesItems() *cobra.Command {
	var f client.ItemFilter
	cmd := newList(c, listing[client.BatchExecution]{
		use: "items BATCH", short: "List the items of a batch", args: exactArgs(1), limit: 100,
		columns: "INDEX> EXECUTION STATUS TOOK> INPUT~ ERROR~",
		key:     func(i *client.BatchExecution) string { return fmt.Sprint(i.Index) },
		row: func(i *client.BatchExecution) []string {
			duration := "-"
			if i.DurationMS != nil {
				duration = fmt.Sprintf("%d ms", *i.DurationMS)
			}
			fault := ""
			if i.Error != nil {
				fault = faultText(i.Error)
			}
			return []string{fmt.Sprint(i.Index), c.id(i.ExecutionID), stateWord(i.Status, i.Phase), duration, string(i.Inputs), fault}
		},
		prepare: func(ctx context.Context, api *client.Client, args []string) (fetch[client.BatchExecution], error) {
			b, err := findBatch(ctx, api, args[0])
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context, limit int, cursor string) (*client.Page[client.BatchExecution], error) {
				return api.BatchItems(ctx, b.WorkflowID, b.BatchID, f, limit, cursor)
			}, nil
		},
	})
	statesVar(cmd.Flags(), &f.Statuses, &f.Phases, "items")
	cmd.Flags().BoolVar(&f.Summary, "summary", false, "leave the inputs out")
	return cmd
}

func (c *connection) batchesCancel() *cobra.Command {
	return c.verb("cancel BATCH", "Cancel every item of a batch that has not ended", exactArgs(1), c.onBatch(func(ctx context.Context, api *client.Client, b *client.Batch) error {
		b, err := api.CancelBatch(ctx, b.WorkflowID, b.BatchID)
		if err != nil {
			return err
		}
		return c.showBatch(ctx, api, b)
	}))
}

func (c *connection) batchesDelete() *cobra.Command {
	var yes bool
	cmd := c.verb("delete BATCH", "Delete a batch that has ended, with its items", exactArgs(1), c.onBatch(func(ctx context.Context, api *client.Client, b *client.Batch) error {
		whose := "their inputs, outputs, timelines"
		if b.Total == 1 {
			whose = "its input, output, timeline"
		}
		what := fmt.Sprintf("delete the batch %s (%s) and its %s with %s and files", b.BatchID, b.Status, counted(b.Total, "item"), whose)
		if err := c.confirm(ctx, yes, what); err != nil {
			return err
		}
		if err := api.DeleteBatch(ctx, b.WorkflowID, b.BatchID); err != nil {
			return err
		}
		fmt.Fprintln(c.err, "deleted", b.BatchID)
		return nil
	}))
	cmd.Long = `Delete a batch that has ended, and its items with their inputs, outputs, timelines and files.

Files that another execution uses stay. Executions that its items have started stay, and can be deleted after it.`
	yesFlag(cmd, &yes)
	return cmd
}
