package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/internal/app"
)

// newTemporal is what an operator does once for a Temporal cluster.
func newTemporal(c console) *cobra.Command {
	return group("temporal", "Prepare a Temporal cluster", newTemporalSetup(c))
}

func newTemporalSetup(c console) *cobra.Command {
	var cfg app.Config
	var configFile string
	var retention time.Duration
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Make the namespace and register the search attributes that executions need",
		Long: "Make the namespace, unless it is there, and register the search attributes with which Temporal's own tools\n" +
			"find executions. Running it again changes nothing. Temporal Cloud refuses both: make them in its console.",
		Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := settle(cmd, configFile); err != nil {
				return err
			}
			did, err := app.SetUpTemporal(cmd.Context(), cfg, retention)
			for _, line := range did {
				fmt.Fprintln(c.err, line)
			}
			if err == nil && len(did) == 0 {
				fmt.Fprintln(c.err, "everything is there")
			}
			return err
		},
	}
	f := cmd.Flags()
	configFlag(f, &configFile)
	temporalFlags(f, &cfg)
	daysVar(f, &retention, "retention", "3d", "how long a new namespace keeps the histories of executions that have ended")
	return cmd
}
