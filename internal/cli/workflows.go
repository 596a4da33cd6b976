package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/app"
)

// group makes a command that only holds others.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Args: unknownSubcommand, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(commands...)
	return cmd
}

// verb makes one client command.
func (c *connection) verb(use, short string, args cobra.PositionalArgs, do action) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: args, RunE: c.run(do)}
	c.register(cmd)
	return cmd
}

func newWorkflows(con console) *cobra.Command {
	c := &connection{console: con}
	return group("workflows", "Apply, compare, list and publish workflow definitions",
		c.workflowsApply(), c.workflowsList(), c.workflowsShow(), newValidate(con), newGraph(con), newSchema(con), c.workflowsDiff(), c.workflowsVersions(), c.workflowsPublish(), c.workflowsDelete())
}

func (c console) readFile(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(c.in)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usage("%w", unreadable(err))
	}
	return data, nil
}

// located shows the problems of a definition as compilers do: file:line:column.
func located(file string, err error) error {
	var answer *client.Error
	if !errors.As(err, &answer) || (answer.Status != http.StatusUnprocessableEntity && answer.Status != http.StatusBadRequest) {
		return fmt.Errorf("%s: %w", file, err)
	}
	var lines []string
	if len(answer.Errors) != 1 || !strings.HasSuffix(answer.Detail, answer.Errors[0].Detail) {
		lines = append(lines, file+": "+answer.Detail) // that of a single problem repeats it
	}
	for _, p := range answer.Errors {
		if p.Parameter != "" { // the file is not at fault
			return usage("%s", answer.Detail+" "+p.Detail)
		}
		lines = append(lines, fmt.Sprintf("%s:%d:%d: %s [%s]", file, max(p.Line, 1), max(p.Column, 1), printable(p.Detail), p.Code))
	}
	return &exitError{ExitUsage, errors.New(strings.Join(lines, "\n"))}
}

// newValidate checks definitions without a server.
func newValidate(con console) *cobra.Command {
	var output string
	var check app.Check
	cmd := &cobra.Command{
		Use: "validate FILE…", Short: "Check workflow definitions; no server is needed", Args: minArgs(1),
		Long: "Check workflow definitions (- is standard input) and print what is wrong as compilers do:\n" +
			"FILE:LINE:COLUMN: error or warning: text [code]. It needs no server and sends no request: external\n" +
			"resources are read from files below --resource-root only; of others, a warning says that they were not\n" +
			"checked. The exit code is 2 if a definition has errors.",
		RunE: func(cmd *cobra.Command, files []string) error {
			files, err := withoutTests(files)
			if err != nil {
				return err
			}
			type checked struct {
				File     string        `json:"file"`
				Valid    bool          `json:"valid"`
				Problems []app.Problem `json:"problems"`
			}
			results, valid := []checked{}, true
			for _, file := range files {
				definition, err := con.readFile(file)
				if err != nil {
					return err
				}
				problems, ok, err := check.Definition(cmd.Context(), definition)
				if err != nil {
					return usage("%w", err)
				}
				valid = valid && ok
				results = append(results, checked{file, ok, problems})
				if output != formatTable && output != formatWide {
					continue
				}
				for _, p := range problems {
					fmt.Fprintf(con.out, "%s:%d:%d: %s: %s [%s]\n", file, max(p.Line, 1), max(p.Column, 1), p.Severity, printable(p.Detail), p.Code)
				}
				if ok {
					fmt.Fprintf(con.out, "%s: valid\n", file)
				}
			}
			if err := encodeList(con, output, results); err != nil {
				return err
			}
			if !valid {
				return &exitError{code: ExitUsage}
			}
			return nil
		},
	}
	choiceVarP(cmd.Flags(), &output, "output", "o", formatTable, "how to print", formats...)
	cmd.Flags().StringSliceVar(&check.AllowRun, "allow-run", []string{"shell", "python", "container"}, "processes that the server allows")
	cmd.Flags().StringVar(&check.ResourceRoot, "resource-root", "", "folder below which external resources are read, as of serve")
	return cmd
}

