package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/app"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/notice"
	"github.com/chargehand/chargehand/internal/operate"
)

func newKeys(con console) *cobra.Command {
	c := &connection{console: con}
	return group("keys", "Make, list, rotate and revoke API keys", newKeysCreate(con), c.keysList(), c.keysRotate(), c.keysRevoke())
}

// newKeysCreate works on the database itself, beside a running server or without one.
func newKeysCreate(con console) *cobra.Command {
	var cfg installation.Settings
	var k operate.NewKey
	var expires, configFile string
	var rate int64
	cmd := &cobra.Command{
		Use: "create", Short: "Make an API key; prints the key and nothing else", Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fillFlags(cmd, configFile); err != nil {
				return err
			}
			if expires != "" {
				life, err := parseDays(expires)
				if err != nil {
					return usage("--expires: %w", err)
				}
				k.Life = life
			}
			if cmd.Flags().Changed("rate-limit") {
				k.RateLimit = &rate
			}
			secret, err := operate.CreateKey(cmd.Context(), cfg, k)
			if err != nil {
				return err
			}
			fmt.Fprintln(con.out, secret)
			return nil
		},
	}
	f := cmd.Flags()
	configFlag(f, &configFile)
	installationFlags(f, &cfg)
	f.StringVar(&k.Name, "name", "", "name of the key")
	choiceVar(f, &k.Environment, "environment", "live", "environment of the key", "live", "test")
	choiceVar(f, &k.Preset, "preset", "", "what the key may do (default run)", "run", "observe", "operate", "deploy", "all")
	f.StringSliceVar(&k.Scopes, "scopes", nil, "scopes instead of a preset")
	f.StringSliceVar(&k.Workflows, "workflows", nil, "the only workflows that the key sees, as namespace/name or id")
	f.StringSliceVar(&k.Namespaces, "namespaces", nil, "the only namespaces that the key sees")
	f.StringSliceVar(&k.Addresses, "allowed-addresses", nil, "the only addresses that the key may be used from, or ranges, such as 192.0.2.0/24")
	f.Int64Var(&rate, "rate-limit", 0, "requests per second of the key, 0: no limit (default: that of the installation)")
	f.StringVar(&expires, "expires", "", "life of the key, such as 90d or 12h (default: no end)")
	commandLineOnly(f, "workflows", "rate-limit") // settings of serve have these names too
	f.BoolVar(&k.Init, "init", false, "make the installation if there is none: without it, only serve does")
	return cmd
}

// parseDays reads a duration as time.ParseDuration does, and days: 90d.
func parseDays(text string) (time.Duration, error) {
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		n, err := strconv.Atoi(days)
		if err != nil || n <= 0 || n > 36_500 {
			return 0, fmt.Errorf("%q is not a number of days", text)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a duration such as 90d or 12h", text)
	}
	return d, nil
}

// days is a flag that parseDays reads.
type days struct {
	value *time.Duration
	text  string
}

func daysVar(f *pflag.FlagSet, value *time.Duration, name, preset, usage string) {
	d := &days{value: value}
	if err := d.Set(preset); err != nil {
		panic(err)
	}
	f.Var(d, name, usage)
}

func (d *days) String() string { return d.text }
func (d *days) Type() string   { return "duration" }

func (d *days) Set(text string) (err error) {
	d.text = text
	*d.value, err = parseDays(text)
	return err
}

func (c *connection) keysList() *cobra.Command {
	known := newNames(nil)
	personal := false
	cmd := newList(c, listing[client.Key]{
		use: "list", short: "List the keys of this key's environment, newest first", args: exactArgs(0), limit: maxPage,
		columns: "ID KEY NAME~ PRESET LIMITS~ EXPIRES USED SCOPES*", key: func(k *client.Key) string { return k.ID },
		row: func(k *client.Key) []string {
			return []string{c.id(k.ID), k.Prefix + "…" + k.LastFour, k.Name, operate.PresetOf(k.Scopes), c.keyLimits(known, k), c.when(k.ExpiresAt), c.when(k.LastUsedAt), strings.Join(k.Scopes, ",")}
		},
		prepare: func(_ context.Context, api *client.Client, _ []string) (fetch[client.Key], error) {
			known.api = api
			return func(ctx context.Context, limit int, cursor string) (*client.Page[client.Key], error) {
				list := api.ListKeys
				if personal {
					list = api.ListPersonalKeys
				}
				p, err := list(ctx, limit, cursor)
				if c.tables() {
					for i := range p.Data {
						known.learn(ctx, p.Data[i].Workflows)
					}
				}
				return p, err
			}, nil
		},
	})
	cmd.Flags().BoolVar(&personal, "personal", false, "list your own personal keys alone, which needs no scope")
	return cmd
}

