package api

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/page"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/signin"
)

// publicPages is the exact list of the pages at the root, which need no key.
var publicPages = []string{
	"GET /", "GET /setup", "POST /setup", "GET /sign-in", "POST /sign-in", "GET /invitation", "POST /invitation",
	"GET /password-reset", "POST /password-reset", "GET /device", "POST /device", "GET /assets/page.css", "GET /assets/page.js",
	"GET /assets/{asset}", "GET /licences", "GET /t/{token}", "POST /t/{token}", "GET /*",
	"GET /docs", "GET /docs/{section}", "GET /docs/{section}/{page}",
}

// pageEndpoints are the pages. They are at the root, and not in the document.
func pageEndpoints() []endpoint {
	form := &body{media: []string{"multipart/form-data"}, stream: true, limit: func(service.Limits) int64 { return maxForm }}
	one := func(method, path string, serve func(*call) error) endpoint {
		e := endpoint{method: method, path: path, id: method + " " + path, enters: true, page: true, serve: serve}
		if method == post {
			e.body = form
		}
		return e
	}
	signIn := func(e endpoint) endpoint {
		e.parameters = []*parameter{backParameter}
		return e
	}
	return slices.Concat(uiEndpoints(), taskPageEndpoints(), manualEndpoints(), []endpoint{
		{method: get, path: "/", id: "GET /", browsed: true, page: true, lenient: true, serve: (*call).rootPage},
		one(get, "/setup", func(c *call) error { return c.showForm(setupPage(nil)) }), one(post, "/setup", (*call).postSetup),
		signIn(one(get, "/sign-in", (*call).signInPage)), signIn(one(post, "/sign-in", (*call).postSignIn)),
		one(get, "/invitation", func(c *call) error { return c.showForm(invitationPage(nil)) }), one(post, "/invitation", (*call).postInvitation),
		one(get, "/password-reset", func(c *call) error { return c.drawPage(http.StatusOK, resetPage(nil)) }), one(post, "/password-reset", (*call).postReset),
		one(get, "/device", (*call).devicePage), one(post, "/device", (*call).postDevice),
		asset("/assets/page.css", "text/css; charset=utf-8", page.Style), asset("/assets/page.js", "text/javascript; charset=utf-8", page.Script),
	})
}

// maxForm bounds what a form sends.
const maxForm = 64 << 10

// assetVersion tells versions of an asset apart, so that browsers keep each.
var assetVersion = &parameter{name: "v", in: "query", read: func(*call, string) string { return "" }}

func asset(path, media string, content []byte) endpoint {
	return endpoint{method: get, path: path, id: "GET " + path, page: true, parameters: []*parameter{assetVersion}, serve: func(c *call) error {
		c.w.Header()["Cache-Control"] = []string{"public, max-age=31536000, immutable"}
		if c.r.URL.Query().Get("v") != page.Tag {
			c.w.Header()["Cache-Control"] = cacheValue
		}
		c.send(http.StatusOK, []string{media}, content)
		return nil
	}}
}

// drawPage answers with a page.
func (c *call) drawPage(status int, content page.Content) error {
	content.Lang = c.language()
	text, err := page.Draw(content)
	if err != nil {
		return err
	}
	c.pageHeaders(page.Policy, "no-referrer")
	c.send(status, []string{"text/html; charset=utf-8"}, text)
	return nil
}

// pageHeaders are those of every answer that is a page.
func (c *call) pageHeaders(policy, referrer string) {
	h := c.w.Header()
	h["Content-Security-Policy"] = []string{policy}
	h["Referrer-Policy"] = []string{referrer}
	h["Cross-Origin-Opener-Policy"] = []string{"same-origin"}
	h["Permissions-Policy"] = []string{"camera=(), geolocation=(), microphone=(), payment=()"}
	h["Cache-Control"] = []string{"no-store"}
}

