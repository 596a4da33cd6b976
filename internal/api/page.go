package api

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/page"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/signin"
)

// publicPages is the exact list of the pages at the root, which need no key.
var publicPages = []string{
	"GET /setup", "POST /setup", "GET /sign-in", "POST /sign-in", "GET /invitation", "POST /invitation",
	"GET /password-reset", "POST /password-reset", "GET /device", "POST /device", "GET /assets/page.css", "GET /assets/page.js",
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
	return []endpoint{
		one(get, "/setup", func(c *call) error { return c.drawPage(http.StatusOK, c.setupPage(nil)) }), one(post, "/setup", (*call).postSetup),
		one(get, "/sign-in", (*call).signInPage), one(post, "/sign-in", (*call).postSignIn),
		one(get, "/invitation", func(c *call) error { return c.drawPage(http.StatusOK, invitationPage(nil)) }), one(post, "/invitation", (*call).postInvitation),
		one(get, "/password-reset", func(c *call) error { return c.drawPage(http.StatusOK, resetPage(nil)) }), one(post, "/password-reset", (*call).postReset),
		one(get, "/device", (*call).devicePage), one(post, "/device", (*call).postDevice),
		asset("/assets/page.css", "text/css; charset=utf-8", page.Style), asset("/assets/page.js", "text/javascript; charset=utf-8", page.Script),
	}
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
	text, err := page.Draw(content)
	if err != nil {
		return err
	}
	h := c.w.Header()
	h["Content-Security-Policy"] = []string{page.Policy}
	h["Referrer-Policy"] = []string{"no-referrer"}
	h["Cross-Origin-Opener-Policy"] = []string{"same-origin"}
	h["Permissions-Policy"] = []string{"camera=(), geolocation=(), microphone=(), payment=()"}
	h["Cache-Control"] = []string{"no-store"}
	c.send(status, []string{"text/html; charset=utf-8"}, text)
	return nil
}

// failPage answers a request for a page with what went wrong, in words for people.
func (c *call) failPage(status int, e *chargehand.Error) error {
	return c.drawPage(status, page.Content{Page: page.Problem, Error: e.Detail})
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
	c.whole = true
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
	return c.answerFormAt("/sign-in", again, s, err)
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
	again.Error = shown.Detail
	for i := range again.Fields {
		for _, wrong := range shown.Fields {
			if wrong.Pointer == "/"+again.Fields[i].Name {
				again.Fields[i].Error, again.Error = wrong.Detail, "Something is not right in the form."
			}
		}
	}
	return c.drawPage(problemTypes[shown.Code].status, again)
}

func (c *call) seeOther(path string) {
	c.w.Header()["Location"] = []string{path}
	c.empty(http.StatusSeeOther)
}

func (c *call) setupPage(q map[string]string) page.Content {
	return page.Content{Page: page.Setup, Fields: []page.Field{
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
	s, err := c.server.signIn.Setup(c.r.Context(), signin.Setup{Token: q["token"], Name: q["name"], Email: q["email"], Password: q["password"]}, c.from())
	return c.answerForm(c.setupPage(q), s, err)
}

func loginPage(q map[string]string) page.Content {
	return page.Content{Page: page.SignIn, Fields: []page.Field{
		{Name: "email", Type: "email", Autocomplete: "username", Value: q["email"], Required: true},
		{Name: "password", Type: "password", Autocomplete: "current-password", Required: true},
	}}
}

func (c *call) signInPage() error {
	if s := c.browserSession(); s != nil {
		return c.drawPage(http.StatusOK, page.Content{
			Page: page.SignedIn, Note: s.Person.Name + " (" + s.Person.Email + "), " + s.Account.Name,
			Fields: []page.Field{{Name: "leave", Type: "hidden", Value: "yes"}},
		})
	}
	m, err := c.server.signIn.Methods(c.r.Context())
	if err != nil {
		return err
	}
	if m.Setup {
		c.seeOther("/setup")
		return nil
	}
	return c.drawPage(http.StatusOK, loginPage(nil))
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
	s, err := c.server.signIn.SignIn(c.r.Context(), q["email"], q["password"], c.from())
	return c.answerForm(loginPage(q), s, err)
}

func invitationPage(q map[string]string) page.Content {
	return page.Content{Page: page.Invitation, Fields: []page.Field{
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
	s, err := c.server.signIn.Accept(c.r.Context(), signin.Accept{Token: q["token"], Name: q["name"], Password: q["password"], Session: browser}, c.from())
	return c.answerForm(invitationPage(q), s, err)
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
	return c.answerForm(resetPage(q), s, err)
}