func (c *connection) workflowsList() *cobra.Command {
	var f client.WorkflowFilter
	cmd := newList(c, listing[client.Workflow]{
		use: "list", short: "List the workflows, newest first", args: exactArgs(0), limit: maxPage,
		columns: "ID WORKFLOW~ VERSION UPDATED TITLE~", key: func(w *client.Workflow) string { return w.ID },
		row: func(w *client.Workflow) []string {
			return []string{c.id(w.ID), w.FullName(), w.Version, c.when(&w.UpdatedAt), w.Title}
		},
		prepare: func(_ context.Context, api *client.Client, _ []string) (fetch[client.Workflow], error) {
			return func(ctx context.Context, limit int, cursor string) (*client.Page[client.Workflow], error) {
				return api.ListWorkflows(ctx, f, limit, cursor)
			}, nil
		},
	})
	cmd.Flags().StringVar(&f.Namespace, "namespace", "", "only the workflows of this namespace")
	cmd.Flags().StringVar(&f.Text, "search", "", "only those with this text in namespace/name or title")
	return cmd
}

func (c *connection) workflowsShow() *cobra.Command {
	var version string
	var revision int
	cmd := c.verb("show WORKFLOW", "Show a workflow; -o yaml prints its source as it was applied", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		if revision != 0 && version == "" {
			return usage("--revision needs --version: each version counts its own revisions")
		}
		found, err := findWorkflow(ctx, api, args[0])
		if err != nil {
			return err
		}
		if version != "" {
			return c.showVersion(ctx, api, found, version, revision)
		}
		w, err := api.GetWorkflow(ctx, found.ID)
		if err != nil {
			return err
		}
		if c.output == formatYAML {
			return c.printSource(w.Source)
		}
		return c.show(w, []field{
			{"id", w.ID}, {"workflow", w.FullName()}, {"title", w.Title}, {"version", w.Version}, {"revision", fmt.Sprint(w.Revision)},
			{"published", firstOf(w.PublishedVersion, "-")}, {"created", exactly(&w.CreatedAt)}, {"updated", exactly(&w.UpdatedAt)},
			{"schedule", scheduleOf(w.Definition)}, {"input", string(w.InputSchema)},
		})
	})
	cmd.Flags().StringVar(&version, "version", "", "show this version instead of the published one")
	cmd.Flags().IntVar(&revision, "revision", 0, "with --version: show this revision of it (default: the newest one)")
	return cmd
}

func (c *connection) showVersion(
	ctx context.Context, api *client.Client, w *client.Workflow, version string, revision int,
) error {
	v, err := api.GetVersion(ctx, w.ID, version, revision)
	if err != nil {
		return err
	}
	if c.output == formatYAML {
		return c.printSource(v.Source)
	}
	return c.show(v, []field{
		{"id", w.ID}, {"workflow", w.FullName()}, {"version", v.Version}, {"revision", fmt.Sprint(v.Revision)}, {"state", versionState(v)},
		{"created", exactly(&v.CreatedAt)}, {"updated", exactly(&v.UpdatedAt)}, {"schedule", scheduleOf(v.Definition)},
	})
}

func (c *connection) printSource(source string) error {
	_, err := io.WriteString(c.out, strings.TrimRight(source, "\n")+"\n")
	return err
}

// scheduleOf is the schedule of a definition as JSON; empty: none.
func scheduleOf(definition json.RawMessage) string {
	var d struct {
		Schedule json.RawMessage `json:"schedule"`
	}
	_ = json.Unmarshal(definition, &d) // the server has checked it
	return string(d.Schedule)
}

func versionState(v *client.WorkflowVersion) string {
	switch {
	case v.Published && v.Revision > v.PublishedRevision:
		return fmt.Sprintf("draft; revision %d is published", v.PublishedRevision)
	case v.Published && v.Revision < v.PublishedRevision:
		return fmt.Sprintf("replaced by revision %d", v.PublishedRevision)
	case v.Published:
		return "published"
	case v.Draft:
		return "draft"
	}
	return ""
}

