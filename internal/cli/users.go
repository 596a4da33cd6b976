package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

func newUsers(con console) *cobra.Command {
	c := &connection{console: con}
	return group("users", "Invite, list, disable and remove the users of an account",
		c.usersList(), c.usersGet(), c.usersInvite(), newUsersCreate(con), c.usersStatus("disable", "disabled"), c.usersStatus("enable", "active"),
		c.usersDelete(), c.usersReset())
}

const userColumns = "ID EMAIL~ NAME~ STATUS SEEN GROUPS~ METHODS*"

func (c *connection) userRow(known *holders, u *client.User) []string {
	groups := make([]string, len(u.Groups))
	for i, id := range u.Groups {
		groups[i] = c.holder(known.groups, id)
	}
	return []string{c.id(u.ID), u.Email, u.Name, u.Status, c.when(u.LastSeenAt), strings.Join(groups, ", "), strings.Join(u.Methods, ", ")}
}

func (c *connection) usersList() *cobra.Command {
	known := newHolders()
	var f client.UserFilter
	cmd := newList(c, listing[client.User]{
		use: "list", short: "List the users of the account, newest first", args: exactArgs(0), limit: maxPage,
		columns: userColumns, key: func(u *client.User) string { return u.ID },
		row: func(u *client.User) []string { return c.userRow(known, u) },
		prepare: func(_ context.Context, api *client.Client, _ []string) (fetch[client.User], error) {
			return func(ctx context.Context, limit int, cursor string) (*client.Page[client.User], error) {
				p, err := api.ListUsers(ctx, f, limit, cursor)
				if err == nil && c.tables() {
					for i := range p.Data {
						known.learn(ctx, api, nil, p.Data[i].Groups)
					}
				}
				return p, err
			}, nil
		},
	})
	cmd.Flags().StringVar(&f.Text, "search", "", "only users whose e-mail or name begins with this text, by e-mail and then by name")
	choiceVar(cmd.Flags(), &f.Status, "status", "", "only users with this status", "invited", "active", "disabled")
	return cmd
}

func (c *connection) usersGet() *cobra.Command {
	return c.verb("get USER", "Show a user, with groups and roles", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		u, err := findUser(ctx, api, args[0])
		if err != nil {
			return err
		}
		if !c.tables() {
			return c.encode(u)
		}
		known := newHolders()
		known.learn(ctx, api, nil, u.Groups)
		row := c.userRow(known, u)
		const groups, methods = 5, 6 // of userColumns
		fields := []field{
			{"id", u.ID}, {"email", u.Email}, {"name", u.Name}, {"status", u.Status}, {"signs in with", firstOf(row[methods], "-")},
			{"groups", firstOf(row[groups], "-")}, {"created", exactly(&u.CreatedAt)}, {"last seen", firstOf(exactly(u.LastSeenAt), "never")},
		}
		for _, holder := range append([]client.GrantFilter{{UserID: u.ID}}, groupFilters(u.Groups)...) {
			page, err := api.ListGrants(ctx, holder, maxPage, "")
			if err != nil {
				return err
			}
			for i := range page.Data {
				text := c.grantText(ctx, api, &page.Data[i])
				if holder.GroupID != "" {
					text += ", by the group " + known.groups[holder.GroupID]
				}
				fields = append(fields, field{"role", text})
			}
		}
		return c.show(u, fields)
	})
}

func groupFilters(ids []string) []client.GrantFilter {
	list := make([]client.GrantFilter, len(ids))
	for i, id := range ids {
		list[i].GroupID = id
	}
	return list
}

func (c *connection) usersInvite() *cobra.Command {
	var n client.NewUser
	var g grantFlags
	cmd := c.verb("invite EMAIL", "Invite a person; prints an address to send to the person", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		n.Email = args[0]
		if n.Name == "" {
			n.Name, _, _ = strings.Cut(n.Email, "@")
		}
		n.Grants = nil
		for _, role := range g.roles {
			grant, err := g.grant(ctx, api, role)
			if err != nil {
				return err
			}
			n.Grants = append(n.Grants, grant)
		}
		u, err := api.InviteUser(ctx, n)
		if err != nil {
			return err
		}
		if !c.tables() {
			return c.encode(u)
		}
		return c.tellLink(u.Invitation, "invited "+u.Email+"; the address is for this person alone")
	})
	cmd.Long = `Invite a person to the account. It prints the address where the person chooses a name and a password, which works
once, within 72 hours, and is not shown again. Inviting a person again who has not come yet makes another one.

Give --role for each role to begin with, and --namespace or --workflow to limit them. Without a role the user can
sign in and do nothing yet.`
	f := cmd.Flags()
	f.StringVar(&n.Name, "name", "", "name of the person, which the person may change (default: the e-mail up to the @)")
	f.Var(&choices{&g.roles, roleNames, nil}, "role", "roles to begin with: "+strings.Join(roleNames, ", "))
	g.register(f)
	return cmd
}

// tellLink prints an address that a person is to open, alone on standard output.
func (c *connection) tellLink(l *client.OneUseLink, what string) error {
	if l == nil || l.URL == "" {
		return errors.New("the address was shown in an answer that was lost on the way; run the command again for another one")
	}
	fmt.Fprintf(c.err, "%s; it works once, until %s:\n", what, exactly(&l.ExpiresAt))
	_, err := fmt.Fprintln(c.out, l.URL)
	return err
}

