package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chargehand/chargehand/client"
)

// roleNames are all roles, the weakest first.
var roleNames = []string{"participant", "viewer", "operator", "author", "publisher", "admin"}

// environmentNames are the two environments.
var environmentNames = []string{"live", "test"}

func newGrants(con console) *cobra.Command {
	c := &connection{console: con}
	return group("grants", "List, give and take away the roles of users and groups", c.grantsList(), c.grantsCreate(), c.grantsDelete())
}

// grantFlags say what a role is over.
type grantFlags struct {
	roles               []string
	namespace, workflow string
	environments        []string
}

func (g *grantFlags) register(f *pflag.FlagSet) {
	f.StringVar(&g.namespace, "namespace", "", "the role is over the workflows of this namespace alone")
	f.StringVar(&g.workflow, "workflow", "", "the role is over this workflow alone: namespace/name or id")
	f.Var(&choices{&g.environments, environmentNames, nil}, "environments", "where the role counts (default both): live, test")
}

// grant is the request for a role.
func (g *grantFlags) grant(ctx context.Context, api *client.Client, role string) (n client.NewGrant, err error) {
	if g.namespace != "" && g.workflow != "" {
		return n, usage("give --namespace or --workflow, not both")
	}
	n = client.NewGrant{Role: role, Namespace: g.namespace, Environments: g.environments}
	if g.workflow != "" {
		w, err := findWorkflow(ctx, api, g.workflow)
		if err != nil {
			return n, err
		}
		n.WorkflowID = w.ID
	}
	return n, nil
}

const grantColumns = "ID ROLE HOLDER~ OVER~ IN GIVEN BY*"

func (c *connection) grantRow(known *holders, workflows *names, g *client.Grant) []string {
	holder := "user " + c.holder(known.users, g.UserID)
	if g.GroupID != "" {
		holder = "group " + c.holder(known.groups, g.GroupID)
	}
	return []string{c.id(g.ID), g.Role, holder, c.over(workflows, g), strings.Join(g.Environments, ","), c.when(&g.CreatedAt), g.CreatedBy}
}

// over is what a role is over.
func (c *connection) over(workflows *names, g *client.Grant) string {
	switch {
	case g.Namespace != "":
		return g.Namespace + "/*"
	case g.WorkflowID != "":
		return c.workflowName(workflows, g.WorkflowID)
	}
	return "everything"
}

// grantText is "viewer over finance/* in live, test".
func (c *connection) grantText(ctx context.Context, api *client.Client, g *client.Grant) string {
	workflows := newNames(api)
	if g.WorkflowID != "" {
		workflows.learn(ctx, []string{g.WorkflowID})
	}
	return g.Role + " over " + c.over(workflows, g) + " in " + strings.Join(g.Environments, ", ")
}

func (c *connection) grantsList() *cobra.Command {
	var user, ofGroup string
	known, workflows := newHolders(), newNames(nil)
	cmd := newList(c, listing[client.Grant]{
		use: "list", short: "List the roles of users and groups, newest first", args: exactArgs(0), limit: maxPage,
		columns: grantColumns, key: func(g *client.Grant) string { return g.ID },
		row: func(g *client.Grant) []string { return c.grantRow(known, workflows, g) },
		prepare: func(ctx context.Context, api *client.Client, _ []string) (fetch[client.Grant], error) {
			workflows.api = api
			user, group, err := findHolder(ctx, api, user, ofGroup)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context, limit int, cursor string) (*client.Page[client.Grant], error) {
				p, err := api.ListGrants(ctx, client.GrantFilter{UserID: user, GroupID: group}, limit, cursor)
				if c.tables() {
					learnGrants(ctx, api, known, workflows, p.Data)
				}
				return p, err
			}, nil
		},
	})
	cmd.Flags().StringVar(&user, "user", "", "only the roles of this user, without those of groups: e-mail or id")
	cmd.Flags().StringVar(&ofGroup, "group", "", "only the roles of this group: name or id")
	return cmd
}

