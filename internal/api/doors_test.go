package api

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/descope/virtualwebauthn"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/peer/virtualkey"
	"github.com/chargehand/chargehand/internal/signin"
	"github.com/chargehand/chargehand/internal/signin/oidc"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/sqlite"
	"github.com/chargehand/chargehand/internal/store/storetest"
)

// doors is a server over a real database, at an address that browsers of the test open.
type doors struct {
	t     *testing.T
	rows  *store.Store
	base  string
	setup string // token

	visitors int
}

var doorsTemplate = storetest.Template{Open: func(path string) (store.DB, error) {
	return sqlite.Open(sqlite.Options{Path: path, Owner: true})
}}

// eachDoors runs a test with a server over each database. Browsers know it as localhost or 127.0.0.1.
func eachDoors(t *testing.T, host string, settings []oidc.Setting, test func(d *doors)) {
	t.Helper()
	run := func(t *testing.T, db store.DB) {
		rows := store.New(db)
		t.Cleanup(func() { rows.Close() })
		server := httptest.NewUnstartedServer(nil)
		_, port, _ := strings.Cut(server.Listener.Addr().String(), ":")
		d := &doors{t: t, rows: rows, base: "http://" + host + ":" + port}
		var providers []*oidc.Provider
		for _, s := range settings {
			providers = append(providers, oidc.New(s, nil, nil))
		}
		server.Config.Handler = New(Config{
			Service: &fake{}, SignIn: signin.New(signin.Config{Store: rows, Providers: providers}), PublicURL: d.base,
			TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
		})
		server.Start()
		t.Cleanup(server.Close)
		account := store.Account{ID: mustID[chargehand.AccountID]("0197a5c4-6666-7000-8000-000000000006"), Name: "default", CreatedMs: 1}
		if err := rows.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertAccount(&account) }); err != nil {
			t.Fatal(err)
		}
		var err error
		if d.setup, err = signin.NewSetupToken(t.Context(), rows, moment0.AddDate(100, 0, 0)); err != nil {
			t.Fatal(err)
		}
		test(d)
	}
	t.Run("sqlite", func(t *testing.T) { run(t, storetest.Twice(doorsTemplate.New(t))) })
	t.Run("postgres", func(t *testing.T) {
		db, err := postgres.Open(t.Context(), postgres.Options{
			URL: peer.StartPostgres(t, peer.PostgresOptions{Careless: true}).NewSchema(t), Mode: postgres.Shared,
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, db)
	})
}

// visitor is a browser, with its cookies and a passkey.
type visitor struct {
	*doors
	http   http.Client
	origin string // of the page that sends; empty: none is said
	number int
	sent   int
	key    virtualwebauthn.Credential
	keys   virtualwebauthn.Authenticator
}

