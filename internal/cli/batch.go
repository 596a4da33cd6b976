package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

func newBatch(con console) *cobra.Command {
	c := &connection{console: con}
	var items, files, version, delay string
	var labels []string
	var concurrency int
	var noWait bool
	var save saving
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:   "batch WORKFLOW",
		Short: "Start one execution per item and follow them to their end",
		Long: "Start one execution per item and follow them to their end. Items come from a .json array, a .jsonl file, a .csv\n" +
			"file, or, with --files, from one uploaded file each. The first line of a .csv file holds the names; fields are\n" +
			"separated by commas, quoted with \" where needed, and are texts. Ctrl-C stops following; the batch continues.",
		Args: exactArgs(1),
		RunE: c.run(func(ctx context.Context, api *client.Client, args []string) error {
			if cmd.Flags().Changed("concurrency") && concurrency < 1 {
				return usage("--concurrency: %d is not 1 or more", concurrency)
			}
			if err := save.check(); err != nil {
				return err
			}
			named, err := labelsOf(labels)
			if err != nil {
				return err
			}
			workflow, err := findWorkflow(ctx, api, args[0])
			if err != nil {
				return err
			}
			list, err := gatherItems(ctx, api, items, files)
			if err != nil {
				return err
			}
			b, err := api.StartBatch(ctx, workflow.ID, list, client.BatchOptions{Concurrency: concurrency, Version: version, Labels: named, Delay: delay})
			if err != nil {
				return err
			}
			if noWait {
				return c.showBatch(ctx, api, b)
			}
			return c.followBatch(ctx, api, b, save)
		}),
	}
	c.registerWith(cmd, formatJSON)
	c.summaryOnly = func() bool { return terminal(con.out) && !cmd.Flags().Changed("output") }
	f := cmd.Flags()
	f.StringVar(&items, "items", "", "file with the items: .json, .jsonl or .csv")
	f.StringVar(&files, "files", "", "upload every file that matches; each is an item with its reference as NAME")
	f.IntVar(&concurrency, "concurrency", 0, "executions at once, 1 or more (default 5)")
	f.StringVar(&version, "version", "", "run this version instead of the published one")
	f.StringArrayVar(&labels, "label", nil, "label of the batch and its executions, NAME:VALUE (repeatable)")
	f.StringVar(&delay, "delay", "", "start it later: an ISO 8601 duration such as PT30M")
	f.BoolVar(&noWait, "no-wait", false, "print the accepted batch and return")
	save.register(f)
	return cmd
}

func gatherItems(ctx context.Context, api *client.Client, items, files string) ([]json.RawMessage, error) {
	switch {
	case (items == "") == (files == ""):
		return nil, usage("batch: give the items with --items FILE or with --files NAME=PATTERN")
	case items != "":
		return readItems(items)
	}
	return fileItems(ctx, api, files)
}

func (c *connection) followBatch(ctx context.Context, api *client.Client, b *client.Batch, save saving) error {
	id := b.BatchID
	b, err := c.awaitBatch(ctx, api, b)
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(c.err, "no longer following; the batch continues\nfollow it again: chargehand batches watch %s\n", id)
		return &exitError{code: exitInterrupted}
	}
	if err != nil {
		return err
	}
	if err := c.summary(ctx, api, b); err != nil {
		return err
	}
	if err := c.downloadBatch(ctx, api, b, save); err != nil {
		return err
	}
	if b.Failed > 0 || b.Status == "failed" {
		return &exitError{code: ExitFailed}
	}
	return nil
}

// awaitBatch shows the progress of a batch until it has ended.
func (c *connection) awaitBatch(ctx context.Context, api *client.Client, b *client.Batch) (*client.Batch, error) {
	counter := newCounter(c.console, b)
	defer counter.close()
	sample := sampler{api: api}
	var last *client.Batch
	err := api.FollowBatch(ctx, b.WorkflowID, b.BatchID, func(e client.StreamEvent) error {
		if e.Batch != nil {
			last = e.Batch
			counter.show(last, sample.task(ctx, last))
		}
		return nil
	})
	if err == nil && last == nil {
		last, err = api.GetBatch(ctx, b.WorkflowID, b.BatchID, "none", 0)
	}
	return last, err
}

