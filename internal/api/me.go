package api

import (
	"net/http"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/service"
)

// meEndpoints are about the person that asks. They need no scope, and a key that stands for no person is refused.
func meEndpoints() []endpoint {
	const tag = "Me"
	return []endpoint{
		{
			method: get, path: "/me/api-keys", id: "listPersonalKeys", tag: tag,
			summary: "List the own personal keys", about: "Those of the environment, newest first, without the keys themselves.",
			parameters: []*parameter{limitParameter, cursorParameter},
			answers:    []answer{{status: 200, about: "List of API keys", view: apiKeyPage{}}},
			problems:   []chargehand.Code{chargehand.CodeInsufficientScope},
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
			problems: []chargehand.Code{chargehand.CodeInsufficientScope},
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
			problems: []chargehand.Code{chargehand.CodeInsufficientScope},
			change:   "personal key revoked",
			audits:   []audit.Action{audit.KeyRevoked},
			serve:    (*call).revokePersonalKey,
		},
	}
}

func (c *call) listPersonalKeys() error {
	page, err := c.server.service.ListPersonalKeys(c.r.Context(), c.principal, c.args.limit, c.args.after)
	return c.viewKeys(page, err)
}

func (c *call) createPersonalKey() error {
	key, replayed, err := c.server.service.CreatePersonalKey(c.r.Context(), c.principal, service.CreateKey{
		Body: c.value, Idempotency: c.idempotency(),
	})
	return c.viewNewKey("/me/api-keys/", key, replayed, err)
}

func (c *call) getPersonalKey() error {
	key, err := c.server.service.GetPersonalKey(c.r.Context(), c.principal, c.key)
	if err != nil {
		return err
	}
	return c.view(http.StatusOK, viewKey(key))
}

func (c *call) rotatePersonalKey() error {
	key, replayed, err := c.server.service.RotatePersonalKey(c.r.Context(), c.principal, c.rotation())
	return c.viewRotated(key, replayed, err)
}

func (c *call) revokePersonalKey() error {
	if err := c.server.service.RevokePersonalKey(c.r.Context(), c.principal, c.key); err != nil {
		return err
	}
	c.empty(http.StatusNoContent)
	return nil
}
