package api

import (
	"net/http"
	"net/url"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/service"
)

// putSecretBody is the body as the document describes it; the service reads it.
type putSecretBody struct {
	Value      any      `json:"value" writeOnly:"true" doc:"Any JSON value but null, at most 64 KiB: a text such as a token, or an object such as {\"username\": …, \"password\": …}."`
	Workflows  []string `json:"workflows,omitempty" nullable:"true" doc:"The only workflows that may declare the secret, as id or namespace/name, with those of namespaces. Left out: as before; null: no such list."`
	Namespaces []string `json:"namespaces,omitempty" nullable:"true" doc:"The only namespaces whose workflows may declare the secret. Left out: as before; null: no such list."`
}

// rollBackSecretBody is the body as the document describes it; the service reads it.
type rollBackSecretBody struct {
	Version int64 `json:"version" minimum:"1" doc:"The version whose value counts again."`
}

func secretEndpoints() []endpoint {
	return []endpoint{
		{
			method: get, path: "/secrets", id: "listSecrets", tag: "Secrets",
			summary: "List secrets", about: "Those of the key's environment, newest first, without their values: no request reads these.",
			scopes: service.ScopeAdmin, parameters: []*parameter{limitParameter, cursorParameter},
			answers: []answer{{status: 200, about: "List of secrets", view: secretPage{}}},
			serve:   (*call).listSecrets,
		},
		{
			method: put, path: "/secrets/{name}", id: "putSecret", tag: "Secrets",
			summary: "Set a secret",
			about: "Creates it, or sets a new version, also where the value is the same; so it may be repeated. " +
				"Executions that have started keep the version that they started with.",
			scopes: service.ScopeAdmin, fresh: true, body: jsonBody(putSecretBody{}, true),
			answers: []answer{
				{status: 200, about: "A new version", view: secret{}},
				{status: 201, about: "Created", view: secret{}, headers: []string{"Location"}},
			},
			problems: []chargehand.Code{chargehand.CodeInvalidParameter, chargehand.CodeStateConflict, chargehand.CodeWorkflowNotFound},
			change:   "secret set",
			audits:   []audit.Action{audit.SecretSet},
			serve:    (*call).putSecret,
		},
		{
			method: get, path: "/secrets/{name}", id: "getSecret", tag: "Secrets",
			summary: "Describe a secret", about: "Without its value, with the versions that are kept and the workflows that declare it.", scopes: service.ScopeAdmin,
			answers: []answer{{status: 200, about: "The secret", view: secret{}}},
			serve:   (*call).getSecret,
		},
		{
			method: post, path: "/secrets/{name}/rollback", id: "rollBackSecret", tag: "Secrets",
			summary: "Set the value of an earlier version again",
			about: "As a new version. The newest 10 versions are kept. If the newest one is that version or restores it, nothing changes, " +
				"so it may be repeated. Executions that have started keep the version that they started with.",
			scopes: service.ScopeAdmin, fresh: true, body: jsonBody(rollBackSecretBody{}, true),
			answers:  []answer{{status: 200, about: "The secret", view: secret{}}},
			problems: []chargehand.Code{chargehand.CodeVersionNotFound},
			change:   "secret rolled back",
			audits:   []audit.Action{audit.SecretRolledBack},
			serve:    (*call).rollBackSecret,
		},
		{
			method: remove, path: "/secrets/{name}", id: "deleteSecret", tag: "Secrets",
			summary: "Delete a secret", about: "Executions that have started keep what they started with.", scopes: service.ScopeAdmin, fresh: true,
			answers: []answer{{status: 204, about: "Deleted"}},
			change:  "secret deleted",
			audits:  []audit.Action{audit.SecretDeleted},
			serve:   (*call).deleteSecret,
		},
	}
}

func (c *call) listSecrets() error {
	page, err := c.server.service.ListSecrets(c.r.Context(), c.principal, c.args.limit, c.args.after)
	return showPage(c, page, err, viewSecret)
}

func (c *call) putSecret() error {
	found, created, err := c.server.service.PutSecret(c.r.Context(), c.principal, c.name, c.value)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
		c.location("/secrets/" + url.PathEscape(found.Name))
	}
	return c.view(status, viewSecret(found))
}

func (c *call) getSecret() error {
	found, err := c.server.service.GetSecret(c.r.Context(), c.principal, c.name)
	return show(c, found, err, viewSecret)
}

func (c *call) rollBackSecret() error {
	found, err := c.server.service.RollBackSecret(c.r.Context(), c.principal, c.name, c.value)
	return show(c, found, err, viewSecret)
}

func (c *call) deleteSecret() error {
	return c.done(c.server.service.DeleteSecret(c.r.Context(), c.principal, c.name))
}

func viewSecret(s *service.Secret) secret {
	v := secret{Name: s.Name, Version: s.Version, CreatedAt: at(s.CreatedAt), UpdatedAt: at(s.UpdatedAt), Workflows: s.Limits.Workflows, Namespaces: s.Limits.Namespaces}
	for _, n := range s.Versions {
		v.Versions = append(v.Versions, secretVersion{Version: n.Version, SetAt: at(n.SetAt), Restores: n.Restores})
	}
	for _, w := range s.UsedBy {
		v.UsedBy = append(v.UsedBy, secretUser{WorkflowID: w.ID, Workflow: w.Namespace + "/" + w.Name})
	}
	return v
}
