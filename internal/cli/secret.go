package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/chargehand/chargehand/client"
)

// maxSecretInput bounds what is read for a value; the server's own bound is lower.
const maxSecretInput = 1 << 20

func newSecrets(con console) *cobra.Command {
	c := &connection{console: con}
	return group("secrets", "Set, list and delete the secrets that workflows use; exchange the master key", c.secretsList(), c.secretsGet(), c.secretsSet(), c.secretsRollBack(), c.secretsDelete(), newRotateMasterKey(con))
}

func (c *connection) secretRow(s *client.Secret) []string {
	return []string{s.Name, fmt.Sprint(s.Version), c.when(&s.CreatedAt), c.when(&s.UpdatedAt)}
}

const secretColumns = "NAME~ VERSION> CREATED UPDATED"

func (c *connection) showSecret(s *client.Secret) error {
	if !c.tables() {
		return c.encode(s)
	}
	return c.table(columns(secretColumns), [][]string{c.secretRow(s)}, true)
}

func (c *connection) secretsList() *cobra.Command {
	return newList(c, listing[client.Secret]{
		use: "list", short: "List the secrets of the key's environment, newest first; values are never shown", args: exactArgs(0), limit: maxPage,
		columns: secretColumns, row: c.secretRow, key: func(s *client.Secret) string { return s.Name },
		prepare: func(_ context.Context, api *client.Client, _ []string) (fetch[client.Secret], error) {
			return api.ListSecrets, nil
		},
	})
}

func (c *connection) secretsGet() *cobra.Command {
	return c.verb("get SECRET", "List the versions of a secret and the workflows that declare it; values are never shown", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		s, err := api.GetSecret(ctx, args[0])
		if err != nil {
			return err
		}
		return c.describeSecret(s)
	})
}

// describeSecret is showSecret with a row for each version, and the workflows that declare the secret.
func (c *connection) describeSecret(s *client.Secret) error {
	if !c.tables() {
		return c.encode(s)
	}
	rows := make([][]string, len(s.Versions))
	for i, v := range s.Versions {
		restores := "-"
		if v.Restores != 0 {
			restores = fmt.Sprint(v.Restores)
		}
		rows[i] = []string{s.Name, fmt.Sprint(v.Version), c.when(&v.SetAt), restores}
	}
	if err := c.table(columns("NAME~ VERSION> SET RESTORES>"), rows, true); err != nil {
		return err
	}
	users := make([]string, len(s.UsedBy))
	for i, w := range s.UsedBy {
		users[i] = printable(w.Workflow)
	}
	if len(users) == 0 {
		users = []string{"no workflow"}
	}
	fmt.Fprintln(c.out, "declared by", strings.Join(users, ", "))
	return nil
}

func (c *connection) secretsRollBack() *cobra.Command {
	cmd := c.verb("rollback SECRET VERSION", "Set the value of an earlier version again, as a new version", exactArgs(2),
		func(ctx context.Context, api *client.Client, args []string) error {
			version, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil || version < 1 {
				return usage("%q is not the number of a version: chargehand secrets get %s lists them", args[1], printable(args[0]))
			}
			s, err := api.RollBackSecret(ctx, args[0], version)
			if err != nil {
				return err
			}
			return c.describeSecret(s)
		})
	cmd.Long = `Set the value of an earlier version again, as a new version. chargehand secrets get lists the versions: the newest 10
are kept. Executions that have started keep the version that they started with.`
	return cmd
}

func (c *connection) secretsSet() *cobra.Command {
	var file string
	var isJSON bool
	var n client.NewSecret
	cmd := c.verb("set SECRET", "Create a secret, or set a new version of it", oneSecret, func(ctx context.Context, api *client.Client, args []string) error {
		value, err := c.readSecret(args[0], file, isJSON)
		if err != nil {
			return err
		}
		n.Value = value
		s, err := api.PutSecret(ctx, args[0], n)
		if err != nil {
			return err
		}
		return c.showSecret(s)
	})
	cmd.Long = `Create a secret, or set a new version of it, in the environment of the key.

The value is read from standard input, or asked for on a terminal without being shown. It is
never an argument: others could see it there. A line break at its end is left out. With --json it is any JSON value but
null, for example {"username": "…", "password": "…"} for an authentication of a workflow.

Executions that have started keep the version that they started with. With --workflows or --namespaces only
these may declare the secret; without, that stays as it was.`
	cmd.Flags().StringSliceVar(&n.Workflows, "workflows", nil, "the only workflows that may declare the secret, as namespace/name or id")
	cmd.Flags().StringSliceVar(&n.Namespaces, "namespaces", nil, "the only namespaces whose workflows may declare the secret")
	cmd.Flags().StringVar(&file, "from-file", "", "read the value from this file instead of standard input")
	cmd.Flags().BoolVar(&isJSON, "json", false, "the value is JSON, not a text")
	return cmd
}

// oneSecret refuses a value among the arguments, without repeating it.
func oneSecret(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage("the value of a secret is never an argument, because other programs and the history of the shell would see it: " +
			"type it when you are asked, or give it on standard input or with --from-file")
	}
	return countArgs(cmd, args, 1, 1)
}

func (c *connection) secretsDelete() *cobra.Command {
	var yes bool
	cmd := c.verb("delete SECRET", "Delete a secret; executions that have started keep it", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		if !yes {
			if _, err := api.GetSecret(ctx, args[0]); err != nil {
				return err
			}
		}
		if err := c.confirm(ctx, yes, fmt.Sprintf("delete the secret %s: executions that start later and use it fail", printable(args[0]))); err != nil {
			return err
		}
		if err := api.DeleteSecret(ctx, args[0]); err != nil {
			return err
		}
		fmt.Fprintln(c.err, "deleted", printable(args[0]))
		return nil
	})
	yesFlag(cmd, &yes)
	return cmd
}

// readSecret reads the value of a secret as JSON. Its errors never tell the value.
func (c *connection) readSecret(name, file string, isJSON bool) (json.RawMessage, error) {
	data, err := c.readSecretBytes(name, file)
	if err != nil {
		return nil, usage("read the value: %w", err)
	}
	if len(data) > maxSecretInput {
		return nil, usage("the value has more than %d bytes", maxSecretInput)
	}
	if isJSON {
		if !json.Valid(data) {
			return nil, usage("the value is not JSON; leave out --json for a text")
		}
		return json.RawMessage(data), nil
	}
	data = bytes.TrimSuffix(bytes.TrimSuffix(data, []byte("\n")), []byte("\r"))
	switch {
	case len(data) == 0:
		return nil, usage("the value is empty; chargehand secrets delete removes a secret")
	case !utf8.Valid(data):
		return nil, usage("the value is no text in UTF-8; encode it first, for example with base64")
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(string(data)); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

func (c *connection) readSecretBytes(name, file string) ([]byte, error) {
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return nil, unreadable(err)
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, maxSecretInput+1))
		return data, unreadable(err)
	}
	if f, ok := c.in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(c.err, "value of %s (not shown): ", printable(name))
		data, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(c.err)
		return data, err
	}
	return io.ReadAll(io.LimitReader(c.in, maxSecretInput+1))
}
