package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

// exitInterrupted is what shells expect of a command that Ctrl-C ended.
const exitInterrupted = 130

// pollTime is how long one question about progress waits for the end.
const pollTime = 2 * time.Second

func newRun(con console) *cobra.Command {
	c := &connection{console: con}
	var input, version, delay string
	var files, labels []string
	var noWait, noPeople bool
	var save saving
	cmd := &cobra.Command{
		Use:   "run WORKFLOW",
		Short: "Start one execution and follow it to its end",
		Long: "Start one execution and follow it to its end. WORKFLOW is namespace/name or an id. Progress goes to standard\n" +
			"error, the final execution as JSON to standard output. Ctrl-C stops following; the execution continues.",
		Args: exactArgs(1),
		RunE: c.run(func(ctx context.Context, api *client.Client, args []string) error {
			if err := save.check(); err != nil {
				return err
			}
			data, err := con.readInput(input)
			if err != nil {
				return err
			}
			workflow, err := findWorkflow(ctx, api, args[0])
			if err != nil {
				return err
			}
			if err := addFiles(ctx, api, data, files); err != nil {
				return err
			}
			body, err := json.Marshal(data)
			if err != nil {
				return err
			}
			named, err := labelsOf(labels)
			if err != nil {
				return err
			}
			e, err := api.Start(ctx, workflow.ID, body, client.StartOptions{Version: version, Labels: named, Delay: delay})
			if err != nil {
				return err
			}
			if noWait {
				return c.showExecution(ctx, api, e)
			}
			return c.follow(ctx, api, e, noPeople, save)
		}),
	}
	c.registerWith(cmd, formatJSON)
	f := cmd.Flags()
	f.StringVar(&input, "input", "", "input object: JSON, @FILE, or - for standard input")
	f.StringArrayVar(&files, "file", nil, "upload the file and pass its reference as input NAME; the same NAME again, or NAME[], makes a list (repeatable)")
	f.StringVar(&version, "version", "", "run this version instead of the published one")
	f.StringArrayVar(&labels, "label", nil, "label of the execution, NAME:VALUE (repeatable)")
	f.StringVar(&delay, "delay", "", "start it later: an ISO 8601 duration such as PT30M")
	f.BoolVar(&noWait, "no-wait", false, "print the accepted execution and return")
	f.BoolVar(&noPeople, "no-wait-for-people", false, "return with exit code 3 when a person is needed")
	save.register(f)
	return cmd
}

// labelsOf reads labels of the form NAME:VALUE. The server checks the rest.
func labelsOf(list []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return nil, usage("--label: %q is not NAME:VALUE", text)
		}
		labels[name] = value
	}
	return labels, nil
}

// follow waits for the end of an execution, tells its progress, prints it and returns the
// exit code that its end asks for.
func (c *connection) follow(ctx context.Context, api *client.Client, e *client.Execution, noPeople bool, save saving) error {
	id := e.ID
	e, err := c.await(ctx, api, e, noPeople)
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(c.err, "no longer following; the execution continues\nfollow it again: chargehand executions watch %s\n", id)
		return &exitError{code: exitInterrupted}
	}
	if err != nil {
		return err
	}
	if e.Final() {
		state := stateOf(e)
		text := c.paintStatus(state)
		if took := between(e.StartedAt, e.FinishedAt); took != "" {
			text += " after " + took
		}
		if e.Error != nil && state != "cancelled" {
			text += ": " + printable(faultText(e.Error))
			if e.Error.Instance != "" {
				text += " (at " + printable(locationText(e.Error)) + ")"
			}
		}
		fmt.Fprintln(c.err, text)
	}
	if err := c.showExecution(ctx, api, e); err != nil {
		return err
	}
	switch {
	case e.Status == "error":
		fmt.Fprintf(c.err, "its tasks: chargehand executions timeline %s\n", e.ID)
		return &exitError{code: ExitFailed}
	case !e.Final():
		fmt.Fprintln(c.err, "a person is needed")
		return &exitError{code: ExitPerson}
	}
	return c.download(ctx, api, e, save)
}

// The pause between two reads of the timeline of an execution that is followed grows from firstPause to lastPause.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = time.Second
)

// await shows the progress of an execution until it has ended, or needs a person.
func (c *connection) await(ctx context.Context, api *client.Client, e *client.Execution, noPeople bool) (*client.Execution, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := newProgress(c.console, api, e)
	defer p.close()
	type answer struct {
		e   *client.Execution
		err error
	}
	answers := make(chan answer, 1)
	ask := func() {
		read, err := api.GetExecution(ctx, e.WorkflowID, e.ID, pollTime)
		answers <- answer{read, err}
	}
	go ask()
	pause := firstPause
	moved, states := taskMoves(ctx, api, e)
	for {
		select {
		case a := <-answers:
			if a.err != nil {
				return nil, a.err
			}
			if a.e.Final() || noPeople && a.e.Status == "human_in_the_loop" {
				p.update(ctx, true)
				p.people(ctx, a.e.HumanTasks)
				return a.e, nil
			}
			go ask()
		case now := <-states:
			p.phase(ctx, now.Phase)
			p.people(ctx, now.HumanTasks)
		case <-moved:
			p.update(ctx, false)
			pause = lastPause
		case <-time.After(pause):
			p.update(ctx, false)
			pause = min(2*pause, lastPause)
		}
	}
}

// taskMoves returns a channel that tells of starts and ends of tasks, and one of the execution after each change, as
// long as the server does. ctx ends them.
func taskMoves(ctx context.Context, api *client.Client, e *client.Execution) (<-chan struct{}, <-chan *client.Execution) {
	moved, states := make(chan struct{}, 1), make(chan *client.Execution)
	go func() {
		// A server that does not tell is asked now and then.
		_ = api.FollowExecution(ctx, e.WorkflowID, e.ID, 0, func(event client.StreamEvent) error {
			if event.Execution != nil {
				select {
				case states <- event.Execution:
				case <-ctx.Done():
				}
			}
			if event.Task != nil {
				select {
				case moved <- struct{}{}:
				default:
				}
			}
			return nil
		})
	}()
	return moved, states
}