func (c *connection) workflowsVersions() *cobra.Command {
	return newList(c, listing[client.WorkflowVersion]{
		use: "versions WORKFLOW", short: "List the versions of a workflow, newest first", args: exactArgs(1), limit: maxPage,
		columns: "VERSION REVISION> STATE CREATED UPDATED TITLE*", key: func(v *client.WorkflowVersion) string { return v.Version },
		row: func(v *client.WorkflowVersion) []string {
			return []string{v.Version, fmt.Sprint(v.Revision), versionState(v), c.when(&v.CreatedAt), c.when(&v.UpdatedAt), v.Title}
		},
		prepare: func(ctx context.Context, api *client.Client, args []string) (fetch[client.WorkflowVersion], error) {
			w, err := findWorkflow(ctx, api, args[0])
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context, limit int, cursor string) (*client.Page[client.WorkflowVersion], error) {
				return api.ListVersions(ctx, w.ID, limit, cursor)
			}, nil
		},
	})
}

func (c *connection) workflowsPublish() *cobra.Command {
	var revision int
	cmd := c.verb("publish WORKFLOW VERSION", "Make a version the one that is run", exactArgs(2), func(ctx context.Context, api *client.Client, args []string) error {
		w, err := findWorkflow(ctx, api, args[0])
		if err != nil {
			return err
		}
		if err := api.PublishVersion(ctx, w.ID, args[1], revision); err != nil {
			var refused *client.Error
			if revision == 0 && errors.As(err, &refused) && refused.Code == "state_conflict" {
				return fmt.Errorf("%w\nchoose one: chargehand workflows publish %s %s --revision N", err, w.FullName(), args[1])
			}
			return err
		}
		fmt.Fprintf(c.err, "published %s %s\n", w.FullName(), args[1])
		if c.tables() {
			return nil
		}
		if w, err = api.GetWorkflow(ctx, w.ID); err != nil {
			return err
		}
		return c.encode(w)
	})
	cmd.Flags().IntVar(&revision, "revision", 0, "revision of the version (default: the newest one)")
	return cmd
}

func (c *connection) workflowsDelete() *cobra.Command {
	var yes bool
	cmd := c.verb("delete WORKFLOW", "Delete a workflow and its schedule; running executions continue", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		w, err := findWorkflow(ctx, api, args[0])
		if err != nil {
			return err
		}
		if err := c.confirm(ctx, yes, "delete "+w.FullName()+": "+c.whatEnds(ctx, api, w)); err != nil {
			return err
		}
		if err := api.DeleteWorkflow(ctx, w.ID); err != nil {
			return err
		}
		fmt.Fprintf(c.err, "deleted %s; executions that run continue, and all can be read by their ids\nlist them: chargehand executions list %s\n", w.FullName(), w.ID)
		return nil
	})
	cmd.Long = `Delete a workflow: it can no longer be started, and its schedule ends.

Executions that run continue, and all of them stay readable by their ids until they are too old. Lists and filters
find them by the whole id of the workflow, which the question names, and no longer by its name. A definition that is
applied again under the name makes a new workflow, with a new id.`
	yesFlag(cmd, &yes)
	return cmd
}

// whatEnds says what a deletion ends.
func (c *connection) whatEnds(ctx context.Context, api *client.Client, w *client.Workflow) string {
	text := "no new executions start"
	if whole, err := api.GetWorkflow(ctx, w.ID); err == nil {
		if schedule := scheduleOf(whole.Definition); schedule != "" {
			text += ", its schedule " + printable(schedule) + " ends"
		}
	}
	running := client.ExecutionFilter{Workflow: w.ID, Statuses: []string{"initial", "processing", "human_in_the_loop"}}
	switch n, err := api.CountExecutions(ctx, running); {
	case err != nil || n.Count == 0:
	case n.Count == 1 && !n.AtLeast:
		text += ", 1 execution that runs continues"
	default:
		text += ", " + executionsText(n.Count, n.AtLeast) + " that run continue"
	}
	return text + ", and its executions are found by its id alone, " + w.ID
}
