package api

import (
	"log/slog"
	"net/http"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/service"
)

// The bodies as the document describes them; the service reads them.
type (
	createKeyBody struct {
		Name        string   `json:"name" minLength:"1"`
		Environment string   `json:"environment,omitempty" enum:"live,test" doc:"Default: that of the key which asks."`
		Preset      string   `json:"preset,omitempty" enum:"run,observe,operate,deploy,all" doc:"Instead of scopes; default run."`
		Scopes      []string `json:"scopes,omitempty" nullable:"false"`
		Workflows   []string `json:"workflows,omitempty" nullable:"true" doc:"The only workflows that the key sees, as id or namespace/name, with those of namespaces; null or missing: no such list."`
		Namespaces  []string `json:"namespaces,omitempty" nullable:"true" doc:"The only namespaces whose workflows the key sees; null or missing: no such list."`
		Addresses   []string `json:"allowed_addresses,omitempty" nullable:"true" maxItems:"100" doc:"The only addresses that the key may be used from, or ranges of them, such as 192.0.2.0/24; null or missing: any."`
		ExpiresAt   *moment  `json:"expires_at,omitempty" nullable:"true" doc:"null or missing: never. A personal key ends after a year at the latest, which is what a missing time stands for."`
		RateLimit   *int64   `json:"rate_limit,omitempty" nullable:"true" minimum:"0" doc:"Requests per second, 0: no limit; null or missing: the installation's."`
	}
	patchKeyBody struct {
		Name       string   `json:"name,omitempty" minLength:"1"`
		Preset     string   `json:"preset,omitempty" enum:"run,observe,operate,deploy,all"`
		Scopes     []string `json:"scopes,omitempty" nullable:"false"`
		Workflows  []string `json:"workflows,omitempty" nullable:"true" doc:"As id or namespace/name; null takes the list away."`
		Namespaces []string `json:"namespaces,omitempty" nullable:"true" doc:"null takes the list away."`
		ExpiresAt  *moment  `json:"expires_at,omitempty" nullable:"true"`
		RateLimit  *int64   `json:"rate_limit,omitempty" nullable:"true" minimum:"0"`
		Addresses  []string `json:"allowed_addresses,omitempty" nullable:"true" maxItems:"100" doc:"null takes the list away."`
	}
	rotateKeyBody struct {
		Grace string `json:"grace,omitempty" doc:"How long the key before still counts: a number with a unit (30m, 24h, 7d), from 0s to 7d; default 24h."`
	}
)

func keyEndpoints() []endpoint {
	return []endpoint{
		{
			method: get, path: "/api-keys", id: "listAPIKeys", tag: "API keys",
			summary: "List API keys", about: "Newest first, without the keys themselves. Personal keys are among them: an admin can revoke them, and change nothing else.",
			scopes: service.ScopeAdmin, parameters: []*parameter{limitParameter, cursorParameter},
			answers: []answer{{status: 200, about: "List of API keys", view: apiKeyPage{}}},
			serve:   (*call).listKeys,
		},
		{
			method: post, path: "/api-keys", id: "createAPIKey", tag: "API keys",
			summary: "Create an API key", about: "The key itself is shown in this answer only. It may do no more than the person or key that makes it, and lives no longer than a key that makes it. With the scope admin or tasks:impersonate it needs a fresh sign-in.",
			scopes: service.ScopeAdmin, parameters: []*parameter{idempotencyParameter}, body: jsonBody(createKeyBody{}, true),
			answers:  []answer{{status: 201, about: "Created", view: apiKey{}, headers: []string{"Location", "Idempotency-Replayed"}}},
			problems: []chargehand.Code{chargehand.CodeWorkflowNotFound, chargehand.CodeKeyNotFound, chargehand.CodeFreshSignInRequired},
			change:   "API key created",
			audits:   []audit.Action{audit.KeyCreated},
			serve:    (*call).createKey,
		},
		{
			method: get, path: "/api-keys/{keyId}", id: "getAPIKey", tag: "API keys",
			summary: "Get an API key", about: "What it may do, without the key itself.", scopes: service.ScopeAdmin,
			answers: []answer{{status: 200, about: "The key", view: apiKey{}}},
			serve:   (*call).getKey,
		},
		{
			method: patch, path: "/api-keys/{keyId}", id: "updateAPIKey", tag: "API keys",
			summary: "Change an API key", about: "Fields that are left out stay as they are. What the key may do then is at most what the key that asks may do, unless less is left to it.",
			scopes: service.ScopeAdmin, body: jsonBody(patchKeyBody{}, true),
			answers:  []answer{{status: 200, about: "The key", view: apiKey{}}},
			problems: []chargehand.Code{chargehand.CodeWorkflowNotFound, chargehand.CodeFreshSignInRequired},
			change:   "API key changed",
			audits:   []audit.Action{audit.KeyChanged},
			serve:    (*call).patchKey,
		},
		{
			method: post, path: "/api-keys/{keyId}/rotate", id: "rotateAPIKey", tag: "API keys",
			summary: "Give an API key another secret",
			about: "The new key is shown in this answer only. The one before counts until the grace ends; all else about it stays. " +
				"It needs all that the key may do. With the scope admin or tasks:impersonate it needs a fresh sign-in.",
			scopes: service.ScopeAdmin, parameters: []*parameter{idempotencyParameter}, body: jsonBody(rotateKeyBody{}, false),
			answers:  []answer{{status: 200, about: "The key", view: apiKey{}, headers: []string{"Idempotency-Replayed"}}},
			problems: []chargehand.Code{chargehand.CodeStateConflict, chargehand.CodeFreshSignInRequired},
			change:   "API key rotated",
			audits:   []audit.Action{audit.KeyRotated},
			serve:    (*call).rotateKey,
		},
		{
			method: remove, path: "/api-keys/{keyId}", id: "revokeAPIKey", tag: "API keys",
			summary: "Revoke an API key", about: "It is refused everywhere within a second, permanently.", scopes: service.ScopeAdmin,
			answers: []answer{{status: 204, about: "Revoked"}},
			change:  "API key revoked",
			audits:  []audit.Action{audit.KeyRevoked},
			serve:   (*call).revokeKey,
		},
	}
}

