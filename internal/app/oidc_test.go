package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSettingsOfProviders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := OIDC{
		Issuers: []string{"company=https://id.example.com", "partner=https://partner.example.com/realms/a"}, Clients: []string{"company=one", "partner=two"},
		Secrets: []string{"company=quiet=quiet"}, SecretFiles: []string{"partner=" + path}, Titles: []string{"company=Example Ltd."},
		Provision: []string{"company=example.com,group:staff"},
	}
	list, err := good.settings()
	if err != nil || len(list) != 2 || list[0].ClientSecret != "quiet=quiet" || list[1].ClientSecret != "from a file" || list[0].Title != "Example Ltd." ||
		list[0].Provision.Domains[0] != "example.com" || list[0].Provision.Groups[0] != "staff" || list[1].ClientID != "two" {
		t.Fatalf("%+v, %v", list, err)
	}
	for want, c := range map[string]Config{
		"needs --public-url":               {OIDC: good},
		"--auth-password=false needs":      {WithoutPasswords: true},
		"there would be no way to sign in": {WithoutPasswords: true, PublicURL: "http://127.0.0.1:8080"},
		"there is no --oidc other":         {OIDC: OIDC{Clients: []string{"other=x"}}},
		"NAME=VALUE":                       {OIDC: OIDC{Secrets: []string{"hunter2"}}},
		"is not NAME=ISSUER":               {OIDC: OIDC{Issuers: []string{"https://id.example.com"}}},
		"is not an https address":          {OIDC: OIDC{Issuers: []string{"company=http://id.example.com"}}},
		"two providers":                    {OIDC: OIDC{Issuers: []string{"a=https://x.org", "a=https://y.org"}}},
		"it needs --oidc-client":           {OIDC: OIDC{Issuers: []string{"a=https://x.org"}, Secrets: []string{"a=hunter2"}}},
		"no such file":                     {OIDC: OIDC{Issuers: []string{"a=https://x.org"}, SecretFiles: []string{"a=/nowhere/secret"}}},
		"neither a domain":                 {OIDC: OIDC{Issuers: []string{"a=https://x.org"}, Provision: []string{"a=*"}}},
		"or --oidc-secret gives one":       {OIDC: OIDC{Issuers: []string{"a=https://x.org"}, Secrets: []string{"a=hunter2"}, SecretFiles: []string{"a=" + path}}},
		"--oidc: at most 16 providers":     {OIDC: OIDC{Issuers: make([]string, 17)}},
	} {
		_, err := c.checkSignIn()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", want, err)
		}
	}
	for _, c := range []Config{
		{}, {PublicURL: "https://chargehand.example.com", OIDC: good, WithoutPasswords: true}, {PublicURL: "http://localhost:8080", WithoutPasswords: true},
	} {
		if _, err := c.checkSignIn(); err != nil {
			t.Error(err)
		}
	}
}
