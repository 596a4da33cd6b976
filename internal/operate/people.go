package operate

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/store"
)

// Account is an account of an installation.
type Account struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
}

func shownAccount(row *store.Account) Account {
	return Account{ID: row.ID.String(), Name: row.Name, CreatedAt: time.UnixMilli(row.CreatedMs).UTC()}
}

// Accounts lists the accounts of an installation, oldest first.
func Accounts(ctx context.Context, cfg installation.Settings) (list []Account, err error) {
	list = []Account{}
	err = command(ctx, cfg, "accounts list", func(ctx context.Context, c service.Command) error {
		all, err := c.Accounts(ctx)
		for i := range all {
			list = append(list, shownAccount(&all[i]))
		}
		return err
	})
	return list, err
}

// CreateAccount makes an account.
func CreateAccount(ctx context.Context, cfg installation.Settings, name string) (a Account, err error) {
	err = command(ctx, cfg, "accounts create", func(ctx context.Context, c service.Command) error {
		row, err := c.CreateAccount(ctx, name)
		a = shownAccount(&row)
		return err
	})
	return a, err
}

// RenameAccount gives an account, named by name or id, another name.
func RenameAccount(ctx context.Context, cfg installation.Settings, account, name string) (a Account, err error) {
	err = command(ctx, cfg, "accounts rename", func(ctx context.Context, c service.Command) error {
		row, err := c.RenameAccount(ctx, account, name)
		a = shownAccount(&row)
		return err
	})
	return a, err
}

// NewUser is the request of the command line to make a person a member of an account.
type NewUser struct {
	Account     string // name or id; empty: the oldest one
	Email, Name string
	Role        string // over everything; empty: none
	ServerURL   string // what the address of the invitation begins with
}

// Link is an address that a person opens once.
type Link struct {
	URL       string
	ExpiresAt time.Time
}

// CreateUser makes a person an invited member of an account and returns the invitation, which is not shown again.
func CreateUser(ctx context.Context, cfg installation.Settings, u NewUser) (Link, error) {
	var l service.OneUseLink
	err := command(ctx, cfg, "users create", func(ctx context.Context, c service.Command) (err error) {
		l, err = c.CreateUser(ctx, service.NewUser{Account: u.Account, Email: u.Email, Name: u.Name, Role: u.Role, BaseURL: strings.TrimRight(u.ServerURL, "/")})
		return err
	})
	return Link{l.URL, l.ExpiresAt}, err
}

// DisablePerson disables a person in all accounts; EnablePerson takes that back.
func DisablePerson(ctx context.Context, cfg installation.Settings, email string) error {
	return command(ctx, cfg, "persons disable", func(ctx context.Context, c service.Command) error {
		_, err := c.DisablePerson(ctx, email, true)
		return err
	})
}

// EnablePerson takes DisablePerson back. Users that were disabled in one account stay so there.
func EnablePerson(ctx context.Context, cfg installation.Settings, email string) error {
	return command(ctx, cfg, "persons enable", func(ctx context.Context, c service.Command) error {
		_, err := c.DisablePerson(ctx, email, false)
		return err
	})
}

// ResetPerson makes an address where a person sets another password.
func ResetPerson(ctx context.Context, cfg installation.Settings, email, serverURL string) (Link, error) {
	var l service.OneUseLink
	err := command(ctx, cfg, "persons reset", func(ctx context.Context, c service.Command) (err error) {
		l, err = c.ResetPerson(ctx, email, strings.TrimRight(serverURL, "/"))
		return err
	})
	return Link{l.URL, l.ExpiresAt}, err
}

// command runs a command on the rows of an installation, beside a running server or without one. Errors:
// *installation.SettingError where there is no installation, or an argument is wrong.
func command(ctx context.Context, cfg installation.Settings, name string, do func(context.Context, service.Command) error) error {
	cfg, err := cfg.WithDefaults()
	if err != nil {
		return err
	}
	if err := cfg.CheckInstalled(); err != nil {
		return err
	}
	rows, err := cfg.OpenInstalled(ctx)
	if err != nil {
		return err
	}
	defer rows.Close()
	if err := rows.View(ctx, installation.CheckMoved); err != nil {
		return err
	}
	err = do(audit.FromCommand(ctx, name), service.Command{Store: rows, Now: time.Now()})
	var refused *chargehand.Error
	switch {
	case !errors.As(err, &refused) || refused.Code == chargehand.CodeUnavailable:
		return err
	case refused.Code == chargehand.CodeInvalidParameter:
		return installation.BadSetting("%s", refused.Detail)
	}
	return errors.New(refused.Detail)
}
