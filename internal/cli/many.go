package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chargehand/chargehand/client"
)

// many is what a command does to executions: to one that is named, or by an operation to several, or to those that
// filters select.
type many struct {
	action  string // of the operation
	version string // that retries run
	reason  string // of cancellations
	forOne  []string
	asks    bool // also before it acts on executions that are named

	filters  []string // names of the flags that select executions
	workflow string
	filter   client.ExecutionFilter
	all      bool
	dryRun   bool
	yes      bool
	noWait   bool
}

// manyHelp is what the help of each of these commands says about many executions.
const manyHelp = `

With several EXECUTIONs, or with filters instead of them, one operation on the server does it to all of them, up to
100,000: the command shows how far it is and what failed, and an interrupted command leaves the operation running.
Filters ask first, and say how many executions they select; --dry-run says no more than that.`

// onMany makes a command of an action on one execution that serves many, too.
func (c *connection) onMany(m *many, short, long string, one action) *cobra.Command {
	var cmd *cobra.Command
	cmd = c.verb(m.action+" [EXECUTION…]", short, minArgs(0), func(ctx context.Context, api *client.Client, args []string) error {
		selected := m.selects(cmd.Flags())
		switch {
		case len(args) > 0 && selected != "":
			return usage("--%s selects executions, and %q is one: name executions, or select them, not both", selected, args[0])
		case len(args) == 0 && selected == "":
			return usage("EXECUTION is missing: name executions, or select them by --workflow, --status or another filter; --all stands for all of them: %s", hint(cmd))
		case m.all && selected != "all":
			return usage("--all stands for all executions, and --%s for some of them: give one of the two", selected)
		case len(args) == 1 && !m.dryRun && !m.noWait:
			return one(ctx, api, args)
		}
		for _, name := range m.forOne {
			if cmd.Flags().Changed(name) {
				return usage("--%s is for one execution", name)
			}
		}
		if m.version != "" && m.version != "published" && m.version != "same" {
			return usage("--version: %.80q: many executions can be retried with published or same alone", m.version)
		}
		r, err := m.request(ctx, api, args)
		if err != nil {
			return err
		}
		return c.operate(ctx, api, m, r)
	})
	cmd.Long = long + manyHelp
	m.register(cmd)
	return cmd
}

func (m *many) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	known := map[string]bool{}
	fl.VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
	fl.StringVar(&m.workflow, "workflow", "", "those of this workflow")
	filterFlags(fl, &m.filter, "workflow-version")
	fl.VisitAll(func(f *pflag.Flag) {
		if !known[f.Name] {
			m.filters = append(m.filters, f.Name)
		}
	})
	fl.BoolVar(&m.all, "all", false, "all executions that it can be done to")
	m.filters = append(m.filters, "all") // the last: another filter beside it is found first
	fl.BoolVar(&m.dryRun, "dry-run", false, "do nothing: say on how many executions it would act")
	fl.BoolVar(&m.noWait, "no-wait", false, "print the accepted operation and return")
	yesFlag(cmd, &m.yes)
}

// selects is the name of a filter that was given; empty: none was.
func (m *many) selects(fl *pflag.FlagSet) string {
	for _, name := range m.filters {
		if fl.Changed(name) {
			return name
		}
	}
	return ""
}

// request is the operation that the command line asks for.
func (m *many) request(ctx context.Context, api *client.Client, args []string) (r client.OperationRequest, err error) {
	r = client.OperationRequest{Action: m.action, Reason: m.reason, Version: m.version}
	for _, text := range args {
		e, err := findExecution(ctx, api, text)
		if err != nil {
			return r, err
		}
		r.IDs = append(r.IDs, e.ID)
	}
	if len(args) > 0 {
		return r, nil
	}
	var workflow []string
	if m.workflow != "" {
		workflow = []string{m.workflow}
	}
	if err := resolveFilter(ctx, api, &m.filter, workflow); err != nil {
		return r, err
	}
	r.Filter = &m.filter
	return r, nil
}

