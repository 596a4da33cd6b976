package api

import (
	"cmp"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/signin"
	"github.com/danielgtaylor/huma/v2"
)

// providerCookie is that of a sign-in which is on its way through an identity provider.
const providerCookie = "chargehand-oidc"

// signInProvider is an identity provider as GET /auth/methods lists it.
type signInProvider struct {
	Name  string `json:"name" doc:"In the address GET /auth/oidc/{provider}."`
	Title string `json:"title" doc:"For people."`
}

var verifyParameter = &parameter{
	name: "verify", in: "query", about: "true: the provider asks the person of the session to sign in again, and the session is fresh afterwards.",
	schema: huma.Schema{Type: "boolean"}, example: true,
	read: func(c *call, value string) string {
		c.args.verify = value == "true"
		if value != "true" && value != "false" {
			return "must be true or false."
		}
		return ""
	},
}

// The pages that a person comes back to.
const (
	pageSignIn = "/sign-in"
	pageDevice = "/device"
)

var pageParameter = &parameter{
	name: "page", in: "query", about: "device: the browser comes back to the page /device, and not to /sign-in.",
	schema: huma.Schema{Type: "string", Enum: []any{"device"}}, example: "device",
	read: func(c *call, value string) string {
		c.args.page = pageDevice
		if value != "device" {
			return "must be device."
		}
		return ""
	},
}

// returned are the parameters with which a provider sends a browser back. The rules of sign-in read them all.
func returned(name, about string) *parameter {
	return &parameter{name: name, in: "query", about: about, schema: huma.Schema{Type: "string"}, example: "x", many: true, read: func(*call, string) string { return "" }}
}

func providerEndpoints() []endpoint {
	return []endpoint{
		{
			method: get, path: "/auth/oidc/{provider}", id: "beginProviderSignIn", tag: "Sign-in", enters: true, browsed: true,
			summary: "Sign in by an identity provider", about: "A link for browsers: it leads to the provider, and from there to the callback. It counts for 10 minutes, in one browser.",
			parameters: []*parameter{verifyParameter, pageParameter},
			answers:    []answer{{status: 303, about: "To the provider", headers: []string{"Location", "Set-Cookie"}}},
			problems:   []chargehand.Code{chargehand.CodeInvalidCredentials, chargehand.CodeUnavailable}, unaudited: unauditedBegin, serve: (*call).beginProvider,
		},
		{
			method: get, path: "/auth/oidc/{provider}/callback", id: "finishProviderSignIn", tag: "Sign-in", enters: true, browsed: true, lenient: true,
			summary: "Come back from an identity provider", about: "The address that the provider must know. It needs the cookie of the browser that has begun, and counts once.",
			parameters: []*parameter{returned("state", "As it was sent to the provider."), returned("code", "What the server asks the provider for the person with.")},
			answers:    []answer{{status: 303, about: "Signed in", headers: []string{"Location", "Set-Cookie"}}},
			problems: []chargehand.Code{
				chargehand.CodeInvalidCredentials, chargehand.CodeNotInvited, chargehand.CodeFreshSignInRequired, chargehand.CodeStateConflict,
				chargehand.CodeLastAdmin, chargehand.CodeQuotaExceeded, chargehand.CodeUnavailable,
			},
			change: "signed in",
			audits: []audit.Action{
				audit.SessionCreated, audit.SessionFailed, audit.UserJoined, audit.UserProvisioned, audit.IdentityLinked, audit.GroupCreated, audit.GroupJoined, audit.GroupLeft,
			},
			serve: (*call).finishProvider,
		},
	}
}

// asksForPage reports whether a browser shows what is answered to a person.
func (c *call) asksForPage() bool {
	return strings.Contains(strings.Join(c.r.Header["Accept"], ","), "text/html")
}

func (c *call) beginProvider() error {
	session := c.browserSession()
	if !c.args.verify {
		session = nil
	} else if session == nil {
		return chargehand.NewError(chargehand.CodeInvalidCredentials, "There is no session to confirm. Sign in first.")
	}
	address, err := c.depart(c.name, signin.Journey{Session: session, Page: c.args.page})
	if err != nil {
		return err
	}
	c.seeOther(address)
	return nil
}

// depart begins what a browser goes to an identity provider for, and returns the address there. The browser keeps what
// it must know when it comes back.
func (c *call) depart(provider string, j signin.Journey) (string, error) {
	callback := c.base() + chargehand.APIPath + "/auth/oidc/" + provider + "/callback"
	d, err := c.server.signIn.BeginProvider(c.r.Context(), provider, callback, j)
	if err != nil {
		return "", err
	}
	c.giveCookie(providerCookie, d.Way, d.Ends)
	return d.Address, nil
}

func (c *call) finishProvider() error {
	came, err := c.server.signIn.FinishProvider(c.r.Context(), c.name, c.takeWay(providerCookie), c.r.URL.Query(), c.browserSession(), c.from())
	if err != nil {
		return err
	}
	c.signedIn(came.Session)
	c.seeOther(cmp.Or(came.Page, pageSignIn))
	return nil
}
