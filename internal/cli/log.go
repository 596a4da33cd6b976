package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

const (
	// logPage is how many lines of a log are asked for at a time, logWait how long a request waits for one.
	logPage = 1000
	logWait = 20 * time.Second
	// maxLogTasks is how many runs of a task a log can be asked for.
	maxLogTasks = 100
)

func (c *connection) executionsLog() *cobra.Command {
	var (
		f      client.LogFilter
		follow bool
		task   string
	)
	cmd := c.verb("log EXECUTION", "Show what the steps of an execution write", exactArgs(1), c.onExecution(func(ctx context.Context, api *client.Client, e *client.Execution) (err error) {
		if task != "" {
			if f.Seqs, err = runsOf(ctx, api, e, task); err != nil {
				return err
			}
		}
		f.Limit = logPage
		if follow {
			f.Wait = logWait
		}
		for {
			page, err := api.Log(ctx, e.WorkflowID, e.ID, f)
			if err != nil {
				return err
			}
			for i := range page.Lines {
				if err := c.showLogLine(&page.Lines[i]); err != nil {
					return err
				}
			}
			if n := len(page.Lines); n > 0 {
				f.After = page.Lines[n-1].Line
			}
			if len(page.Lines) < logPage && (page.Complete || !follow) {
				return nil
			}
		}
	}))
	fl := cmd.Flags()
	fl.BoolVarP(&follow, "follow", "f", false, "continue with what is written, until the execution ends")
	choiceVar(fl, &f.Level, "level", "", "only this level and more urgent ones", "trace", "debug", "info", "warning", "error", "critical")
	choicesVar(fl, &f.Streams, "stream", "only these streams", "stdout", "stderr", "log")
	fl.StringVar(&task, "task", "", "only this task: its name or reference, or its number in the timeline")
	fl.StringVar(&f.Text, "grep", "", "only lines with this text, in upper or lower case")
	return cmd
}

// runsOf are the numbers of a task in the timeline, which is named by its name, its reference or one of its numbers.
func runsOf(ctx context.Context, api *client.Client, e *client.Execution, task string) ([]int64, error) {
	if seq, err := strconv.ParseInt(task, 10, 64); err == nil && seq > 0 {
		return []int64{seq}, nil
	}
	entries, _, err := gather(ctx, func(ctx context.Context, limit int, cursor string) (*client.Page[client.TimelineEntry], error) {
		p, err := api.Timeline(ctx, e.WorkflowID, e.ID, client.TimelineFilter{Summary: true}, limit, cursor)
		return &p.Page, err
	}, allRows, "")
	if err != nil {
		return nil, err
	}
	var seqs []int64
	for i := range entries {
		if t := &entries[i]; t.Name == task || t.Reference == task || taskPath(t.Reference) == task {
			seqs = append(seqs, int64(t.Seq))
		}
	}
	switch {
	case len(seqs) == 0:
		return nil, fmt.Errorf("no task %q has started in this execution; see: chargehand executions timeline %s", task, e.ID)
	case len(seqs) > maxLogTasks:
		return nil, fmt.Errorf("the task %q has run %d times; name one run by its number in the timeline", task, len(seqs))
	}
	return seqs, nil
}

// levelColours colour the lines of a log.
var levelColours = map[string]string{"trace": "2", "debug": "2", "warning": "33", "error": "31", "critical": "31"}

func (c *connection) showLogLine(l *client.LogLine) error {
	if !c.tables() {
		return c.encode(l)
	}
	at := l.At.UTC().Format("15:04:05.000")
	if c.output == formatWide {
		at = exactly(&l.At)
	}
	task := ""
	if l.Seq != nil {
		task = strconv.FormatInt(*l.Seq, 10)
	}
	from := l.Stream
	if from == "log" && l.Level != "info" {
		from = l.Level
	}
	text := printable(l.Text)
	if terminal(c.out) {
		text = colour(c.out, levelColours[l.Level], text)
	}
	_, err := fmt.Fprintf(c.out, "%s %3s %-7s %s\n", colour(c.out, "2", at), task, from, text)
	return err
}
