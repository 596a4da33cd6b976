package api

import (
	"encoding/json"
	"maps"
	"net/http"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/signin"
	"github.com/chargehand/chargehand/internal/value"
)

// The bodies and answers.
type (
	credentialBody struct {
		Credential map[string]any `json:"credential" nullable:"false" doc:"What the browser answers, as PublicKeyCredential.toJSON() gives it (AuthenticationResponseJSON)."`
	}
	addPasskeyBody struct {
		Name       string         `json:"name,omitempty" doc:"For the person, to tell passkeys apart; left out: Passkey."`
		Credential map[string]any `json:"credential" nullable:"false" doc:"What the browser answers, as PublicKeyCredential.toJSON() gives it (RegistrationResponseJSON)."`
	}
	renamePasskeyBody struct {
		Name string `json:"name" doc:"1 to 100 characters that can be seen."`
	}
	passkeyOptions struct {
		Options map[string]any `json:"options" nullable:"false" doc:"For PublicKeyCredential.parseRequestOptionsFromJSON, or parseCreationOptionsFromJSON."`
	}
	passkeyView struct {
		ID         chargehand.PasskeyID `json:"id" format:"uuid"`
		Name       string               `json:"name"`
		CreatedAt  moment               `json:"created_at"`
		LastUsedAt moment               `json:"last_used_at,omitempty" doc:"Left out: never."`
	}
	passkeyList struct {
		Data   []passkeyView `json:"data" nullable:"false" maxItems:"20" doc:"All of them, the oldest first."`
		Cursor *string       `json:"cursor" nullable:"true" doc:"Always null: all are on this page."`
	}
)

func passkeyEndpoints() []endpoint {
	const tag = "Sign-in"
	begun := []answer{{status: 200, about: "What the browser is to do", view: passkeyOptions{}, headers: []string{"Set-Cookie"}}}
	unusable := []chargehand.Code{chargehand.CodeStateConflict}
	return []endpoint{
		{
			method: post, path: "/auth/passkey/options", id: "beginPasskeySignIn", tag: tag, enters: true,
			summary: "Begin to sign in with a passkey",
			about:   "The answer counts for 5 minutes, once, and in the browser that gets its cookie. POST /auth/passkey or POST /session/verify is next.",
			body:    jsonBody(nothing{}, false), answers: begun, problems: unusable, unaudited: unauditedBegin, serve: (*call).beginPasskeySignIn,
		},
		{
			method: post, path: "/auth/passkey", id: "signInWithPasskey", tag: tag, enters: true,
			summary: "Sign in with a passkey", about: "After POST /auth/passkey/options. Failed tries of others do not delay it.", body: jsonBody(credentialBody{}, true),
			answers:  []answer{{status: 201, about: "Signed in", view: session{}, headers: []string{"Set-Cookie"}}},
			problems: append(unusable, chargehand.CodeInvalidCredentials), change: "signed in", audits: []audit.Action{audit.SessionCreated, audit.SessionFailed}, serve: (*call).passkeySignIn,
		},
		{
			method: get, path: "/me/passkeys", id: "listPasskeys", tag: tag, enters: true, session: true,
			summary: "List the own passkeys", about: "Those of the person who is signed in.",
			answers: []answer{{status: 200, about: "The passkeys", view: passkeyList{}}}, serve: (*call).listPasskeys,
		},
		{
			method: post, path: "/me/passkeys/options", id: "beginPasskey", tag: tag, enters: true, session: true,
			summary: "Begin to add a passkey",
			about:   "It needs a fresh sign-in. The answer counts for 5 minutes, once, and for this session. POST /me/passkeys is next.",
			body:    jsonBody(nothing{}, false), answers: begun, problems: append(unusable, chargehand.CodeFreshSignInRequired), unaudited: unauditedBegin, serve: (*call).beginPasskey,
		},
		{
			method: post, path: "/me/passkeys", id: "addPasskey", tag: tag, enters: true, session: true,
			summary: "Add a passkey", about: "It needs a fresh sign-in. A person has at most 20.", body: jsonBody(addPasskeyBody{}, true),
			answers:  []answer{{status: 201, about: "Added", view: passkeyView{}}},
			problems: append(unusable, chargehand.CodeFreshSignInRequired), change: "passkey added", audits: []audit.Action{audit.PasskeyAdded}, serve: (*call).addPasskey,
		},
		{
			method: patch, path: "/me/passkeys/{passkeyId}", id: "renamePasskey", tag: tag, enters: true, session: true,
			summary: "Rename a passkey", about: "The name tells the person which one it is.", body: jsonBody(renamePasskeyBody{}, true),
			answers: []answer{{status: 200, about: "Renamed", view: passkeyView{}}},
			change:  "passkey renamed", audits: []audit.Action{audit.PasskeyRenamed}, serve: (*call).renamePasskey,
		},
		{
			method: remove, path: "/me/passkeys/{passkeyId}", id: "removePasskey", tag: tag, enters: true, session: true,
			summary:  "Remove a passkey",
			about:    "It needs a fresh sign-in. The only way to sign in is not removed. Sessions that it has begun stay: DELETE /me/sessions ends them.",
			answers:  []answer{{status: 204, about: "Removed"}},
			problems: append(unusable, chargehand.CodeFreshSignInRequired), change: "passkey removed", audits: []audit.Action{audit.PasskeyRemoved}, serve: (*call).removePasskey,
		},
	}
}