func (c *call) listKeys() error {
	page, err := c.server.service.ListKeys(c.r.Context(), c.principal, c.args.limit, c.args.after)
	return showPage(c, page, err, viewKey)
}

func (c *call) createKey() error {
	key, replayed, err := c.server.service.CreateKey(c.r.Context(), c.principal, service.CreateKey{
		Body: c.value, Idempotency: c.idempotency(),
	})
	return c.viewNewKey("/api-keys/", key, replayed, err)
}

func (c *call) viewNewKey(folder string, key *service.Key, replayed bool, err error) error {
	if err != nil {
		return err
	}
	c.replayed(replayed)
	c.key = key.ID
	c.tellKey(key)
	c.location(folder + key.ID.String())
	return c.view(http.StatusCreated, viewKey(key))
}

func (c *call) getKey() error {
	key, err := c.server.service.GetKey(c.r.Context(), c.principal, c.key)
	return show(c, key, err, viewKey)
}

func (c *call) patchKey() error {
	key, err := c.server.service.PatchKey(c.r.Context(), c.principal, c.key, c.value)
	if err != nil {
		return err
	}
	c.tellKey(key)
	return c.view(http.StatusOK, viewKey(key))
}

func (c *call) rotateKey() error {
	key, replayed, err := c.server.service.RotateKey(c.r.Context(), c.principal, c.rotation())
	return c.viewRotated(key, replayed, err)
}

func (c *call) rotation() service.RotateKey {
	return service.RotateKey{Key: c.key, Body: c.value, Idempotency: c.idempotency()}
}

func (c *call) viewRotated(key *service.Key, replayed bool, err error) error {
	if err != nil {
		return err
	}
	c.replayed(replayed)
	c.tellKey(key)
	return c.view(http.StatusOK, viewKey(key))
}

// tellKey says in the log what a key may do from now on.
func (c *call) tellKey(k *service.Key) {
	c.changed = append(c.changed, slog.String("name", k.Name), slog.Any("scopes", k.Scopes.Names()), slog.Bool("limited", !k.Limits.All()))
}

func (c *call) revokeKey() error {
	return c.done(c.server.service.RevokeKey(c.r.Context(), c.principal, c.key))
}

func viewKey(k *service.Key) apiKey {
	v := apiKey{
		ID: k.ID, Name: k.Name, Environment: k.Environment.String(), Prefix: k.Prefix, LastFour: k.LastFour,
		Scopes: k.Scopes.Names(), Workflows: k.Limits.Workflows, Namespaces: k.Limits.Namespaces, CreatedAt: at(k.CreatedAt), ExpiresAt: at(k.ExpiresAt),
		LastUsedAt: at(k.LastUsedAt), Addresses: k.Addresses, OldUntil: at(k.OldUntil), Key: k.Secret,
	}
	if v.Scopes == nil {
		v.Scopes = []string{}
	}
	if k.RatePerSecond != 0 {
		rate := int64(max(k.RatePerSecond, 0)) // below 0: no limit
		v.RateLimit = &rate
	}
	if !k.User.IsZero() {
		v.User = &k.User
	}
	if !k.CreatedBy.IsZero() {
		v.CreatedBy = &k.CreatedBy
	}
	return v
}
