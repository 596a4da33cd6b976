package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/chargehand/chargehand/client"
)

// login saves a server and keys for it as a context.
type login struct {
	console
	name string // of the context; empty: after the server
	key  string // "-": a key from standard input
}

func newLogin(con console) *cobra.Command {
	l := &login{console: con}
	cmd := &cobra.Command{
		Use: "login [URL]", Short: "Save a server and a key for it, for later commands", Args: atMostArgs(1),
		Long: `Save a server and a key for it as a context, and make that the current one.

URL is the address of the server (default: CHARGEHAND_URL, or ` + defaultURL + `). With --key - the key is read from
standard input, or asked for on a terminal without being shown: never an argument, others could see it there. A second
key, of the other environment, joins the first one. The file of contexts can be read by its owner alone.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			address := firstOf(strings.Join(args, ""), os.Getenv("CHARGEHAND_URL"), defaultURL)
			if err := checkAddress(address); err != nil {
				return err
			}
			if l.key != "-" {
				return usage("a key is never an argument, because other programs and the history of the shell would see it: --key - reads it from standard input")
			}
			return explain(l.withKey(cmd.Context(), serverAddress(address)))
		},
	}
	cmd.Flags().StringVar(&l.name, "context", "", "name of the context (default: the host of the server)")
	cmd.Flags().StringVar(&l.key, "key", "", "-: read an API key from standard input")
	return cmd
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
