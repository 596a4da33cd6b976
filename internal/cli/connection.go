package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

const defaultURL = "http://127.0.0.1:8080"

// connection is where a client command finds its server: flags, then CHARGEHAND_URL and CHARGEHAND_API_KEY, then the
// current context. With --context nothing else counts.
type connection struct {
	console
	url, context, environment string // of flags
	output                    string // one of formats
	// summaryOnly reports whether the end of a batch needs no more than its summary; nil: no.
	summaryOnly func() bool
}

// register adds the flags that every client command has.
func (c *connection) register(cmd *cobra.Command) { c.registerWith(cmd, formatTable) }

// registerWith is register with another format where --output is not given.
func (c *connection) registerWith(cmd *cobra.Command, format string) {
	c.registerServer(cmd)
	choiceVarP(cmd.Flags(), &c.output, "output", "o", format, "how to print", formats...)
}

// registerServer adds the flags that say which server a command talks to.
func (c *connection) registerServer(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.url, "url", "", "address of the server (CHARGEHAND_URL; default: that of the context, or "+defaultURL+")")
	f.StringVar(&c.context, "context", "", "saved server to talk to (CHARGEHAND_CONTEXT; default: the current one)")
	choiceVar(f, &c.environment, "environment", "", "environment to work in (CHARGEHAND_ENVIRONMENT; default: that of the context)", environmentNames...)
}

// server is where a command goes: an address, and the key for it.
type server struct{ url, key string }

// server finds out where the command goes. key is empty if there is none.
func (c *connection) server() (server, error) {
	environment := firstOf(c.environment, os.Getenv("CHARGEHAND_ENVIRONMENT"))
	if environment != "" && !slices.Contains(environmentNames, environment) {
		return server{}, usage("CHARGEHAND_ENVIRONMENT: %q must be one of %s", environment, strings.Join(environmentNames, ", "))
	}
	if c.context != "" {
		return c.named(environment)
	}
	s := server{url: firstOf(c.url, os.Getenv("CHARGEHAND_URL"))}
	s.key = strings.TrimSpace(os.Getenv("CHARGEHAND_API_KEY")) // files end in a line break
	if s.url == "" || s.key == "" {
		saved, err := readContexts()
		if err != nil {
			return server{}, err
		}
		_, one, err := saved.current()
		if err != nil {
			return server{}, err
		}
		s.url = firstOf(s.url, one.URL, defaultURL)
		if s.key == "" && serverAddress(s.url) == one.URL { // a key goes to its own server alone
			s.key = one.Keys[firstOf(environment, one.environment())].Key
		}
	}
	if err := checkAddress(s.url); err != nil {
		return server{}, err
	}
	for _, other := range environmentNames {
		if environment != "" && other != environment && strings.HasPrefix(s.key, "sk_"+other+"_") {
			return server{}, usage("the key in CHARGEHAND_API_KEY is one of %s, and the environment %s was asked for", other, environment)
		}
	}
	return s, nil
}

// named is the server of --context.
func (c *connection) named(environment string) (server, error) {
	if c.url != "" {
		return server{}, usage("give --context or --url, not both")
	}
	saved, err := readContexts()
	if err != nil {
		return server{}, err
	}
	one, err := saved.find(c.context)
	if err != nil {
		return server{}, err
	}
	return server{one.URL, one.Keys[firstOf(environment, one.environment())].Key}, nil
}

// needKey refuses a server without a key.
func (c *connection) needKey() (server, error) {
	s, err := c.server()
	if err == nil && s.key == "" {
		err = &exitError{ExitUnreachable, fmt.Errorf("no API key for %s%s: run chargehand login %s, or set CHARGEHAND_API_KEY (an operator makes keys with chargehand keys create)",
			s.url, inEnvironment(firstOf(c.environment, os.Getenv("CHARGEHAND_ENVIRONMENT"))), s.url)}
	}
	return s, err
}

func inEnvironment(name string) string {
	if name == "" {
		return ""
	}
	return " in " + name
}

func (c *connection) client(options ...client.Option) (*client.Client, error) {
	s, err := c.needKey()
	if err != nil {
		return nil, err
	}
	return client.New(s.url, s.key, options...), nil
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
	var exit *exitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit): // it has one
		return err
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
