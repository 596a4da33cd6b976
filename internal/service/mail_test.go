package service

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/logtest"
	"github.com/chargehand/chargehand/internal/mail"
	"github.com/chargehand/chargehand/internal/mail/smtp"
	"github.com/chargehand/chargehand/internal/peer/mailserver"
	"github.com/chargehand/chargehand/internal/store"
)

// newMailFixture is a fixture whose mails are sent.
func newMailFixture(t *testing.T) (*fixture, *mailserver.Server, *logtest.Buffer) {
	t.Helper()
	server := mailserver.Start(t, mailserver.Options{})
	sender, err := smtp.Open(smtp.Settings{URL: "smtp://" + server.Address, From: "robot@example.org"})
	if err != nil {
		t.Fatal(err)
	}
	var outbox *mail.Outbox
	log, lines := logtest.New(slog.LevelInfo)
	fx := newFixture(t, func(c *Config) {
		outbox = mail.New(mail.Config{
			Store: c.Store, Sealer: c.Sealer, Sender: sender, BaseURL: "https://wf.example.org", Every: 5 * time.Millisecond, Now: c.Now,
		})
		c.Mail, c.Log = outbox, log
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); outbox.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return fx, server, lines
}

// noneWaits waits until no mail is to be sent.
func noneWaits(fx *fixture) {
	fx.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for left := int64(1); left > 0; {
		if err := fx.view(fx.t.Context(), func(r *store.Reader) (err error) { left, err = r.CountMail(10); return err }); err != nil {
			fx.t.Fatal(err)
		}
		if time.Now().After(deadline) {
			fx.t.Fatalf("%d mails wait still", left)
		}
	}
}

func TestInvitationsAndResetsAreMailed(t *testing.T) {
	fx, server, _ := newMailFixture(t)
	p := fx.admin("ada")
	const base = "https://wf.example.org"
	u, _, err := fx.InviteUser(t.Context(), p, InviteUser{Body: parse(t, `{"email": "Bo@Example.org", "name": "Bo <b>"}`), BaseURL: base})
	if err != nil || !u.Link.Mailed {
		t.Fatalf("%+v, %v", u.Link, err)
	}
	m := server.Wait(t, 1)[0]
	if m.To != "Bo@example.org" || !strings.Contains(m.Text, u.Link.URL+"\n") || !strings.Contains(m.Text, "Hello Bo <b>,\n\nada invites you") ||
		!strings.Contains(m.HTML, "Bo &lt;b&gt;") {
		t.Errorf("%+v", m)
	}
	cy := fx.member("cy")
	l, _, err := fx.ResetUser(t.Context(), p, cy.Person.ID, base, nil)
	if err != nil || !l.Mailed {
		t.Fatalf("%+v, %v", l, err)
	}
	if m := server.Wait(t, 2)[1]; m.To != cy.Person.Email || !strings.Contains(m.Text, l.URL+"\n") {
		t.Errorf("%+v", m)
	}
	// One that was refused sends nothing.
	if _, _, err := fx.InviteUser(t.Context(), p, InviteUser{Body: parse(t, `{"email": "cy@example.org", "name": "Cy", "grants": [{"role": "none"}]}`), BaseURL: base}); err == nil {
		t.Error("an unknown role is given")
	}
	plain := newFixture(t)
	u, _, err = plain.InviteUser(t.Context(), plain.admin("ada"), InviteUser{Body: parse(t, `{"email": "bo@example.org", "name": "Bo"}`), BaseURL: base})
	if err != nil || u.Link.Mailed || u.Link.URL == "" {
		t.Errorf("without a mail server: %+v, %v", u.Link, err)
	}
	if n := len(server.Mails()); n != 2 {
		t.Errorf("%d mails", n)
	}
}

func TestKeysThatEndAreWarnedOf(t *testing.T) {
	fx, server, lines := newMailFixture(t)
	p := fx.admin("ada")
	const day = 24 * time.Hour
	end := func(d time.Duration) string { return fx.now().Add(d).Format(time.RFC3339) }
	create := func(p *Principal, name string, d time.Duration) {
		if _, _, err := fx.CreateKey(t.Context(), p, CreateKey{Body: parse(t, `{"name": "`+name+`", "scopes": ["workflows:read"], "expires_at": "`+end(d)+`"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	create(p, "long", 40*day)
	create(p, "short", 5*day)
	create(fx.p, "of a key", 40*day)
	fx.personal(p, `{"name": "laptop", "expires_at": "`+end(40*day)+`"}`)
	warnings := func() (n int) {
		// Two servers at once, and one again.
		errs := make(chan error, 3)
		for range 2 {
			go func() { errs <- fx.WarnOfKeys(context.Background()) }()
		}
		first, second := <-errs, <-errs
		if err := fx.WarnOfKeys(t.Context()); err != nil || first != nil || second != nil {
			t.Fatal(err, first, second)
		}
		return len(lines.With("an API key ends soon"))
	}
	for _, step := range []struct {
		pass         time.Duration
		lines, mails int
	}{
		{0, 0, 0}, {4 * day, 1, 1}, {5 * day, 1, 1}, {day, 4, 3}, {22 * day, 4, 3}, {day, 7, 5}, {5 * day, 7, 5}, {day, 10, 7}, {2 * day, 10, 7},
	} {
		fx.pass(step.pass)
		if n := warnings(); n != step.lines {
			t.Errorf("after %v: %d lines, want %d", step.pass, n, step.lines)
		}
		server.Wait(t, step.mails)
		noneWaits(fx) // otherwise the lease of a mail that is being sent ends when the clock passes
	}
	counts := map[string]int{}
	for _, m := range server.Mails() {
		counts[m.Header.Get("Subject")]++
	}
	for subject, n := range map[string]int{
		"API key short ends in 1 day": 1, "API key long ends in 30 days": 1, "API key long ends in 7 days": 1, "API key long ends in 1 day": 1,
		"API key laptop ends in 30 days": 1, "API key laptop ends in 7 days": 1, "API key laptop ends in 1 day": 1,
	} {
		if counts[subject] != n {
			t.Errorf("%q came %d times, of %v", subject, counts[subject], counts)
		}
	}
}
