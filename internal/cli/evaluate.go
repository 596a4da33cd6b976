package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/internal/app"
	"github.com/chargehand/chargehand/internal/value"
)

// newEvaluate evaluates an expression without a server.
func newEvaluate(con console) *cobra.Command {
	var input, context string
	var variables []string
	cmd := &cobra.Command{
		Use: "evaluate EXPRESSION", Short: "Evaluate an expression as a task would; no server is needed", Args: exactArgs(1),
		Long: "Evaluate a runtime expression as a task would, with its bounds, and print the value as JSON. EXPRESSION may be\n" +
			"written with or without ${ }. It needs no server. The exit code is 2 if the expression has no value.",
		RunE: func(_ *cobra.Command, args []string) error {
			body := map[string]any{"expression": args[0]}
			for name, text := range map[string]string{"input": input, "context": context} {
				if text == "" {
					continue
				}
				v, err := con.readValue("--"+name, text)
				if err != nil {
					return err
				}
				body[name] = v
			}
			given := map[string]any{}
			for _, variable := range variables {
				name, text, ok := strings.Cut(variable, "=")
				if !ok || name == "" {
					return usage("--variable: give NAME=JSON, such as n=1")
				}
				v, err := con.readValue("--variable "+name, text)
				if err != nil {
					return err
				}
				given[strings.TrimPrefix(name, "$")] = v
			}
			body["variables"] = given
			v, problems, err := app.Evaluate(body)
			if err != nil {
				return err
			}
			for _, p := range problems {
				where := ""
				if p.Line > 0 {
					where = fmt.Sprintf("%d:%d: ", p.Line, p.Column)
				}
				fmt.Fprintf(con.err, "%s%s\n", where, printable(p.Detail))
			}
			if problems != nil {
				return &exitError{code: ExitUsage}
			}
			_, err = fmt.Fprintf(con.out, "%s\n", value.Marshal(v))
			return err
		},
	}
	cmd.Flags().StringVar(&input, "input", "", "what . and $input stand for: JSON, @FILE, or - for standard input")
	cmd.Flags().StringVar(&context, "context", "", "what $context stands for, as --input")
	cmd.Flags().StringArrayVar(&variables, "variable", nil, "another variable, as NAME=JSON or NAME=@FILE (repeatable)")
	return cmd
}
