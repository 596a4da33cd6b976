package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/app"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/notice"
	"github.com/chargehand/chargehand/internal/operate"
)

func newBackup(con console) *cobra.Command {
	var cfg installation.Settings
	cmd := &cobra.Command{
		Use: "backup DIR", Short: "Copy database, files and master key to a new folder; safe beside a running server", Args: exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fillFlags(cmd); err != nil {
				return err
			}
			report, err := operate.Backup(cmd.Context(), cfg, args[0])
			if err != nil {
				return fmt.Errorf("backup: %w", err)
			}
			fmt.Fprintf(con.err, "saved the database, the master key and %s (%d bytes) in %s\nkeep the folder safe: it holds the master key\n", counted(report.Files, "file"), report.Bytes, args[0])
			if report.Unread != nil { // nothing refers to it
				fmt.Fprintf(con.err, "left out: %v\n", report.Unread)
			}
			return nil
		},
	}
	configFlag(cmd.Flags())
	installationFlags(cmd.Flags(), &cfg)
	return cmd
}

// newRestore reads no file of settings: what it makes is complete in a directory of its own, whatever the server has.
func newRestore(con console) *cobra.Command {
	var dataDir string
	cmd := &cobra.Command{
		Use: "restore DIR", Short: "Make a data directory from a backup; the directory must be new or empty", Args: exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fillFlags(cmd); err != nil {
				return err
			}
			report, err := operate.Restore(cmd.Context(), args[0], dataDir)
			if err != nil {
				return fmt.Errorf("restore: %w", err)
			}
			fmt.Fprintf(con.err, "restored the database, the master key and %s (%d bytes) to %s\n", counted(report.Files, "file"), report.Bytes, dataDir)
			if report.Unread != nil {
				fmt.Fprintf(con.err, "left out: %v\n", report.Unread)
			}
			// What is not sealed was compared with its digest on the way.
			checks := operate.Checks{Deep: report.Sealed > 0}
			if !printFindings(con, operate.Doctor(cmd.Context(), installation.Settings{DataDir: dataDir}, checks)) {
				return &exitError{code: ExitFailed}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dataDir, "data-dir", "chargehand-data", "data directory to make")
	return cmd
}

func newDoctor(con console) *cobra.Command {
	var cfg installation.Settings
	var checks operate.Checks
	var output, mailTo string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check an installation: permissions, master key, database, files, counts, mail server, Temporal", Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fillFlags(cmd); err != nil {
				return err
			}
			findings := operate.Doctor(cmd.Context(), cfg, checks)
			if cfg.Mail.URL != "" || cfg.Mail.From != "" || mailTo != "" {
				findings = append(findings, operate.CheckMail(cmd.Context(), cfg, mailTo))
			}
			ok := allWell(findings)
			if err := writeFindings(con, output, ok, findings); err != nil {
				return err
			}
			if !ok {
				return &exitError{code: ExitFailed}
			}
			return nil
		},
	}
	configFlag(cmd.Flags())
	installationFlags(cmd.Flags(), &cfg)
	cmd.Flags().BoolVar(&checks.Deep, "deep", false, "read every stored content and compare its digest")
	cmd.Flags().BoolVar(&checks.MendCounts, "mend-counts", false, "raise the counts of executions by the hour that are too low")
	choiceVarP(cmd.Flags(), &output, "output", "o", formatTable, "how to print", formats...)
	cmd.Flags().StringVar(&cfg.Engine, "engine", installation.EngineEmbedded, "what drives executions; with temporal, Temporal is checked too")
	temporalFlags(cmd.Flags(), &cfg)
	encryptFlag(cmd.Flags(), &cfg)
	mailFlags(cmd.Flags(), &cfg)
	cmd.Flags().StringVar(&mailTo, "mail-to", "", "send a test mail to this address")
	return cmd
}

// printFindings prints what doctor found, and reports whether all is well.
func printFindings(con console, findings []operate.Finding) bool {
	ok := true
	for _, finding := range findings {
		mark := con.paint("32", "ok")
		if !finding.OK {
			mark, ok = con.paint("31", "wrong"), false
		}
		fmt.Fprintf(con.out, "%-5s  %s: %s\n", mark, finding.What, finding.Detail)
		for _, damage := range finding.Damages {
			fmt.Fprintf(con.out, "       - %s\n", damage)
		}
	}
	return ok
}

