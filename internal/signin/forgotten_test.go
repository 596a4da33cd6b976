package signin

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/mail"
	"github.com/chargehand/chargehand/internal/mail/smtp"
	"github.com/chargehand/chargehand/internal/peer/mailserver"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

// withMail gives the fixture a mail server, whose outbox runs until the test ends.
func (fx *fixture) withMail() *mailserver.Server {
	fx.t.Helper()
	server := mailserver.Start(fx.t, mailserver.Options{})
	sender := must(smtp.Open(smtp.Settings{URL: "smtp://" + server.Address, From: "robot@example.org"}))
	outbox := mail.New(mail.Config{
		Store: fx.rows, Sealer: secret.NewSealer(secret.NewKeys()), Sender: sender, BaseURL: "https://wf.example.org",
		Every: 5 * time.Millisecond, Now: fx.time,
	})
	config := fx.config()
	config.Mail = outbox
	fx.Service = New(config)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); outbox.Run(ctx) }()
	fx.t.Cleanup(func() { cancel(); <-done })
	return server
}

// noneWaits waits until no mail is to be sent any more.
func (fx *fixture) noneWaits() {
	fx.t.Helper()
	late := time.NewTimer(2 * time.Minute)
	defer late.Stop()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for {
		var n int64
		if err := fx.rows.View(fx.t.Context(), func(r *store.Reader) (err error) { n, err = r.CountMail(10); return err }); err != nil {
			fx.t.Fatal(err)
		}
		if n == 0 {
			return
		}
		select {
		case <-again.C:
		case <-late.C:
			fx.t.Fatalf("%d mails wait still", n)
		}
	}
}

func from(n int) Client { return Client{Address: netip.AddrFrom4([4]byte{198, 51, 100, byte(n)})} }

// within is a client in a network that one subscriber may have.
func within(n int) Client {
	return Client{Address: netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, 7, 0, byte(n), 15: 1})}
}

func TestForgottenPassword(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		fx.setUp()
		refused(t, "without a mail server", fx.AskReset(t.Context(), "ada@example.com", home), chargehand.CodeInvalidBody, "Ask an admin")
		server := fx.withMail()
		fx.invite("bo@example.com", fx.account) // has no password yet
		// The domain in capitals, and the joiner, are typed; the mail goes to the address that is stored.
		for i, email := range []string{"unknown@example.com", "bo@example.com", "a\u200dda@EXAMPLE.com"} {
			if err := fx.AskReset(t.Context(), email, from(i)); err != nil {
				t.Fatalf("%s: %v", email, err)
			}
		}
		m := server.Wait(t, 1)[0]
		fx.noneWaits()
		if n := len(server.Mails()); n != 1 || m.To != "Ada@example.com" {
			t.Fatalf("%d mails, the first to %s", n, m.To)
		}
		_, rest, found := strings.Cut(m.Text, "https://wf.example.org/password-reset#token=")
		secret, _, _ := strings.Cut(rest, "\n")
		if !found {
			t.Fatal(m.Text)
		}
		if _, err := fx.Reset(t.Context(), secret, "another horse battery", home); err != nil {
			t.Errorf("the link: %v", err)
		}
		_, err := fx.Reset(t.Context(), secret, "a third horse battery", home)
		refused(t, "the link again", err, chargehand.CodeInvalidCredentials, "")
		if _, err := fx.SignIn(t.Context(), "ada@example.com", "another horse battery", home); err != nil {
			t.Error(err)
		}
	})
}

func TestAsksAreBounded(t *testing.T) {
	each(t, func(t *testing.T, fx *fixture) {
		fx.setUp()
		fx.withMail()
		for _, email := range []string{"ada@example.com", "unknown@example.com"} { // one as the other
			for i := range AsksOfPerson {
				if err := fx.AskReset(t.Context(), email, from(i)); err != nil {
					t.Fatal(err)
				}
			}
			refused(t, email, fx.AskReset(t.Context(), strings.ToUpper(email), from(9)), chargehand.CodeRateLimited, "too often")
		}
		for i := range AsksOfAddress {
			if err := fx.AskReset(t.Context(), fmt.Sprintf("p%d@example.com", i), within(i)); err != nil {
				t.Fatal(err)
			}
		}
		refused(t, "from one network", fx.AskReset(t.Context(), "q@example.com", within(50)), chargehand.CodeRateLimited, "too often")
		fx.advance(askWindow)
		if err := fx.AskReset(t.Context(), "ada@example.com", from(50)); err != nil {
			t.Errorf("an hour later: %v", err)
		}
		for _, email := range []string{"", "ada", "ada@example.com\r\nBcc: eve@example.com", strings.Repeat("a", 10_000) + "@example.com", "a\u202eda@example.com"} {
			refused(t, email, fx.AskReset(t.Context(), email, from(60)), chargehand.CodeInvalidBody, "")
		}
	})
}