// operate starts an operation, or says on what it would act, and follows it to its end.
func (c *connection) operate(ctx context.Context, api *client.Client, m *many, r client.OperationRequest) error {
	if m.dryRun || !m.yes && (r.Filter != nil || m.asks) {
		p, err := api.PreviewOperation(ctx, r)
		if err != nil {
			return err
		}
		if m.dryRun {
			return c.showPreview(p)
		}
		if p.Count == 0 && !p.AtLeast {
			fmt.Fprintf(c.err, "there is no execution to %s\n", r.Action)
			return nil
		}
		c.tellExamined(p.ExaminedUntil)
		if err := c.confirm(ctx, false, r.Action+" "+executionsText(p.Count, p.AtLeast)); err != nil {
			return err
		}
	}
	o, err := api.StartOperation(ctx, r)
	if err != nil {
		return err
	}
	if m.noWait {
		return c.showOperation(o)
	}
	return c.followOperation(ctx, api, o)
}

func executionsText(n int64, more bool) string {
	if more {
		return fmt.Sprintf("%d executions or more", n)
	}
	return counted(n, "execution")
}

func (c *connection) showPreview(p *client.OperationPreview) error {
	err := c.show(p, []field{{"would " + p.Action, executionsText(p.Count, p.AtLeast)}})
	if c.tables() {
		c.tellExamined(p.ExaminedUntil)
	}
	return err
}

// followOperation shows the progress of an operation until it has ended, and then the operation.
func (c *connection) followOperation(ctx context.Context, api *client.Client, o *client.Operation) error {
	id := o.ID
	t := newOperationProgress(c.console, o)
	o, err := api.FollowOperation(ctx, id, t.show)
	t.line.close()
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(c.err, "no longer following; the operation continues\nfollow it again: chargehand operations watch %s\nend it:          chargehand operations cancel %s\n", id, id)
		return &exitError{code: exitInterrupted}
	}
	if err != nil {
		return err
	}
	c.tellFailures(o)
	if err := c.showOperation(o); err != nil {
		return err
	}
	if o.Failed > 0 || o.Status != "completed" {
		return &exitError{code: ExitFailed}
	}
	return nil
}

// tellFailures tells the first executions on which an operation could not act, why, and the command for the others.
func (c *connection) tellFailures(o *client.Operation) {
	shown := o.Failures[:min(len(o.Failures), shownFailures)]
	for i := range shown {
		fmt.Fprintf(c.err, "  %s  %s\n", c.id(shown[i].ExecutionID), printable(reasonText(shown[i].Error)))
	}
	if more := o.Failed - int64(len(shown)); more > 0 {
		fmt.Fprintf(c.err, "  and %d more: chargehand operations items %s --outcome failed\n", more, c.id(o.ID))
	}
}

func reasonText(e *client.OperationError) string {
	if e == nil {
		return ""
	}
	return strings.TrimSuffix(e.Code+": "+e.Detail, ": ")
}

// operationProgress tells how an operation goes: on a terminal a line with a bar, elsewhere a line every few seconds.
type operationProgress struct {
	console
	line     *statusLine
	lastLine time.Time

	mu    sync.Mutex
	state *client.Operation
}

func newOperationProgress(con console, o *client.Operation) *operationProgress {
	t := &operationProgress{console: con, line: newStatusLine(con.err), state: o, lastLine: time.Now()}
	t.line.println("operation " + o.ID)
	t.line.show(t.text)
	return t
}

// show takes a new state.
func (t *operationProgress) show(o *client.Operation) {
	t.mu.Lock()
	t.state = o
	t.mu.Unlock()
	if terminal(t.err) {
		return
	}
	if now := time.Now(); !o.Final() && now.Sub(t.lastLine) >= plainLineEvery {
		t.lastLine = now
		t.line.println(operationCounts(o))
	}
}

func (t *operationProgress) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.state
	if o.Status == "selecting" {
		return operationCounts(o)
	}
	return bar(int(o.Total-o.Pending), int(o.Total), 12) + " " + operationCounts(o)
}

// operationCounts says how far an operation is.
func operationCounts(o *client.Operation) string {
	if o.Status == "selecting" {
		return fmt.Sprintf("selecting: %d so far", o.Total)
	}
	text := fmt.Sprintf("%d of %d", o.Total-o.Pending, o.Total)
	for _, part := range []struct {
		count int64
		what  string
	}{{o.Skipped, "skipped"}, {o.Failed, "failed"}} {
		if part.count > 0 {
			text += fmt.Sprintf(", %d %s", part.count, part.what)
		}
	}
	return text
}
