package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/internal/app"
)

// newSchema prints the schema of definitions without a server.
func newSchema(con console) *cobra.Command {
	var tests bool
	cmd := &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of definitions, for editors; no server is needed", Args: exactArgs(0),
		Long: "Print the JSON Schema (2020-12) of workflow definitions. Editors that are given it complete names, show what a\n" +
			"property is for, and mark what is wrong. A server has the same at /api/v1/schemas/workflow.json, and the schema\n" +
			"of tests at /api/v1/schemas/test.json.",
		RunE: func(*cobra.Command, []string) error {
			schema := app.WorkflowSchema()
			if tests {
				schema = app.TestSchema()
			}
			_, err := con.out.Write(schema)
			return err
		},
	}
	cmd.Flags().BoolVar(&tests, "tests", false, "the schema of tests (NAME.test.yaml) instead")
	return cmd
}

// newGraph draws a definition without a server.
func newGraph(con console) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "graph FILE", Short: "Draw the control flow of a definition; no server is needed", Args: exactArgs(1),
		Long: "Draw the control flow of a workflow definition (- is standard input): as Mermaid, which many editors and forges\n" +
			"show, as DOT for Graphviz, or as JSON with the nodes, lists and edges. It needs no server. The exit code is 2\n" +
			"if the definition has errors.",
		RunE: func(_ *cobra.Command, args []string) error {
			definition, err := con.readFile(args[0])
			if err != nil {
				return err
			}
			drawn, problems, err := app.Graph(definition, format)
			if err != nil {
				return err
			}
			for _, p := range problems {
				fmt.Fprintf(con.err, "%s:%d:%d: %s: %s [%s]\n", args[0], max(p.Line, 1), max(p.Column, 1), p.Severity, printable(p.Detail), p.Code)
			}
			if problems != nil {
				return &exitError{code: ExitUsage}
			}
			_, err = con.out.Write(drawn)
			return err
		},
	}
	choiceVar(cmd.Flags(), &format, "format", app.GraphMermaid, "how to draw", app.GraphMermaid, app.GraphDOT, app.GraphJSON)
	return cmd
}
