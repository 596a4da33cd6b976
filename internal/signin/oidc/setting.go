package oidc

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Setting is a provider as the operator names it.
type Setting struct {
	Name   string // in addresses
	Title  string // on the button; default: Name
	Issuer string
	// ClientID and ClientSecret are what the provider knows us by.
	ClientID     string
	ClientSecret string
	// Scopes are asked for beside openid; default: profile and email.
	Scopes []string
	// GroupsClaim is where ID tokens name the groups of a person; default: groups.
	GroupsClaim string
	// Provision are the rules by which unknown persons become users.
	Provision Provision
}

// MaxProviders bounds the providers of an installation.
const MaxProviders = 16

var settingName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// ParseSetting reads NAME=ISSUER.
func ParseSetting(text string) (Setting, error) {
	name, issuer, found := strings.Cut(text, "=")
	if !found || !settingName.MatchString(name) {
		return Setting{}, fmt.Errorf("%.80q is not NAME=ISSUER, where NAME has 1 to 32 small letters, digits and hyphens, such as company=https://id.example.com", text)
	}
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
		return Setting{}, fmt.Errorf("the issuer %.200q of %s is not an https address without query (http is allowed on this machine only)", issuer, name)
	}
	return Setting{Name: name, Issuer: issuer}, nil
}

func isLoopback(host string) bool {
	return host == "localhost" || strings.HasPrefix(host, "127.") || host == "::1"
}

// Provision says which unknown persons of a provider become users.
type Provision struct {
	Domains []string // of their checked e-mail, in small letters
	Groups  []string
}

// ParseProvision reads NAME=RULE,… where a rule is a domain, or group:GROUP.
func ParseProvision(text string) (name string, p Provision, err error) {
	name, rules, found := strings.Cut(text, "=")
	if !found || !settingName.MatchString(name) || rules == "" {
		return "", p, fmt.Errorf("%.80q is not NAME=RULE,…, where a RULE is a domain or group:GROUP, such as company=example.com,group:staff", text)
	}
	for rule := range strings.SplitSeq(rules, ",") {
		group, isGroup := strings.CutPrefix(rule, "group:")
		switch {
		case isGroup && group != "":
			p.Groups = append(p.Groups, group)
		case !isGroup && strings.Contains(rule, ".") && !strings.ContainsAny(rule, "@:/* "):
			p.Domains = append(p.Domains, strings.ToLower(rule))
		default:
			return "", p, fmt.Errorf("the rule %.80q of %s is neither a domain such as example.com nor group:GROUP", rule, name)
		}
	}
	return name, p, nil
}

// Admits reports whether the rules make a user of an unknown person.
func (p Provision) Admits(who Identity) bool {
	if slices.ContainsFunc(who.Groups, func(group string) bool { return slices.Contains(p.Groups, group) }) {
		return true
	}
	_, domain, found := strings.Cut(who.Email, "@")
	return found && who.EmailVerified && slices.Contains(p.Domains, strings.ToLower(domain))
}
