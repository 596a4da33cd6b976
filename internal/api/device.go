package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/page"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/signin"
	"github.com/chargehand/chargehand/internal/value"
)

// The bodies.
type (
	deviceBody struct {
		Name         string   `json:"name" minLength:"1" doc:"What the program calls itself. The person sees it, and the keys have this name."`
		Environments []string `json:"environments,omitempty" enum:"live,test" nullable:"false" minItems:"1" maxItems:"2" doc:"Where the program wants a key; left out: in both."`
		Admin        bool     `json:"admin,omitempty" doc:"true: the keys have the scope admin too, if the person has it, and end after 30 days. Without it they never have it."`
	}
	deviceTokenBody struct {
		DeviceCode string `json:"device_code" minLength:"1" doc:"The secret of the program, as POST /device answered it."`
	}
)

// The answers. Their fields are those of RFC 8628, where it has them.
type (
	deviceCode struct {
		DeviceCode      string `json:"device_code" doc:"The secret of the program, with which it asks for its keys."`
		UserCode        string `json:"user_code" doc:"What the person types on the page: 8 letters. Upper or lower case, spaces and the hyphen do not matter."`
		VerificationURI string `json:"verification_uri" format:"uri" doc:"The page where the person signs in and types the code."`
		ExpiresIn       int    `json:"expires_in" doc:"Seconds for which the codes count."`
		Interval        int    `json:"interval" doc:"Seconds to wait before each question for the keys."`
	}
	deviceKeys struct {
		User    sessionUser    `json:"user"`
		Account sessionAccount `json:"account"`
		Keys    []deviceKey    `json:"keys" nullable:"false" doc:"A personal key for each environment in which the person may do something."`
	}
	deviceKey struct {
		ID          chargehand.KeyID `json:"id" format:"uuid"`
		Environment string           `json:"environment" enum:"live,test"`
		Key         string           `json:"key" doc:"The key. It is shown this once."`
		Scopes      []string         `json:"scopes" nullable:"false" doc:"What the key may do at most."`
		ExpiresAt   moment           `json:"expires_at,omitempty" doc:"When the key ends; left out: it does not end."`
	}
)

func deviceEndpoints() []endpoint {
	return []endpoint{
		{
			method: post, path: "/device", id: "startDevice", tag: "Sign-in", enters: true,
			summary: "Ask for keys as a program without a browser",
			about: "The device authorization grant of RFC 8628, with JSON bodies: the program shows the address and the code, a person signs in " +
				"there, types the code and confirms, and the program asks POST /device/token meanwhile.",
			body:    jsonBody(deviceBody{}, true),
			answers: []answer{{status: 200, about: "The codes", view: deviceCode{}}}, unaudited: "nothing is given before a person confirms", serve: (*call).startDevice,
		},
		{
			method: post, path: "/device/token", id: "redeemDevice", tag: "Sign-in", enters: true,
			summary: "Get the keys that a person has confirmed",
			about:   "Until then the answer is authorization_pending. The keys are shown in this answer only, and the device code counts once.",
			body:    jsonBody(deviceTokenBody{}, true), answers: []answer{{status: 200, about: "The keys", view: deviceKeys{}}},
			problems: []chargehand.Code{
				chargehand.CodeAuthorizationPending, chargehand.CodeSlowDown, chargehand.CodeAccessDenied, chargehand.CodeExpiredToken,
			},
			change: "keys made for a program", audits: []audit.Action{audit.KeyCreated}, serve: (*call).redeemDevice,
		},
	}
}

func (c *call) startDevice() error {
	q, err := readDeviceBody(c.value)
	if err != nil {
		return err
	}
	d, err := c.server.signIn.StartDevice(c.r.Context(), q, c.from())
	if err != nil {
		return err
	}
	return c.view(http.StatusOK, deviceCode{
		DeviceCode: d.Device, UserCode: d.User, VerificationURI: c.base() + "/device",
		ExpiresIn: int(d.Life / time.Second), Interval: int(d.Pause / time.Second),
	})
}

