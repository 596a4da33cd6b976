package service

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// Bounds of personal keys.
const (
	maxPersonalKeys = 50 // of a person, in all accounts
	personalKeyLife = 365 * 24 * time.Hour
	// deviceAdminLife is how long a key with the rights of an admin lasts that a program got by the device grant.
	deviceAdminLife = 30 * 24 * time.Hour
	// maxPersonalKeyLife is a year also for a client whose clock is ahead, and in a leap year.
	maxPersonalKeyLife = personalKeyLife + 48*time.Hour
)

// needsPerson refuses an API key that stands for no person. Codes: insufficient_scope.
func needsPerson(p *Principal) error {
	if p.PersonNo == 0 {
		return chargehand.NewError(chargehand.CodeInsufficientScope,
			"This is about a person, and the API key stands for none. Sign in, or use a personal key.")
	}
	return nil
}

// needsSession refuses API keys, personal ones too: a stolen key does not change what its person signs in with.
// Codes: insufficient_scope.
func needsSession(p *Principal) error {
	if p.SessionNo == 0 {
		return chargehand.NewError(chargehand.CodeInsufficientScope, "No API key may do this, also no personal one. Sign in.")
	}
	return nil
}

// CreatePersonalKey makes a key that stands for the principal's person, in the environment of the request. It may do
// what both its scopes and limits and the roles of the person allow at the moment of use. It ends after a year at the
// latest. A replayed answer does not show the secret again.
// Codes: fresh_sign_in_required, insufficient_scope, invalid_body, unknown_field, workflow_not_found,
// state_conflict (there are 50), api_key_not_found (a replay, and the key was revoked since), idempotency_key_reused,
// idempotency_in_progress.
func (s *Service) CreatePersonalKey(ctx context.Context, p *Principal, r CreateKey) (key *Key, replayed bool, err error) {
	if err := needsSession(p); err != nil {
		return nil, false, err
	}
	return guarded(ctx, s, p, r.Idempotency,
		func(c *idempotencyGuard) (*Key, error) { return s.createKey(ctx, p, r.Body, personalKey, c) },
		func(c *idempotencyGuard) (*Key, error) {
			return s.GetPersonalKey(ctx, p, chargehand.KeyID(c.found.Resource))
		})
}

// personalKey reads what of a key is different for a personal one: its end, and that it has no rate of its own.
func (f *fields) personalKey(row *store.Key, now time.Time) {
	if f.values["rate_limit"] != nil {
		f.fail("rate_limit", "conflict", "A personal key has no rate limit of its own: it shares that of its person.")
	}
	row.Rate = -1
	switch latest := now.Add(maxPersonalKeyLife).UnixMilli(); {
	case !f.has("expires_at"):
		row.ExpiresMs = now.Add(personalKeyLife).UnixMilli()
	case row.ExpiresMs == 0 && len(f.wrong) == 0, row.ExpiresMs > latest:
		f.fail("expires_at", "too_late", "The field \"expires_at\" must lie within a year: a personal key ends after a year at the latest.")
	}
}

// checkPersonalKey tells whether the principal may make the personal key that row says. workflows are the names of
// those that it is limited to: they may be no others than the person sees.
// Codes: fresh_sign_in_required, insufficient_scope, invalid_body, workflow_not_found, state_conflict.
func (s *Service) checkPersonalKey(tx *store.Tx, p *Principal, row *store.Key, workflows []string) error {
	if err := checkAdmin(row); err != nil {
		return err
	}
	if parseScopes(row.Scopes)&(ScopeAdmin|ScopeTasksImpersonate) != 0 {
		if err := s.RequireFresh(p); err != nil {
			return err
		}
	}
	if missing := parseScopes(row.Scopes) &^ p.Scopes.In(p.Environment); missing != 0 {
		return chargehand.NewError(chargehand.CodeInsufficientScope, "A personal key has at most the scopes of your roles. In "+
			p.Environment.String()+" you do not have "+strings.Join(missing.Names(), ", ")+". Name those that it is to have in \"scopes\".")
	}
	for _, text := range workflows {
		id, err := findWorkflow(&tx.Reader, p.AccountNo, text)
		if err == nil && !slices.ContainsFunc(p.rights, func(g right) bool { return g.workflows == nil || slices.Contains(g.workflows, id) }) {
			err = noWorkflow(text)
		}
		if err != nil {
			return err
		}
	}
	return roomForPersonalKey(tx, p.PersonNo, s.nowMs())
}