// failPage answers a request for a page with what went wrong, in words for people.
func (c *call) failPage(status int, e *chargehand.Error) error {
	if c.isTaskLink() {
		return c.failTaskPage(status, e)
	}
	return c.drawPage(status, page.Content{Page: page.Problem, Error: page.Translate(c.language(), e.Detail)})
}

// form reads the fields of a form.
func (c *call) form() (map[string]string, error) {
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, maxForm)
	if err := c.r.ParseMultipartForm(maxForm); err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return nil, tooLarge(maxForm)
		}
		return nil, chargehand.NewError(chargehand.CodeInvalidBody, "The form cannot be read.")
	}
	read := map[string]string{}
	for name, values := range c.r.MultipartForm.Value {
		read[name] = strings.TrimSpace(values[0])
		if name == "password" {
			read[name] = values[0]
		}
	}
	return read, nil
}

// answerForm signs the browser in and sends it to the page that says so, or shows the form again with what is wrong.
func (c *call) answerForm(again page.Content, s *signin.Session, err error) error {
	return c.answerFormAt(cmp.Or(c.args.back, pageSignIn), again, s, err)
}

// answerFormAt is answerForm with another page to go to.
func (c *call) answerFormAt(path string, again page.Content, s *signin.Session, err error) error {
	var shown *chargehand.Error
	switch {
	case err == nil:
		c.signedIn(s)
		c.seeOther(path)
		return nil
	case !errors.As(err, &shown) || problemTypes[shown.Code].status == 0 || shown.Code == chargehand.CodeInternal:
		return err
	}
	c.code = shown.Code
	again.Error = page.Translate(c.language(), shown.Detail)
	for i := range again.Fields {
		for _, wrong := range shown.Fields {
			if wrong.Pointer == "/"+again.Fields[i].Name {
				again.Fields[i].Error = page.Translate(c.language(), wrong.Detail)
				again.Error = page.Content{Lang: c.language()}.Word("form")
			}
		}
	}
	return c.drawPage(problemTypes[shown.Code].status, again)
}

// language is that of the page.
func (c *call) language() string {
	if c.lang == "" {
		c.lang = page.Language("", strings.Join(c.r.Header["Accept-Language"], ","))
	}
	return c.lang
}

func (c *call) seeOther(path string) {
	c.w.Header()["Location"] = []string{path}
	c.empty(http.StatusSeeOther)
}

// showForm shows a page with the ways in which persons can sign in here.
func (c *call) showForm(content page.Content) error {
	m, err := c.server.signIn.Methods(c.r.Context(), c.from())
	if err != nil {
		return err
	}
	return c.drawPage(http.StatusOK, offer(content, m))
}

// offer leaves out of a page what does not work here.
func offer(content page.Content, m signin.Methods) page.Content {
	if !m.Passkeys {
		content.Passkey = ""
	}
	if !m.Password {
		content.NoForm = true
		content.Fields = slices.DeleteFunc(content.Fields, func(f page.Field) bool {
			return f.Type == "password" || content.Page == page.SignIn
		})
	}
	return content
}

// badForm is answerForm of what the server has refused.
func (c *call) badForm(again page.Content, s *signin.Session, err error) error {
	if err != nil {
		again = offer(again, c.methods())
	}
	return c.answerForm(again, s, err)
}

// methods are the ways to sign in, for a form that is shown again because of an error. That error says more than one of
// Methods.
func (c *call) methods() signin.Methods {
	m, err := c.server.signIn.Methods(c.r.Context(), c.from())
	if err != nil {
		return signin.Methods{Password: true}
	}
	return m
}

// formClient is where a form comes from. Without script it cannot make a passkey in the next step, so that it needs a
// password.
func (c *call) formClient() signin.Client {
	from := c.from()
	from.Origin = nil
	return from
}

