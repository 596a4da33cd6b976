package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/chargehand/chargehand/client"
)

// login saves a server and keys for it as a context.
type login struct {
	console
	name string // of the context; empty: after the server
	key  string // "-": a key from standard input
	// environment is the only one to ask for a key of; empty: both.
	environment string
	admin       bool // it asks for keys with the rights of an admin
}

func newLogin(con console) *cobra.Command {
	l := &login{console: con}
	cmd := &cobra.Command{
		Use: "login [URL]", Short: "Sign in to a server, or save a key for it, for later commands", Args: atMostArgs(1),
		Long: `Sign in to a server, and save it with a personal key for each environment as a context, which becomes the current one.

It shows the address of a page and a code of 8 letters. Open the page in a browser, on this machine or another one, sign
in there, type the code and allow the keys. They may do what you may do, except for what needs the scope admin, and
end after a year. With --admin they may do that too, if you are an admin, and end after 30 days.

URL is the address of the server (default: CHARGEHAND_URL, or ` + defaultURL + `). With --key - no person signs in:
an API key is read from standard input, or asked for on a terminal without being shown. A second key, of the other
environment, joins the first one. The file of contexts can be read by its owner alone.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			address := firstOf(strings.Join(args, ""), os.Getenv("CHARGEHAND_URL"), defaultURL)
			if err := checkAddress(address); err != nil {
				return err
			}
			address = serverAddress(address)
			if err := checkContextName(firstOf(l.name, hostName(address))); err != nil {
				return err
			}
			switch {
			case l.key == "-" && l.environment != "":
				return usage("give --key or --environment, not both: a key says its environment")
			case l.key == "-" && l.admin:
				return usage("give --key or --admin, not both: a key keeps the scopes that it has")
			case l.key == "-":
				return explain(l.withKey(cmd.Context(), address))
			case cmd.Flags().Changed("key"):
				return usage("a key is never an argument, because other programs and the history of the shell would see it: --key - reads it from standard input")
			}
			return explain(l.withCode(cmd.Context(), address))
		},
	}
	cmd.Flags().StringVar(&l.name, "context", "", "name of the context (default: the host of the server)")
	cmd.Flags().StringVar(&l.key, "key", "", "-: read an API key from standard input instead of signing in")
	cmd.Flags().BoolVar(&l.admin, "admin", false, "ask for keys with the rights of an admin, which end after 30 days")
	choiceVar(cmd.Flags(), &l.environment, "environment", "", "ask for a key of this environment alone", environmentNames...)
	return cmd
}

// withCode gets personal keys by the device grant (RFC 8628).
func (l *login) withCode(ctx context.Context, address string) error {
	api := client.New(address, "", client.WithoutRetries())
	request := client.DeviceRequest{Name: "chargehand", Admin: l.admin}
	if host, err := os.Hostname(); err == nil && host != "" {
		request.Name += " on " + host
	}
	if l.environment != "" {
		request.Environments = []string{l.environment}
	}
	code, err := api.StartDevice(ctx, request)
	if err != nil {
		return err
	}
	fmt.Fprintf(l.err, "Open %s in a browser, sign in, and type this code:\n\n  %s\n\nWaiting until you allow it there, for %d minutes at most (Ctrl-C gives up) …\n",
		printable(code.VerificationURI), printable(code.UserCode), code.ExpiresIn/60)
	keys, err := awaitKeys(ctx, api, code)
	if err != nil {
		return err
	}
	environments := make([]string, len(keys.Keys))
	var before savedContext
	err = l.save(address, func(one *savedContext) {
		before = *one
		one.User, one.Account, one.Keys = keys.User.Email, keys.Account.Name, map[string]savedKey{}
		one.Environment = l.environment
		for i, k := range keys.Keys {
			one.Keys[k.Environment] = savedKey{ID: k.ID, Key: k.Key, ExpiresAt: k.ExpiresAt}
			environments[i] = k.Environment
		}
	})
	if err == nil {
		l.revokeKeys(ctx, &before)
		fmt.Fprintf(l.err, "signed in as %s in the account %s, with keys of %s\n", printable(keys.User.Email), printable(keys.Account.Name), strings.Join(environments, " and "))
		if l.admin && !slices.ContainsFunc(keys.Keys, func(k client.DeviceKey) bool { return slices.Contains(k.Scopes, "admin") }) {
			fmt.Fprintln(l.err, "you are not an admin there: the keys do not have the scope admin")
		}
	}
	return err
}

// slowDown is how much longer the pause is each time that the server asks for it.
const slowDown = 5 * time.Second

// awaitKeys asks for the keys until a person has decided, or the code has expired.
func awaitKeys(ctx context.Context, api *client.Client, code *client.DeviceCode) (*client.DeviceKeys, error) {
	pause := max(time.Duration(code.Interval)*time.Second, time.Second)
	ends := time.Now().Add(time.Duration(code.ExpiresIn) * time.Second)
	for {
		select {
		case <-ctx.Done(): // Ctrl-C
			return nil, &exitError{code: exitInterrupted}
		case <-time.After(pause):
		}
		keys, err := api.RedeemDevice(ctx, code.DeviceCode)
		var answer *client.Error
		switch {
		case err == nil:
			return keys, nil
		case ctx.Err() != nil:
			return nil, &exitError{code: exitInterrupted}
		case errors.As(err, &answer) && answer.Code == "authorization_pending":
		case errors.As(err, &answer) && answer.Code == "slow_down":
			pause += slowDown
		case errors.As(err, &answer) && (answer.Code == "access_denied" || answer.Code == "expired_token"):
			return nil, &exitError{ExitUnreachable, err}
		case errors.As(err, &answer) && answer.Status != http.StatusTooManyRequests && answer.Status != http.StatusServiceUnavailable:
			return nil, err
		case errors.Is(err, client.ErrUnreachable), answer != nil: // the server may come back
			pause += slowDown
		default:
			return nil, err
		}
		if time.Now().After(ends) {
			return nil, &exitError{ExitUnreachable, errors.New("the code was not typed in time: run chargehand login again")}
		}
	}
}

// maxKeyInput bounds what is read for a key.
const maxKeyInput = 4096

// withKey saves a key that an operator made.
func (l *login) withKey(ctx context.Context, address string) error {
	key, err := l.readKey()
	if err != nil {
		return usage("read the key: %w", err)
	}
	environment := ""
	for _, name := range environmentNames {
		if strings.HasPrefix(key, "sk_"+name+"_") {
			environment = name
		}
	}
	if environment == "" {
		return usage("that is not an API key: one begins with sk_live_ or sk_test_")
	}
	if _, err := client.New(address, key).Limits(ctx); err != nil {
		return err
	}
	return l.save(address, func(one *savedContext) {
		one.User, one.Account = "", ""
		one.Keys[environment] = savedKey{Key: key}
	})
}

func (l *login) readKey() (string, error) {
	var data []byte
	var err error
	if f, ok := l.in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(l.err, "API key (not shown): ")
		data, err = term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(l.err)
	} else {
		data, err = io.ReadAll(io.LimitReader(l.in, maxKeyInput))
	}
	return string(bytes.TrimSpace(data)), err
}

// save writes the context of a server and makes it the current one. The keys of another server, or of another person,
// do not stay in it.
func (l *login) save(address string, fill func(*savedContext)) error {
	name := firstOf(l.name, hostName(address))
	if err := checkContextName(name); err != nil {
		return err
	}
	saved, err := readContexts()
	if err != nil {
		return err
	}
	one := saved.Named[name]
	if one.URL != address {
		one = savedContext{URL: address}
	}
	if one.Keys == nil {
		one.Keys = map[string]savedKey{}
	}
	fill(&one)
	saved.Named[name], saved.Current = one, name
	if err := saved.write(); err != nil {
		return err
	}
	fmt.Fprintf(l.err, "saved the context %s; commands now go to %s (%s)\n", name, one.URL, one.environment())
	return nil
}
