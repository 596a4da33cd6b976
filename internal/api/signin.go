package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/signin"
	"github.com/chargehand/chargehand/internal/value"
)

// SignIn is what this package needs of *signin.Service. The methods and their errors are described there.
type SignIn interface {
	Methods(ctx context.Context, from signin.Client) (signin.Methods, error)
	Setup(ctx context.Context, q signin.Setup, from signin.Client) (*signin.Session, error)
	SignIn(ctx context.Context, email, password string, from signin.Client) (*signin.Session, error)
	Session(ctx context.Context, token string) (*signin.Session, error)
	SignOut(ctx context.Context, session *signin.Session) error
	SwitchAccount(ctx context.Context, session *signin.Session, account chargehand.AccountID) (*signin.Session, error)
	VerifyPassword(ctx context.Context, session *signin.Session, password string, from signin.Client) (*signin.Session, error)
	ChangePassword(ctx context.Context, session *signin.Session, old, password string, from signin.Client) (*signin.Session, error)
	Accept(ctx context.Context, q signin.Accept, from signin.Client) (*signin.Session, error)
	Reset(ctx context.Context, token, password string, from signin.Client) (*signin.Session, error)
	StartDevice(ctx context.Context, q signin.StartDevice, from signin.Client) (signin.DeviceCode, error)
	Device(ctx context.Context, session *signin.Session, typed string, from signin.Client) (*signin.Device, error)
	DecideDevice(ctx context.Context, session *signin.Session, code, form string, allow bool) error
	RedeemDevice(ctx context.Context, code string) (*signin.Redeemed, error)

	BeginPasskeySignIn(from signin.Client) (signin.Ceremony, error)
	PasskeySignIn(ctx context.Context, way string, answer []byte, from signin.Client) (*signin.Session, error)
	VerifyPasskey(ctx context.Context, session *signin.Session, way string, answer []byte, from signin.Client) (*signin.Session, error)
	Passkeys(ctx context.Context, session *signin.Session) ([]signin.Passkey, error)
	BeginPasskey(ctx context.Context, session *signin.Session, from signin.Client) (signin.Ceremony, error)
	AddPasskey(ctx context.Context, session *signin.Session, name, way string, answer []byte, from signin.Client) (signin.Passkey, error)
	RenamePasskey(ctx context.Context, session *signin.Session, id chargehand.PasskeyID, name string) (signin.Passkey, error)
	RemovePasskey(ctx context.Context, session *signin.Session, id chargehand.PasskeyID) error

	BeginProvider(ctx context.Context, name, redirect string, j signin.Journey) (signin.Departure, error)
	FinishProvider(ctx context.Context, name, way string, query url.Values, browser *signin.Session, from signin.Client) (signin.Arrival, error)
	Identities(ctx context.Context, session *signin.Session) ([]signin.Identity, error)
	RemoveIdentity(ctx context.Context, session *signin.Session, provider string) error
	AskReset(ctx context.Context, email string, from signin.Client) error
}

var _ SignIn = (*signin.Service)(nil)

// The bodies.
type (
	setupBody struct {
		Token    string `json:"token" minLength:"1" doc:"The set-up token that the server printed."`
		Name     string `json:"name" minLength:"1"`
		Email    string `json:"email" minLength:"1"`
		Password string `json:"password,omitempty" doc:"At least 12 characters. Left out: a passkey is made in the next step, and until there is one the token counts again."`
	}
	signInBody struct {
		Email    string `json:"email" minLength:"1"`
		Password string `json:"password" minLength:"1"`
	}
	verifyBody struct {
		Password   string         `json:"password,omitempty"`
		Credential map[string]any `json:"credential,omitempty" nullable:"false" doc:"Instead of the password: as of POST /auth/passkey."`
	}
	switchBody struct {
		Account string `json:"account" format:"uuid" doc:"Id of one of the accounts of the session."`
	}
	invitationBody struct {
		Token    string `json:"token" minLength:"1" doc:"The end of the invitation's address."`
		Name     string `json:"name,omitempty" doc:"Left out: as the invitation says."`
		Password string `json:"password,omitempty" doc:"At least 12 characters. Left out by a person who can sign in already, or to make a passkey in the next step; until there is one the invitation counts again."`
	}
	resetBody struct {
		Token    string `json:"token" minLength:"1" doc:"The end of the link's address."`
		Password string `json:"password" minLength:"1" doc:"At least 12 characters."`
	}
	passwordBody struct {
		OldPassword string `json:"old_password,omitempty" doc:"Left out by a person without a password, with a fresh sign-in."`
		Password    string `json:"password" minLength:"1" doc:"At least 12 characters."`
	}
)

