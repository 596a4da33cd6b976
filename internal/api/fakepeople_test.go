package api

import (
	"context"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/value"
)

func (f *fake) RequireFresh(*service.Principal) error { return nil }

func fixtureUser() service.User {
	return service.User{
		ID: userID, Email: "ada@example.org", Name: "Ada", Status: 2, Groups: []chargehand.GroupID{groupID}, Methods: []string{"passkey"},
		CreatedAt: moment0, LastSeenAt: moment0,
	}
}

func fixtureGroup() service.Group {
	return service.Group{ID: groupID, Name: "Finance", Source: "oidc:corp", Members: []chargehand.UserID{userID}, CreatedAt: moment0}
}

func fixtureGrant() service.Grant {
	return service.Grant{
		ID: grantID, User: userID, Holder: "Ada", Email: "ada@example.org", Role: "operator", Workflow: workflowID, WorkflowName: "shop/order", Environments: 3, CreatedAt: moment0, CreatedBy: "command line",
	}
}

func (f *fake) ListUsers(context.Context, *service.Principal, service.ListUsers) (*service.Page[service.User], error) {
	return or(f, &service.Page[service.User]{Data: []service.User{fixtureUser()}, Cursor: cursor1()})
}

func (f *fake) GetUser(context.Context, *service.Principal, chargehand.UserID) (service.User, error) {
	u := fixtureUser()
	u.Open = &service.OpenAccess{Sessions: 2, PersonalKeys: 1, InvitationEnds: moment0}
	return or(f, u)
}

func (f *fake) InviteUser(_ context.Context, _ *service.Principal, r service.InviteUser) (service.User, bool, error) {
	u := fixtureUser()
	u.Link = &service.OneUseLink{URL: r.BaseURL + "/invitation#token=t", ExpiresAt: moment0}
	return orReplayed(f, u)
}

func (f *fake) PatchUser(context.Context, *service.Principal, chargehand.UserID, value.Value) (service.User, error) {
	return or(f, fixtureUser())
}

func (f *fake) RemoveUser(context.Context, *service.Principal, chargehand.UserID) error {
	return f.fail
}

func (f *fake) ResetUser(context.Context, *service.Principal, chargehand.UserID, string, *service.Idempotency) (service.OneUseLink, bool, error) {
	return orReplayed(f, service.OneUseLink{ExpiresAt: moment0})
}

func (f *fake) FindPeople(context.Context, *service.Principal, string, int) (*service.FoundPeople, error) {
	return or(f, &service.FoundPeople{Users: []service.FoundUser{{ID: userID, Name: "Ada", Email: "a@b"}}, Groups: []service.FoundGroup{{ID: groupID, Name: "Finance"}}})
}

func (f *fake) ListGroups(context.Context, *service.Principal, int, service.Cursor) (*service.Page[service.Group], error) {
	return or(f, &service.Page[service.Group]{Data: []service.Group{fixtureGroup()}, Cursor: cursor1()})
}

func (f *fake) GetGroup(context.Context, *service.Principal, chargehand.GroupID) (service.Group, error) {
	return or(f, fixtureGroup())
}

func (f *fake) CreateGroup(context.Context, *service.Principal, value.Value, *service.Idempotency) (service.Group, bool, error) {
	return orReplayed(f, fixtureGroup())
}

func (f *fake) PatchGroup(context.Context, *service.Principal, chargehand.GroupID, value.Value) (service.Group, error) {
	return or(f, fixtureGroup())
}

func (f *fake) DeleteGroup(context.Context, *service.Principal, chargehand.GroupID) error {
	return f.fail
}

func (f *fake) GroupMembers(context.Context, *service.Principal, chargehand.GroupID, int, service.Cursor) (*service.Page[service.FoundUser], error) {
	return or(f, &service.Page[service.FoundUser]{Data: []service.FoundUser{{ID: userID, Name: "Ada", Email: "a@b"}}, Cursor: cursor1()})
}

func (f *fake) JoinGroup(context.Context, *service.Principal, chargehand.GroupID, chargehand.UserID) error {
	return f.fail
}

func (f *fake) LeaveGroup(context.Context, *service.Principal, chargehand.GroupID, chargehand.UserID) error {
	return f.fail
}

