package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/mail/letter"
	"github.com/chargehand/chargehand/internal/mail/smtp"
)

// CheckMail looks whether the mail server of the settings lets us in, and with an address sends a test mail to it.
func CheckMail(ctx context.Context, cfg installation.Settings, to string) Finding {
	f := Finding{What: "mail server"}
	server, err := cfg.MailServer()
	if err == nil && server == nil {
		err = errors.New("--mail-to needs --smtp-url and --mail-from")
	}
	if err == nil {
		f.Detail = server.Address() + " lets us in"
		err = server.Check(ctx)
	}
	if err == nil && to != "" {
		f.Detail = fmt.Sprintf("%s has taken a test mail to %s", server.Address(), to)
		err = sendTest(ctx, server, to)
	}
	if f.OK = err == nil; !f.OK {
		f.Detail = err.Error()
		if server != nil {
			f.Detail = server.Address() + ": " + f.Detail
		}
	}
	return f
}

func sendTest(ctx context.Context, server *smtp.Server, to string) error {
	content, err := letter.Letter{Kind: letter.Test}.Write()
	if err != nil {
		return err
	}
	return server.Send(ctx, &smtp.Message{
		ID: uuid.NewString(), At: time.Now(), To: to, Subject: content.Subject, Text: content.Text, HTML: content.HTML,
	})
}