// unauditedBegin is why the first half of a ceremony has no entry.
const unauditedBegin = "it changes nothing: the request that follows does"

// credential reads a body with the answer of a browser, and other fields that are texts; nil: there is no answer.
// Codes: invalid_body, unknown_field.
func (c *call) credential(names ...string) (map[string]string, []byte, error) {
	given, ok := c.value.(map[string]any)
	if !ok || given["credential"] == nil {
		texts, err := c.texts(append(names, "credential")...)
		return texts, nil, err
	}
	if _, isObject := given["credential"].(map[string]any); !isObject {
		return nil, nil, badBody(chargehand.CodeInvalidBody, "/credential", "credential must be an object, not "+value.KindOf(given["credential"])+".")
	}
	var raw struct {
		Credential json.RawMessage `json:"credential"`
	}
	if err := json.Unmarshal(c.raw, &raw); err != nil {
		return nil, nil, err // it was parsed before
	}
	others := maps.Clone(given)
	delete(others, "credential")
	c.value = others
	texts, err := c.texts(append(names, "credential")...)
	return texts, raw.Credential, err
}

// answerBegun answers with the first half of a ceremony. The browser keeps what the second half needs.
func (c *call) answerBegun(begun signin.Ceremony, err error) error {
	if err != nil {
		return err
	}
	v := passkeyOptions{}
	if err := json.Unmarshal(begun.Options, &v.Options); err != nil {
		return err
	}
	c.giveCookie(passkeyCookie, begun.Way, begun.Ends)
	return c.view(http.StatusOK, v)
}

// takeWay reads a cookie with what was begun, and takes it away from the browser.
func (c *call) takeWay(name string) string {
	way := c.cookie(name)
	if way != "" {
		c.giveCookie(name, "", time.Time{})
	}
	return way
}

func (c *call) beginPasskeySignIn() error {
	return c.answerBegun(c.server.signIn.BeginPasskeySignIn(c.from()))
}

func (c *call) passkeySignIn() error {
	_, credential, err := c.neededCredential()
	if err != nil {
		return err
	}
	s, err := c.server.signIn.PasskeySignIn(c.r.Context(), c.takeWay(passkeyCookie), credential, c.from())
	return c.entered(http.StatusCreated, s, err)
}

func (c *call) neededCredential(names ...string) (map[string]string, []byte, error) {
	texts, credential, err := c.credential(names...)
	if err == nil && credential == nil {
		err = badBody(chargehand.CodeInvalidBody, "/credential", "credential is missing: the answer of the browser, as an object.")
	}
	return texts, credential, err
}

func (c *call) listPasskeys() error {
	keys, err := c.server.signIn.Passkeys(c.r.Context(), c.session)
	if err != nil {
		return err
	}
	v := passkeyList{Data: []passkeyView{}}
	for i := range keys {
		v.Data = append(v.Data, viewPasskey(&keys[i]))
	}
	return c.view(http.StatusOK, v)
}

func viewPasskey(k *signin.Passkey) passkeyView {
	return passkeyView{ID: k.ID, Name: k.Name, CreatedAt: at(k.CreatedAt), LastUsedAt: at(k.LastUsedAt)}
}

func (c *call) beginPasskey() error {
	return c.answerBegun(c.server.signIn.BeginPasskey(c.r.Context(), c.session, c.from()))
}

func (c *call) addPasskey() error {
	texts, credential, err := c.neededCredential("name")
	if err != nil {
		return err
	}
	added, err := c.server.signIn.AddPasskey(c.r.Context(), c.session, texts["name"], c.takeWay(passkeyCookie), credential, c.from())
	if err != nil {
		return err
	}
	return c.view(http.StatusCreated, viewPasskey(&added))
}

func (c *call) removePasskey() error {
	return c.done(c.server.signIn.RemovePasskey(c.r.Context(), c.session, c.passkey))
}

func (c *call) renamePasskey() error {
	texts, err := c.texts("name")
	if err != nil {
		return err
	}
	renamed, err := c.server.signIn.RenamePasskey(c.r.Context(), c.session, c.passkey, texts["name"])
	if err != nil {
		return err
	}
	return c.view(http.StatusOK, viewPasskey(&renamed))
}