func (f *fake) ListGrants(context.Context, *service.Principal, service.ListGrants) (*service.Page[service.Grant], error) {
	return or(f, &service.Page[service.Grant]{Data: []service.Grant{fixtureGrant()}, Cursor: cursor1()})
}

func (f *fake) GiveGrant(context.Context, *service.Principal, value.Value, *service.Idempotency) (service.Grant, bool, error) {
	return orReplayed(f, fixtureGrant())
}

func (f *fake) TakeGrant(context.Context, *service.Principal, chargehand.GrantID) error {
	return f.fail
}

func (f *fake) CreateKey(_ context.Context, _ *service.Principal, r service.CreateKey) (*service.Key, bool, error) {
	if f.createKey != nil {
		return f.createKey(r)
	}
	key := fixtureKey()
	key.Secret = "shown-once"
	return orReplayed(f, key)
}

func (f *fake) ListKeys(context.Context, *service.Principal, int, service.Cursor) (*service.Page[service.Key], error) {
	return or(f, &service.Page[service.Key]{Data: []service.Key{*fixtureKey(), {ID: keyID, CreatedAt: moment0}}, Cursor: cursor1()})
}

func (f *fake) GetKey(context.Context, *service.Principal, chargehand.KeyID) (*service.Key, error) {
	return or(f, fixtureKey())
}

func (f *fake) PatchKey(context.Context, *service.Principal, chargehand.KeyID, value.Value) (*service.Key, error) {
	return or(f, fixtureKey())
}

func (f *fake) GetMe(context.Context, *service.Principal) (*service.Me, error) {
	return or(f, &service.Me{User: fixtureUser(), Grants: []service.Grant{fixtureGrant()}, MoreGrants: true, Installation: true, Live: service.PresetRun, Test: service.ScopeWorkflowsRead})
}

func (f *fake) PatchMe(ctx context.Context, p *service.Principal, _ value.Value) (*service.Me, error) {
	return f.GetMe(ctx, p)
}

func (f *fake) Settings(context.Context, *service.Principal) ([]byte, error) {
	return or(f, []byte(`{"theme":"dark"}`))
}

func (f *fake) PutSettings(ctx context.Context, p *service.Principal, _ value.Value) ([]byte, error) {
	return f.Settings(ctx, p)
}

func (f *fake) ListSessions(context.Context, *service.Principal, int, service.Cursor) (*service.Page[service.Session], error) {
	return or(f, &service.Page[service.Session]{Data: []service.Session{{
		ID: sessionID, Method: "passkey", Address: "192.0.2.1", Agent: "Browser/1", Current: true, CreatedAt: moment0, LastSeenAt: moment0, ExpiresAt: moment0,
	}}, Cursor: cursor1()})
}

func (f *fake) RevokeSession(context.Context, *service.Principal, chargehand.SessionID) error {
	return f.fail
}

func (f *fake) RevokeOtherSessions(context.Context, *service.Principal) error { return f.fail }

func (f *fake) CreatePersonalKey(_ context.Context, _ *service.Principal, r service.CreateKey) (*service.Key, bool, error) {
	key := fixtureKey()
	key.Secret, key.User = "shown-once", userID
	return orReplayed(f, key)
}

func (f *fake) ListPersonalKeys(context.Context, *service.Principal, int, service.Cursor) (*service.Page[service.Key], error) {
	return or(f, &service.Page[service.Key]{Data: []service.Key{{ID: keyID, CreatedAt: moment0, User: userID}}, Cursor: cursor1()})
}

func (f *fake) GetPersonalKey(context.Context, *service.Principal, chargehand.KeyID) (*service.Key, error) {
	return or(f, fixtureKey())
}

func (f *fake) RevokePersonalKey(context.Context, *service.Principal, chargehand.KeyID) error {
	return f.fail
}

func (f *fake) RotateKey(context.Context, *service.Principal, service.RotateKey) (*service.Key, bool, error) {
	key := fixtureKey()
	key.Secret, key.OldUntil = "shown-once", moment0
	return orReplayed(f, key)
}

func (f *fake) RotatePersonalKey(ctx context.Context, p *service.Principal, r service.RotateKey) (*service.Key, bool, error) {
	return f.RotateKey(ctx, p, r)
}

func (f *fake) RevokeKey(context.Context, *service.Principal, chargehand.KeyID) error { return f.fail }
