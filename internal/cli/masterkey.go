package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/operate"
	"github.com/spf13/cobra"
)

// newRotateMasterKey works on the database and the master key file themselves, beside running servers or without one.
func newRotateMasterKey(con console) *cobra.Command {
	var cfg installation.Settings
	var finish, dataKey bool
	cmd := &cobra.Command{
		Use: "rotate-master-key", Short: "Exchange the master key, beside running servers or without one", Args: exactArgs(0),
		Long: `Exchange the master key of an installation, on the machine of its server, beside running servers or without one.

It adds a new master key to the master key file, and wraps the keys of the installation by it, too. From
then on the old and the new key open the installation. API keys, links and secrets stay valid. If the command is cut
off, run it again: it completes what it began.

Where servers have a master key file of their own, copy the file to each of them. A server that has not got it says
so in its log, and chargehand doctor lists it. When nothing needs the old key any more, --finish removes it.

--data-key makes a new key for sealing as well. Everything that is sealed a minute later or after that is sealed under
it; what older ones have sealed can still be opened.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fillFlags(cmd); err != nil {
				return err
			}
			if finish && dataKey {
				return usage("give --finish or --data-key, not both: --finish makes no keys")
			}
			report, err := operate.ExchangeMasterKey(cmd.Context(), cfg, finish, dataKey)
			if err != nil {
				return err
			}
			switch {
			case !finish:
				how := "made now"
				if !report.Made {
					how = "made before, by an exchange that was cut off"
				}
				fmt.Fprintf(con.out, "master key %s (%s) wraps the keys of the installation; older ones: %s\n", report.Current, how, strings.Join(report.Older, ", "))
				if report.DataKey != 0 {
					fmt.Fprintf(con.out, "data key %d seals from %s on\n", report.DataKey, report.ActiveAt.UTC().Format(time.RFC3339))
				}
				fmt.Fprintf(con.err, "copy the master key file to every server that has its own; then chargehand secrets rotate-master-key --finish removes the older ones\n")
			case len(report.Removed) == 0:
				fmt.Fprintf(con.out, "master key %s is the only one: there was nothing to remove\n", report.Current)
			default:
				fmt.Fprintf(con.out, "master key %s is the only one now; removed: %s\n", report.Current, strings.Join(report.Removed, ", "))
			}
			return nil
		},
	}
	f := cmd.Flags()
	configFlag(f)
	installationFlags(f, &cfg)
	f.BoolVar(&finish, "finish", false, "remove the older master keys, if nothing needs them any more")
	f.BoolVar(&dataKey, "data-key", false, "make a new key for sealing, too")
	commandLineOnly(f, "finish", "data-key")
	return cmd
}
