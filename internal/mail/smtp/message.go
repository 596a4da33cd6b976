package smtp

import (
	"context"
	"errors"
	"io"
	"net/mail"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"golang.org/x/net/idna"

	"github.com/chargehand/chargehand/internal/person"
)

// Message is a mail to one person.
type Message struct {
	ID       string // what stands before the @ of the Message-ID: letters, digits and dashes
	At       time.Time
	To, Name string // of the person
	Subject  string
	Text     string
	HTML     string // says the same
	// Ready is called once the server is ready for the content, before the last of that is sent. With an error of it the
	// server takes nothing of the mail. It may wait for as long as the context lasts. nil: nothing is called.
	Ready func(context.Context) error
}

// address is the form of an e-mail address that mail servers take: with a domain in ASCII.
func address(text string) (string, error) {
	shown, _, complaint := person.Email(text)
	if complaint != "" {
		return "", errors.New(strings.TrimSuffix(complaint, "."))
	}
	at := strings.LastIndexByte(shown, '@')
	domain, err := idna.Lookup.ToASCII(shown[at+1:])
	return shown[:at+1] + domain, err
}

// ascii reports whether every mail server takes an address.
func ascii(address string) bool {
	return !strings.ContainsFunc(address, func(r rune) bool { return r > 126 })
}

// write makes the text of a mail, with its headers. ready is called before its last part is sent.
func (m *Message) write(from mail.Address, to string, ready func() error) *gomail.Msg {
	out := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	out.FromMailAddress(&from)
	out.ToMailAddress(&mail.Address{Name: m.Name, Address: to})
	out.Subject(m.Subject)
	out.SetDateWithValue(m.At)
	out.SetMessageIDWithValue(m.ID + from.Address[strings.LastIndexByte(from.Address, '@'):])
	// Mailboxes do not answer by themselves then: no person would read a note of absence.
	out.SetGenHeader("Auto-Submitted", "auto-generated")
	out.SetGenHeader("X-Auto-Response-Suppress", "All")
	out.SetBodyString(gomail.TypeTextPlain, m.Text)
	out.AddAlternativeWriter(gomail.TypeTextHTML, func(w io.Writer) (int64, error) {
		if err := ready(); err != nil {
			return 0, err
		}
		n, err := io.WriteString(w, m.HTML)
		return int64(n), err
	})
	return out
}