// roomForPersonalKey refuses one more personal key than a person may have. It locks the person, so that requests at
// once do not pass the limit together. Codes: state_conflict.
func roomForPersonalKey(tx *store.Tx, person, nowMs int64) error {
	if _, err := tx.PersonForUpdate(person); err != nil {
		return err
	}
	n, err := tx.PersonalKeys(person, nowMs)
	if err == nil && n >= maxPersonalKeys {
		err = stateConflict("You have " + strconv.Itoa(maxPersonalKeys) + " personal keys, in all environments and accounts, which is the limit. Revoke one first.")
	}
	return err
}

// PersonalKey is a personal key as a sign-in on a device asks for one.
type PersonalKey struct {
	Account     int64 // internal number
	Person      int64 // internal number of an active member of the account
	Environment chargehand.Environment
	Name        string // of the device
	// Admin: with the scope admin, if the person has it. Such a key ends after 30 days.
	Admin bool
}

// MakePersonalKey makes a personal key in a transaction of the caller, which has made sure that it is the person who
// asks, with a fresh sign-in. It has the scopes that the person has in the environment now, and admin only where that
// is asked for. Its secret is in the answer and nowhere else; the answer counts only if the transaction is committed.
// Codes: insufficient_scope (the person may do nothing in the environment), invalid_body (the name), state_conflict
// (there are 50). Errors: store.ErrNotFound (no active member).
func (s *Service) MakePersonalKey(ctx context.Context, tx *store.Tx, r PersonalKey) (*Key, error) {
	base, grants, err := s.memberPrincipal(&tx.Reader, r.Account, r.Person)
	if err != nil {
		return nil, err
	}
	p, err := withRights(&tx.Reader, base, grants, r.Environment)
	if err != nil {
		return nil, err
	}
	f := &fields{values: map[string]any{"name": r.Name}}
	row := store.Key{Account: r.Account, Environment: r.Environment, Person: r.Person, Rate: -1, Creator: p.creator()}
	scopes := p.Scopes
	if !r.Admin {
		scopes &^= ScopeAdmin
	}
	f.change(&row, scopes, s.now())
	f.personalKey(&row, s.now())
	if scopes.Has(ScopeAdmin) {
		row.ExpiresMs = s.now().Add(deviceAdminLife).UnixMilli()
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	if scopes == 0 {
		return nil, chargehand.NewError(chargehand.CodeInsufficientScope, "You have no role in "+r.Environment.String()+". An admin gives you one.")
	}
	secret := fillKey(&row, s.pepper, s.nowMs())
	if err := roomForPersonalKey(tx, r.Person, s.nowMs()); err != nil {
		return nil, err
	}
	if err := s.insertKey(ctx, tx, p, &row); err != nil {
		return nil, err
	}
	key := s.key(&row)
	key.Secret = secret
	return key, nil
}

// personalPrincipal is the person of a personal key, with the rights that both have.
// Errors: store.ErrNotFound (no active member).
func (s *Service) personalPrincipal(r *store.Reader, row *store.Key) (*Principal, error) {
	p, grants, err := s.memberPrincipal(r, row.Account, row.Person)
	if err != nil {
		return nil, err
	}
	rights, err := memberRights(r, grants, row.Account, row.Environment)
	if err != nil {
		return nil, err
	}
	seen, err := seenBy(r, row.Account, row.Limits)
	if err != nil {
		return nil, err
	}
	p.Environment, p.Key, p.KeyNo, p.ExpiresAt = row.Environment, row.ID, row.No, atMs(row.ExpiresMs)
	p.setRights(rightsWithin(rights, right{keyScopes(row), row.Limits, seen}))
	return &p, nil
}

// rightsWithin is what rights have in common with that of a key. The list is never nil.
func rightsWithin(rights []right, key right) []right {
	common := []right{}
	for _, g := range rights {
		if g.scopes &= key.scopes; g.scopes == 0 {
			continue
		}
		switch {
		case g.limits.All():
			g.limits, g.workflows = key.limits, key.workflows
		case !key.limits.All():
			g = g.overlap(key)
		}
		common = append(common, g)
	}
	return common
}

// overlap is g over what the limits of both admit. Both have limits.
func (g right) overlap(o right) right {
	in := func(list []chargehand.WorkflowID) map[chargehand.WorkflowID]bool {
		set := make(map[chargehand.WorkflowID]bool, len(list))
		for _, id := range list {
			set[id] = true
		}
		return set
	}
	own, other := in(g.workflows), in(o.workflows)
	both := right{scopes: g.scopes, workflows: []chargehand.WorkflowID{}}
	for _, id := range g.workflows {
		if other[id] {
			both.workflows = append(both.workflows, id)
		}
	}
	// What one names by its id and the other by its namespace is named by its id.
	for _, id := range g.limits.Workflows {
		if other[id] {
			both.limits.Workflows = append(both.limits.Workflows, id)
		}
	}
	for _, id := range o.limits.Workflows {
		if own[id] && !slices.Contains(both.limits.Workflows, id) {
			both.limits.Workflows = append(both.limits.Workflows, id)
		}
	}
	for _, namespace := range g.limits.Namespaces {
		if slices.Contains(o.limits.Namespaces, namespace) {
			both.limits.Namespaces = append(both.limits.Namespaces, namespace)
		}
	}
	if both.limits.All() { // nothing is left, which must not read as no limit
		both.limits = store.NoWorkflow()
	}
	return both
}

// ListPersonalKeys lists the keys of the principal's person in the environment of the request that are not revoked.
// Codes: insufficient_scope.
func (s *Service) ListPersonalKeys(ctx context.Context, p *Principal, limit int, after Cursor) (*Page[Key], error) {
	if err := needsPerson(p); err != nil {
		return nil, err
	}
	return s.listKeys(ctx, limit, func(r *store.Reader, most int) ([]store.Key, error) {
		return r.ListPersonalKeys(p.AccountNo, p.Environment, p.PersonNo, chargehand.KeyID(after.ID), most)
	})
}

// GetPersonalKey returns a key of the principal's person. Codes: insufficient_scope, api_key_not_found.
func (s *Service) GetPersonalKey(ctx context.Context, p *Principal, id chargehand.KeyID) (key *Key, err error) {
	err = s.view(ctx, func(r *store.Reader) error {
		row, err := readPersonalKey(r, p, id)
		if err == nil {
			key = s.key(&row)
		}
		return err
	})
	return key, err
}

// readPersonalKey reads a key of the principal's person that is not revoked.
// Codes: insufficient_scope, api_key_not_found.
func readPersonalKey(r *store.Reader, p *Principal, id chargehand.KeyID) (row store.Key, err error) {
	if err := needsPerson(p); err != nil {
		return row, err
	}
	if row, err = readKey(r, p, id); err == nil && row.Person != p.PersonNo {
		err = keyNotFound()
	}
	return row, err
}

// RevokePersonalKey makes a key of the principal's person unusable. A personal key revokes itself alone.
// Codes: insufficient_scope, api_key_not_found.
func (s *Service) RevokePersonalKey(ctx context.Context, p *Principal, id chargehand.KeyID) error {
	return s.revokeKey(ctx, p, func(r *store.Reader) (store.Key, error) {
		row, err := readPersonalKey(r, p, id)
		if err == nil && p.Key != id {
			err = needsSession(p)
		}
		return row, err
	})
}

// notPersonal refuses to change the personal key of a person, also to admins: they would act as that person with it.
// Codes: insufficient_scope.
func notPersonal(row *store.Key) error {
	if row.Person == 0 {
		return nil
	}
	return chargehand.NewError(chargehand.CodeInsufficientScope, "This is the personal key of a user. An admin can revoke it, and change nothing else about it.")
}
