package api

import (
	"encoding/json"
	"net/http"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/service"
)

// patchMeBody is the body as the document describes it; the service reads it.
type patchMeBody struct {
	Name   string  `json:"name,omitempty" minLength:"1"`
	Locale *string `json:"locale,omitempty" nullable:"true" doc:"Tag of a language, such as en or de-AT; null: none."`
}

const (
	unauditedSettings = "settings of the web interface change nothing but what their person sees"
	unauditedSession  = "it ends sessions of the person who asks, as signing out does"
)

// meEndpoints are about the person that asks. They need no scope, and a key that stands for no person is refused.
func meEndpoints() []endpoint {
	const tag = "Me"
	refused := []chargehand.Code{chargehand.CodeInsufficientScope}
	return []endpoint{
		{
			method: get, path: "/me", id: "getMe", tag: tag,
			summary: "Get the person that asks", about: "Who it is in the account, its roles, and what it may do in each environment; with a personal key, what the key may do.",
			answers: []answer{{status: 200, about: "The person", view: me{}}}, problems: refused,
			serve: (*call).getMe,
		},
		{
			method: patch, path: "/me", id: "updateMe", tag: tag,
			summary: "Change the own name or language", about: "In all accounts. Fields that are left out stay as they are. It needs a session.", body: jsonBody(patchMeBody{}, true),
			answers: []answer{{status: 200, about: "The person", view: me{}}}, problems: refused,
			change: "own name or language changed",
			audits: []audit.Action{audit.UserChanged},
			serve:  (*call).patchMe,
		},
		{
			method: get, path: "/me/settings", id: "getSettings", tag: tag,
			summary: "Get the own settings", about: "What the person has set in the web interface; an empty object if there is nothing. It needs a session.",
			answers: []answer{{status: 200, about: "The settings", view: settings{}}}, problems: refused,
			serve: (*call).getSettings,
		},
		{
			method: put, path: "/me/settings", id: "putSettings", tag: tag,
			summary: "Replace the own settings", about: "A JSON object of at most 64 KiB. The server does not read it. It needs a session.", body: settingsBody(),
			answers: []answer{{status: 200, about: "The settings", view: settings{}}}, problems: refused,
			unaudited: unauditedSettings,
			serve:     (*call).putSettings,
		},
		{
			method: get, path: "/me/sessions", id: "listSessions", tag: tag,
			summary: "List the own sessions", about: "Those that have not ended, in all accounts, newest first. It needs a session.", parameters: []*parameter{limitParameter, cursorParameter},
			answers: []answer{{status: 200, about: "List of sessions", view: ownSessionPage{}}}, problems: refused,
			serve: (*call).listSessions,
		},
		{
			method: remove, path: "/me/sessions", id: "endOtherSessions", tag: tag,
			summary: "End the own other sessions", about: "All but the one that asks. They end everywhere within a second, and with them the links to human tasks that they, or sessions before them, have made.",
			answers: []answer{{status: 204, about: "Ended"}}, problems: refused,
			change: "other sessions ended", unaudited: unauditedSession,
			serve: (*call).endOtherSessions,
		},
		{
			method: remove, path: "/me/sessions/{sessionId}", id: "endSession", tag: tag,
			summary: "End an own session", about: "It ends everywhere within a second. With another one than that which asks, the links to human tasks end that it has made. It needs a session.",
			answers: []answer{{status: 204, about: "Ended"}}, problems: refused,
			change: "session ended", unaudited: unauditedSession,
			serve: (*call).endSession,
		},
		{
			method: get, path: "/me/api-keys", id: "listPersonalKeys", tag: tag,
			summary: "List the own personal keys", about: "Those of the environment, newest first, without the keys themselves.",
			parameters: []*parameter{limitParameter, cursorParameter},
			answers:    []answer{{status: 200, about: "List of API keys", view: apiKeyPage{}}},
			problems:   refused,
			serve:      (*call).listPersonalKeys,
		},
		{
			method: post, path: "/me/api-keys", id: "createPersonalKey", tag: tag,
			summary: "Create a personal key",
			about: "It stands for the person: at each moment it may do what its scopes and the person's roles both allow. It ends after a year at the latest, " +
				"and shares the person's rate limit. The key itself is shown in this answer only. It needs a session; no key makes a personal key.",
			fresh: true, parameters: []*parameter{idempotencyParameter}, body: jsonBody(createKeyBody{}, true),
			answers:  []answer{{status: 201, about: "Created", view: apiKey{}, headers: []string{"Location", "Idempotency-Replayed"}}},
			problems: []chargehand.Code{chargehand.CodeInsufficientScope, chargehand.CodeWorkflowNotFound, chargehand.CodeKeyNotFound, chargehand.CodeStateConflict},
			change:   "personal key created",
			audits:   []audit.Action{audit.KeyCreated},
			serve:    (*call).createPersonalKey,
		},
		{
			method: get, path: "/me/api-keys/{keyId}", id: "getPersonalKey", tag: tag,
			summary: "Get an own personal key", about: "What it may do at most, without the key itself.",
			answers:  []answer{{status: 200, about: "The key", view: apiKey{}}},
			problems: refused,
			serve:    (*call).getPersonalKey,
		},
		{
			method: post, path: "/me/api-keys/{keyId}/rotate", id: "rotatePersonalKey", tag: tag,
			summary: "Give an own personal key another secret",
			about:   "The new key is shown in this answer only. The one before counts until the grace ends; all else about it stays. It needs a session.",
			fresh:   true, parameters: []*parameter{idempotencyParameter}, body: jsonBody(rotateKeyBody{}, false),
			answers:  []answer{{status: 200, about: "The key", view: apiKey{}, headers: []string{"Idempotency-Replayed"}}},
			problems: []chargehand.Code{chargehand.CodeInsufficientScope, chargehand.CodeStateConflict},
			change:   "personal key rotated",
			audits:   []audit.Action{audit.KeyRotated},
			serve:    (*call).rotatePersonalKey,
		},
		{
			method: remove, path: "/me/api-keys/{keyId}", id: "revokePersonalKey", tag: tag,
			summary: "Revoke an own personal key", about: "It is refused everywhere within a second, permanently. A personal key revokes no other one.",
			answers:  []answer{{status: 204, about: "Revoked"}},
			problems: refused,
			change:   "personal key revoked",
			audits:   []audit.Action{audit.KeyRevoked},
			serve:    (*call).revokePersonalKey,
		},
	}
}