// needsPassword says so in words for people.
func needsPassword(q map[string]string, err error) error {
	var shown *chargehand.Error
	if q["password"] == "" && errors.As(err, &shown) && len(shown.Fields) == 1 && shown.Fields[0].Pointer == "/password" {
		return badBody(chargehand.CodeInvalidBody, "/password", "Choose a password of at least 12 characters, or the button for a passkey.")
	}
	return err
}

func setupPage(q map[string]string) page.Content {
	return page.Content{Page: page.Setup, Passkey: page.PasskeySetup, Fields: []page.Field{
		{Name: "token", Type: "text", Autocomplete: "off", Value: q["token"], Help: "token-help", Required: true},
		{Name: "name", Type: "text", Autocomplete: "name", Value: q["name"], Required: true},
		{Name: "email", Type: "email", Autocomplete: "username", Value: q["email"], Required: true},
		{Name: "password", Type: "password", Autocomplete: "new-password", Help: "password-help", Required: true},
	}}
}

func (c *call) postSetup() error {
	q, err := c.form()
	if err != nil {
		return err
	}
	s, err := c.server.signIn.Setup(c.r.Context(), signin.Setup{Token: q["token"], Name: q["name"], Email: q["email"], Password: q["password"]}, c.formClient())
	return c.badForm(setupPage(q), s, needsPassword(q, err))
}

func (c *call) loginPage(q map[string]string, m signin.Methods) page.Content {
	content := page.Content{Page: page.SignIn, After: c.args.back, Passkey: page.PasskeySignIn, Fields: []page.Field{
		{Name: "email", Type: "email", Autocomplete: "username", Value: q["email"], Required: true},
		{Name: "password", Type: "password", Autocomplete: "current-password", Required: true},
	}}
	for _, p := range m.Providers {
		content.Providers = append(content.Providers, page.Provider{Name: p.Name, Title: p.Title})
	}
	content.Forgotten = m.Forgotten
	return offer(content, m)
}

// rootPage is the UI, and without it says to a person where to go. A program gets the error of a path that does not
// exist.
func (c *call) rootPage() error {
	if !c.asksForPage() {
		c.route = nil
		return chargehand.NewError(chargehand.CodeRouteNotFound,
			"There is no path \"/\" here. All paths are in "+chargehand.APIPath+"/openapi.json.")
	}
	if c.server.ui != nil {
		return c.uiPage()
	}
	return c.drawPage(http.StatusOK, page.Content{Page: page.Root})
}

func (c *call) signInPage() error {
	m, err := c.server.signIn.Methods(c.r.Context(), c.from())
	if err != nil {
		return err
	}
	if s := c.browserSession(); s != nil {
		if c.args.back != "" {
			c.seeOther(c.args.back)
			return nil
		}
		c.lang = page.Language(s.Person.Locale, strings.Join(c.r.Header["Accept-Language"], ","))
		content := page.Content{
			Page: page.SignedIn, Note: s.Person.Name + " (" + s.Person.Email + "), " + s.Account.Name,
			Fields: []page.Field{{Name: "leave", Type: "hidden", Value: "yes"}}, UI: c.server.ui != nil,
		}
		if err := c.offerMore(&content, s, m); err != nil {
			return err
		}
		return c.drawPage(http.StatusOK, content)
	}
	if m.Setup {
		c.seeOther("/setup")
		return nil
	}
	return c.drawPage(http.StatusOK, c.loginPage(nil, m))
}

// offerMore adds to the page of a person who has just signed in what other ways to sign in the person can choose.
func (c *call) offerMore(content *page.Content, s *signin.Session, m signin.Methods) error {
	own, err := c.server.signIn.Identities(c.r.Context(), s)
	if err != nil {
		return err
	}
	for _, i := range own {
		content.Facts = append(content.Facts, page.Fact{Name: "ways", Value: cmp.Or(i.Title, i.Provider)})
	}
	if !s.Fresh(c.began) {
		return nil
	}
	if m.Passkeys {
		content.Passkey = page.PasskeyAdd
	}
	for _, p := range m.Providers {
		if !slices.ContainsFunc(own, func(i signin.Identity) bool { return i.Provider == p.Name }) {
			content.Links = append(content.Links, page.Provider{Name: p.Name, Title: p.Title})
		}
	}
	return nil
}

