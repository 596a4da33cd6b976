package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

func newGroups(con console) *cobra.Command {
	c := &connection{console: con}
	return group("groups", "List and change groups of users", c.groupsList(), c.groupsGet(), c.groupsMembers(), c.groupsCreate(), c.groupsRename(),
		c.groupsMember("add", "Put users into a group", (*client.Client).JoinGroup), c.groupsMember("remove", "Take users out of a group", (*client.Client).LeaveGroup),
		c.groupsDelete())
}

const groupColumns = "ID NAME~ MEMBERS> CREATED SOURCE~"

func (c *connection) groupRow(g *client.Group) []string {
	members := fmt.Sprint(len(g.Members))
	if g.MoreMembers {
		members += "+"
	}
	return []string{c.id(g.ID), g.Name, members, c.when(&g.CreatedAt), g.Source}
}

func (c *connection) groupsList() *cobra.Command {
	return newList(c, listing[client.Group]{
		use: "list", short: "List the groups of the account, newest first", args: exactArgs(0), limit: maxPage,
		columns: groupColumns, row: c.groupRow, key: func(g *client.Group) string { return g.ID },
		prepare: func(_ context.Context, api *client.Client, _ []string) (fetch[client.Group], error) {
			return api.ListGroups, nil
		},
	})
}

func (c *connection) groupsGet() *cobra.Command {
	return c.verb("get GROUP", "Show a group with its roles; chargehand groups members lists its members", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		g, err := findGroup(ctx, api, args[0])
		if err != nil {
			return err
		}
		if !c.tables() {
			return c.encode(g)
		}
		const members = 2 // of groupColumns
		fields := []field{{"id", g.ID}, {"name", g.Name}, {"members", c.groupRow(g)[members]}, {"source", g.Source}, {"created", exactly(&g.CreatedAt)}}
		page, err := api.ListGrants(ctx, client.GrantFilter{GroupID: g.ID}, maxPage, "")
		if err != nil {
			return err
		}
		for i := range page.Data {
			fields = append(fields, field{"role", c.grantText(ctx, api, &page.Data[i])})
		}
		return c.show(g, fields)
	})
}

func (c *connection) groupsMembers() *cobra.Command {
	return newList(c, listing[client.FoundUser]{
		use: "members GROUP", short: "List the members of a group", args: exactArgs(1), limit: maxPage,
		columns: "ID EMAIL~ NAME~", key: func(u *client.FoundUser) string { return u.ID },
		row: func(u *client.FoundUser) []string { return []string{c.id(u.ID), u.Email, u.Name} },
		prepare: func(ctx context.Context, api *client.Client, args []string) (fetch[client.FoundUser], error) {
			g, err := findGroup(ctx, api, args[0])
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context, limit int, cursor string) (*client.Page[client.FoundUser], error) {
				return api.GroupMembers(ctx, g.ID, limit, cursor)
			}, nil
		},
	})
}

// showGroup prints a group that was made or changed.
func (c *connection) showGroup(g *client.Group) error {
	if !c.tables() {
		return c.encode(g)
	}
	return c.table(columns(groupColumns), [][]string{c.groupRow(g)}, true)
}

func (c *connection) groupsCreate() *cobra.Command {
	return c.verb("create NAME", "Make a group", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		g, err := api.CreateGroup(ctx, args[0])
		if err != nil {
			return err
		}
		return c.showGroup(g)
	})
}

func (c *connection) groupsRename() *cobra.Command {
	return c.verb("rename GROUP NAME", "Give a group another name", exactArgs(2), func(ctx context.Context, api *client.Client, args []string) error {
		g, err := findGroup(ctx, api, args[0])
		if err != nil {
			return err
		}
		if g, err = api.RenameGroup(ctx, g.ID, args[1]); err != nil {
			return err
		}
		return c.showGroup(g)
	})
}

// groupsMember is `groups add` and `groups remove`.
func (c *connection) groupsMember(verb, short string, change func(*client.Client, context.Context, string, string) error) *cobra.Command {
	done := map[string]string{"add": "added %s to %s\n", "remove": "removed %s from %s\n"}[verb]
	return c.verb(verb+" GROUP USER…", short, minArgs(2), func(ctx context.Context, api *client.Client, args []string) error {
		g, err := findGroup(ctx, api, args[0])
		if err != nil {
			return err
		}
		for _, text := range args[1:] {
			u, err := findUser(ctx, api, text)
			if err != nil {
				return err
			}
			if err := change(api, ctx, g.ID, u.ID); err != nil {
				return fmt.Errorf("%s: %w", printable(u.Email), err)
			}
			fmt.Fprintf(c.err, done, printable(u.Email), printable(g.Name))
		}
		return nil
	})
}

func (c *connection) groupsDelete() *cobra.Command {
	var yes bool
	cmd := c.verb("delete GROUP", "Delete a group, with its roles; its members stay users", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		g, err := findGroup(ctx, api, args[0])
		if err != nil {
			return err
		}
		if err := c.confirm(ctx, yes, fmt.Sprintf("delete the group %s: its members lose the roles of the group", printable(g.Name))); err != nil {
			return err
		}
		if err := api.DeleteGroup(ctx, g.ID); err != nil {
			return err
		}
		fmt.Fprintln(c.err, "deleted", printable(g.Name))
		return nil
	})
	yesFlag(cmd, &yes)
	return cmd
}

// findGroup returns the group that text names: its name, whatever the case, its id or a part of it. A name wins.
func findGroup(ctx context.Context, api *client.Client, text string) (*client.Group, error) {
	if len(text) == fullIDLength && isPartOfID(text) {
		return api.GetGroup(ctx, strings.ToLower(text))
	}
	rows, _, err := gather(ctx, api.ListGroups, searchedRows, "")
	if err != nil {
		return nil, err
	}
	named := slices.IndexFunc(rows, func(g client.Group) bool { return strings.EqualFold(g.Name, text) })
	switch {
	case named >= 0:
		return &rows[named], nil
	case !slices.ContainsFunc(rows, func(g client.Group) bool { return matchesID(g.ID, strings.ToLower(text)) }):
		return nil, fmt.Errorf("there is no group %q (chargehand groups list lists them)", printable(text))
	}
	return rowWithID("group", text, rows, func(g *client.Group) string { return g.ID })
}
