package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/operate"
)

// newSetupToken works on the database itself, beside a running server or without one.
func newSetupToken(con console) *cobra.Command {
	var cfg installation.Settings
	var publicURL string
	cmd := &cobra.Command{
		Use: "setup-token", Short: "Make a token for the first admin; prints the token and nothing else", Args: exactArgs(0),
		Long: "Make a token with which the first admin is made, on the page /setup of the server, within 24 hours. A token\n" +
			"that was made before counts no more. With --public-url the whole address is printed. A server with its own\n" +
			"data directory makes a token by itself when it starts.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fillFlags(cmd); err != nil {
				return err
			}
			text, err := operate.SetupToken(cmd.Context(), cfg, publicURL)
			if err != nil {
				return err
			}
			fmt.Fprintln(con.out, text)
			return nil
		},
	}
	f := cmd.Flags()
	configFlag(f)
	installationFlags(f, &cfg)
	f.StringVar(&publicURL, "public-url", "", "address of the server, which is printed before the token")
	return cmd
}
