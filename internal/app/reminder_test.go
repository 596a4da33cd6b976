package app

import (
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/app/apptest"
	"github.com/chargehand/chargehand/internal/mail/smtp"
	"github.com/chargehand/chargehand/internal/peer/mailserver"
)

// A server with a mail server sends mail about human tasks, and counts it.
func TestMailAboutHumanTasks(t *testing.T) {
	server := mailserver.Start(t, mailserver.Options{})
	i := install(t, filepath.Join(t.TempDir(), "data"), func(c *Config) {
		c.Mail, c.PublicURL = smtp.Settings{URL: "smtp://" + server.Address, From: "robot@example.org"}, "https://wf.example.org/"
	})
	id := i.Apply(apptest.Definition("asks", `{ call: 'human:1.0.0@default', with: { title: Approve it, remind: [PT0.1S], assignees: { users: [ada@example.org] } } }`))
	if status, e := i.Ask("POST", "/workflows/"+id+"/executions", "application/json", `{"input": {}}`); status != 201 {
		t.Fatalf("start: %d %v", status, e)
	}
	mails := server.Wait(t, 2)
	subjects := map[string]bool{}
	link := regexp.MustCompile(`\nhttps://wf.example.org(/t/[A-Za-z0-9_-]{43})\n`)
	links := map[string]bool{}
	for _, m := range mails {
		subjects[m.Header.Get("Subject")] = true
		found := link.FindStringSubmatch(m.Text)
		if m.To != "ada@example.org" || found == nil || links[found[1]] || !strings.Contains(m.Text, "It can be used until ") {
			t.Fatalf("mail to %s:\n%s", m.To, m.Text)
		}
		links[found[1]] = true
		// Ada is no user. The link is all that she needs.
		resp, err := http.Get("http://" + i.Address().String() + found[1])
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(text), "Approve it") {
			t.Errorf("the page of the link: %s, %v\n%s", resp.Status, err, text)
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