// usersStatus is `users disable` and `users enable`.
func (c *connection) usersStatus(verb, status string) *cobra.Command {
	short := "Disable a user in this account: sessions and keys of the user end within a second"
	if status == "active" {
		short = "Enable a disabled user again"
	}
	cmd := c.verb(verb+" USER", short, exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		u, err := findUser(ctx, api, args[0])
		if err != nil {
			return err
		}
		if u, err = api.SetUserStatus(ctx, u.ID, status); err != nil {
			return err
		}
		if !c.tables() {
			return c.encode(u)
		}
		fmt.Fprintf(c.err, "%s is %s\n", printable(u.Email), u.Status)
		return nil
	})
	if status != "active" {
		cmd.Long = short + ".\n\nWhat the user has started continues. chargehand persons disable, on the server's machine, disables a person in all accounts."
	}
	return cmd
}

func (c *connection) usersDelete() *cobra.Command {
	var yes bool
	cmd := c.verb("delete USER", "Remove a user from the account, with roles and places in groups", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		u, err := findUser(ctx, api, args[0])
		if err != nil {
			return err
		}
		what := fmt.Sprintf("remove %s (%s) from the account, with roles and places in groups: what the user has started stays", printable(u.Email), printable(u.Name))
		if err := c.confirm(ctx, yes, what); err != nil {
			return err
		}
		if err := api.RemoveUser(ctx, u.ID); err != nil {
			return err
		}
		fmt.Fprintln(c.err, "removed", printable(u.Email))
		return nil
	})
	yesFlag(cmd, &yes)
	return cmd
}

func (c *connection) usersReset() *cobra.Command {
	cmd := c.verb("reset USER", "Print an address where a user sets another password", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		u, err := findUser(ctx, api, args[0])
		if err != nil {
			return err
		}
		l, err := api.ResetUser(ctx, u.ID)
		if err != nil {
			return err
		}
		if !c.tables() {
			return c.encode(l)
		}
		return c.tellLink(l, "the address is for "+printable(u.Email)+" alone")
	})
	cmd.Long = `Print an address where an active user sets another password, which ends all sessions of the user. It works once, within 24
hours, and is not shown again. It needs all that the user may do. On the server's machine, chargehand persons reset
makes one for every person.`
	return cmd
}

// findUser returns the user that text names: an e-mail address, an id or a part of one.
func findUser(ctx context.Context, api *client.Client, text string) (*client.User, error) {
	email := strings.Contains(text, "@")
	switch {
	case len(text) == fullIDLength && !email:
		return api.GetUser(ctx, strings.ToLower(text))
	case !email && !isPartOfID(text):
		return nil, usage("%q is not a user: give an e-mail address, an id, or its last %d digits as tables show them", text, shortIDLength)
	}
	var f client.UserFilter
	if email {
		f.Text = text
	}
	rows, _, err := gather(ctx, func(ctx context.Context, limit int, cursor string) (*client.Page[client.User], error) {
		return api.ListUsers(ctx, f, limit, cursor)
	}, searchedRows, "")
	if err != nil {
		return nil, err
	}
	id := func(u *client.User) string { return u.ID }
	if !email {
		return rowWithID("user", text, rows, id)
	}
	if !slices.ContainsFunc(rows, func(u client.User) bool { return strings.EqualFold(u.Email, text) }) {
		return nil, fmt.Errorf("no user has the e-mail %s (chargehand users list lists them)", printable(text))
	}
	return onlyRow("user", text, rows, id, func(u *client.User) bool { return strings.EqualFold(u.Email, text) })
}

// holders are the names of users and groups by id.
type holders struct{ users, groups map[string]string }

func newHolders() *holders { return &holders{map[string]string{}, map[string]string{}} }

// learn asks for the names that are not known yet: with one request of each kind where there are many. One that cannot
// be read is left out.
func (h *holders) learn(ctx context.Context, api *client.Client, users, groups []string) {
	const listFrom = 4
	if users = unknown(h.users, users); len(users) >= listFrom {
		if p, err := api.ListUsers(ctx, client.UserFilter{}, maxPage, ""); err == nil {
			for i := range p.Data {
				h.users[p.Data[i].ID] = p.Data[i].Email
			}
		}
	}
	for _, id := range unknown(h.users, users) {
		if u, err := api.GetUser(ctx, id); err == nil {
			h.users[id] = u.Email
		}
	}
	if groups = unknown(h.groups, groups); len(groups) >= listFrom {
		if p, err := api.ListGroups(ctx, maxPage, ""); err == nil {
			for i := range p.Data {
				h.groups[p.Data[i].ID] = p.Data[i].Name
			}
		}
	}
	for _, id := range unknown(h.groups, groups) {
		if g, err := api.GetGroup(ctx, id); err == nil {
			h.groups[id] = g.Name
		}
	}
}

// unknown are the ids that are not in known, each once.
func unknown(known map[string]string, ids []string) (list []string) {
	seen := map[string]bool{"": true}
	for _, id := range ids {
		if known[id] == "" && !seen[id] {
			list = append(list, id)
		}
		seen[id] = true
	}
	return list
}

// holder is the name of an id, or what tables show of the id.
func (c *connection) holder(known map[string]string, id string) string {
	if name := known[id]; name != "" && c.output != formatWide {
		return name
	}
	return c.id(id)
}
