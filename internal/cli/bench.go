package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/internal/bench"
)

func newBench(con console) *cobra.Command {
	c := &connection{console: con}
	var cfg bench.Config
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure a running server: executions per second, latency, batches",
		Long: "Measure a running server, beside an empty JSON handler in the same run. The server must run with --rate-limit 0,\n" +
			"and with --allow-egress 127.0.0.1 for the steps that make calls; the key needs the preset all.",
		Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.needKey()
			if err != nil {
				return err
			}
			cfg.API, cfg.Key = s.url, s.key
			cfg.Progress = con.err
			if !terminal(con.err) {
				cfg.Progress = io.Discard
			}
			figures, err := bench.Run(cmd.Context(), cfg)
			var rows [][]string
			for _, f := range figures {
				ratio := ""
				if f.Ratio > 0 {
					ratio = fmt.Sprintf("%.1f%%", 100*f.Ratio)
				}
				rows = append(rows, []string{f.Name, fmt.Sprintf("%.2f", f.Value), f.Unit, ratio})
			}
			if !c.tables() {
				return errors.Join(encodeList(con, c.output, figures), err)
			}
			return errors.Join(c.table(columns("MEASURED FIGURE> UNIT RATIO>"), rows, true), err)
		},
	}
	c.register(cmd)
	f := cmd.Flags()
	f.DurationVar(&cfg.Duration, "duration", 5*time.Second, "time for each measurement")
	f.IntVar(&cfg.Connections, "connections", 64, "connections at once")
	f.IntSliceVar(&cfg.Batches, "batches", []int{1000, 10000}, "sizes of batches")
	f.StringVar(&cfg.DataDir, "data-dir", "", "data directory of the server, to measure bytes on disk")
	f.IntVar(&cfg.PID, "pid", 0, "process id of the server, to measure its memory")
	f.StringVar(&cfg.Only, "only", "", "measurements to take: trivial, ten-set, wait, finish, ten-http, batch, memory")
	return cmd
}
