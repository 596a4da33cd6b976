package reminder

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// logged counts the lines of the log that have all these parts.
func (f *fixture) logged(parts ...string) (n int) {
	for line := range strings.Lines(f.log.String()) {
		has := true
		for _, part := range parts {
			has = has && strings.Contains(line, part)
		}
		if has {
			n++
		}
	}
	return n
}

func (f *fixture) wantSent(list []string, want ...string) {
	f.Helper()
	slices.Sort(list)
	slices.Sort(want)
	if !slices.Equal(list, want) {
		f.Errorf("sent are %q, want %q\n%s", list, want, f.log.String())
	}
}

// Each who may answer gets one mail of each kind, with what the task says.
func TestMailsAboutATask(t *testing.T) {
	each(t, func(f *fixture) {
		ada, ben, cy, dan, eve := f.person("Ada"), f.person("Ben"), f.person("Cy"), f.person("Dan"), f.person("Eve")
		f.group("Controllers", ada, ben, cy, dan, eve)
		f.group("Others", ben)
		f.update(func(tx *store.Tx) error {
			m, err := tx.MemberByNo(f.account.No, cy.No)
			if err != nil {
				return err
			}
			if err := tx.SetMemberStatus(m.No, store.Active, store.Disabled); err != nil {
				return err
			}
			return tx.DisablePerson(dan.No, 5)
		})
		o := f.outbox()
		w := f.worker(o)
		f.step(w)
		h := f.task(f.execution, store.TaskAssignees{
			Users:  []string{"ADA@example.org", ben.ID.String(), "dan@example.org", "stranger@example.org", "nonsense", chargehand.UserID{9}.String()},
			Groups: []string{"controllers", "OTHERS", "no such group"}, Exclude: []string{eve.ID.String()},
		})
		h.Priority = 70
		f.open(h, 2*time.Hour, time.Hour)
		f.step(w)
		f.wantSent(f.sent(o), "Task: Approve the invoice to ada@example.org", "Task: Approve the invoice to ben@example.org")
		m := f.server.Mails()[0]
		for _, text := range []string{
			"Hello ", "the workflow finance/pay of the account Finance asks you for an answer: “Approve the invoice”. Due: 1 March 2026, 14:00 UTC. Priority: 70 of 100.",
			"\nhttps://wf.example.org/inbox/" + h.ID.String() + "\n",
		} {
			if !strings.Contains(m.Text, text) {
				t.Errorf("the mail lacks %q:\n%s", text, m.Text)
			}
		}
		f.advance(time.Hour + time.Second)
		f.step(w)
		f.wantSent(f.sent(o), "Reminder: Approve the invoice to ada@example.org", "Reminder: Approve the invoice to ben@example.org")
		f.advance(time.Hour)
		f.step(w)
		f.wantSent(f.sent(o), "Overdue: Approve the invoice to ada@example.org", "Overdue: Approve the invoice to ben@example.org")
		f.empty(w)
	})
}

// empty expects that nothing waits, and that no row is left of it when the minute is over.
func (f *fixture) empty(w *Worker) {
	f.Helper()
	if n := f.waiting(); n != 0 {
		f.Errorf("%d mails wait", n)
	}
	f.advance(time.Minute)
	f.step(w)
	f.view(func(r *store.Reader) error {
		due, err := r.TaskMailDue(store.NeverDue, 10)
		if len(due) != 0 {
			f.Errorf("rates are left: %+v", due)
		}
		return err
	})
}

// A Link may give an address to people whom the installation does not know, and say that a person gets no mail.
func TestLinks(t *testing.T) {
	f := newSQLite(t)
	f.person("Ada")
	o := f.outbox()
	w := New(Config{Store: f.store, Mail: o, Now: f.now, Link: func(_ *store.Tx, h *store.HumanTask, to *Addressee) (string, time.Time, error) {
		if to.Email == "no@example.org" {
			return "", time.Time{}, nil
		}
		return "https://wf.example.org/t/" + strings.SplitN(to.Email, "@", 2)[0], f.now().Add(24 * time.Hour), nil
	}})
	f.step(w)
	f.open(f.task(f.execution, users("ada@example.org", "Stranger@Example.org", "no@example.org", "stranger@example.org")), 0)
	f.step(w)
	f.wantSent(f.sent(o), "Task: Approve the invoice to ada@example.org", "Task: Approve the invoice to Stranger@example.org")
	for _, m := range f.server.Mails() {
		if name, _, _ := strings.Cut(m.To, "@"); !strings.Contains(m.Text, "\nhttps://wf.example.org/t/"+name+"\n") || !strings.Contains(m.Text, "It can be used until 2 March 2026, 12:00 UTC.") {
			t.Errorf("to %s:\n%s", m.To, m.Text)
		}
	}
	f.empty(w)
}

