package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/installation"
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
	var expires string
	var rate int64
	cmd := &cobra.Command{
		Use: "create", Short: "Make an API key; prints the key and nothing else", Args: exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fillFlags(cmd); err != nil {
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
	configFlag(f)
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
