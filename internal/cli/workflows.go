package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

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

func unknownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s has no command %q (see %s --help)", cmd.CommandPath(), args[0], cmd.CommandPath())
	}
	return nil
}

// verb makes one client command.
func (c *connection) verb(use, short string, args cobra.PositionalArgs, do action) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: args, RunE: c.run(do)}
	c.register(cmd)
	return cmd
}

func newWorkflows(con console) *cobra.Command {
	c := &connection{console: con}
	return group("workflows", "Apply, list and publish workflow definitions",
		c.workflowsApply(), c.workflowsList(), c.workflowsShow(), newValidate(con), c.workflowsVersions(), c.workflowsPublish(), c.workflowsDelete())
}

func (c *connection) workflowsApply() *cobra.Command {
	var draft bool
	cmd := c.verb("apply FILE…", "Create or update workflows from YAML or JSON files (- is standard input)", minArgs(1),
		func(ctx context.Context, api *client.Client, files []string) error {
			var applied []*client.Applied
			for _, file := range files {
				definition, err := c.readFile(file)
				if err != nil {
					return err
				}
				a, err := api.ApplyWorkflow(ctx, definition, draft)
				if err != nil {
					return located(file, err)
				}
				for _, warning := range a.Warnings {
					fmt.Fprintf(c.err, "%s:%d:%d: warning: %s\n", file, warning.Line, warning.Column, printable(warning.Detail))
				}
				if a.Draft && !draft {
					fmt.Fprintf(c.err, "%s: stored as a draft, because this key does not publish; use a key of live with the scope workflows:publish\n", file)
				}
				applied = append(applied, a)
				if c.output != "json" {
					state := ""
					if a.Draft {
						state = "  draft"
					}
					fmt.Fprintf(c.out, "%s  %s/%s  %s%s\n", a.ID, a.Namespace, a.Name, a.Version, state)
				}
			}
			if c.output == "json" {
				return printJSON(c.out, applied)
			}
			return nil
		})
	cmd.Flags().BoolVar(&draft, "draft", false, "do not publish")
	return cmd
}

func (c console) readFile(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(c.in)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usage("%w", err)
	}
	return data, nil
}

// located shows the problems of a definition as compilers do: file:line:column.
func located(file string, err error) error {
	var answer *client.Error
	if !errors.As(err, &answer) || (answer.Status != http.StatusUnprocessableEntity && answer.Status != http.StatusBadRequest) {
		return fmt.Errorf("%s: %w", file, err)
	}
	text := ""
	for _, p := range answer.Errors {
		text += fmt.Sprintf("\n%s:%d:%d: %s [%s]", file, max(p.Line, 1), max(p.Column, 1), printable(p.Detail), p.Code)
	}
	return &exitError{ExitUsage, fmt.Errorf("%s: %s%s", file, answer.Detail, text)}
}

