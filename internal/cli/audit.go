package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

func newAudit(con console) *cobra.Command {
	c := &connection{console: con}
	var f client.AuditFilter
	cmd := newList(c, listing[client.AuditEntry]{
		use: "audit", short: "Show the audit log: who changed what, newest first", args: exactArgs(0), limit: 20,
		columns: "AT ACTOR~ ACTION TARGET~ COUNT*> ADDRESS* REQUEST* CHANGES~",
		key:     func(e *client.AuditEntry) string { return e.ID },
		row: func(e *client.AuditEntry) []string {
			return []string{
				c.when(&e.At), c.actor(e.Actor), e.Action, c.target(e.Target), fmt.Sprint(e.Count), e.Address, e.RequestID, changesText(e.Changes),
			}
		},
		prepare: func(_ context.Context, api *client.Client, _ []string) (fetch[client.AuditEntry], error) {
			for flag, value := range map[string]*string{"--after": &f.After, "--before": &f.Before} {
				if err := resolveTime(flag, value); err != nil {
					return nil, err
				}
			}
			return func(ctx context.Context, limit int, cursor string) (*client.Page[client.AuditEntry], error) {
				return api.ListAuditLog(ctx, f, limit, cursor)
			}, nil
		},
	})
	cmd.Long = `Show the audit log of the account: who changed what, when and from where, newest first. It needs a key with the scope
admin. A key of test sees what was changed in test.

--actor and --target take whole ids: -o json shows them, also of what tables show by its name.`
	fl := cmd.Flags()
	fl.StringVar(&f.Actor, "actor", "", "only changes by the user or API key with this whole id, by the user with this e-mail, or by the system")
	fl.StringVar(&f.Action, "action", "", "only this action, such as workflow.published")
	fl.StringVar(&f.Target, "target", "", "only changes of what has this whole id; of a secret this name, of a user this e-mail, of a workflow this namespace/name")
	timeVar(fl, &f.After, "after", "only what happened after this time: 2026-01-31T09:30:00Z, or 1h, 7d for so long ago")
	timeVar(fl, &f.Before, "before", "only what happened before this time")
	return cmd
}

func (c *connection) actor(a client.AuditActor) string {
	if a.ID == "" {
		return "unknown"
	}
	return a.Kind + " " + firstOf(a.Name, c.id(a.ID))
}

func (c *connection) target(t *client.AuditTarget) string {
	switch {
	case t == nil:
		return "unknown"
	case t.Kind == "execution", t.Kind == "batch": // their names are those of their workflows
		return t.Kind + " " + c.id(t.ID)
	}
	return t.Kind + " " + firstOf(t.Name, c.id(t.ID))
}

// changesText is "version 1.0.0 → 1.1.0, revision 2 → 1".
func changesText(changes map[string]client.AuditChange) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		c := changes[name]
		text := printable(strings.Trim(string(c.After), `"`))
		if string(c.Before) != "null" {
			text = printable(strings.Trim(string(c.Before), `"`)) + " → " + text
		}
		parts = append(parts, name+" "+text)
	}
	return strings.Join(parts, ", ")
}