// The answers.
type (
	signInMethods struct {
		Setup    bool             `json:"setup" doc:"No admin can sign in yet: POST /setup makes the first one."`
		Password bool             `json:"password" doc:"Persons may sign in with a password."`
		Passkeys bool             `json:"passkeys" doc:"Passkeys work at the address of this request: a name with https, or localhost."`
		OIDC     []signInProvider `json:"oidc" nullable:"false" maxItems:"16" doc:"Identity providers that persons sign in by."`
	}
	session struct {
		User       sessionUser      `json:"user"`
		Account    sessionAccount   `json:"account"`
		Accounts   []sessionAccount `json:"accounts" nullable:"false" doc:"Those that the person is an active member of."`
		ExpiresAt  moment           `json:"expires_at" doc:"When the session ends at the latest; without requests it ends 12 hours after the last one."`
		FreshUntil moment           `json:"fresh_until" doc:"Until then the sign-in counts as fresh."`
	}
	sessionUser struct {
		ID     chargehand.UserID `json:"id" format:"uuid"`
		Email  string            `json:"email"`
		Name   string            `json:"name"`
		Locale string            `json:"locale,omitempty" doc:"The language that the person has chosen; left out: none."`
	}
	sessionAccount struct {
		ID   chargehand.AccountID `json:"id" format:"uuid"`
		Name string               `json:"name"`
	}
)

func signInEndpoints() []endpoint {
	signedIn := []answer{{status: 201, about: "Signed in", view: session{}, headers: []string{"Set-Cookie"}}}
	renewed := []answer{{status: 200, about: "The session", view: session{}, headers: []string{"Set-Cookie"}}}
	enters := []chargehand.Code{chargehand.CodeInvalidCredentials}
	return []endpoint{
		{
			method: get, path: "/auth/methods", id: "getSignInMethods", tag: "Sign-in", enters: true,
			summary: "See how persons sign in", about: "What the sign-in page offers.",
			answers: []answer{{status: 200, about: "The ways to sign in", view: signInMethods{}}}, serve: (*call).getSignInMethods,
		},
		{
			method: post, path: "/setup", id: "setUp", tag: "Sign-in", enters: true,
			summary: "Make the first admin", about: "With the set-up token, once. It signs in.", body: jsonBody(setupBody{}, true),
			answers: signedIn, problems: append(enters, chargehand.CodeSetupDone), change: "installation set up", audits: []audit.Action{audit.UserSetUp, audit.SessionCreated}, serve: (*call).setUp,
		},
		{
			method: post, path: "/session", id: "signIn", tag: "Sign-in", enters: true,
			summary: "Sign in with a password", about: "Failed tries delay the next one.", body: jsonBody(signInBody{}, true),
			answers: signedIn, problems: enters, change: "signed in", audits: []audit.Action{audit.SessionCreated, audit.SessionFailed}, serve: (*call).signIn,
		},
		{
			method: get, path: "/session", id: "getSession", tag: "Sign-in", enters: true, session: true,
			summary: "Get the session", about: "The person that is signed in, the account, and when the session ends.",
			answers: []answer{{status: 200, about: "The session", view: session{}}}, serve: (*call).getSession,
		},
		{
			method: patch, path: "/session", id: "switchAccount", tag: "Sign-in", enters: true, session: true,
			summary: "Switch to another account", about: "The session gets a new token.", body: jsonBody(switchBody{}, true),
			answers: renewed, change: "account switched", audits: []audit.Action{audit.SessionSwitched}, serve: (*call).switchAccount,
		},
		{
			method: remove, path: "/session", id: "signOut", tag: "Sign-in", enters: true, session: true,
			summary: "Sign out", about: "The session ends.",
			answers: []answer{{status: 204, about: "Signed out", headers: []string{"Set-Cookie"}}}, change: "signed out", audits: []audit.Action{audit.SessionEnded}, serve: (*call).signOut,
		},
		{
			method: post, path: "/session/verify", id: "verifySession", tag: "Sign-in", enters: true, session: true,
			summary: "Confirm the sign-in", about: "With the password or a passkey. It makes the sign-in fresh for 10 minutes. The session gets a new token.", body: jsonBody(verifyBody{}, true),
			answers: renewed, change: "sign-in confirmed", audits: []audit.Action{audit.SessionFailed}, serve: (*call).verifySession,
		},
		{
			method: post, path: "/invitation", id: "acceptInvitation", tag: "Sign-in", enters: true,
			summary: "Accept an invitation", about: "Makes the invited person an active user and signs in. A person who can sign in already must have done so.",
			body: jsonBody(invitationBody{}, true), answers: signedIn, problems: enters, change: "invitation accepted", audits: []audit.Action{audit.UserJoined, audit.SessionCreated}, serve: (*call).acceptInvitation,
		},
		{
			method: post, path: "/password-reset", id: "resetPassword", tag: "Sign-in", enters: true,
			summary: "Set a password anew", about: "With the secret of a link that an admin made. It ends all sessions, passkeys, personal keys and linked identities of the person, and signs in.",
			body: jsonBody(resetBody{}, true), answers: signedIn, problems: enters, change: "password reset", audits: []audit.Action{audit.PasswordReset, audit.GroupLeft, audit.SessionCreated}, serve: (*call).resetPassword,
		},
		{
			method: put, path: "/me/password", id: "changePassword", tag: "Sign-in", enters: true, session: true,
			summary: "Change the password", about: "It ends the person's other sessions, with the links to human tasks that these have made. The session gets a new token.", body: jsonBody(passwordBody{}, true),
			answers: renewed, problems: []chargehand.Code{chargehand.CodeFreshSignInRequired}, change: "password changed", audits: []audit.Action{audit.PasswordChanged, audit.SessionFailed}, serve: (*call).changePassword,
		},
	}
}

