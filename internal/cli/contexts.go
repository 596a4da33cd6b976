package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

func newContext(con console) *cobra.Command {
	c := &connection{console: con}
	return group("context", "List, choose and change the servers that commands talk to",
		c.contextList(), newContextUse(con), c.contextShow(), newContextSet(con), newContextDelete(con))
}

// shownContext is a context without its keys.
type shownContext struct {
	Name        string              `json:"name"`
	Current     bool                `json:"current"`
	URL         string              `json:"url"`
	Environment string              `json:"environment"`
	User        string              `json:"user,omitempty"`
	Account     string              `json:"account,omitempty"`
	Keys        map[string]shownKey `json:"keys"`
}

type shownKey struct {
	ID        string     `json:"id,omitempty"`
	Key       string     `json:"key"` // its beginning and end
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

func (s *contexts) shown(name string) shownContext {
	one := s.Named[name]
	v := shownContext{
		Name: name, Current: name == s.Current, URL: one.URL, Environment: one.environment(), User: one.User, Account: one.Account, Keys: map[string]shownKey{},
	}
	for env, k := range one.Keys {
		v.Keys[env] = shownKey{ID: k.ID, Key: k.shown(), ExpiresAt: k.ExpiresAt}
	}
	return v
}

// names are those of all contexts, in order.
func (s *contexts) names() []string { return slices.Sorted(maps.Keys(s.Named)) }

// contextNames completes the name of a context.
func contextNames() []string {
	saved, err := readContexts()
	if err != nil {
		return nil
	}
	words := saved.names()
	for i, name := range words {
		words[i] = name + "\t" + printable(saved.Named[name].URL)
	}
	return words
}

// local makes a command that reads and writes no more than the file of contexts.
func local(use, short string, args cobra.PositionalArgs, do func(saved *contexts, args []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: args, RunE: func(_ *cobra.Command, args []string) error {
		saved, err := readContexts()
		if err != nil {
			return err
		}
		return do(&saved, args)
	}}
}

func (c *connection) contextList() *cobra.Command {
	cmd := local("list", "List the contexts; the current one is marked", exactArgs(0), func(saved *contexts, _ []string) error {
		l := listing[shownContext]{columns: "CURRENT NAME~ URL~ ENVIRONMENT KEYS USER~", row: func(v *shownContext) []string {
			mark := ""
			if v.Current {
				mark = "*"
			}
			return []string{mark, v.Name, v.URL, v.Environment, firstOf(strings.Join(slices.Sorted(maps.Keys(v.Keys)), ","), "-"), firstOf(v.User, "-")}
		}}
		rows := []shownContext{}
		for _, name := range saved.names() {
			rows = append(rows, saved.shown(name))
		}
		return writeList(c, &l, rows, "", true)
	})
	choiceVarP(cmd.Flags(), &c.output, "output", "o", formatTable, "how to print", formats...)
	return cmd
}

func (c *connection) contextShow() *cobra.Command {
	cmd := local("show [CONTEXT]", "Show a context, or the current one; keys are not shown whole", atMostArgs(1), func(saved *contexts, args []string) error {
		name, _, err := saved.current()
		if len(args) > 0 {
			name = args[0]
			_, err = saved.find(name)
		}
		if err != nil {
			return err
		}
		if name == "" {
			return usage("there is no current context: chargehand login makes one, chargehand context use chooses one")
		}
		v := saved.shown(name)
		current := ""
		if v.Current {
			current = "yes"
		}
		fields := []field{{"name", v.Name}, {"current", current}, {"url", v.URL}, {"environment", v.Environment}, {"user", v.User}, {"account", v.Account}}
		for _, env := range slices.Sorted(maps.Keys(v.Keys)) {
			text := v.Keys[env].Key
			if ends := v.Keys[env].ExpiresAt; ends != nil {
				text += ", ends " + exactly(ends)
			}
			fields = append(fields, field{"key of " + env, text})
		}
		return c.show(v, fields)
	})
	choiceVarP(cmd.Flags(), &c.output, "output", "o", formatTable, "how to print", formats...)
	return cmd
}

func newContextUse(con console) *cobra.Command {
	return local("use CONTEXT", "Make a context the current one", exactArgs(1), func(saved *contexts, args []string) error {
		one, err := saved.find(args[0])
		if err != nil {
			return err
		}
		saved.Current = args[0]
		if err := saved.write(); err != nil {
			return err
		}
		fmt.Fprintf(con.err, "commands now go to %s (%s)\n", one.URL, one.environment())
		return nil
	})
}

func newContextSet(con console) *cobra.Command {
	var address, environment string
	cmd := local("set CONTEXT", "Make a context, or change its address or environment", exactArgs(1), func(saved *contexts, args []string) error {
		if err := checkContextName(args[0]); err != nil {
			return err
		}
		one, known := saved.Named[args[0]]
		if address == "" && !known {
			return usage("--url is missing: there is no context %q yet", args[0])
		}
		if address != "" {
			if err := checkAddress(address); err != nil {
				return err
			}
			if address = serverAddress(address); known && address != one.URL && len(one.Keys) > 0 {
				return usage("the keys of the context %q are for %s: chargehand login %s --context %s takes its place", args[0], one.URL, address, args[0])
			}
			one.URL = address
		}
		if environment != "" {
			one.Environment = environment
		}
		saved.Named[args[0]] = one
		if err := saved.write(); err != nil {
			return err
		}
		fmt.Fprintln(con.err, "saved the context", args[0])
		return nil
	})
	cmd.Long = "Make a context, or change its address or environment. chargehand login makes one with keys; a context without keys " +
		"goes with a key in CHARGEHAND_API_KEY."
	cmd.Flags().StringVar(&address, "url", "", "address of the server")
	choiceVar(cmd.Flags(), &environment, "environment", "", "environment that commands work in", environmentNames...)
	return cmd
}

func newContextDelete(con console) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "delete CONTEXT", Short: "Forget a context and its keys", Args: exactArgs(1),
		Long: "Forget a context and its keys. Personal keys that chargehand login made are revoked on the server; one that was given with " +
			"--key still counts there.",
		RunE: func(cmd *cobra.Command, args []string) error {
			saved, err := readContexts()
			if err != nil {
				return err
			}
			one, err := saved.find(args[0])
			if err != nil {
				return err
			}
			if err := con.confirm(cmd.Context(), yes, fmt.Sprintf("forget the context %s with its %s for %s", args[0], counted(len(one.Keys), "key"), one.URL)); err != nil {
				return err
			}
			delete(saved.Named, args[0])
			if saved.Current == args[0] {
				saved.Current = ""
			}
			if err := saved.write(); err != nil {
				return err
			}
			fmt.Fprintln(con.err, "deleted", args[0])
			con.revokeKeys(cmd.Context(), &one)
			return nil
		},
	}
	yesFlag(cmd, &yes)
	return cmd
}

// revokeTime bounds how long a server is asked to revoke keys that are forgotten here.
const revokeTime = 10 * time.Second

// revokeKeys revokes the personal keys that a login made for a context, and says which still count.
func (c console) revokeKeys(ctx context.Context, s *savedContext) {
	ctx, cancel := context.WithTimeout(ctx, revokeTime)
	defer cancel()
	for _, environment := range slices.Sorted(maps.Keys(s.Keys)) {
		k := s.Keys[environment]
		if k.ID == "" {
			continue
		}
		err := client.New(s.URL, k.Key, client.WithoutRetries()).RevokePersonalKey(ctx, k.ID)
		var answer *client.Error
		if errors.As(err, &answer) && answer.Status == http.StatusUnauthorized { // it has ended
			continue
		}
		if err != nil {
			fmt.Fprintf(c.err, "the key %s of %s could not be revoked and still counts: %s\n", k.shown(), environment, printable(err.Error()))
		}
	}
}
