package api

import "github.com/chargehand/chargehand"

type apiKey struct {
	ID          chargehand.KeyID        `json:"id" format:"uuid"`
	Name        string                  `json:"name"`
	Environment string                  `json:"environment" enum:"live,test"`
	Prefix      string                  `json:"prefix"`
	LastFour    string                  `json:"last_four"`
	Scopes      []string                `json:"scopes" nullable:"false"`
	Workflows   []chargehand.WorkflowID `json:"workflows,omitempty" format:"uuid" nullable:"false" doc:"The only workflows that the key sees, with those of namespaces; left out with namespaces: all."`
	Namespaces  []string                `json:"namespaces,omitempty" nullable:"false" doc:"The only namespaces whose workflows the key sees."`
	RateLimit   *int64                  `json:"rate_limit,omitempty" minimum:"0" doc:"Requests per second, 0: no limit; left out: the installation's."`
	CreatedAt   moment                  `json:"created_at"`
	ExpiresAt   moment                  `json:"expires_at,omitempty"`
	LastUsedAt  moment                  `json:"last_used_at,omitempty"`
	CreatedBy   *chargehand.KeyID       `json:"created_by,omitempty" format:"uuid" doc:"The user or the key that made this one; left out: the command line."`
	Addresses   []string                `json:"allowed_addresses,omitempty" nullable:"false" doc:"The only addresses that the key may be used from, or ranges of them; left out: any."`
	OldUntil    moment                  `json:"previous_key_until,omitempty" doc:"Until when the key before the last rotation counts too; left out: there is none."`
	User        *chargehand.UserID      `json:"user_id,omitempty" format:"uuid" doc:"The user that a personal key stands for; left out: it stands for none."`
	Key         string                  `json:"key,omitempty" doc:"The key itself. Shown once, in the answer that creates it."`
}

type me struct {
	User         user     `json:"user" doc:"The person as a member of the account."`
	Grants       []grant  `json:"grants" nullable:"false" maxItems:"100" doc:"The first 100 roles of the person, those of its groups among them."`
	MoreGrants   bool     `json:"more_grants" doc:"The person has more than these roles."`
	Scopes       meScopes `json:"scopes" doc:"What may be done somewhere in each environment."`
	Environments []string `json:"environments" enum:"live,test" nullable:"false" doc:"Where something may be done."`
	Installation bool     `json:"installation" doc:"GET /system in live shows the state of the installation: to admins of the oldest account."`
	Version      string   `json:"version" doc:"Version of the server."`
}

type meScopes struct {
	Live []string `json:"live" nullable:"false" doc:"Scopes in live."`
	Test []string `json:"test" nullable:"false" doc:"Scopes in test."`
}

type settings map[string]any

type ownSession struct {
	ID         chargehand.SessionID `json:"id" format:"uuid"`
	Method     string               `json:"method" doc:"How the person has signed in: password, passkey, or oidc: and the name of an identity provider."`
	Address    string               `json:"address" doc:"Address of the sign-in."`
	Agent      string               `json:"agent" doc:"The browser or program, as it has named itself."`
	Current    bool                 `json:"current" doc:"It is the session that asks."`
	CreatedAt  moment               `json:"created_at" doc:"When the person signed in."`
	LastSeenAt moment               `json:"last_seen_at" doc:"When the session was seen last, to within a minute."`
	ExpiresAt  moment               `json:"expires_at" doc:"When it ends without another request, and at the latest."`
}

// startedBy is left out where no request has started it.
type startedBy struct {
	Kind string `json:"kind" enum:"user,key" doc:"A user, by a session or a personal key, or an API key."`
	ID   string `json:"id" format:"uuid" doc:"Id of the user or API key."`
	Name string `json:"name,omitempty" doc:"Name of the user or API key; left out: it has none."`
}

