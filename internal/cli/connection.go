package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

const defaultURL = "http://127.0.0.1:8080"

// connection is where a client command finds its server: flags, then CHARGEHAND_URL and
// CHARGEHAND_API_KEY, then the context that `chargehand login` saved.
type connection struct {
	console
	url, key string
	output   string // one of formats
	// summaryOnly reports whether the end of a batch needs no more than its summary; nil: no.
	summaryOnly func() bool
}

// register adds the flags that every client command has.
func (c *connection) register(cmd *cobra.Command) { c.registerWith(cmd, formatTable) }

// registerWith is register with another format where --output is not given.
func (c *connection) registerWith(cmd *cobra.Command, format string) {
	cmd.Flags().StringVar(&c.url, "url", "", "address of the server (CHARGEHAND_URL; default "+defaultURL+")")
	choiceVarP(cmd.Flags(), &c.output, "output", "o", format, "how to print", formats...)
}

// saved is the file that login writes.
type saved struct {
	URL    string `json:"url"`
	APIKey string `json:"api_key"`
}

func savedPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "chargehand", "context.json"), nil
}

func readSaved() saved {
	var s saved
	if path, err := savedPath(); err == nil {
		if data, err := os.ReadFile(path); err == nil {
			_ = json.Unmarshal(data, &s) // a file that cannot be read is as none; login writes it anew
		}
	}
	return s
}

func (c *connection) client(options ...client.Option) (*client.Client, error) {
	s := readSaved()
	address := firstOf(c.url, os.Getenv("CHARGEHAND_URL"), s.URL, defaultURL)
	if err := checkAddress(address); err != nil {
		return nil, err
	}
	key := strings.TrimSpace(firstOf(c.key, os.Getenv("CHARGEHAND_API_KEY"), s.APIKey)) // files end in a line break
	if key == "" {
		return nil, &exitError{ExitUnreachable, errors.New("no API key: set CHARGEHAND_API_KEY or run chargehand login (an operator makes keys with chargehand keys create)")}
	}
	return client.New(address, key, options...), nil
}

// checkAddress tells a mistyped address from a server that is not reachable.
func checkAddress(address string) error {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return usage("the address of the server %q is not like %s (--url or CHARGEHAND_URL)", address, defaultURL)
	}
	return nil
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// explain gives an error of the client its exit code.
func explain(err error) error {
	var answer *client.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, client.ErrUnreachable):
		return &exitError{ExitUnreachable, fmt.Errorf("%w; does it run there? --url or CHARGEHAND_URL names another address", err)}
	case !errors.As(err, &answer):
		return err
	case answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden:
		return &exitError{ExitUnreachable, err}
	case answer.Status == http.StatusBadRequest || answer.Status == http.StatusUnprocessableEntity:
		return &exitError{ExitUsage, err}
	}
	return err
}

// explainInterrupt makes Ctrl-C a normal end of a command that follows without end.
func explainInterrupt(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &exitError{code: exitInterrupted}
	}
	return err
}

// action is a client command's work.
type action func(ctx context.Context, c *client.Client, args []string) error

// run wraps an action as cobra wants it.
func (c *connection) run(do action) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		api, err := c.client()
		if err != nil {
			return err
		}
		return explain(do(cmd.Context(), api, args))
	}
}

func newLogin(con console) *cobra.Command {
	var s saved
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Save the server's address and a key for later commands",
		Long:  "Save the server's address and a key for later commands. The key is read from standard input, so that it is not in the history of the shell.",
		Args:  exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprint(con.err, "API key: ")
			if _, err := fmt.Fscanln(con.in, &s.APIKey); err != nil {
				return usage("read the key: %w", err)
			}
			api := client.New(s.URL, strings.TrimSpace(s.APIKey))
			if _, err := api.Limits(cmd.Context()); err != nil {
				return explain(err)
			}
			path, err := savedPath()
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
			data, err := json.Marshal(s)
			if err != nil {
				return err
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				return err
			}
			fmt.Fprintf(con.err, "saved; commands now go to %s\n", s.URL)
			return nil
		},
	}
	cmd.Flags().StringVar(&s.URL, "url", defaultURL, "address of the server")
	return cmd
}

// everyPage gathers a list that comes in pages.
func everyPage[T any](fetch func(cursor string) (page []T, next string, err error)) ([]T, error) {
	all := []T{}
	for cursor := ""; ; {
		page, next, err := fetch(cursor)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if cursor = next; cursor == "" {
			return all, nil
		}
	}
}