// newValidate checks definitions without a server.
func newValidate(con console) *cobra.Command {
	var output string
	var check app.Check
	cmd := &cobra.Command{
		Use: "validate FILE…", Short: "Check workflow definitions; no server is needed", Args: minArgs(1),
		Long: "Check workflow definitions (- is standard input) and print what is wrong as compilers do:\n" +
			"FILE:LINE:COLUMN: error or warning: text [code]. No server is needed and nobody is asked: external\n" +
			"resources are read from files below --resource-root only; of others, a warning says that they were not\n" +
			"checked. The exit code is 2 if a definition has errors.",
		RunE: func(cmd *cobra.Command, files []string) error {
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
				if output == "json" {
					continue
				}
				for _, p := range problems {
					fmt.Fprintf(con.out, "%s:%d:%d: %s: %s [%s]\n", file, max(p.Line, 1), max(p.Column, 1), p.Severity, printable(p.Detail), p.Code)
				}
				if ok {
					fmt.Fprintf(con.out, "%s: valid\n", file)
				}
			}
			if output == "json" {
				if err := printJSON(con.out, results); err != nil {
					return err
				}
			}
			if !valid {
				return &exitError{code: ExitUsage}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	cmd.Flags().StringSliceVar(&check.AllowRun, "allow-run", []string{"shell", "python", "container"}, "processes that the server allows")
	cmd.Flags().StringVar(&check.ResourceRoot, "resource-root", "", "folder below which external resources are read, as of serve")
	return cmd
}

func (c *connection) workflowsList() *cobra.Command {
	return c.verb("list", "List the workflows, newest first", exactArgs(0), func(ctx context.Context, api *client.Client, _ []string) error {
		all, err := everyPage(func(cursor string) ([]client.Workflow, string, error) {
			p, err := api.ListWorkflows(ctx, client.WorkflowFilter{}, 100, cursor)
			return p.Data, p.Cursor, err
		})
		if err != nil {
			return err
		}
		var rows [][]string
		for _, w := range all {
			rows = append(rows, []string{w.ID, w.Namespace + "/" + w.Name, w.Version, stamp(&w.UpdatedAt), w.Title})
		}
		return c.print(all, "ID WORKFLOW VERSION UPDATED TITLE", rows)
	})
}

func stamp(t *time.Time) string {
	if t == nil || t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}

func (c *connection) workflowsShow() *cobra.Command {
	return c.verb("show WORKFLOW", "Show a workflow with its definition", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		w, err := findWhole(ctx, api, args[0])
		if err != nil {
			return err
		}
		return printJSON(c.out, w)
	})
}

func findWhole(ctx context.Context, api *client.Client, ref string) (*client.Workflow, error) {
	w, err := api.FindWorkflow(ctx, ref)
	if err != nil {
		return nil, err
	}
	return api.GetWorkflow(ctx, w.ID)
}

func (c *connection) workflowsVersions() *cobra.Command {
	return c.verb("versions WORKFLOW", "List the versions of a workflow", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		w, err := api.FindWorkflow(ctx, args[0])
		if err != nil {
			return err
		}
		versions, err := everyPage(func(cursor string) ([]client.WorkflowVersion, string, error) {
			p, err := api.ListVersions(ctx, w.ID, 100, cursor)
			return p.Data, p.Cursor, err
		})
		if err != nil {
			return err
		}
		var rows [][]string
		for _, v := range versions {
			state := ""
			switch {
			case v.Published:
				state = "published"
			case v.Draft:
				state = "draft"
			}
			rows = append(rows, []string{v.Version, fmt.Sprint(v.Revision), stamp(&v.CreatedAt), state})
		}
		return c.print(versions, "VERSION REVISION CREATED STATE", rows)
	})
}

func (c *connection) workflowsPublish() *cobra.Command {
	var revision int
	cmd := c.verb("publish WORKFLOW VERSION", "Make a version the one that is run", exactArgs(2), func(ctx context.Context, api *client.Client, args []string) error {
		w, err := api.FindWorkflow(ctx, args[0])
		if err != nil {
			return err
		}
		if err := api.PublishVersion(ctx, w.ID, args[1], revision); err != nil {
			return err
		}
		fmt.Fprintf(c.err, "published %s/%s %s\n", w.Namespace, w.Name, args[1])
		if c.output != "json" {
			return nil
		}
		if w, err = api.GetWorkflow(ctx, w.ID); err != nil {
			return err
		}
		return printJSON(c.out, w)
	})
	cmd.Flags().IntVar(&revision, "revision", 0, "revision of the version (default: the newest one)")
	return cmd
}

func (c *connection) workflowsDelete() *cobra.Command {
	return c.verb("delete WORKFLOW", "Unlist a workflow; running executions go on", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		w, err := api.FindWorkflow(ctx, args[0])
		if err != nil {
			return err
		}
		if err := api.DeleteWorkflow(ctx, w.ID); err != nil {
			return err
		}
		fmt.Fprintf(c.err, "deleted %s/%s\n", w.Namespace, w.Name)
		return nil
	})
}
