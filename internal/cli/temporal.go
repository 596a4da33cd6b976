package cli

import (
	"fmt"
	"time"

	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/operate"
	"github.com/spf13/cobra"
)

// newTemporal is what an operator does once for a Temporal cluster.
func newTemporal(c console) *cobra.Command {
	return group("temporal", "Prepare a Temporal cluster", newTemporalSetup(c), newTemporalForget(c))
}

func newTemporalSetup(c console) *cobra.Command {
	var cfg installation.Settings
	var retention time.Duration
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Make the namespace and register the search attributes that executions need",
		Long: "Make the namespace, unless it exists, and register the search attributes with which Temporal's own tools\n" +
			"find executions. Running it again changes nothing. Temporal Cloud refuses both: make them in its console.",
		Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fillFlags(cmd); err != nil {
				return err
			}
			did, err := operate.SetUpTemporal(cmd.Context(), cfg, retention)
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
	configFlag(f)
	temporalFlags(f, &cfg)
	daysVar(f, &retention, "retention", "3d", "how long a new namespace keeps the histories of executions that have ended")
	return cmd
}

func newTemporalForget(c console) *cobra.Command {
	var cfg installation.Settings
	var yes bool
	cmd := &cobra.Command{
		Use:   "forget",
		Short: "Give up the executions that have begun in a namespace that is lost",
		Long: "Let the servers of a database start with another namespace although executions have begun, when theirs is lost\n" +
			"for good. Those executions end as errors of the system within minutes; what is queued continues. Stop all servers\n" +
			"and workers first.",
		Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fillFlags(cmd); err != nil {
				return err
			}
			if !yes {
				return usage("this ends every execution that has begun: say --yes if their namespace is lost for good")
			}
			begun, err := operate.ForgetNamespace(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.err, "the namespace is forgotten; executions that had begun: %d\n", begun)
			return nil
		},
	}
	f := cmd.Flags()
	configFlag(f)
	installationFlags(f, &cfg)
	f.BoolVar(&yes, "yes", false, "the namespace is lost, and its executions are to end")
	return cmd
}