// sampler names a task of a batch that is running.
type sampler struct {
	api  *client.Client
	last time.Time
	text string
}

// samplePause keeps the questions about single tasks rare.
const samplePause = time.Second

// task is the task that an execution of the batch is at; a failure to ask only hides it.
func (s *sampler) task(ctx context.Context, b *client.Batch) string {
	if b.Final() {
		return ""
	}
	if time.Since(s.last) < samplePause {
		return s.text
	}
	first := s.last.IsZero()
	if s.last = time.Now(); first {
		return "" // a short batch is not asked at all
	}
	s.text = ""
	page, err := s.api.BatchItems(ctx, b.WorkflowID, b.BatchID, client.ItemFilter{Statuses: []string{"processing"}}, 1, "")
	if err != nil || len(page.Data) == 0 {
		return ""
	}
	// The last task that started is the innermost one: what it is in has started before.
	newest := client.TimelineFilter{Descending: true, Summary: true}
	timeline, err := s.api.Timeline(ctx, b.WorkflowID, page.Data[0].ExecutionID, newest, 1, "")
	if err != nil || len(timeline.Data) == 0 {
		return ""
	}
	t := timeline.Data[0]
	s.text = fmt.Sprintf("item %d: %s", page.Data[0].Index, printable(t.Name))
	switch {
	case t.FinishedAt != nil && t.Phase == "faulted":
		s.text += fmt.Sprintf(", attempt %d comes next", t.Attempt+1)
	case t.Attempt > 1:
		s.text += fmt.Sprintf(", attempt %d", t.Attempt)
	}
	return s.text
}

// shownFailures is how many failed items the end of a batch shows.
const shownFailures = 5

func (c *connection) summary(ctx context.Context, api *client.Client, b *client.Batch) error {
	took := ""
	if b.StartedAt != nil && b.CompletedAt != nil {
		took = " in " + between(b.StartedAt, b.CompletedAt)
	}
	fmt.Fprintf(c.err, "%s: %d of %d finished, %s%s\n", c.paintStatus(batchState(b)), b.Completed, b.Total, failedCounts(b), took)
	if b.Failed > b.Cancelled {
		if err := c.failures(ctx, api, b); err != nil {
			return err
		}
	}
	if c.summaryOnly != nil && c.summaryOnly() {
		return nil // the lines above say it
	}
	return c.showBatch(ctx, api, b)
}

// failures tells the first items that failed, why, and the command for the others.
func (c *connection) failures(ctx context.Context, api *client.Client, b *client.Batch) error {
	page, err := api.BatchItems(ctx, b.WorkflowID, b.BatchID, client.ItemFilter{Phases: []string{"faulted"}}, shownFailures, "")
	if err != nil {
		return err
	}
	for _, item := range page.Data {
		reason := item.Status
		if item.Error != nil {
			reason = faultText(item.Error)
		}
		fmt.Fprintf(c.err, "  item %d  %s  %s\n", item.Index, c.id(item.ExecutionID), printable(reason))
	}
	if more := b.Failed - b.Cancelled - len(page.Data); more > 0 {
		fmt.Fprintf(c.err, "  and %d more: chargehand batches items %s --phase faulted\n", more, c.id(b.BatchID))
	}
	fmt.Fprintf(c.err, "the tasks of an item: chargehand executions timeline EXECUTION\none of them again:    chargehand executions retry EXECUTION\n"+
		"all of them again:    chargehand executions retry --batch %s\n", c.id(b.BatchID))
	return nil
}

func (c *connection) downloadBatch(ctx context.Context, api *client.Client, b *client.Batch, save saving) error {
	if save.dir == "" {
		return nil
	}
	items, _, err := gather(ctx, func(ctx context.Context, limit int, cursor string) (*client.Page[client.BatchExecution], error) {
		return api.BatchItems(ctx, b.WorkflowID, b.BatchID, client.ItemFilter{Statuses: []string{"finished"}}, limit, cursor)
	}, allRows, "")
	if err != nil {
		return err
	}
	for _, item := range items {
		e, err := api.GetExecution(ctx, b.WorkflowID, item.ExecutionID, 0)
		if err != nil {
			return err
		}
		if err := c.download(ctx, api, e, save.below(fmt.Sprintf("%05d", item.Index))); err != nil {
			return err
		}
	}
	return nil
}