// allWell reports whether nothing is wrong.
func allWell(findings []operate.Finding) bool {
	return !slices.ContainsFunc(findings, func(f operate.Finding) bool { return !f.OK })
}

// writeFindings prints what doctor found: for people, or for programs with the sum of it.
func writeFindings(con console, output string, ok bool, findings []operate.Finding) error {
	c := connection{console: con, output: output}
	switch {
	case c.tables():
		printFindings(con, findings)
		return nil
	case output == formatJSONL:
		return encodeList(con, output, findings)
	}
	return c.encode(map[string]any{"ok": ok, "findings": findings})
}

func newOpenAPI(con console) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "openapi", Short: "Print the OpenAPI 3.1 document of the API", Args: exactArgs(0),
		RunE: func(*cobra.Command, []string) error {
			document, err := app.OpenAPI(output == "yaml")
			if err != nil {
				return err
			}
			_, err = con.out.Write(document)
			return err
		},
	}
	choiceVarP(cmd.Flags(), &output, "output", "o", formatYAML, "how to print", formatYAML, formatJSON)
	return cmd
}

func newLicences(con console) *cobra.Command {
	return &cobra.Command{
		Use: "licences", Aliases: []string{"licenses"}, Short: "Print what is linked into this program, and the licences of it", Args: exactArgs(0),
		Long: "Print what is linked into this program, and the licences of it: the Go modules, and the npm packages of the web UI where it is built in.",
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(con.out, notice.Text(app.UINotices()))
			return err
		},
	}
}

func newVersion(con console) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: exactArgs(0),
		Long: "Print the version. As JSON also whether this program has the web UI: one that was built without Node has not.",
		RunE: func(*cobra.Command, []string) error {
			if output == formatJSON {
				return json.NewEncoder(con.out).Encode(map[string]any{"version": app.Version, "ui": app.HasUI()})
			}
			return printVersion(con)
		},
	}
	choiceVarP(cmd.Flags(), &output, "output", "o", formatTable, "how to print", formatTable, formatJSON)
	return cmd
}

func printVersion(con console) error {
	_, err := fmt.Fprintln(con.out, "chargehand", app.Version)
	return err
}

func newLimits(con console) *cobra.Command {
	c := &connection{console: con}
	return newList(c, listing[client.Limit]{
		use: "limits", short: "Show the limits, and what is used of the quotas", args: exactArgs(0), limit: 1000,
		columns: "LIMIT VALUE> USED> SETTING? MEANING_", key: func(l *client.Limit) string { return l.Name },
		row: func(l *client.Limit) []string {
			used := ""
			if l.Used != nil {
				used = fmt.Sprint(*l.Used)
			}
			return []string{l.Name, fmt.Sprint(l.Value), used, l.Setting, l.Description}
		},
		prepare: func(_ context.Context, api *client.Client, _ []string) (fetch[client.Limit], error) {
			return func(ctx context.Context, _ int, _ string) (*client.Page[client.Limit], error) {
				limits, err := api.Limits(ctx) // all at once
				return &client.Page[client.Limit]{Data: limits}, err
			}, nil
		},
	})
}

// newReady asks whether a server is up; scripts wait with it.
func newReady(con console) *cobra.Command {
	c := &connection{console: con}
	var wait time.Duration
	cmd := &cobra.Command{
		Use: "ready", Short: "Ask whether the server is ready; exit code 4 if not", Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.server()
			if err != nil {
				return err
			}
			api := client.New(s.url, "", client.WithoutRetries())
			deadline := time.Now().Add(wait)
			for {
				err := api.Ready(cmd.Context())
				if err == nil {
					return nil
				}
				if time.Now().After(deadline) {
					return &exitError{ExitUnreachable, err}
				}
				select {
				case <-time.After(readyPause):
				case <-cmd.Context().Done():
					return &exitError{code: exitInterrupted}
				}
			}
		},
	}
	c.registerServer(cmd)
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait this long for the server, such as 10s")
	return cmd
}

// readyPause lies between two questions of `ready --wait`.
const readyPause = 100 * time.Millisecond
