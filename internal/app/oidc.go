package app

import (
	"net/url"
	"os"
	"strings"

	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/signin/oidc"
	"github.com/chargehand/chargehand/internal/signin/passkey"
)

// OIDC is how persons sign in by identity providers, as an operator sets it. Each text is NAME=VALUE, with the name of
// a provider.
type OIDC struct {
	Issuers     []string // address
	Clients     []string // client id
	Secrets     []string // client secret
	SecretFiles []string // path of a file with the client secret
	Titles      []string // on the button; default: the name
	Provision   []string // who becomes a user without an invitation (oidc.ParseProvision)
}

// maxSecretFile bounds what is read of a file with a client secret.
const maxSecretFile = 4096

// settings reads the identity providers. No error repeats a secret.
func (o OIDC) settings() ([]oidc.Setting, error) {
	var list []oidc.Setting
	byName := map[string]*oidc.Setting{}
	if len(o.Issuers) > oidc.MaxProviders {
		return nil, installation.BadSetting("--oidc: at most %d providers", oidc.MaxProviders)
	}
	list = make([]oidc.Setting, 0, len(o.Issuers))
	for _, text := range o.Issuers {
		s, err := oidc.ParseSetting(text)
		if err != nil {
			return nil, installation.BadSetting("--oidc: %w", err)
		}
		if byName[s.Name] != nil {
			return nil, installation.BadSetting("--oidc: there are two providers of the name %s", s.Name)
		}
		list = append(list, s)
		byName[s.Name] = &list[len(list)-1]
	}
	each := func(flag string, texts []string, set func(s *oidc.Setting, value string) error) error {
		for _, text := range texts {
			name, value, found := strings.Cut(text, "=")
			s := byName[name]
			switch {
			case !found || value == "":
				return installation.BadSetting("--%s: a value is not NAME=VALUE, where NAME is that of a provider of --oidc", flag)
			case s == nil:
				return installation.BadSetting("--%s: there is no --oidc %.40s=ISSUER", flag, name)
			}
			if err := set(s, value); err != nil {
				return installation.BadSetting("--%s: %s: %w", flag, name, err)
			}
		}
		return nil
	}
	err := each("oidc-client", o.Clients, func(s *oidc.Setting, value string) error { s.ClientID = value; return nil })
	if err == nil {
		err = each("oidc-secret", o.Secrets, func(s *oidc.Setting, value string) error { s.ClientSecret = value; return nil })
	}
	if err == nil {
		err = each("oidc-secret-file", o.SecretFiles, readClientSecret)
	}
	if err == nil {
		err = each("oidc-title", o.Titles, func(s *oidc.Setting, value string) error { s.Title = value; return nil })
	}
	if err == nil {
		err = each("oidc-provision", o.Provision, func(s *oidc.Setting, value string) (err error) {
			_, s.Provision, err = oidc.ParseProvision(s.Name + "=" + value)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if s.ClientID == "" || s.ClientSecret == "" {
			return nil, installation.BadSetting("--oidc %s: it needs --oidc-client %s=ID, and --oidc-secret-file %s=PATH or the secret in CHARGEHAND_OIDC_SECRET as %s=SECRET",
				s.Name, s.Name, s.Name, s.Name)
		}
	}
	return list, nil
}

func readClientSecret(s *oidc.Setting, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := strings.TrimSpace(string(content))
	if text == "" || len(text) > maxSecretFile || s.ClientSecret != "" {
		return installation.BadSetting("%s has no client secret of at most %d bytes, or --oidc-secret gives one too", path, maxSecretFile)
	}
	s.ClientSecret = text
	return nil
}

// checkSignIn reads the identity providers, and checks that there is a way to sign in.
func (c Config) checkSignIn() ([]oidc.Setting, error) {
	list, err := c.OIDC.settings()
	if err != nil {
		return nil, err
	}
	if c.PublicURL == "" {
		switch {
		case len(list) > 0:
			return nil, installation.BadSetting("--oidc needs --public-url: the provider sends browsers back to it")
		case c.WithoutPasswords:
			return nil, installation.BadSetting("--auth-password=false needs --public-url: passkeys and identity providers belong to it")
		}
		return list, nil
	}
	if c.WithoutPasswords && len(list) == 0 {
		u, err := url.Parse(c.PublicURL)
		if err != nil {
			return nil, installation.BadSetting("--public-url: %w", err)
		}
		if reason := passkey.Usable(u); reason != "" {
			return nil, installation.BadSetting("--auth-password=false: there would be no way to sign in: there is no --oidc, and %s", reason)
		}
	}
	return list, nil
}
