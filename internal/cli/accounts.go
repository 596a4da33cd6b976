package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/operate"
)

// onMachine says where a command runs that works on the database itself.
const onMachine = "\n\nIt works on the server's machine, on the database itself, beside a running server or without one."

// machineCommand is a command on the database itself.
type machineCommand struct {
	console
	cfg       installation.Settings
	publicURL string
}

// command makes a command on the database itself. withURL adds the address of the server, for links.
func (m *machineCommand) command(use, short string, args cobra.PositionalArgs, withURL bool, do func(ctx context.Context, args []string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args, Long: short + "." + onMachine,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fillFlags(cmd); err != nil {
				return err
			}
			return do(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	configFlag(f)
	installationFlags(f, &m.cfg)
	if withURL {
		f.StringVar(&m.publicURL, "public-url", "", "address of the server, which the link begins with (default: CHARGEHAND_URL, else "+defaultURL+")")
	}
	return cmd
}

// serverURL is what links begin with.
func (m *machineCommand) serverURL() (string, error) {
	address := firstOf(m.publicURL, os.Getenv("CHARGEHAND_URL"), defaultURL)
	return address, checkAddress(address)
}

// tell prints an address that a person is to open, alone on standard output.
func (m *machineCommand) tell(l operate.Link, what string) error {
	if m.publicURL == "" && os.Getenv("CHARGEHAND_URL") == "" {
		// The command works on the database, which does not know where the server listens.
		fmt.Fprintln(m.err, "the server is taken to be at "+defaultURL+"; if it is not, put its address there, or name it with --public-url")
	}
	fmt.Fprintf(m.err, "%s; it works once, until %s:\n", what, exactly(&l.ExpiresAt))
	_, err := fmt.Fprintln(m.out, l.URL)
	return err
}

func newAccounts(con console) *cobra.Command {
	return group("accounts", "List, make and rename the accounts of an installation, on the server's machine",
		newAccountsList(con), newAccountsCreate(con), newAccountsRename(con))
}

const accountColumns = "ID NAME~ CREATED"

func (c *connection) accountRow(a *operate.Account) []string {
	return []string{c.id(a.ID), a.Name, c.when(&a.CreatedAt)}
}

func newAccountsList(con console) *cobra.Command {
	m, c := &machineCommand{console: con}, &connection{console: con}
	cmd := m.command("list", "List the accounts of the installation, oldest first", exactArgs(0), false, func(ctx context.Context, _ []string) error {
		all, err := operate.Accounts(ctx, m.cfg)
		if err != nil {
			return err
		}
		l := listing[operate.Account]{columns: accountColumns, row: c.accountRow}
		return writeList(c, &l, all, "", true)
	})
	choiceVarP(cmd.Flags(), &c.output, "output", "o", formatTable, "how to print", formats...)
	return cmd
}

func (c *connection) showAccount(a operate.Account) error {
	if !c.tables() {
		return c.encode(a)
	}
	return c.table(columns(accountColumns), [][]string{c.accountRow(&a)}, true)
}

func newAccountsCreate(con console) *cobra.Command {
	m, c := &machineCommand{console: con}, &connection{console: con}
	cmd := m.command("create NAME", "Make an account", exactArgs(1), false, func(ctx context.Context, args []string) error {
		a, err := operate.CreateAccount(ctx, m.cfg, args[0])
		if err != nil {
			return err
		}
		return c.showAccount(a)
	})
	cmd.Long = "Make an account, which shares nothing with others: workflows, executions, users and keys belong to one account. " +
		"Its first user comes with chargehand users create --account NAME --role admin." + onMachine
	choiceVarP(cmd.Flags(), &c.output, "output", "o", formatTable, "how to print", formats...)
	return cmd
}

func newAccountsRename(con console) *cobra.Command {
	m, c := &machineCommand{console: con}, &connection{console: con}
	cmd := m.command("rename ACCOUNT NAME", "Give an account, named by name or id, another name", exactArgs(2), false, func(ctx context.Context, args []string) error {
		a, err := operate.RenameAccount(ctx, m.cfg, args[0], args[1])
		if err != nil {
			return err
		}
		return c.showAccount(a)
	})
	choiceVarP(cmd.Flags(), &c.output, "output", "o", formatTable, "how to print", formats...)
	return cmd
}

// newUsersCreate is `users create`, which needs neither a server nor a session.
func newUsersCreate(con console) *cobra.Command {
	m := &machineCommand{console: con}
	var u operate.NewUser
	cmd := m.command("create", "Invite a person from the server's machine; prints an address to send to the person", exactArgs(0), true, func(ctx context.Context, _ []string) error {
		if u.Email == "" {
			return usage("--email is missing: who is invited?")
		}
		if u.Name == "" {
			u.Name, _, _ = strings.Cut(u.Email, "@")
		}
		var err error
		if u.ServerURL, err = m.serverURL(); err != nil {
			return err
		}
		l, err := operate.CreateUser(ctx, m.cfg, u)
		if err != nil {
			return err
		}
		return m.tell(l, "invited "+printable(u.Email)+"; the address is for this person alone")
	})
	cmd.Long = "Invite a person to an account. It prints the address where the person chooses a name and a password, which works once, " +
		"within 72 hours. With --role admin it makes the first admin without a browser, or another one when no admin can sign in " +
		"any more. Inviting a person again who has not come yet makes another address." + onMachine
	f := cmd.Flags()
	f.StringVar(&u.Email, "email", "", "e-mail address of the person")
	f.StringVar(&u.Name, "name", "", "name of the person, which the person may change (default: the e-mail up to the @)")
	choiceVar(f, &u.Role, "role", "", "role over everything", roleNames...)
	f.StringVar(&u.Account, "account", "", "account, by name or id (default: the oldest one)")
	commandLineOnly(f, "email", "name", "role", "account")
	return cmd
}

func newPersons(con console) *cobra.Command {
	disable, enable, reset := &machineCommand{console: con}, &machineCommand{console: con}, &machineCommand{console: con}
	return group("persons", "Disable persons in all accounts, or let them set another password, on the server's machine",
		disable.command("disable EMAIL", "Disable a person in all accounts: sessions, keys and links end within a second", exactArgs(1), false, func(ctx context.Context, args []string) error {
			if err := operate.DisablePerson(ctx, disable.cfg, args[0]); err != nil {
				return err
			}
			fmt.Fprintln(con.err, "disabled in all accounts:", printable(args[0]))
			return nil
		}),
		enable.command("enable EMAIL", "Enable a person again who was disabled in all accounts", exactArgs(1), false, func(ctx context.Context, args []string) error {
			if err := operate.EnablePerson(ctx, enable.cfg, args[0]); err != nil {
				return err
			}
			fmt.Fprintln(con.err, "enabled:", printable(args[0]))
			return nil
		}),
		reset.command("reset EMAIL", "Print an address where a person sets another password, once, within 24 hours", exactArgs(1), true, func(ctx context.Context, args []string) error {
			address, err := reset.serverURL()
			if err != nil {
				return err
			}
			l, err := operate.ResetPerson(ctx, reset.cfg, args[0], address)
			if err != nil {
				return err
			}
			return reset.tell(l, "the address is for "+printable(args[0])+" alone")
		}))
}
