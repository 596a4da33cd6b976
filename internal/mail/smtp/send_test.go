package smtp

import (
	"context"
	"errors"
	"mime"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/peer/mailserver"
)

func message(to string) *Message {
	return &Message{
		ID: "01890a5d-ac96-774b-bcce-b302099a8057", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), To: to, Name: "Ada Lovelace",
		Subject: "Grüße", Text: "Guten Tag", HTML: "<p>Guten Tag</p>",
	}
}

func open(t *testing.T, c Settings) *Server {
	t.Helper()
	if c.From == "" {
		c.From = "Chargehand <robot@example.org>"
	}
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func failed(t *testing.T, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("the error is %v (%T)", err, err)
	}
	return e
}

func TestMailIsSent(t *testing.T) {
	server := mailserver.Start(t, mailserver.Options{})
	s := open(t, Settings{URL: "smtp://" + server.Address})
	if err := s.Send(t.Context(), message("Ada@bücher.example")); err != nil {
		t.Fatal(err)
	}
	m := server.Mails()[0]
	if m.From != "robot@example.org" || m.To != "Ada@xn--bcher-kva.example" || m.Secure || m.Text != "Guten Tag" || m.HTML != "<p>Guten Tag</p>" {
		t.Errorf("%+v", m)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil || subject != "Grüße" {
		t.Errorf("subject %q, %v", subject, err)
	}
	for name, want := range map[string]string{
		"Message-Id": "<01890a5d-ac96-774b-bcce-b302099a8057@example.org>", "Date": "Fri, 02 Jan 2026 03:04:05 +0000",
		"From": `"Chargehand" <robot@example.org>`, "To": `"Ada Lovelace" <Ada@xn--bcher-kva.example>`, "Auto-Submitted": "auto-generated",
	} {
		if got := m.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestReady: it is asked when the server waits for the content, and the server takes nothing if it says no.
func TestReady(t *testing.T) {
	for _, security := range []string{"", "?starttls=required"} {
		server := mailserver.Start(t, mailserver.Options{STARTTLS: security != ""})
		address := "smtp://" + server.Address + security
		if security != "" {
			address += "&ca=" + server.CA
		}
		s := open(t, Settings{URL: address})
		var recipients, contents atomic.Int64
		server.Refuse(func(stage, _ string) error {
			switch stage {
			case "to":
				recipients.Add(1)
			case "data":
				contents.Add(1)
			}
			return nil
		})
		m := message("ada@example.org")
		asked := 0
		m.Ready = func(context.Context) error { asked++; return errors.New("not now") }
		if err := failed(t, s.Send(t.Context(), m)); err.Refused || !strings.Contains(err.Error(), "not now") {
			t.Errorf("%+v", err)
		}
		server.Stop() // nothing comes any more
		if asked != 1 || recipients.Load() != 1 || contents.Load() != 0 || len(server.Mails()) != 0 {
			t.Errorf("%q: it was asked %d times, the server has %d mails, after %d recipients and %d contents",
				security, asked, len(server.Mails()), recipients.Load(), contents.Load())
		}
	}
	server := mailserver.Start(t, mailserver.Options{})
	m := message("ada@example.org")
	asked := 0
	m.Ready = func(context.Context) error { asked++; return nil }
	if err := open(t, Settings{URL: "smtp://" + server.Address}).Send(t.Context(), m); err != nil || asked != 1 || len(server.Mails()) != 1 {
		t.Errorf("%v, asked %d times, %d mails", err, asked, len(server.Mails()))
	}
}

func TestHostileTextsMakeNoHeader(t *testing.T) {
	server := mailserver.Start(t, mailserver.Options{})
	s := open(t, Settings{URL: "smtp://" + server.Address})
	m := message("ada@example.org")
	m.Name, m.Subject = "Ada\r\nBcc: eve@example.org\r\n\r\nbody", "Hello\r\nBcc: eve@example.org\n\nbody"
	m.Text, m.HTML = "line\r\n.\r\nMAIL FROM:<eve@example.org>\r\n", "<p>\r\n.\r\n</p>"
	if err := s.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	got := server.Mails()
	if len(got) != 1 || got[0].Header.Get("Bcc") != "" || !strings.Contains(got[0].Text, "MAIL FROM:<eve@example.org>") {
		t.Errorf("%+v", got)
	}
	for _, to := range []string{"", "ada", "ada@example.org\r\nRCPT TO:<eve@example.org>", "<ada@example.org>", "ada@example.org,eve@example.org", "a\u202eda@example.org",
		strings.Repeat("a", 10_000) + "@example.org"} {
		if err := s.Send(t.Context(), message(to)); err == nil || !failed(t, err).Refused {
			t.Errorf("%.40q: %v", to, err)
		}
	}
	if n := len(server.Mails()); n != 1 {
		t.Errorf("%d mails", n)
	}
}

func TestConnectionsAreProtected(t *testing.T) {
	for name, c := range map[string]struct {
		options mailserver.Options
		url     func(s *mailserver.Server) string
		want    string // part of the error; empty: the mail is sent
		secure  bool
	}{
		"from the start":        {mailserver.Options{TLS: true}, func(s *mailserver.Server) string { return "smtps://" + s.Address + "?ca=" + s.CA }, "", true},
		"STARTTLS":              {mailserver.Options{STARTTLS: true}, func(s *mailserver.Server) string { return "smtp://" + s.Address + "?starttls=required&ca=" + s.CA }, "", true},
		"STARTTLS not offered":  {mailserver.Options{}, func(s *mailserver.Server) string { return "smtp://" + s.Address + "?starttls=required" }, "STARTTLS", false},
		"unknown authority":     {mailserver.Options{STARTTLS: true}, func(s *mailserver.Server) string { return "smtp://" + s.Address + "?starttls=required" }, "unknown authority", false},
		"unknown authority TLS": {mailserver.Options{TLS: true}, func(s *mailserver.Server) string { return "smtps://" + s.Address }, "unknown authority", false},
		"another name": {mailserver.Options{TLS: true, Name: "mail.example.org"}, func(s *mailserver.Server) string { return "smtps://" + s.Address + "?ca=" + s.CA },
			"certificate", false},
		"no TLS there": {mailserver.Options{}, func(s *mailserver.Server) string { return "smtps://" + s.Address }, "TLS", false},
		"signed in": {mailserver.Options{TLS: true, User: "robot", Password: "pa ss"}, func(s *mailserver.Server) string {
			return "smtps://robot:pa%20ss@" + s.Address + "?ca=" + s.CA
		}, "", true},
		"signed in without TLS": {mailserver.Options{User: "robot", Password: "word"}, func(s *mailserver.Server) string { return "smtp://robot:word@" + s.Address }, "", false},
		"wrong password": {mailserver.Options{TLS: true, User: "robot", Password: "word"}, func(s *mailserver.Server) string {
			return "smtps://robot:wrong-word@" + s.Address + "?ca=" + s.CA
		}, "AUTH", false},
		"no user": {mailserver.Options{User: "robot", Password: "word"}, func(s *mailserver.Server) string { return "smtp://" + s.Address }, "authenticate", false},
	} {
		t.Run(name, func(t *testing.T) {
			server := mailserver.Start(t, c.options)
			s := open(t, Settings{URL: c.url(server)})
			err := s.Send(t.Context(), message("ada@example.org"))
			if c.want == "" {
				if err != nil || server.Mails()[0].Secure != c.secure {
					t.Errorf("%v, %+v", err, server.Mails())
				}
				if err := s.Check(t.Context()); err != nil {
					t.Error(err)
				}
				return
			}
			if e := failed(t, err); !strings.Contains(e.Error(), c.want) || e.Refused || !e.Server || strings.Contains(e.Error(), "wrong-word") {
				t.Errorf("%+v", e)
			}
			if len(server.Mails()) != 0 {
				t.Error("a mail was sent")
			}
		})
	}
}

func TestAnswersOfServers(t *testing.T) {
	server := mailserver.Start(t, mailserver.Options{})
	s := open(t, Settings{URL: "smtp://" + server.Address})
	for _, c := range []struct {
		stage           string
		code            int
		refused, server bool
	}{
		{"connect", 421, false, true}, {"connect", 554, false, true}, {"from", 451, false, true}, {"from", 550, false, true},
		{"to", 450, false, false}, {"to", 550, true, false}, {"data", 452, false, false}, {"data", 554, true, false},
	} {
		server.Refuse(func(stage, _ string) error {
			if stage == c.stage {
				return mailserver.Code(c.code, "not\x00 today\x1b[31m "+strings.Repeat("x", 1000))
			}
			return nil
		})
		err := s.Send(t.Context(), message("ada@example.org"))
		e := failed(t, err)
		if e.Refused != c.refused || e.Server != c.server || strings.ContainsAny(e.Error(), "\x00\x1b\r\n") || len(e.Error()) > 400 {
			t.Errorf("%s %d: %+v", c.stage, c.code, e)
		}
	}
	server.Refuse(nil)
	if err := s.Send(t.Context(), message("ädä@example.org")); err == nil || !failed(t, err).Refused {
		t.Errorf("an address that the server does not take: %v", err)
	}
	international := mailserver.Start(t, mailserver.Options{UTF8: true})
	if err := open(t, Settings{URL: "smtp://" + international.Address}).Send(t.Context(), message("ädä@example.org")); err != nil {
		t.Error(err)
	}
}

// TestCallsEnd: a server that says nothing, at any point, keeps no caller.
func TestCallsEnd(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	s := open(t, Settings{URL: "smtp://" + silent.Addr().String()})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancelled := errors.New("enough")
	go func() {
		if conn, err := silent.Accept(); err == nil {
			defer conn.Close()
			cancel(cancelled)
			<-t.Context().Done()
		}
	}()
	if e := failed(t, s.Send(ctx, message("ada@example.org"))); !e.Server || !strings.Contains(e.Error(), "enough") {
		t.Errorf("%+v", e)
	}
	server := mailserver.Start(t, mailserver.Options{})
	release := make(chan struct{})
	defer close(release)
	for _, stage := range []string{"connect", "from", "to", "data", "taken"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		server.Refuse(func(at, _ string) error {
			if at == stage {
				cancel(cancelled)
				<-release
			}
			return nil
		})
		s := open(t, Settings{URL: "smtp://" + server.Address})
		if e := failed(t, s.Send(ctx, message("ada@example.org"))); e.Refused || !strings.Contains(e.Error(), "enough") {
			t.Errorf("%s: %+v", stage, e)
		}
	}
	server.Refuse(func(string, string) error { <-release; return nil })
	s = open(t, Settings{URL: "smtp://" + server.Address, Time: 50 * time.Millisecond})
	if e := failed(t, s.Send(t.Context(), message("ada@example.org"))); !e.Server {
		t.Errorf("%+v", e)
	}
	if e := failed(t, s.Check(t.Context())); !e.Server {
		t.Errorf("%+v", e)
	}
	silent.Close()
	if e := failed(t, open(t, Settings{URL: "smtp://" + silent.Addr().String()}).Send(t.Context(), message("ada@example.org"))); !e.Server {
		t.Errorf("%+v", e)
	}
}

func TestSettings(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	word, empty := file("word", "secret-word\n"), file("empty", "\n")
	const from = "robot@example.org"
	for _, c := range []struct {
		settings Settings
		address  string
		security security
		want     string // part of the error; empty: they are right
	}{
		{Settings{URL: "smtp://mail.example.org", From: from}, "mail.example.org:587", startTLS, ""},
		{Settings{URL: "smtps://mail.example.org", From: "Robot <" + from + ">"}, "mail.example.org:465", fromStart, ""},
		{Settings{URL: "smtp://mail.example.org:25?starttls=never", From: from}, "mail.example.org:25", plain, ""},
		{Settings{URL: "smtp://localhost:25", From: from}, "localhost:25", plain, ""},
		{Settings{URL: "smtp://[::1]:25", From: from}, "[::1]:25", plain, ""},
		{Settings{URL: "smtp://127.0.0.1?starttls=required", From: from}, "127.0.0.1:587", startTLS, ""},
		{Settings{URL: "smtps://robot@mail.example.org", PasswordFile: word, From: from}, "mail.example.org:465", fromStart, ""},
		{Settings{URL: "mail.example.org", From: from}, "", 0, "must begin with smtp://"},
		{Settings{URL: "http://mail.example.org", From: from}, "", 0, "must begin with smtp://"},
		{Settings{URL: "smtp://u:secret-word@mail.example.org:x", From: from}, "", 0, "no address"},
		{Settings{URL: "smtp://:25", From: from}, "", 0, "no mail server"},
		{Settings{URL: "smtp://mail.example.org:70000", From: from}, "", 0, "port"},
		{Settings{URL: "smtp://mail.example.org/path", From: from}, "", 0, "behind host"},
		{Settings{URL: "smtp://mail.example.org?starttls=maybe", From: from}, "", 0, "starttls=maybe"},
		{Settings{URL: "smtps://mail.example.org?starttls=never", From: from}, "", 0, "smtps:// has none"},
		{Settings{URL: "smtps://mail.example.org?tls=no", From: from}, "", 0, "only starttls and ca"},
		{Settings{URL: "smtps://mail.example.org?ca=" + filepath.Join(dir, "none"), From: from}, "", 0, "no such file"},
		{Settings{URL: "smtps://mail.example.org?ca=" + word, From: from}, "", 0, "no certificate"},
		{Settings{URL: "smtps://robot@mail.example.org", From: from}, "", 0, "a user needs a password"},
		{Settings{URL: "smtps://mail.example.org", PasswordFile: word, From: from}, "", 0, "a password a user"},
		{Settings{URL: "smtps://robot:secret-word@mail.example.org", PasswordFile: word, From: from}, "", 0, "has a password already"},
		{Settings{URL: "smtps://robot@mail.example.org", PasswordFile: empty, From: from}, "", 0, "is empty"},
		{Settings{URL: "smtps://robot@mail.example.org", PasswordFile: filepath.Join(dir, "none"), From: from}, "", 0, "no such file"},
		{Settings{URL: "smtps://ro%0Abot:secret-word@mail.example.org", From: from}, "", 0, "one line"},
		{Settings{URL: "smtps://mail.example.org"}, "", 0, "needs --mail-from"},
		{Settings{URL: "smtps://mail.example.org", From: "robot"}, "", 0, "--mail-from"},
		{Settings{URL: "smtps://mail.example.org", From: "robot@example.org\r\nBcc: a@b.c"}, "", 0, "--mail-from"},
		{Settings{URL: "smtps://mail.example.org", From: "röbot@example.org"}, "", 0, "before the @"},
		{Settings{URL: "smtps://mail.example.org", From: "\"a\u202eb\" <robot@example.org>"}, "", 0, "direction of writing"},
	} {
		s, err := Open(c.settings)
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret-word") {
				t.Errorf("%s: %v, want %q", c.settings.URL, err, c.want)
			}
		case err != nil || s.Address() != c.address || s.security != c.security:
			t.Errorf("%s: %v, %v", c.settings.URL, err, s)
		}
	}
}