func (d *doors) visitor() *visitor {
	jar, _ := cookiejar.New(nil)
	d.visitors++
	return &visitor{
		doors: d, number: d.visitors, key: virtualkey.New(),
		http: http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// reply is an answer that was read.
type reply struct {
	status int
	code   string // of a problem
	body   map[string]any
	text   string
	header http.Header
}

func (v *visitor) send(method, path, body string, header ...string) reply {
	v.t.Helper()
	if strings.HasPrefix(path, "/") {
		path = v.base + path
	}
	r, err := http.NewRequestWithContext(v.t.Context(), method, path, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	v.sent++ // from an address of its own on this machine, so that the rate of one does not matter
	r.Header.Set("X-Forwarded-For", "127."+itoa(v.number)+"."+itoa(v.sent/250)+"."+itoa(1+v.sent%250))
	if v.origin != "" {
		r.Header.Set("Origin", v.origin)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := v.http.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	got := reply{status: answer.StatusCode, text: string(text), header: answer.Header}
	_ = json.Unmarshal(text, &got.body)
	got.code, _ = got.body["code"].(string)
	return got
}

// want fails unless the answer has a status, and a code if it is a problem.
func (v *visitor) want(what string, got reply, status int, code string) reply {
	v.t.Helper()
	if got.status != status || got.code != code {
		v.t.Fatalf("%s: %d %s, want %d %s\n%s", what, got.status, got.code, status, code, got.text)
	}
	return got
}

func (v *visitor) party() virtualwebauthn.RelyingParty {
	u, _ := url.Parse(v.base)
	return virtualwebauthn.RelyingParty{ID: u.Hostname(), Name: "Chargehand", Origin: v.base}
}

func (v *visitor) options(path string) string {
	v.t.Helper()
	got := v.want("options", v.send("POST", path, "{}"), 200, "")
	text, _ := json.Marshal(got.body["options"])
	return string(text)
}

// makeKey makes the passkey of the browser for the person that is signed in.
func (v *visitor) makeKey() string {
	v.t.Helper()
	options, err := virtualwebauthn.ParseAttestationOptions(v.options("/api/v1/me/passkeys/options"))
	if err != nil {
		v.t.Fatal(err)
	}
	v.keys = virtualwebauthn.NewAuthenticatorWithOptions(virtualwebauthn.AuthenticatorOptions{UserHandle: []byte(options.UserID)})
	answer := virtualwebauthn.CreateAttestationResponse(v.party(), v.keys, v.key, *options)
	v.keys.AddCredential(v.key)
	return answer
}

// useKey answers with the passkey of the browser.
func (v *visitor) useKey() string {
	v.t.Helper()
	options, err := virtualwebauthn.ParseAssertionOptions(v.options("/api/v1/auth/passkey/options"))
	if err != nil {
		v.t.Fatal(err)
	}
	v.key.Counter++
	return `{"credential":` + virtualwebauthn.CreateAssertionResponse(v.party(), v.keys, v.key, *options) + `}`
}

// TestPasskeysOverHTTP sets an installation up without a password, and signs in with the passkey in another session.
func TestPasskeysOverHTTP(t *testing.T) {
	eachDoors(t, "localhost", nil, func(d *doors) {
		t := d.t
		v := d.visitor()
		methods := v.send("GET", "/api/v1/auth/methods", "").body
		if methods["setup"] != true || methods["passkeys"] != true || methods["password"] != true {
			t.Errorf("methods %v", methods)
		}
		set := `{"token":"` + d.setup + `","name":"Ada","email":"ada@example.com"}`
		v.want("set-up", v.send("POST", "/api/v1/setup", set), 201, "")
		given := d.visitor() // the first browser gave up before the passkey
		given.want("set-up again", given.send("POST", "/api/v1/setup", set), 201, "")
		v.want("who gave way", v.send("POST", "/api/v1/me/passkeys/options", "{}"), 401, "invalid_credentials")
		v = given
		answer := v.makeKey()
		v.want("a body without an answer", v.send("POST", "/api/v1/me/passkeys", `{"name":"Phone"}`), 400, "invalid_body")
		v.want("a misspelt field", v.send("POST", "/api/v1/me/passkeys", `{"nmae":"Phone","credential":`+answer+`}`), 400, "unknown_field")
		answer = v.makeKey()
		added := v.want("add", v.send("POST", "/api/v1/me/passkeys", `{"name":"Phone","credential":`+answer+`}`), 201, "")
		v.want("the same again", v.send("POST", "/api/v1/me/passkeys", `{"name":"Phone","credential":`+answer+`}`), 401, "invalid_credentials")
		v.want("set-up is done", v.send("POST", "/api/v1/setup", set), 410, "setup_done")
		v.want("the only one", v.send("DELETE", "/api/v1/me/passkeys/"+added.body["id"].(string), ""), 409, "state_conflict")
		v.want("confirm", v.send("POST", "/api/v1/session/verify", v.useKey()), 200, "")
		v.want("sign out", v.send("DELETE", "/api/v1/session", ""), 204, "")

		answer = v.useKey()
		other := d.visitor()
		other.want("in another browser", other.send("POST", "/api/v1/auth/passkey", answer), 401, "invalid_credentials")
		other.options("/api/v1/auth/passkey/options") // it has a cookie, of another challenge
		other.want("with another challenge", other.send("POST", "/api/v1/auth/passkey", answer), 401, "invalid_credentials")
		v.origin = "https://evil.test"
		v.want("from a page of another site", v.send("POST", "/api/v1/auth/passkey", answer), 403, "cross_origin")
		v.origin = d.base
		v.http.Jar.SetCookies(mustURL(d.base+"/"), []*http.Cookie{{Name: d.cookie(), Value: "fixed", Path: "/"}})
		v.want("sign in", v.send("POST", "/api/v1/auth/passkey", answer), 201, "")
		if got := v.token(); got == "fixed" || len(got) != 43 {
			t.Errorf("session fixation: the token is %q", got)
		}
		if got := v.want("session", v.send("GET", "/api/v1/session", ""), 200, ""); got.body["user"].(map[string]any)["email"] != "ada@example.com" {
			t.Errorf("session of %s", got.text)
		}
		v.want("the same answer again", v.send("POST", "/api/v1/auth/passkey", answer), 401, "invalid_credentials")
		v.want("another person's", v.send("DELETE", "/api/v1/me/passkeys/0197a5c4-8888-7000-8000-000000000008", ""), 404, "passkey_not_found")
		second := d.visitor()
		second.http.Jar, second.keys = v.http.Jar, v.keys
		more := v.want("a second one", v.send("POST", "/api/v1/me/passkeys", `{"credential":`+second.makeKey()+`}`), 201, "")
		address := "/api/v1/me/passkeys/" + more.body["id"].(string)
		renamed := v.want("another name", v.send("PATCH", address, `{"name":" Laptop "}`), 200, "")
		if list := v.want("the list", v.send("GET", "/api/v1/me/passkeys", ""), 200, ""); renamed.body["name"] != "Laptop" || !strings.Contains(list.text, `"name":"Laptop"`) {
			t.Errorf("renamed: %s; listed: %s", renamed.text, list.text)
		}
		v.want("no name", v.send("PATCH", address, `{"name":""}`), 400, "invalid_body")
		v.want("no field", v.send("PATCH", address, `{}`), 400, "invalid_body")
		v.want("a name that hides its end", v.send("PATCH", address, `{"name":"a\u202eb"}`), 400, "invalid_body")
		v.want("that of another person", v.send("PATCH", "/api/v1/me/passkeys/0197a5c4-8888-7000-8000-000000000008", `{"name":"Mine"}`), 404, "passkey_not_found")
		v.want("one of two", v.send("DELETE", "/api/v1/me/passkeys/"+more.body["id"].(string), ""), 204, "")
		d.audited(audit.PasskeyAdded, audit.PasskeyRenamed, audit.PasskeyRemoved)
		if page := v.send("GET", "/sign-in", ""); !strings.Contains(page.text, `data-passkey="add"`) {
			t.Errorf("the page of a person who is signed in: %s", page.text)
		}
	})
}

func mustURL(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return u
}

// at signs in at the provider to which a redirect leads, as who the claims say, and returns the address back.
func (v *visitor) at(begun reply, claims map[string]any) string {
	v.t.Helper()
	v.want("begin", begun, 303, "")
	text, _ := json.Marshal(claims)
	back := v.want("provider", v.send("GET", begun.header.Get("Location")+"&claims="+url.QueryEscape(string(text)), ""), 303, "")
	return back.header.Get("Location")
}

func (v *visitor) enterBy(provider string, claims map[string]any) reply {
	v.t.Helper()
	return v.send("GET", v.at(v.send("GET", "/api/v1/auth/oidc/"+provider, ""), claims), "")
}

// TestProvidersOverHTTP signs persons in by a real provider: invited, admitted by rules, and neither.
func TestProvidersOverHTTP(t *testing.T) {
	server := peer.StartAuth(t, "")
	const secret = "s3cret&+%:/ü"
	settings := []oidc.Setting{
		{Name: "company", Title: "Example Ltd.", Issuer: server.URL + "/company", ClientID: "chargehand", ClientSecret: secret, Provision: oidc.Provision{Domains: []string{"example.org"}}},
		{Name: "partner", Issuer: server.URL + "/partner", ClientID: "chargehand", ClientSecret: secret},
		{Name: "gone", Issuer: "http://127.0.0.1:1/gone", ClientID: "chargehand", ClientSecret: secret},
	}
	eachDoors(t, "127.0.0.1", settings, func(d *doors) {
		t := d.t
		ada := d.visitor()
		ada.want("set-up", ada.send("POST", "/api/v1/setup", `{"token":"`+d.setup+`","name":"Ada","email":"ada@example.com","password":"four words in a row"}`), 201, "")
		v := d.visitor()
		if page := v.send("GET", "/sign-in", ""); !strings.Contains(page.text, `href="/api/v1/auth/oidc/company"`) || !strings.Contains(page.text, "Example Ltd.") {
			t.Errorf("sign-in page: %s", page.text)
		}
		v.want("a provider that is down", v.send("GET", "/api/v1/auth/oidc/gone", ""), 503, "unavailable")
		if page := v.send("GET", "/api/v1/auth/oidc/gone", "", "Accept", "text/html"); page.status != 503 || !strings.Contains(page.text, "<!doctype html>") {
			t.Errorf("as a page: %d %s", page.status, page.text)
		}
		v.want("no provider", v.send("GET", "/api/v1/auth/oidc/other", ""), 404, "provider_not_found")
		eve := map[string]any{"sub": "eve", "email": "eve@example.com", "email_verified": true}
		v.want("a stranger", v.enterBy("company", eve), 403, "not_invited")
		adas := map[string]any{"sub": "evil", "email": "ada@example.com", "email_verified": true}
		v.want("the e-mail of a person with a password", v.enterBy("company", adas), 403, "not_invited")
		unchecked := map[string]any{"sub": "x", "email": "x@example.org"}
		v.want("an e-mail that was not checked", v.enterBy("company", unchecked), 403, "not_invited")

		cy := map[string]any{"sub": "cy", "email": "cy@example.org", "email_verified": true, "name": "Cy", "groups": []string{"staff", "finance"}}
		back := v.at(v.send("GET", "/api/v1/auth/oidc/company", ""), cy)
		other := d.visitor()
		other.want("login CSRF: the address in another browser", other.send("GET", back, ""), 401, "invalid_credentials")
		third := d.visitor()
		swapped := mustURL(third.at(third.send("GET", "/api/v1/auth/oidc/company", ""), cy))
		query := swapped.Query()
		query.Set("state", mustURL(other.at(other.send("GET", "/api/v1/auth/oidc/company", ""), cy)).Query().Get("state"))
		swapped.RawQuery = query.Encode()
		other.want("swapped states", other.send("GET", swapped.String(), ""), 401, "invalid_credentials")
		v.http.Jar.SetCookies(mustURL(d.base+"/"), []*http.Cookie{{Name: d.cookie(), Value: "fixed", Path: "/"}})
		way := d.way(v)
		v.want("come back", v.send("GET", back, ""), 303, "")
		if got := v.want("session", v.send("GET", "/api/v1/session", ""), 200, ""); got.body["user"].(map[string]any)["name"] != "Cy" {
			t.Errorf("session of %s", got.text)
		}
		if got := v.token(); got == "fixed" || len(got) != 43 {
			t.Errorf("session fixation: the token is %q", got)
		}
		v.http.Jar.SetCookies(mustURL(d.base+"/"), []*http.Cookie{way})
		v.want("replayed", v.send("GET", back, ""), 401, "invalid_credentials")
		if got := d.groups("cy@example.org"); got != "finance staff" {
			t.Errorf("groups %q", got)
		}
		cy["groups"] = []string{"staff"}
		v.want("again", v.enterBy("company", cy), 303, "")
		if got := d.groups("cy@example.org"); got != "staff" {
			t.Errorf("groups after one was left: %q", got)
		}
		v.want("the person at another provider", v.enterBy("partner", cy), 403, "not_invited")
		mixed := mustURL(v.at(v.send("GET", "/api/v1/auth/oidc/company", ""), cy))
		mixed.Path = strings.Replace(mixed.Path, "company", "partner", 1)
		v.want("back at the door of another provider", v.send("GET", mixed.String(), ""), 401, "invalid_credentials")

		v.want("confirm", v.send("GET", v.at(v.send("GET", "/api/v1/auth/oidc/company?verify=true", ""), cy), ""), 303, "")
		d.invite("eve@example.com")
		w := d.visitor()
		w.want("invited", w.enterBy("partner", eve), 303, "")
		v.want("confirm as another", v.send("GET", v.at(v.send("GET", "/api/v1/auth/oidc/partner?verify=true", ""), eve), ""), 401, "invalid_credentials")
		if begun := w.send("GET", "/api/v1/auth/oidc/partner?verify=true", ""); !strings.Contains(begun.header.Get("Location"), "max_age=0") {
			t.Errorf("the provider is not asked to ask: %s", begun.header.Get("Location"))
		}
		d.links(ada)
		d.audited(audit.SessionFailed, audit.IdentityRemoved, audit.UserProvisioned, audit.UserJoined, audit.IdentityLinked, audit.GroupCreated, audit.GroupJoined, audit.GroupLeft)
		w.want("denied", w.enterBy("partner", map[string]any{"deny": true}), 401, "invalid_credentials")
	})
}

// links lets the first admin sign in by a provider too, beside the password, whatever the e-mail is there.
func (d *doors) links(ada *visitor) {
	t := d.t
	t.Helper()
	adas := map[string]any{"sub": "ada of the staff", "email": "else@example.net"}
	begin := func(v *visitor) reply {
		return v.want("begin", v.send("POST", "/api/v1/me/identities", `{"provider":"company"}`), 200, "")
	}
	came := func(v *visitor, begun reply, claims map[string]any) reply {
		begun.header = http.Header{"Location": {begun.body["url"].(string)}}
		begun.status = 303
		return v.send("GET", v.at(begun, claims), "")
	}
	begun := begin(ada)
	if !strings.Contains(begun.body["url"].(string), "max_age=0") {
		t.Errorf("the provider is not asked to ask: %s", begun.text)
	}
	stranger := d.visitor()
	stranger.want("in another browser", came(stranger, begun, adas), 401, "invalid_credentials")
	ada.want("by an address that a browser follows", ada.send("GET", "/api/v1/auth/oidc/company?link=true", ""), 400, "unknown_parameter")
	ada.want("the identity of another user", came(ada, begin(ada), map[string]any{"sub": "cy"}), 409, "state_conflict")
	ada.want("linked", came(ada, begin(ada), adas), 303, "")
	ada.want("once more", came(ada, begin(ada), adas), 303, "")
	ada.want("a second one", came(ada, begin(ada), map[string]any{"sub": "ada's other"}), 409, "state_conflict")
	if list := ada.want("listed", ada.send("GET", "/api/v1/me/identities", ""), 200, ""); !strings.Contains(list.text, `"title":"Example Ltd."`) {
		t.Errorf("listed: %s", list.text)
	}
	v := d.visitor()
	v.want("signed in", v.enterBy("company", adas), 303, "")
	if got := v.want("session", v.send("GET", "/api/v1/session", ""), 200, ""); got.body["user"].(map[string]any)["name"] != "Ada" {
		t.Errorf("session of %s", got.text)
	}
	page := ada.send("GET", "/sign-in", "")
	if !strings.Contains(page.text, "You sign in with") || strings.Contains(page.text, `value="company"`) || !strings.Contains(page.text, `value="partner"`) {
		t.Errorf("the page of the person: %s", page.text)
	}
	ada.want("removed", ada.send("DELETE", "/api/v1/me/identities/company", ""), 204, "")
	ada.want("removed before", ada.send("DELETE", "/api/v1/me/identities/company", ""), 404, "provider_not_found")
	v.want("removed", d.visitor().enterBy("company", adas), 403, "not_invited")
}

// audited fails unless the audit log has an entry of each action.
func (d *doors) audited(actions ...audit.Action) {
	d.t.Helper()
	for _, action := range actions {
		err := d.rows.View(d.t.Context(), func(r *store.Reader) error {
			found, err := r.ListAudit(store.AuditFilter{Account: 1, Action: string(action), BeforeMs: 1 << 46, Limit: 1})
			if err == nil && len(found) != 1 {
				d.t.Errorf("nothing is on record as %s", action)
			}
			return err
		})
		if err != nil {
			d.t.Fatal(err)
		}
	}
}

// cookie is the name of the cookie of sessions.
func (d *doors) cookie() string { return "chargehand-" + mustURL(d.base).Port() }

// token is that of the browser's session; empty: there is none.
func (v *visitor) token() string {
	for _, cookie := range v.http.Jar.Cookies(mustURL(v.base + "/")) {
		if cookie.Name == v.cookie() {
			return cookie.Value
		}
	}
	return ""
}

// way is the cookie of a sign-in on its way.
func (d *doors) way(v *visitor) *http.Cookie {
	for _, cookie := range v.http.Jar.Cookies(mustURL(d.base + "/")) {
		if strings.HasPrefix(cookie.Name, providerCookie) {
			return &http.Cookie{Name: cookie.Name, Value: cookie.Value, Path: "/"}
		}
	}
	d.t.Fatal("there is no cookie of a sign-in on its way")
	return nil
}

// groups are the names of the groups of a person.
func (d *doors) groups(email string) string {
	d.t.Helper()
	var names []string
	err := d.rows.View(d.t.Context(), func(r *store.Reader) error {
		p, err := r.PersonByEmail(email)
		if err != nil {
			return err
		}
		groups, err := r.GroupsOf(1, p.No)
		for _, g := range groups {
			if g.Source != "oidc:company" {
				d.t.Errorf("group %s of %q", g.Name, g.Source)
			}
			names = append(names, g.Name)
		}
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	if len(names) == 2 && names[0] > names[1] {
		names[0], names[1] = names[1], names[0]
	}
	return strings.Join(names, " ")
}

// invite makes an invited user.
func (d *doors) invite(email string) {
	d.t.Helper()
	p := store.Person{ID: mustID[chargehand.UserID]("0197a5c4-9999-7000-8000-000000000009"), Email: email, EmailKey: email, Name: "Invited", NameKey: "invited", CreatedMs: 1}
	err := d.rows.Update(d.t.Context(), func(tx *store.Tx) error {
		if err := tx.InsertPerson(&p); err != nil {
			return err
		}
		return tx.InsertMember(&store.Member{Account: 1, Person: p, Status: store.Invited, CreatedMs: 1})
	})
	if err != nil {
		d.t.Fatal(err)
	}
}