// enter is the checks of routes that set or read the cookie. The address pays before anything is read for it.
func (c *call) enter(rt *route) error {
	c.recorded()
	token := c.sessionToken()
	switch {
	case !rt.session:
		return c.admit()
	case token != "" && hasCredential(c.r.Header):
		return chargehand.NewError(chargehand.CodeAmbiguousCredentials, "The request has a session and an API key. Send one of them.")
	case token == "":
		return chargehand.NewError(chargehand.CodeInvalidCredentials, "This needs a session. Sign in first.")
	}
	if err := c.admit(); err != nil {
		return err
	}
	var err error
	c.session, err = c.server.signIn.Session(c.r.Context(), token)
	return err
}

// from is where the request comes from.
func (c *call) from() signin.Client {
	return signin.Client{Address: c.server.entrance.client(c.r), Agent: c.r.UserAgent(), Browser: c.cookie(browserCookie), Origin: c.server.entrance.site(c.r)}
}

// texts reads the fields of a body, which are all texts. Codes: invalid_body, unknown_field.
func (c *call) texts(names ...string) (map[string]string, error) {
	read := map[string]string{}
	if c.value == nil {
		return read, nil
	}
	given, ok := c.value.(map[string]any)
	if !ok {
		return nil, badBody(chargehand.CodeInvalidBody, "", "The body must be a JSON object, not "+value.KindOf(c.value)+".")
	}
	for name, v := range given {
		text, isText := v.(string)
		switch known := strings.Contains(" "+strings.Join(names, " ")+" ", " "+name+" "); {
		case !known:
			detail := "The field " + quote(name) + " is not known here."
			if meant := service.Suggest(name, names); meant != "" {
				detail += " Did you mean " + quote(meant) + "?"
			}
			return nil, badBody(chargehand.CodeUnknownField, "/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(cut(name, 100)), detail)
		case !isText:
			return nil, badBody(chargehand.CodeInvalidBody, "/"+name, name+" must be a text, not "+value.KindOf(v)+".")
		}
		read[name] = text
	}
	return read, nil
}

func (c *call) getSignInMethods() error {
	m, err := c.server.signIn.Methods(c.r.Context(), c.from())
	if err != nil {
		return err
	}
	v := signInMethods{Setup: m.Setup, Password: m.Password, Passkeys: m.Passkeys, OIDC: []signInProvider{}}
	for _, p := range m.Providers {
		v.OIDC = append(v.OIDC, signInProvider{p.Name, p.Title})
	}
	return c.view(http.StatusOK, v)
}

// entered answers with a session, and gives the browser its token.
func (c *call) entered(status int, s *signin.Session, err error) error {
	if err != nil {
		return err
	}
	c.signedIn(s)
	return c.view(status, viewSession(s))
}

func viewSession(s *signin.Session) session {
	v := session{
		User:    sessionUser{ID: s.Person.ID, Email: s.Person.Email, Name: s.Person.Name, Locale: s.Person.Locale},
		Account: sessionAccount{ID: s.Account.ID, Name: s.Account.Name}, Accounts: []sessionAccount{},
		ExpiresAt: at(s.ExpiresAt), FreshUntil: at(s.FreshUntil),
	}
	for _, account := range s.Accounts {
		v.Accounts = append(v.Accounts, sessionAccount{ID: account.ID, Name: account.Name})
	}
	return v
}

func (c *call) setUp() error {
	q, err := c.texts("token", "name", "email", "password")
	if err != nil {
		return err
	}
	s, err := c.server.signIn.Setup(c.r.Context(), signin.Setup{Token: q["token"], Name: q["name"], Email: q["email"], Password: q["password"]}, c.from())
	return c.entered(http.StatusCreated, s, err)
}

func (c *call) signIn() error {
	q, err := c.texts("email", "password")
	if err != nil {
		return err
	}
	s, err := c.server.signIn.SignIn(c.r.Context(), q["email"], q["password"], c.from())
	return c.entered(http.StatusCreated, s, err)
}

func (c *call) getSession() error { return c.view(http.StatusOK, viewSession(c.session)) }

func (c *call) switchAccount() error {
	q, err := c.texts("account")
	if err != nil {
		return err
	}
	id, err := chargehand.ParseID[struct{}](q["account"])
	if err != nil {
		return badBody(chargehand.CodeInvalidBody, "/account", "account must be the id of an account, a UUID.")
	}
	s, err := c.server.signIn.SwitchAccount(c.r.Context(), c.session, chargehand.AccountID(id))
	return c.entered(http.StatusOK, s, err)
}

func (c *call) signOut() error {
	if err := c.server.signIn.SignOut(c.r.Context(), c.session); err != nil {
		return err
	}
	c.setCookie("", c.began)
	c.empty(http.StatusNoContent)
	return nil
}

func (c *call) verifySession() error {
	q, credential, err := c.credential("password")
	if err != nil {
		return err
	}
	if credential != nil {
		if q["password"] != "" {
			return badBody(chargehand.CodeInvalidBody, "/credential", "credential and password cannot be given together.")
		}
		s, err := c.server.signIn.VerifyPasskey(c.r.Context(), c.session, c.takeWay(passkeyCookie), credential, c.from())
		return c.entered(http.StatusOK, s, err)
	}
	s, err := c.server.signIn.VerifyPassword(c.r.Context(), c.session, q["password"], c.from())
	return c.entered(http.StatusOK, s, err)
}

func (c *call) acceptInvitation() error {
	q, err := c.texts("token", "name", "password")
	if err != nil {
		return err
	}
	s, err := c.server.signIn.Accept(c.r.Context(), signin.Accept{
		Token: q["token"], Name: q["name"], Password: q["password"], Session: c.browserSession(),
	}, c.from())
	return c.entered(http.StatusCreated, s, err)
}

// browserSession is the session of the cookie where the route needs none; nil: there is none that counts.
func (c *call) browserSession() *signin.Session {
	token := c.sessionToken()
	if token == "" {
		return nil
	}
	s, err := c.server.signIn.Session(c.r.Context(), token)
	if err != nil {
		return nil
	}
	return s
}

func (c *call) resetPassword() error {
	q, err := c.texts("token", "password")
	if err != nil {
		return err
	}
	s, err := c.server.signIn.Reset(c.r.Context(), q["token"], q["password"], c.from())
	return c.entered(http.StatusCreated, s, err)
}

func (c *call) changePassword() error {
	q, err := c.texts("old_password", "password")
	if err != nil {
		return err
	}
	s, err := c.server.signIn.ChangePassword(c.r.Context(), c.session, q["old_password"], q["password"], c.from())
	return c.entered(http.StatusOK, s, err)
}
