package app

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/app/apptest"
	"github.com/chargehand/chargehand/internal/mail/smtp"
	"github.com/chargehand/chargehand/internal/peer/mailserver"
	"github.com/chargehand/chargehand/internal/store"
)

// A server with a mail server sends mail about human tasks, and counts it.
func TestMailAboutHumanTasks(t *testing.T) {
	server := mailserver.Start(t, mailserver.Options{})
	i := install(t, filepath.Join(t.TempDir(), "data"), func(c *Config) {
		c.Mail, c.PublicURL = smtp.Settings{URL: "smtp://" + server.Address, From: "robot@example.org"}, "https://wf.example.org/"
	})
	db, _ := i.parts()
	err := db.store.Update(t.Context(), func(tx *store.Tx) error {
		ada := store.Person{ID: chargehand.UserID{1}, Email: "ada@example.org", EmailKey: "ada@example.org", Name: "Ada", NameKey: "ada", CreatedMs: 1}
		if err := tx.InsertPerson(&ada); err != nil {
			return err
		}
		return tx.InsertMember(&store.Member{Account: 1, Status: store.Active, Person: ada, CreatedMs: 1})
	})
	if err != nil {
		t.Fatal(err)
	}
	id := i.Apply(apptest.Definition("asks", `{ call: 'human:1.0.0@default', with: { title: Approve it, remind: [PT0.1S], assignees: { users: [ada@example.org] } } }`))
	if status, e := i.Ask("POST", "/workflows/"+id+"/executions", "application/json", `{"input": {}}`); status != 201 {
		t.Fatalf("start: %d %v", status, e)
	}
	mails := server.Wait(t, 2)
	subjects := map[string]bool{}
	for _, m := range mails {
		subjects[m.Header.Get("Subject")] = true
		if m.To != "ada@example.org" || !strings.Contains(m.Text, "\nhttps://wf.example.org/inbox/") {
			t.Errorf("mail to %s:\n%s", m.To, m.Text)
		}
	}
	if !subjects["Task: Approve it"] || !subjects["Reminder: Approve it"] {
		t.Errorf("mails %v", subjects)
	}
	apptest.Await(t, func() bool {
		text := i.scrape("http://" + i.Address().String())
		return strings.Contains(text, "\nchargehand_task_times_total 1\n") && strings.Contains(text, "\nchargehand_task_mails_left_out_total 0\n") &&
			strings.Contains(text, "\nchargehand_task_mails_waiting 0\n") && strings.Contains(text, "\nchargehand_mails_sent_total 2\n")
	})
}