// keyLimits are the namespaces and workflows that a key is limited to; none: it sees all of them.
func (c *connection) keyLimits(known *names, k *client.Key) string {
	var limits []string
	for _, namespace := range k.Namespaces {
		limits = append(limits, namespace+"/*")
	}
	for _, id := range k.Workflows {
		limits = append(limits, c.workflowName(known, id))
	}
	return strings.Join(limits, ", ")
}

func (c *connection) keysRotate() *cobra.Command {
	var text string
	cmd := c.verb("rotate KEY", "Give a key another secret, and print it; the one before counts for a while", exactArgs(1),
		func(ctx context.Context, api *client.Client, args []string) error {
			var grace time.Duration
			if text != "0" && text != "0s" {
				var err error
				if grace, err = parseDays(text); err != nil {
					return usage("--grace: %w", err)
				}
			}
			k, err := findKey(ctx, api, args[0])
			if err != nil {
				return err
			}
			rotated, err := api.RotateKey(ctx, k.ID, grace)
			if err != nil {
				return err
			}
			fmt.Fprintln(c.out, rotated.Key)
			if until := rotated.PreviousKeyUntil; until != nil {
				fmt.Fprintf(c.err, "the secret before counts until %s\n", c.when(until))
			} else {
				fmt.Fprintln(c.err, "the secret before counts no more")
			}
			return nil
		})
	cmd.Flags().StringVar(&text, "grace", "24h", "how long the secret before still counts, from 0s to 7d")
	return cmd
}

func (c *connection) keysRevoke() *cobra.Command {
	var yes bool
	cmd := c.verb("revoke KEY", "Revoke a key permanently", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		k, err := findKey(ctx, api, args[0])
		if err != nil {
			return err
		}
		what := fmt.Sprintf("revoke the key %s…%s %q: every request with it is refused from then on", k.Prefix, k.LastFour, printable(k.Name))
		if err := c.confirm(ctx, yes, what); err != nil {
			return err
		}
		if err := api.RevokeKey(ctx, k.ID); err != nil {
			return err
		}
		fmt.Fprintln(c.err, "revoked", k.ID)
		return nil
	})
	yesFlag(cmd, &yes)
	return cmd
}

// findKey returns the key that text names: its id or a part of it.
func findKey(ctx context.Context, api *client.Client, text string) (*client.Key, error) {
	all, _, err := gather(ctx, api.ListKeys, allRows, "")
	if err != nil {
		return nil, err
	}
	return rowWithID("key", text, all, func(k *client.Key) string { return k.ID })
}

func newBackup(con console) *cobra.Command {
	var cfg installation.Settings
	cmd := &cobra.Command{
		Use: "backup DIR", Short: "Copy database, files and master key to a new folder; safe beside a running server", Args: exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fillFlags(cmd, ""); err != nil {
				return err
			}
			report, err := operate.Backup(cmd.Context(), cfg, args[0])
			if err != nil {
				return fmt.Errorf("backup: %w", err)
			}
			fmt.Fprintf(con.err, "saved the database, the master key and %d files (%d bytes) in %s\nkeep the folder safe: it holds the master key\n", report.Files, report.Bytes, args[0])
			return nil
		},
	}
	installationFlags(cmd.Flags(), &cfg)
	return cmd
}

func newRestore(con console) *cobra.Command {
	var dataDir string
	cmd := &cobra.Command{
		Use: "restore DIR", Short: "Make a data directory from a backup; the directory must be new or empty", Args: exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fillFlags(cmd, ""); err != nil {
				return err
			}
			report, err := operate.Restore(cmd.Context(), args[0], dataDir)
			if err != nil {
				return fmt.Errorf("restore: %w", err)
			}
			fmt.Fprintf(con.err, "restored the database, the master key and %d files (%d bytes) to %s\n", report.Files, report.Bytes, dataDir)
			// The digests were compared on the way.
			if !printFindings(con, operate.Doctor(cmd.Context(), installation.Settings{DataDir: dataDir}, operate.Checks{})) {
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
			if err := fillFlags(cmd, ""); err != nil {
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
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(con.out, notice.Text())
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
		columns: "LIMIT VALUE> USED> SETTING MEANING~", key: func(l *client.Limit) string { return l.Name },
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
