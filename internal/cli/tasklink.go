package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

func (c *connection) tasksLink() *cobra.Command {
	var link client.NewTaskLink
	life := &days{value: new(time.Duration)}
	cmd := c.verb("link TASK", "Make a link by which a person answers a human task without an account", exactArgs(1),
		c.onTask(func(ctx context.Context, api *client.Client, t *client.HumanTask) error {
			if strings.TrimSpace(link.Name) == "" {
				return usage("--name is missing: say whom the link is for")
			}
			link.ExpiresIn = life.text
			made, err := api.LinkHumanTask(ctx, t.ID, link)
			if err != nil {
				return err
			}
			return c.tellTaskLink(t, made, &link)
		}))
	cmd.Long = `Make a link by which a person answers a human task without an account, and print its address. It is shown this
once: send it to that person alone, because who has it can answer.

The link can be used once. It ends with the task, after --expires, when it is revoked (tasks unlink), and when the person
may not answer the task any more; also when you, who have made it, are disabled, or the key that has made it is revoked
or expires. The answer carries the name and e-mail address of the person, and says who has made the link. Whom the task
excludes makes no link to it, and gets none. Files that the person uploads count as yours.

A task that is assigned to certain people, or excludes some, needs --email: the address of one who may answer it.`
	f := cmd.Flags()
	f.StringVar(&link.Name, "name", "", "name of the person whom the link is for")
	f.StringVar(&link.Email, "email", "", "e-mail address of the person; needed where only certain people may answer")
	f.Var(life, "expires", "life of the link, such as 7d or 12h; 30d at most (default 30d)")
	return cmd
}

// tellTaskLink prints the address of a link, alone on standard output.
func (c *connection) tellTaskLink(t *client.HumanTask, made *client.MadeTaskLink, link *client.NewTaskLink) error {
	if made.URL == "" {
		return fmt.Errorf("the link %s was made, but its address is lost: make another one, and revoke this: chargehand tasks unlink %s %s", made.ID, t.ID, made.ID)
	}
	if !c.tables() {
		return c.encode(made)
	}
	fmt.Fprintf(c.err, "link %s for %s; it works until %s:\n", made.ID, printable(link.Name), exactly(&made.ExpiresAt))
	_, err := fmt.Fprintln(c.out, made.URL)
	return err
}

func (c *connection) tasksUnlink() *cobra.Command {
	cmd := c.verb("unlink TASK LINK", "Revoke a link to a human task", exactArgs(2),
		func(ctx context.Context, api *client.Client, args []string) error {
			t, err := findTask(ctx, api, args[0])
			if err != nil {
				return err
			}
			link, err := findTaskLink(t, args[1])
			if err != nil {
				return err
			}
			if err := api.RevokeTaskLink(ctx, t.ID, link.ID); err != nil {
				return err
			}
			fmt.Fprintf(c.err, "revoked the link for %s\n", printable(link.Name))
			return nil
		})
	cmd.Long = `Revoke a link to a human task. LINK is its id, as tasks show lists it, or the last digits of that. Its page says
from now on that it was revoked.`
	return cmd
}

// findTaskLink finds a link of a task by its id or a part of that.
func findTaskLink(t *client.HumanTask, text string) (*client.TaskLink, error) {
	if !isPartOfID(text) {
		return nil, usage("%q is not the id of a link: tasks show %s lists them", text, t.ID)
	}
	text = strings.ToLower(text)
	found := map[string]string{}
	for i := range t.Links {
		if id := t.Links[i].ID; matchesID(id, text) {
			found[id] = text
		}
	}
	if len(found) == 0 {
		return nil, errors.New("the task has no link with the id " + printable(text) + ": tasks show " + t.ID + " lists them")
	}
	id, err := onlyOne("link", text, found)
	for i := range t.Links {
		if t.Links[i].ID == id {
			return &t.Links[i], nil
		}
	}
	return nil, err
}

// linkText says whom a link to a task is for and until when it works.
func (c *connection) linkText(l *client.TaskLink) string {
	text := l.Name
	if l.Email != "" {
		text += " <" + l.Email + ">"
	}
	switch {
	case l.RevokedAt != nil:
		text += ", revoked " + exactly(l.RevokedAt)
	case !l.ExpiresAt.After(time.Now()):
		text += ", ended " + exactly(&l.ExpiresAt)
	default:
		text += ", until " + exactly(&l.ExpiresAt)
	}
	by := "mailed"
	if l.CreatedBy != nil {
		by = "made by " + firstOf(l.CreatedBy.Name, l.CreatedBy.ID)
	}
	return c.id(l.ID) + ": " + text + ", " + by
}

// completeTaskLinks completes the links of the task that is given before.
func completeTaskLinks(ctx context.Context, api *client.Client, args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, nil
	}
	t, err := findTask(ctx, api, args[0])
	if err != nil {
		return nil, err
	}
	var words []string
	for i := range t.Links {
		if l := &t.Links[i]; l.RevokedAt == nil {
			words = append(words, l.ID+"\t"+printable(l.Name))
		}
	}
	return words, nil
}