// learnGrants asks for the names that grants refer to.
func learnGrants(ctx context.Context, api *client.Client, known *holders, workflows *names, grants []client.Grant) {
	var users, groups, over []string
	for i := range grants {
		users, groups = append(users, grants[i].UserID), append(groups, grants[i].GroupID)
		if id := grants[i].WorkflowID; id != "" {
			over = append(over, id)
		}
	}
	known.learn(ctx, api, users, groups)
	workflows.learn(ctx, over)
}

// findHolder returns the ids of a user and a group that are named; empty: not named.
func findHolder(ctx context.Context, api *client.Client, user, group string) (userID, groupID string, err error) {
	switch {
	case user != "" && group != "":
		return "", "", usage("give --user or --group, not both")
	case user != "":
		u, err := findUser(ctx, api, user)
		if err != nil {
			return "", "", err
		}
		return u.ID, "", nil
	case group != "":
		g, err := findGroup(ctx, api, group)
		if err != nil {
			return "", "", err
		}
		return "", g.ID, nil
	}
	return "", "", nil
}

func (c *connection) grantsCreate() *cobra.Command {
	var user, toGroup string
	var flags grantFlags
	cmd := c.verb("create ROLE", "Give a role to a user or a group; it counts within a second", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		if user == "" && toGroup == "" {
			return usage("say who gets the role: --user or --group")
		}
		n, err := flags.grant(ctx, api, args[0])
		if err != nil {
			return err
		}
		if n.UserID, n.GroupID, err = findHolder(ctx, api, user, toGroup); err != nil {
			return err
		}
		g, err := api.GiveGrant(ctx, n)
		if err != nil {
			return err
		}
		if !c.tables() {
			return c.encode(g)
		}
		known, workflows := newHolders(), newNames(api)
		learnGrants(ctx, api, known, workflows, []client.Grant{*g})
		return c.table(columns(grantColumns), [][]string{c.grantRow(known, workflows, g)}, true)
	})
	cmd.Long = "Give a role to a user or a group, over everything or what --namespace or --workflow names. ROLE is one of " +
		strings.Join(roleNames, ", ") + ". It counts everywhere within a second. A user gives no more than the user has."
	cmd.Flags().StringVar(&user, "user", "", "user that gets the role: e-mail or id")
	cmd.Flags().StringVar(&toGroup, "group", "", "group that gets the role: name or id")
	flags.register(cmd.Flags())
	return cmd
}

func (c *connection) grantsDelete() *cobra.Command {
	var yes bool
	cmd := c.verb("delete GRANT", "Take a role away; it ends within a second", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		g, err := findGrant(ctx, api, args[0])
		if err != nil {
			return err
		}
		known := newHolders()
		known.learn(ctx, api, []string{g.UserID}, []string{g.GroupID})
		what := fmt.Sprintf("take the role %s away from %s", c.grantText(ctx, api, g), printable(firstOf(known.users[g.UserID], known.groups[g.GroupID], g.UserID, g.GroupID)))
		if err := c.confirm(ctx, yes, what); err != nil {
			return err
		}
		if err := api.TakeGrant(ctx, g.ID); err != nil {
			return err
		}
		fmt.Fprintln(c.err, "deleted", g.ID)
		return nil
	})
	yesFlag(cmd, &yes)
	return cmd
}

// findGrant returns the grant that text names: its id or a part of it.
func findGrant(ctx context.Context, api *client.Client, text string) (*client.Grant, error) {
	if !isPartOfID(text) {
		return nil, usage("%q is not the id of a grant: give the id, or its last %d digits as chargehand grants list shows them", text, shortIDLength)
	}
	rows, _, err := gather(ctx, func(ctx context.Context, limit int, cursor string) (*client.Page[client.Grant], error) {
		return api.ListGrants(ctx, client.GrantFilter{}, limit, cursor)
	}, searchedRows, "")
	if err != nil {
		return nil, err
	}
	return rowWithID("grant", text, rows, func(g *client.Grant) string { return g.ID })
}