// linkProvider shows a person the way to the identity provider that the person wants to sign in by too. It is a page
// with a link, because a browser follows no redirect to another site after a form.
func (c *call) linkProvider(name string) error {
	s := c.browserSession()
	if s == nil {
		c.seeOther(pageSignIn)
		return nil
	}
	address, err := c.depart(name, signin.Journey{Session: s, Link: true})
	if err != nil {
		return err
	}
	return c.drawPage(http.StatusOK, page.Content{Page: page.Linking, Go: address})
}

func (c *call) postSignIn() error {
	q, err := c.form()
	if err != nil {
		return err
	}
	if q["leave"] != "" {
		if s := c.browserSession(); s != nil {
			if err := c.server.signIn.SignOut(c.r.Context(), s); err != nil {
				return err
			}
		}
		c.setCookie("", time.Time{})
		c.seeOther("/sign-in")
		return nil
	}
	if q["link"] != "" {
		return c.linkProvider(q["link"])
	}
	if q["forgotten"] != "" {
		if err := c.server.signIn.AskReset(c.r.Context(), q["forgotten"], c.from()); err != nil {
			return c.answerForm(c.loginPage(nil, c.methods()), nil, err)
		}
		return c.drawPage(http.StatusOK, page.Content{Page: page.Forgotten})
	}
	s, err := c.server.signIn.SignIn(c.r.Context(), q["email"], q["password"], c.from())
	return c.answerForm(c.loginPage(q, c.methods()), s, err)
}

func invitationPage(q map[string]string) page.Content {
	return page.Content{Page: page.Invitation, Passkey: page.PasskeyInvitation, Fields: []page.Field{
		{Name: "token", Type: "text", Autocomplete: "off", Value: q["token"], Help: "token-help", Required: true},
		{Name: "name", Type: "text", Autocomplete: "name", Value: q["name"]},
		{Name: "password", Type: "password", Autocomplete: "new-password", Help: "password-help"},
	}}
}

func (c *call) postInvitation() error {
	q, err := c.form()
	if err != nil {
		return err
	}
	browser := c.browserSession()
	s, err := c.server.signIn.Accept(c.r.Context(), signin.Accept{Token: q["token"], Name: q["name"], Password: q["password"], Session: browser}, c.formClient())
	if isGone(err) {
		return c.drawGone(err)
	}
	return c.badForm(invitationPage(q), s, needsPassword(q, err))
}

func resetPage(q map[string]string) page.Content {
	return page.Content{Page: page.Reset, Fields: []page.Field{
		{Name: "token", Type: "text", Autocomplete: "off", Value: q["token"], Help: "token-help", Required: true},
		{Name: "password", Type: "password", Autocomplete: "new-password", Help: "password-help", Required: true},
	}}
}

func (c *call) postReset() error {
	q, err := c.form()
	if err != nil {
		return err
	}
	s, err := c.server.signIn.Reset(c.r.Context(), q["token"], q["password"], c.from())
	if isGone(err) {
		return c.drawGone(err)
	}
	return c.answerForm(resetPage(q), s, err)
}

// isGone reports whether a link does not work any more, whatever else the person fills in.
func isGone(err error) bool {
	var shown *chargehand.Error
	return errors.As(err, &shown) && shown.Code == chargehand.CodeInvalidCredentials
}

// drawGone says that a link does not work any more, without the form that could be sent again for nothing.
func (c *call) drawGone(err error) error {
	shown, _ := asProblem(err)
	c.code = shown.Code
	return c.drawPage(statusOf(shown), page.Content{Page: page.Gone, Error: page.Translate(c.language(), shown.Detail)})
}
