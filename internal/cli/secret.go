package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/chargehand/chargehand/client"
)

// maxSecretInput bounds what is read for a value; the server's own bound is lower.
const maxSecretInput = 1 << 20

func newSecrets(con console) *cobra.Command {
	c := &connection{console: con}
	return group("secrets", "Set, list and delete the secrets that workflows use", c.secretsList(), c.secretsGet(), c.secretsSet(), c.secretsDelete())
}

func secretRow(s *client.Secret) []string {
	return []string{s.Name, fmt.Sprint(s.Version), stamp(&s.CreatedAt), stamp(&s.UpdatedAt)}
}

const secretHeader = "NAME VERSION CREATED UPDATED"

func (c *connection) secretsList() *cobra.Command {
	var limit int
	var cursor string
	cmd := c.verb("list", "List the secrets of the key's environment, newest first; values are never shown", exactArgs(0), func(ctx context.Context, api *client.Client, _ []string) error {
		p, err := api.ListSecrets(ctx, limit, cursor)
		if err != nil {
			return err
		}
		var rows [][]string
		for i := range p.Data {
			rows = append(rows, secretRow(&p.Data[i]))
		}
		if err := c.print(p, secretHeader, rows); err != nil {
			return err
		}
		if c.output != "json" && p.Cursor != "" {
			fmt.Fprintf(c.err, "more: --cursor %s\n", p.Cursor)
		}
		return nil
	})
	pageFlags(cmd, &limit, &cursor)
	return cmd
}

func (c *connection) secretsGet() *cobra.Command {
	return c.verb("get NAME", "Describe a secret; its value is never shown", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		s, err := api.GetSecret(ctx, args[0])
		if err != nil {
			return err
		}
		return c.print(s, secretHeader, [][]string{secretRow(s)})
	})
}

func (c *connection) secretsSet() *cobra.Command {
	var file string
	var isJSON bool
	cmd := c.verb("set NAME", "Create a secret, or set a new version of it", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		value, err := c.readSecret(args[0], file, isJSON)
		if err != nil {
			return err
		}
		s, err := api.PutSecret(ctx, args[0], value)
		if err != nil {
			return err
		}
		return c.print(s, secretHeader, [][]string{secretRow(s)})
	})
	cmd.Long = `Create a secret, or set a new version of it, in the environment of the key.

The value is read from standard input, or asked for on a terminal without being shown. It is
never an argument: others could see it there. A line break at its end is left out. With --json it is any JSON value but
null, for example {"username": "…", "password": "…"} for an authentication of a workflow.

Executions that have started keep the version that they started with.`
	cmd.Example = `  chargehand secrets set api-token < token.txt
  printf '{"username":"ci","password":"%s"}' "$PASSWORD" | chargehand secrets set registry --json`
	cmd.Flags().StringVar(&file, "from-file", "", "read the value from this file instead of standard input")
	cmd.Flags().BoolVar(&isJSON, "json", false, "the value is JSON, not a text")
	return cmd
}

func (c *connection) secretsDelete() *cobra.Command {
	return c.verb("delete NAME", "Delete a secret; executions that have started keep it", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		if err := api.DeleteSecret(ctx, args[0]); err != nil {
			return err
		}
		fmt.Fprintln(c.err, "deleted", printable(args[0]))
		return nil
	})
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
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(f, maxSecretInput+1))
	}
	if f, ok := c.in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(c.err, "value of %s (not shown): ", printable(name))
		data, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(c.err)
		return data, err
	}
	return io.ReadAll(io.LimitReader(c.in, maxSecretInput+1))
}
