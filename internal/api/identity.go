package api

import (
	"net/http"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/signin"
)

// The bodies and answers.
type (
	identityBody struct {
		Provider string `json:"provider" minLength:"1" doc:"Name of the identity provider, as GET /auth/methods lists it."`
	}
	identityBegun struct {
		URL string `json:"url" format:"uri" doc:"Where the browser goes, which has got the cookie of this answer: the identity provider."`
	}
	identityView struct {
		Provider  string `json:"provider"`
		Title     string `json:"title,omitempty" doc:"For people; left out: the server does not have the provider any more."`
		CreatedAt moment `json:"created_at"`
	}
	identityList struct {
		Data   []identityView `json:"data" nullable:"false" maxItems:"100" doc:"All of them."`
		Cursor *string        `json:"cursor" nullable:"true" doc:"Always null: all are on this page."`
	}
)

func identityEndpoints() []endpoint {
	const tag = "Sign-in"
	return []endpoint{
		{
			method: get, path: "/me/identities", id: "listIdentities", tag: tag, enters: true, session: true,
			summary: "List the own identity providers", about: "Those by which the person who is signed in can sign in.",
			answers: []answer{{status: 200, about: "The identities", view: identityList{}}}, serve: (*call).listIdentities,
		},
		{
			method: post, path: "/me/identities", id: "beginIdentity", tag: tag, enters: true, session: true,
			summary: "Begin to sign in by an identity provider too",
			about: "It needs a fresh sign-in. The browser goes to the address of the answer, where the provider asks the person to sign in again; after that the " +
				"person can sign in here by the identity there, whatever its e-mail is. It counts for 10 minutes, once, and for this session. " +
				"A person has one identity of each provider.",
			body:     jsonBody(identityBody{}, true),
			answers:  []answer{{status: 200, about: "Where the browser goes", view: identityBegun{}, headers: []string{"Set-Cookie"}}},
			problems: []chargehand.Code{chargehand.CodeFreshSignInRequired, chargehand.CodeProviderNotFound, chargehand.CodeUnavailable}, unaudited: unauditedBegin, serve: (*call).beginIdentity,
		},
		{
			method: remove, path: "/me/identities/{provider}", id: "removeIdentity", tag: tag, enters: true, session: true,
			summary:  "Sign in by an identity provider no more",
			about:    "It needs a fresh sign-in. The person leaves the groups of the provider too. The only way to sign in is not removed.",
			answers:  []answer{{status: 204, about: "Removed"}},
			problems: []chargehand.Code{chargehand.CodeFreshSignInRequired, chargehand.CodeStateConflict, chargehand.CodeLastAdmin},
			change:   "identity removed", audits: []audit.Action{audit.IdentityRemoved, audit.GroupLeft}, serve: (*call).removeIdentity,
		},
	}
}

func (c *call) listIdentities() error {
	list, err := c.server.signIn.Identities(c.r.Context(), c.session)
	if err != nil {
		return err
	}
	v := identityList{Data: []identityView{}}
	for _, i := range list {
		v.Data = append(v.Data, identityView{Provider: i.Provider, Title: i.Title, CreatedAt: at(i.CreatedAt)})
	}
	return c.view(http.StatusOK, v)
}

func (c *call) beginIdentity() error {
	q, err := c.texts("provider")
	if err != nil {
		return err
	}
	address, err := c.depart(q["provider"], signin.Journey{Session: c.session, Link: true})
	if err != nil {
		return err
	}
	return c.view(http.StatusOK, identityBegun{address})
}

func (c *call) removeIdentity() error {
	if err := c.server.signIn.RemoveIdentity(c.r.Context(), c.session, c.name); err != nil {
		return err
	}
	c.empty(http.StatusNoContent)
	return nil
}
