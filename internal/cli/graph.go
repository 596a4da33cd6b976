package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/internal/app"
)

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
