package app

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/signin"
	"github.com/chargehand/chargehand/internal/signin/oidc"
	"github.com/chargehand/chargehand/internal/store"
)

// setupName is the file of the data directory with the token of the set-up.
const setupName = "setup-token"

// openSignIn makes the rules of sign-in. Identity providers are asked about themselves when they are first used, so
// one that is down keeps no server from starting.
func (t *term) openSignIn(keys *secret.Keys) error {
	key, err := hkdf.Expand(sha256.New, keys.Of(secret.LinkSignature), "sign-in", 32)
	if err != nil {
		return fmt.Errorf("key of sign-ins: %w", err)
	}
	var providers []*oidc.Provider
	for _, s := range t.cfg.signInBy {
		providers = append(providers, oidc.New(s, nil, nil))
	}
	t.signIn = signin.New(signin.Config{
		Store: t.store, Mail: t.mail, Key: key, Log: t.log, Changed: t.service.ForgetSessions, Keys: t.makeKeys, RoomForUser: t.service.RoomForUser,
		Providers: providers, WithoutPasswords: t.cfg.WithoutPasswords,
		SetUp: func() { t.log.Info("the installation is set up"); t.removeSetupToken() },
	})
	return nil
}

// makeKeys makes personal keys for a program: none in an environment where the person may do nothing.
func (t *term) makeKeys(ctx context.Context, tx *store.Tx, r signin.KeyRequest) (keys []signin.IssuedKey, err error) {
	for _, env := range r.Environments {
		key, err := t.service.MakePersonalKey(ctx, tx, service.PersonalKey{
			Account: r.Account, Person: r.Person, Environment: env, Name: r.Name, Admin: r.Admin,
		})
		var refused *chargehand.Error
		switch {
		case errors.As(err, &refused) && refused.Code == chargehand.CodeInsufficientScope:
		case err != nil:
			return nil, err
		default:
			keys = append(keys, signin.IssuedKey{ID: key.ID, Environment: env, Key: key.Secret, Scopes: key.Scopes.Names(), ExpiresAt: key.ExpiresAt})
		}
	}
	return keys, nil
}

// offerSetup makes a new set-up token for an installation without an admin, keeps it in a file, and prints the address
// that it belongs to once. With a database of its own server, where several nodes start, only the command line does.
func (t *term) offerSetup(ctx context.Context, base string) {
	if t.cfg.DatabaseURL != "" || t.cfg.WorkerOnly {
		return
	}
	token, err := signin.NewSetupToken(ctx, t.store, time.Now())
	switch {
	case errors.Is(err, signin.ErrSetupDone):
		t.removeSetupToken()
		return
	case err == nil:
		err = writeSecret(filepath.Join(t.cfg.DataDir, setupName), token)
	}
	if err != nil {
		t.log.Warn("the set-up token could not be made: chargehand setup-token makes one", "error", err)
		return
	}
	if t.cfg.PublicURL != "" {
		base = t.cfg.PublicURL
	}
	t.log.Info("there is no admin yet: open this address within 24 hours to make the first admin", "url", base+"/setup#token="+token)
}

func (t *term) removeSetupToken() {
	if t.cfg.DatabaseURL != "" {
		return
	}
	err := os.Remove(filepath.Join(t.cfg.DataDir, setupName))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.log.Warn("the file of the set-up token could not be removed; the token counts no more", "error", err)
	}
}

// writeSecret replaces a file that only its owner reads.
func writeSecret(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // with the mode 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(text + "\n")
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// proxies reads --trusted-proxy.
func (c Config) proxies() (list []netip.Prefix, err error) {
	for _, text := range c.TrustedProxies {
		prefix, err := netip.ParsePrefix(text)
		if address, single := netip.ParseAddr(text); single == nil {
			prefix, err = netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen()), nil
		}
		if err != nil {
			return nil, installation.BadSetting("--trusted-proxy: %.80q is no address or range, such as 10.0.0.1 or 10.0.0.0/8", text)
		}
		if prefix.Bits() == 0 {
			return nil, installation.BadSetting("--trusted-proxy: %s would trust every client to say where it comes from", text)
		}
		list = append(list, prefix.Masked())
	}
	if len(list) > 100 {
		return nil, installation.BadSetting("--trusted-proxy: at most 100")
	}
	return list, nil
}