// readDeviceBody reads the body of POST /device. Codes: invalid_body, unknown_field.
func readDeviceBody(body value.Value) (q signin.StartDevice, err error) {
	given, isObject := body.(map[string]any)
	if !isObject {
		return q, badBody(chargehand.CodeInvalidBody, "", "The body must be a JSON object, not "+value.KindOf(body)+".")
	}
	for name, v := range given {
		switch name {
		case "name":
			text, isText := v.(string)
			if !isText {
				return q, badBody(chargehand.CodeInvalidBody, "/name", "name must be a text, not "+value.KindOf(v)+".")
			}
			q.Name = text
		case "environments":
			list, isList := v.([]any)
			if !isList || len(list) == 0 || len(list) > 2 {
				return q, badBody(chargehand.CodeInvalidBody, "/environments", "environments must be a list of live, test, or both.")
			}
			for _, one := range list {
				env, known := map[any]chargehand.Environment{"live": chargehand.Live, "test": chargehand.Test}[hashable(one)]
				if !known {
					return q, badBody(chargehand.CodeInvalidBody, "/environments", "environments must be a list of live, test, or both.")
				}
				q.Environments = append(q.Environments, env)
			}
			if len(q.Environments) == 2 && q.Environments[0] == q.Environments[1] {
				q.Environments = q.Environments[:1]
			}
		case "admin":
			wanted, isBool := v.(bool)
			if !isBool {
				return q, badBody(chargehand.CodeInvalidBody, "/admin", "admin must be true or false, not "+value.KindOf(v)+".")
			}
			q.Admin = wanted
		default:
			detail := "The field " + quote(name) + " is not known here."
			if meant := service.Suggest(name, []string{"name", "environments", "admin"}); meant != "" {
				detail += " Did you mean " + quote(meant) + "?"
			}
			return q, badBody(chargehand.CodeUnknownField, "/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(cut(name, 100)), detail)
		}
	}
	return q, nil
}

// hashable is a text, or nothing: other values of JSON cannot be looked up.
func hashable(v any) any {
	if text, isText := v.(string); isText {
		return text
	}
	return nil
}

func (c *call) redeemDevice() error {
	q, err := c.texts("device_code")
	if err != nil {
		return err
	}
	got, err := c.server.signIn.RedeemDevice(c.r.Context(), q["device_code"])
	if err != nil {
		return err
	}
	v := deviceKeys{
		User:    sessionUser{ID: got.Person.ID, Email: got.Person.Email, Name: got.Person.Name, Locale: got.Person.Locale},
		Account: sessionAccount{ID: got.Account.ID, Name: got.Account.Name}, Keys: []deviceKey{},
	}
	for _, k := range got.Keys {
		v.Keys = append(v.Keys, deviceKey{ID: k.ID, Environment: k.Environment.String(), Key: k.Key, Scopes: append([]string{}, k.Scopes...), ExpiresAt: at(k.ExpiresAt)})
	}
	return c.view(http.StatusOK, v)
}

// The page /device has three forms. This hidden field tells them apart.
const (
	deviceStep    = "step"
	deviceSignIn  = "sign-in"
	deviceEnter   = "code"
	deviceConfirm = "confirm"
)

func deviceStepField(step string) page.Field {
	return page.Field{Name: deviceStep, Type: "hidden", Value: step}
}

// deviceSignInPage signs a person in who opens the page without a session.
func (c *call) deviceSignInPage(q map[string]string) page.Content {
	content := c.loginPage(q, c.methods())
	content.Page, content.After, content.Forgotten = page.DeviceSignIn, pageDevice, false
	content.Fields = append([]page.Field{deviceStepField(deviceSignIn)}, content.Fields...)
	return content
}

// deviceCodePage asks for the code, and for the password where the sign-in is not fresh; a person without a password
// confirms it in another way first. The code is never taken from the address.
func (c *call) deviceCodePage(s *signin.Session, typed string) page.Content {
	if !s.Fresh(c.began) && s.Person.Password == "" {
		return c.deviceVerifyPage(s)
	}
	content := page.Content{Page: page.Device, Note: signedInAs(s), Fields: []page.Field{
		deviceStepField(deviceEnter), {Name: "code", Type: "text", Autocomplete: "off", Value: typed, Help: "code-help", Required: true},
	}}
	if !s.Fresh(c.began) && s.Person.Password != "" {
		content.Fields = append(content.Fields, page.Field{Name: "password", Type: "password", Autocomplete: "current-password", Help: "fresh-help", Required: true})
	}
	return content
}

// deviceVerifyPage lets a person without a password confirm the sign-in with what the person has.
func (c *call) deviceVerifyPage(s *signin.Session) page.Content {
	m := c.methods()
	content := page.Content{Page: page.DeviceVerify, Note: signedInAs(s), After: pageDevice, Verify: true, NoForm: true}
	if m.Passkeys {
		content.Passkey = page.PasskeyVerify
	}
	own, err := c.server.signIn.Identities(c.r.Context(), s)
	if err != nil {
		return content
	}
	for _, i := range own {
		if i.Title != "" {
			content.Providers = append(content.Providers, page.Provider{Name: i.Provider, Title: i.Title})
		}
	}
	return content
}

// hasRole reports whether the person of the browser's session may do anything.
func (c *call) hasRole() (bool, error) {
	for _, env := range []chargehand.Environment{chargehand.Live, chargehand.Test} {
		p, err := c.server.service.AuthenticateSession(c.r.Context(), c.sessionToken(), env)
		if err != nil {
			return false, err
		}
		if p.Scopes != 0 {
			return true, nil
		}
	}
	return false, nil
}

func signedInAs(s *signin.Session) string {
	return "Signed in as " + s.Person.Name + " (" + s.Person.Email + "), in the account " + s.Account.Name + "."
}

func (c *call) devicePage() error {
	s := c.browserSession()
	if s == nil {
		return c.drawPage(http.StatusOK, c.deviceSignInPage(nil))
	}
	c.lang = page.Language(s.Person.Locale, strings.Join(c.r.Header["Accept-Language"], ","))
	if has, err := c.hasRole(); err != nil || !has {
		if err != nil {
			return err
		}
		return c.drawPage(http.StatusOK, page.Content{Page: page.DeviceNoRole, Note: signedInAs(s)})
	}
	return c.drawPage(http.StatusOK, c.deviceCodePage(s, ""))
}

func (c *call) postDevice() error {
	q, err := c.form()
	if err != nil {
		return err
	}
	if q[deviceStep] == deviceSignIn {
		s, err := c.server.signIn.SignIn(c.r.Context(), q["email"], q["password"], c.from())
		return c.answerFormAt(pageDevice, c.deviceSignInPage(q), s, err)
	}
	s := c.browserSession()
	if s == nil {
		again := c.deviceSignInPage(nil)
		again.Error = "The session has ended. Sign in again."
		return c.drawPage(http.StatusUnauthorized, again)
	}
	if q[deviceStep] == deviceConfirm {
		return c.decideDevice(s, q)
	}
	return c.confirmDevice(s, q)
}

// confirmDevice shows the program whose code was typed.
func (c *call) confirmDevice(s *signin.Session, q map[string]string) error {
	if !s.Fresh(c.began) {
		if s.Person.Password == "" {
			return c.answerForm(c.deviceVerifyPage(s), nil, signin.NotFresh())
		}
		renewed, err := c.server.signIn.VerifyPassword(c.r.Context(), s, q["password"], c.from())
		if err != nil {
			return c.answerForm(c.deviceCodePage(s, q["code"]), nil, err)
		}
		c.setCookie(renewed.Token, renewed.ExpiresAt)
		s = renewed
	}
	d, err := c.server.signIn.Device(c.r.Context(), s, q["code"], c.from())
	if err != nil {
		return c.answerForm(c.deviceCodePage(s, ""), nil, err)
	}
	shown := page.DeviceConfirm
	if d.Admin {
		shown = page.DeviceConfirmAdmin
	}
	environments := make([]string, len(d.Environments))
	for i, env := range d.Environments {
		environments[i] = env.String()
	}
	return c.drawPage(http.StatusOK, page.Content{
		Page: shown, Note: signedInAs(s), Refusable: true,
		Facts: []page.Fact{
			{Name: "device-name", Value: d.Name}, {Name: "device-address", Value: d.Address},
			{Name: "device-started", Value: d.StartedAt.UTC().Format("2006-01-02 15:04:05") + " UTC"},
			{Name: "device-environments", Value: strings.Join(environments, ", ")},
		},
		Fields: []page.Field{
			deviceStepField(deviceConfirm), {Name: "code", Type: "hidden", Value: d.Code}, {Name: "form", Type: "hidden", Value: d.Form},
		},
	})
}

// decideDevice allows or refuses the program.
func (c *call) decideDevice(s *signin.Session, q map[string]string) error {
	allow := q["answer"] == page.Allow
	if err := c.server.signIn.DecideDevice(c.r.Context(), s, q["code"], q["form"], allow); err != nil {
		return c.answerForm(c.deviceCodePage(s, ""), nil, err)
	}
	if allow {
		return c.drawPage(http.StatusOK, page.Content{Page: page.DeviceAllowed})
	}
	return c.drawPage(http.StatusOK, page.Content{Page: page.DeviceRefused})
}
