package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

var operationOutcomes = []string{"pending", "succeeded", "skipped", "failed"}

func newOperations(con console) *cobra.Command {
	c := &connection{console: con}
	cmd := group("operations", "List, read, watch and end operations on many executions",
		c.operationsList(), c.operationsGet(), c.operationsWatch(), c.operationsItems(), c.operationsCancel())
	cmd.Long = `List, read, watch and end operations on many executions. They need the scope executions:manage.

executions cancel, retry, suspend, resume and delete start one where they act on many executions.`
	return cmd
}

func (c *connection) operationsList() *cobra.Command {
	return newList(c, listing[client.Operation]{
		use: "list", short: "List operations, newest first", args: exactArgs(0), limit: 20,
		columns: "ID ACTION STATUS TOTAL> DONE> SKIPPED*> FAILED> BY~ CREATED TOOK?",
		key:     func(o *client.Operation) string { return o.ID },
		row: func(o *client.Operation) []string {
			return []string{
				c.id(o.ID), o.Action, o.Status, fmt.Sprint(o.Total), fmt.Sprint(o.Succeeded), fmt.Sprint(o.Skipped), fmt.Sprint(o.Failed),
				c.starter(o.StartedBy), c.when(&o.CreatedAt), between(&o.CreatedAt, o.FinishedAt),
			}
		},
		prepare: func(_ context.Context, api *client.Client, _ []string) (fetch[client.Operation], error) {
			return api.ListOperations, nil
		},
	})
}

func starterText(by *client.StartedBy) string {
	if by == nil {
		return ""
	}
	return firstOf(by.Name, by.ID)
}

// starter is starterText in a table.
func (c *connection) starter(by *client.StartedBy) string {
	if by == nil {
		return ""
	}
	return firstOf(by.Name, c.id(by.ID))
}

// onOperation is an action on OPERATION.
func (c *connection) onOperation(do func(ctx context.Context, api *client.Client, o *client.Operation) error) action {
	return func(ctx context.Context, api *client.Client, args []string) error {
		o, err := findOperation(ctx, api, args[0])
		if err != nil {
			return err
		}
		return do(ctx, api, o)
	}
}

// findOperation reads the operation that text names.
func findOperation(ctx context.Context, api *client.Client, text string) (*client.Operation, error) {
	if len(text) == fullIDLength {
		return api.GetOperation(ctx, text)
	}
	if !isPartOfID(text) {
		return nil, usage("%q is not the id of an operation: give the id, or its last %d digits as tables show them", text, shortIDLength)
	}
	rows, _, err := gather(ctx, api.ListOperations, searchedRows, "")
	if err != nil {
		return nil, err
	}
	found, err := rowWithID("operation", text, rows, func(o *client.Operation) string { return o.ID })
	if err != nil {
		return nil, err
	}
	return api.GetOperation(ctx, found.ID)
}

// showOperation prints an operation.
func (c *connection) showOperation(o *client.Operation) error {
	counts := operationCounts(o)
	if o.Status != "selecting" && o.Succeeded > 0 {
		counts += fmt.Sprintf(", %d succeeded", o.Succeeded)
	}
	return c.show(o, []field{
		{"id", o.ID}, {"action", o.Action}, {"status", o.Status}, {"environment", o.Environment}, {"started by", starterText(o.StartedBy)},
		{"executions", counts}, {"filter", string(o.Filter)}, {"version", o.Version}, {"reason", o.Reason}, {"error", reasonText(o.Error)},
		{"created", exactly(&o.CreatedAt)}, {"ended", exactly(o.FinishedAt)}, {"took", between(&o.CreatedAt, o.FinishedAt)},
	})
}

func (c *connection) operationsGet() *cobra.Command {
	return c.verb("get OPERATION", "Show an operation", exactArgs(1), c.onOperation(func(_ context.Context, _ *client.Client, o *client.Operation) error {
		if c.tables() {
			defer c.tellFailures(o)
		}
		return c.showOperation(o)
	}))
}

func (c *connection) operationsWatch() *cobra.Command {
	return c.verb("watch OPERATION", "Follow an operation to its end", exactArgs(1), c.onOperation(c.followOperation))
}

func (c *connection) operationsItems() *cobra.Command {
	var outcomes []string
	cmd := newList(c, listing[client.OperationItem]{
		use: "items OPERATION", short: "List the executions of an operation, and what became of them", args: exactArgs(1), limit: 100,
		columns: "EXECUTION OUTCOME RETRY ERROR~",
		key:     func(i *client.OperationItem) string { return i.ExecutionID },
		row: func(i *client.OperationItem) []string {
			return []string{c.id(i.ExecutionID), i.Outcome, c.id(i.RetryID), reasonText(i.Error)}
		},
		prepare: func(ctx context.Context, api *client.Client, args []string) (fetch[client.OperationItem], error) {
			o, err := findOperation(ctx, api, args[0])
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context, limit int, cursor string) (*client.Page[client.OperationItem], error) {
				return api.OperationItems(ctx, o.ID, outcomes, limit, cursor)
			}, nil
		},
	})
	cmd.Flags().Var(&choices{values: &outcomes, allowed: operationOutcomes}, "outcome", "only executions with one of these outcomes: pending, succeeded, skipped, failed")
	return cmd
}

func (c *connection) operationsCancel() *cobra.Command {
	cmd := c.verb("cancel OPERATION", "End an operation", exactArgs(1), c.onOperation(func(ctx context.Context, api *client.Client, o *client.Operation) error {
		o, err := api.CancelOperation(ctx, o.ID)
		if err != nil {
			return err
		}
		return c.showOperation(o)
	}))
	cmd.Long = `End an operation. It acts on no more executions; what it has done stays done.`
	return cmd
}