// What waits is not sent to those who need it no more.
func TestMailsThatAreNotNeededAnyMore(t *testing.T) {
	f := newSQLite(t)
	ada, ben := f.person("Ada"), f.person("Ben")
	group := f.group("controllers", ada, ben)
	o := f.outbox()
	w := f.worker(o)
	f.step(w)
	h := f.open(f.task(f.execution, store.TaskAssignees{Groups: []string{"controllers"}}), 0)
	ended := f.open(f.task(f.execution, users("ada@example.org")), 0)
	reassigned := f.open(f.task(f.execution, users("ada@example.org")), 0)
	f.step(f.worker(nil)) // publishes
	if _, err := w.readFacts(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := f.waiting(); n != 4 {
		t.Fatalf("%d wait", n)
	}
	f.update(func(tx *store.Tx) error {
		if err := tx.LeaveGroup(group.No, ben.No); err != nil {
			return err
		}
		if err := tx.ReassignTask(&reassigned, users("ben@example.org"), "", []store.TaskCandidate{{Kind: store.CandidateUser, Name: "ben@example.org"}}); err != nil {
			return err
		}
		_, err := tx.WithdrawTask(f.execution.No, ended.Command, 2, f.now().UnixMilli())
		return err
	})
	f.step(w)
	f.wantSent(f.sent(o), "Task: Approve the invoice to ada@example.org")
	if m := f.server.Mails(); !strings.Contains(m[0].Text, h.ID.String()) {
		t.Error(m[0].Text)
	}
	f.empty(w)
}

// A task whose row is damaged keeps back no mail about others.
func TestDamagedTask(t *testing.T) {
	f := newSQLite(t)
	f.person("Ada")
	f.store.SetSealer(f.sealer, true, nil)
	o := f.outbox()
	w := f.worker(o)
	f.step(w)
	opened, later := f.open(f.task(f.execution, users("ada@example.org")), 0), f.open(f.task(f.execution, users("ada@example.org")), time.Hour)
	f.open(f.task(f.execution, users("ada@example.org")), 0)
	damage := func(h store.HumanTask) {
		err := f.raw.Update(t.Context(), func(c store.Conn) error {
			_, err := c.Exec(`UPDATE human_task SET title = ?2 WHERE no = ?1`, h.No, []byte{0xC5, 0, 0})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	damage(opened)
	f.step(w)
	f.wantSent(f.sent(o), "Task: Approve the invoice to ada@example.org", "Task: Approve the invoice to ada@example.org")
	damage(later)
	f.advance(2 * time.Hour)
	f.step(w)
	f.wantSent(f.sent(o))
	f.wantFacts(fmt.Sprintf("task.opened %d", opened.No), fmt.Sprintf("task.opened %d", later.No), fmt.Sprintf("task.opened %d", later.No+1), fmt.Sprintf("task.overdue %d", later.No))
	f.empty(w)
}

// A large group gets mail to some of its members, and a workflow sends no more than it may: what is more waits, and
// other workflows do not.
func TestRateOfAWorkflow(t *testing.T) {
	each(t, func(f *fixture) {
		var members []store.Person
		for i := range MailsPerGroup + 10 {
			members = append(members, f.person(fmt.Sprintf("P%d", i)))
		}
		f.group("all", members...)
		_, quiet := f.newWorkflow("quiet")
		o := f.outbox()
		w := f.worker(o)
		f.step(w)
		for range 5 {
			f.open(f.task(f.execution, store.TaskAssignees{Groups: []string{"all"}}), 0)
		}
		f.step(w)
		f.open(f.task(quiet, users("p3@example.org")), 0)
		inTest := f.newExecution(f.workflow, chargehand.Test)
		f.open(f.task(inTest, users("p4@example.org")), 0)
		w = f.worker(o) // of another process: the rate is a row
		f.step(w)
		list := f.sent(o)
		if n := len(list); n != MailsPerMinute+2 || !slices.Contains(list, "[test] Task: Approve the invoice to p4@example.org") {
			t.Errorf("%d mails were sent in the first minute: %q", n, list)
		}
		if n := f.waiting(); n != 5*MailsPerGroup-MailsPerMinute {
			t.Errorf("%d wait", n)
		}
		if n := f.logged("level=WARN", "mails about human tasks wait", "workflow="+f.workflow.ID.String(), fmt.Sprintf("waiting=%d", 5*MailsPerGroup-MailsPerMinute), "per_minute=100"); n != 1 {
			t.Errorf("%d lines say that mails wait:\n%s", n, f.log.String())
		}
		f.advance(time.Minute - time.Millisecond)
		f.step(w)
		if n := len(f.sent(o)); n != 0 {
			t.Errorf("%d mails were sent before the minute was over", n)
		}
		f.advance(time.Millisecond)
		f.step(w)
		if n := len(f.sent(o)); n != MailsPerMinute {
			t.Errorf("%d mails were sent in the second minute", n)
		}
		f.advance(time.Minute)
		f.step(w)
		if n := len(f.sent(o)); n != 5*MailsPerGroup-2*MailsPerMinute {
			t.Errorf("%d mails were sent in the third minute", n)
		}
		to := map[string]int{}
		for _, m := range f.server.Mails() {
			to[m.To]++
		}
		if len(to) != MailsPerGroup || to["p0@example.org"] != 5 || to["p49@example.org"] != 5 {
			t.Errorf("sent to %v", to)
		}
		f.empty(w)
	})
}

// While the outbox is behind, mails about tasks wait, so that others come first. Those that are too many are refused,
// with a line of the log.
func TestFullOutbox(t *testing.T) {
	f := newSQLite(t)
	ada := f.person("Ada")
	o := f.outbox()
	w := f.worker(o)
	w.most = 3
	f.step(w)
	f.update(func(tx *store.Tx) error {
		for range outboxShare {
			m := store.Mail{Account: 1, Person: ada.No, Kind: "invitation", DueMs: f.now().UnixMilli(), ExpiresMs: f.now().UnixMilli() + 1, CreatedMs: 1, Content: []byte("x")}
			f.id(m.ID[:])
			if err := tx.InsertMail(&m); err != nil {
				return err
			}
		}
		return nil
	})
	for range 4 {
		f.open(f.task(f.execution, users("ada@example.org")), 0)
	}
	f.step(w)
	if n := f.waiting(); n != 3 || f.inOutbox() != outboxShare || w.Stats().Left != 1 {
		t.Errorf("%d wait; %+v", n, w.Stats())
	}
	if f.logged("level=WARN", "mails about a human task are not sent", "fact=task.opened", "mails=1") != 1 {
		t.Error(f.log.String())
	}
	f.sent(o) // the others are damaged, and given up
	f.step(w)
	if n := len(f.sent(o)); n != 3 {
		t.Errorf("%d mails", n)
	}
	f.empty(w)
}

// Who begins to send mail tells of what happens from then on.
func TestMailBegins(t *testing.T) {
	f := newSQLite(t)
	f.person("Ada")
	f.open(f.task(f.execution, users("ada@example.org")), time.Hour)
	f.step(f.worker(nil))
	o := f.outbox()
	w := f.worker(o)
	f.step(w)
	if n := f.waiting() + f.inOutbox(); n != 0 {
		t.Errorf("%d mails about what happened before", n)
	}
	f.advance(2 * time.Hour)
	f.step(w)
	f.wantSent(f.sent(o), "Overdue: Approve the invoice to ada@example.org")
	f.empty(w)
}

// What a task and people are called is data: it makes no header, no second mail and no HTML.
func TestHostileTitles(t *testing.T) {
	f := newSQLite(t)
	ada := f.person("Ada")
	ada.Name = "Ada\r\nBcc: eve@example.org"
	f.update(func(tx *store.Tx) error { return tx.UpdatePerson(&ada) })
	o := f.outbox()
	w := f.worker(o)
	f.step(w)
	titles := []string{
		"Hi\r\nBcc: eve@example.org\r\n\r\n.\r\nMAIL FROM:<eve@example.org>", "<script>alert(1)</script><img src=x onerror=alert(1)>", `"><a href="https://evil.example">x</a>`,
		"{{.URL}} {{define}}", "=?utf-8?q?Bcc=3A_eve=40example.org?=", "\u202egnp.exe", strings.Repeat("ä", 300), "javascript:alert(1)", "%s%n", "\x00\x1b[31m",
	}
	for _, title := range titles {
		h := f.task(f.execution, users("ada@example.org"))
		h.Title = title
		f.open(h, 0)
	}
	f.step(w)
	if n := len(f.sent(o)); n != len(titles) {
		t.Errorf("%d mails of %d", n, len(titles))
	}
	for _, m := range f.server.Mails() {
		if m.To != "ada@example.org" || m.Header.Get("Bcc") != "" || len(m.Header["Subject"]) != 1 || m.From != "robot@example.org" {
			t.Errorf("to %s, %v", m.To, m.Header)
		}
		if subject := subject(f, &m); !strings.HasPrefix(subject, "Task: ") || strings.ContainsAny(subject, "\r\n\x00\x1b\u202e") || len([]rune(subject)) > 110 {
			t.Errorf("subject %q", subject)
		}
		for _, bad := range []string{"<script", "<img", "evil.example\">", "\u202e", "\x1b"} {
			if strings.Contains(m.HTML, bad) {
				t.Errorf("the page has %q:\n%s", bad, m.HTML)
			}
		}
		if strings.Count(m.HTML, "<a ") != 1 || strings.Contains(m.Text, "\nBcc:") || strings.Contains(m.Text, "\n.\n") {
			t.Errorf("%s\n%s", m.Text, m.HTML)
		}
	}
	f.empty(w)
}