func settingsBody() *body {
	b := jsonBody(settings{}, true)
	b.about = "What the person has set."
	return b
}

func (c *call) getMe() error {
	m, err := c.server.service.GetMe(c.r.Context(), c.principal)
	return c.viewMe(m, err)
}

func (c *call) patchMe() error {
	m, err := c.server.service.PatchMe(c.r.Context(), c.principal, c.value)
	return c.viewMe(m, err)
}

func (c *call) viewMe(m *service.Me, err error) error {
	if err != nil {
		return err
	}
	v := me{User: viewUser(&m.User), Grants: make([]grant, len(m.Grants)), MoreGrants: m.MoreGrants, Environments: []string{}, Installation: m.Installation, Version: c.server.version}
	for i := range m.Grants {
		v.Grants[i] = viewGrant(&m.Grants[i])
	}
	v.Scopes.Live, v.Scopes.Test = m.Live.Names(), m.Test.Names()
	if m.Live != 0 {
		v.Environments = append(v.Environments, "live")
	}
	if m.Test != 0 {
		v.Environments = append(v.Environments, "test")
	}
	return c.view(http.StatusOK, v)
}

func (c *call) getSettings() error {
	data, err := c.server.service.Settings(c.r.Context(), c.principal)
	return c.viewSettings(data, err)
}

func (c *call) putSettings() error {
	data, err := c.server.service.PutSettings(c.r.Context(), c.principal, c.value)
	return c.viewSettings(data, err)
}

func (c *call) viewSettings(data []byte, err error) error {
	if err != nil {
		return err
	}
	return c.view(http.StatusOK, json.RawMessage(data))
}

func (c *call) listSessions() error {
	page, err := c.server.service.ListSessions(c.r.Context(), c.principal, c.args.limit, c.args.after)
	return showPage(c, page, err, func(s *service.Session) ownSession {
		return ownSession{
			ID: s.ID, Method: s.Method, Address: s.Address, Agent: s.Agent, Current: s.Current,
			CreatedAt: at(s.CreatedAt), LastSeenAt: at(s.LastSeenAt), ExpiresAt: at(s.ExpiresAt),
		}
	})
}

func (c *call) endOtherSessions() error {
	return c.done(c.server.service.RevokeOtherSessions(c.r.Context(), c.principal))
}

func (c *call) endSession() error {
	return c.done(c.server.service.RevokeSession(c.r.Context(), c.principal, c.ownSession))
}

func (c *call) listPersonalKeys() error {
	page, err := c.server.service.ListPersonalKeys(c.r.Context(), c.principal, c.args.limit, c.args.after)
	return showPage(c, page, err, viewKey)
}

func (c *call) createPersonalKey() error {
	key, replayed, err := c.server.service.CreatePersonalKey(c.r.Context(), c.principal, service.CreateKey{
		Body: c.value, Idempotency: c.idempotency(),
	})
	return c.viewNewKey("/me/api-keys/", key, replayed, err)
}

func (c *call) getPersonalKey() error {
	key, err := c.server.service.GetPersonalKey(c.r.Context(), c.principal, c.key)
	return show(c, key, err, viewKey)
}

func (c *call) rotatePersonalKey() error {
	key, replayed, err := c.server.service.RotatePersonalKey(c.r.Context(), c.principal, c.rotation())
	return c.viewRotated(key, replayed, err)
}

func (c *call) revokePersonalKey() error {
	return c.done(c.server.service.RevokePersonalKey(c.r.Context(), c.principal, c.key))
}
