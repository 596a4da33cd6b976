package signin

import (
	"fmt"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/signin/token"
	"github.com/chargehand/chargehand/internal/store"
)

// openTask opens a human task.
func (fx *fixture) openTask() (task store.HumanTask) {
	fx.t.Helper()
	fx.change(func(tx *store.Tx) error {
		task = store.HumanTask{
			ID: newID[chargehand.HumanTaskID](), Account: fx.account.No, Environment: chargehand.Live, Workflow: 1, Execution: 1, Command: 1, Seq: 1,
			Reference: "/do/0/ask", DueMs: store.NeverDue, CreatedMs: 1, Title: "Ask", Request: store.Payload{Inline: []byte("{}"), Size: 2},
		}
		return tx.OpenTask(&task, nil)
	})
	return task
}

// linkTask makes a link to a task by a session, and returns how to find out whether it was revoked.
func (fx *fixture) linkTask(task store.HumanTask, by *Session) (revoked func() bool) {
	fx.t.Helper()
	_, hash := token.New()
	fx.change(func(tx *store.Tx) error {
		return tx.InsertTaskLink(&store.TaskLink{
			ID: newID[chargehand.TaskLinkID](), Task: task.No, Hash: hash[:], Name: "Eve", Maker: -by.Person.No, MakerID: by.Person.ID.String(),
			MakerName: by.Person.Name, MakerSession: by.ID, CreatedMs: 1, ExpiresMs: fx.time().Add(time.Hour).UnixMilli(),
		})
	})
	return func() (yes bool) {
		fx.t.Helper()
		err := fx.rows.View(fx.t.Context(), func(r *store.Reader) error {
			l, err := r.TaskLinkByHash(hash[:])
			yes = l.RevokedMs != 0
			return err
		})
		if err != nil {
			fx.t.Fatal(err)
		}
		return yes
	}
}

// TestLinksEndWithWhatMayBeStolen: links to human tasks outlive a sign-out of their maker. They end when another
// password makes the session end that has made them, and all of them when it is set with a link.
func TestLinksEndWithWhatMayBeStolen(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		ctx := t.Context()
		own, task := fx.setUp(), fx.openTask()
		gone, other := must(fx.SignIn(ctx, "ada@example.com", good, home)), must(fx.SignIn(ctx, "ada@example.com", good, home))
		byOwn, byGone, byOther := fx.linkTask(task, own), fx.linkTask(task, gone), fx.linkTask(task, other)
		check := func(what, want string) {
			t.Helper()
			if got := fmt.Sprint(byOwn(), byGone(), byOther()); got != want {
				t.Errorf("%s: revoked %s, want %s", what, got, want)
			}
		}
		if err := fx.SignOut(ctx, gone); err != nil {
			t.Fatal(err)
		}
		check("signed out", "false false false")
		own = must(fx.ChangePassword(ctx, own, good, "another horse battery", home))
		check("another password", "false true true")
		text := "the secret of a link to set a password anew"
		fx.change(func(tx *store.Tx) error {
			return tx.InsertTicket(&store.Ticket{
				Hash: hashOf(text), Kind: store.TicketReset, Person: own.Person.No, CreatedMs: 1, ExpiresMs: fx.time().Add(time.Hour).UnixMilli(),
			})
		})
		must(fx.Reset(ctx, text, "a third horse battery", home))
		check("a password by a link", "true true true")
	})
}
