package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

func newBatch(con console) *cobra.Command {
	c := &connection{console: con}
	var items, files, version, download string
	var concurrency int
	var noWait bool
	cmd := &cobra.Command{
		Use:   "batch WORKFLOW",
		Short: "Start one execution per item and follow them to their end",
		Long: "Start one execution per item and follow them to their end. Items come from a .json array, a .jsonl file, a .csv\n" +
			"file with a header, or, with --files, from one uploaded file each. Ctrl-C stops following; the batch goes on.",
		Args: exactArgs(1),
		RunE: c.run(func(ctx context.Context, api *client.Client, args []string) error {
			workflow, err := api.FindWorkflow(ctx, args[0])
			if err != nil {
				return err
			}
			list, err := gather(ctx, api, items, files)
			if err != nil {
				return err
			}
			b, err := api.StartBatch(ctx, workflow.ID, list, client.BatchOptions{Concurrency: concurrency, Version: version})
			if err != nil {
				return err
			}
			if noWait {
				return printJSON(con.out, b)
			}
			return c.followBatch(ctx, api, b, download)
		}),
	}
	c.register(cmd)
	f := cmd.Flags()
	f.StringVar(&items, "items", "", "file with the items: .json, .jsonl or .csv")
	f.StringVar(&files, "files", "", "NAME=PATTERN: upload every file that matches; each is an item with its reference as NAME")
	f.IntVar(&concurrency, "concurrency", 0, "executions at once (default 5)")
	f.StringVar(&version, "version", "", "run this version instead of the published one")
	f.BoolVar(&noWait, "no-wait", false, "print the accepted batch and return")
	f.StringVar(&download, "download", "", "save the result files, in a folder per item, in this folder")
	return cmd
}

func gather(ctx context.Context, api *client.Client, items, files string) ([]json.RawMessage, error) {
	switch {
	case (items == "") == (files == ""):
		return nil, usage("batch: give the items with --items FILE or with --files NAME=PATTERN")
	case items != "":
		return readItems(items)
	}
	return fileItems(ctx, api, files)
}

func (c *connection) followBatch(ctx context.Context, api *client.Client, b *client.Batch, download string) error {
	bar := newCounter(c.console, b)
	defer bar.stop()
	workflow, id := b.WorkflowID, b.BatchID
	pause := 50 * time.Millisecond
	for {
		var err error
		if b, err = api.GetBatch(ctx, workflow, id, "none", 0); err == nil {
			bar.show(b)
			if b.Final() {
				break
			}
			select {
			case <-time.After(pause):
				pause = min(2*pause, time.Second)
				continue
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		if errors.Is(err, context.Canceled) {
			bar.stop()
			fmt.Fprintf(c.err, "no longer following; the batch goes on: chargehand batches get %s %s\n", workflow, id)
			return &exitError{code: exitInterrupted}
		}
		return err
	}
	bar.stop()
	if err := c.summary(b); err != nil {
		return err
	}
	if download != "" {
		if err := c.downloadBatch(ctx, api, b, download); err != nil {
			return err
		}
	}
	if b.Failed > 0 || b.Status == "failed" {
		return &exitError{code: ExitFailed}
	}
	return nil
}

func (c *connection) summary(b *client.Batch) error {
	if c.output == "json" || !terminal(c.out) {
		if err := printJSON(c.out, b); err != nil {
			return err
		}
	}
	took := ""
	if b.StartedAt != nil && b.CompletedAt != nil {
		took = fmt.Sprintf(" in %s", b.CompletedAt.Sub(*b.StartedAt).Round(time.Millisecond))
	}
	fmt.Fprintf(c.err, "%s: %d of %d finished, %d failed%s\n", c.paintStatus(b.Status), b.Completed, b.Total, b.Failed, took)
	return nil
}

func (c *connection) downloadBatch(ctx context.Context, api *client.Client, b *client.Batch, dir string) error {
	items, err := everyPage(func(cursor string) ([]client.BatchExecution, string, error) {
		p, err := api.BatchItems(ctx, b.WorkflowID, b.BatchID, client.ItemFilter{Statuses: []string{"finished"}}, 100, cursor)
		return p.Data, p.Cursor, err
	})
	if err != nil {
		return err
	}
	for _, item := range items {
		e, err := api.GetExecution(ctx, b.WorkflowID, item.ExecutionID, 0)
		if err != nil {
			return err
		}
		if err := c.download(ctx, api, e, filepath.Join(dir, fmt.Sprintf("%05d", item.Index))); err != nil {
			return err
		}
	}
	return nil
}