type user struct {
	ID                  chargehand.UserID    `json:"id" format:"uuid"`
	Email               string               `json:"email"`
	Name                string               `json:"name"`
	Locale              string               `json:"locale,omitempty"`
	Status              string               `json:"status" enum:"invited,active,disabled"`
	Groups              []chargehand.GroupID `json:"groups" format:"uuid" nullable:"false"`
	Methods             []string             `json:"methods" nullable:"false" doc:"How the user can sign in: password, passkey, or oidc: and the name of an identity provider."`
	CreatedAt           moment               `json:"created_at"`
	LastSeenAt          moment               `json:"last_seen_at,omitempty"`
	Sessions            *int64               `json:"sessions,omitempty" minimum:"0" doc:"Where the user is signed in at the moment; left out in lists."`
	PersonalKeys        *int64               `json:"personal_keys,omitempty" minimum:"0" doc:"Personal keys that count; left out in lists."`
	InvitationExpiresAt moment               `json:"invitation_expires_at,omitempty" doc:"Until then the invitation can be accepted; left out in lists, and if there is none."`
	Invitation          *oneUseLink          `json:"invitation,omitempty" doc:"What the user is to open. Shown once, in the answer that makes it."`
}

type oneUseLink struct {
	URL       string `json:"url,omitempty" format:"uri" doc:"The address, which can be used once. Left out in an answer that is repeated."`
	ExpiresAt moment `json:"expires_at"`
	Mailed    bool   `json:"mailed" doc:"The address is sent to the user by mail. False in an answer that is repeated."`
}

type userGroup struct {
	ID          chargehand.GroupID  `json:"id" format:"uuid"`
	Name        string              `json:"name"`
	Source      string              `json:"source,omitempty" doc:"The identity provider that has the group, as oidc:NAME; left out: it was made here."`
	Members     []chargehand.UserID `json:"members" format:"uuid" nullable:"false" maxItems:"100" doc:"The first 100 members."`
	MoreMembers bool                `json:"more_members" doc:"The group has more than these members. The route of its members lists all."`
	CreatedAt   moment              `json:"created_at"`
}

type foundUser struct {
	ID    chargehand.UserID `json:"id" format:"uuid"`
	Name  string            `json:"name"`
	Email string            `json:"email"`
}

type foundGroup struct {
	ID   chargehand.GroupID `json:"id" format:"uuid"`
	Name string             `json:"name"`
}

type foundPeople struct {
	Users  []foundUser  `json:"users" nullable:"false" doc:"Active users whose name or e-mail begins with the text."`
	Groups []foundGroup `json:"groups" nullable:"false" doc:"Groups whose name begins with the text."`
}

type grant struct {
	ID           chargehand.GrantID     `json:"id" format:"uuid"`
	User         *chargehand.UserID     `json:"user_id,omitempty" format:"uuid" doc:"The user that has the role; left out: a group has it."`
	Group        *chargehand.GroupID    `json:"group_id,omitempty" format:"uuid" doc:"The group that has the role; left out: a user has it."`
	Holder       string                 `json:"holder" doc:"The name of the user or group."`
	Email        string                 `json:"email,omitempty" doc:"The e-mail address of the user; left out: a group has the role."`
	Role         string                 `json:"role" enum:"participant,viewer,operator,author,publisher,admin" doc:"What the role allows is in the reference of roles."`
	Namespace    string                 `json:"namespace,omitempty" doc:"The role is over the workflows of this namespace."`
	Workflow     *chargehand.WorkflowID `json:"workflow_id,omitempty" format:"uuid" doc:"The role is over this workflow. This and namespace left out: everything."`
	WorkflowName string                 `json:"workflow,omitempty" doc:"The namespace and the name of the workflow, with a slash between them."`
	Environments []string               `json:"environments" enum:"live,test" nullable:"false" doc:"Where the role counts."`
	CreatedAt    moment                 `json:"created_at"`
	CreatedBy    string                 `json:"created_by" doc:"Id of the user or API key that has given it, or a name."`
}
