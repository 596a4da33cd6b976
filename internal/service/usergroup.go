package service

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/session"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// membersShown is how many members of a group are in the group itself; all are listed page by page.
const membersShown = 100

// Group is a group of users.
type Group struct {
	ID          chargehand.GroupID
	Name        string
	Source      string              // oidc:NAME, empty: it was made here
	Members     []chargehand.UserID // the first 100
	MoreMembers bool                // there are more
	CreatedAt   time.Time
}

func groupNotFound() error {
	return chargehand.NewError(chargehand.CodeGroupNotFound, "There is no such group in this account.")
}

func shownGroup(r *store.Reader, row *store.Group) (Group, error) {
	list, err := shownGroups(r, []store.Group{*row})
	if err != nil {
		return Group{}, err
	}
	return list[0], nil
}

func shownGroups(r *store.Reader, rows []store.Group) ([]Group, error) {
	numbers := make([]int64, len(rows))
	for i := range rows {
		numbers[i] = rows[i].No
	}
	members, err := r.FirstMembers(numbers, membersShown+1)
	if err != nil {
		return nil, err
	}
	list := make([]Group, len(rows))
	for i, row := range rows {
		first := members[row.No]
		more := len(first) > membersShown
		if more {
			first = first[:membersShown]
		}
		list[i] = Group{
			ID: row.ID, Name: row.Name, Source: row.Source, Members: append([]chargehand.UserID{}, first...), MoreMembers: more, CreatedAt: atMs(row.CreatedMs),
		}
	}
	return list, nil
}

// ListGroups lists the groups of the account.
func (s *Service) ListGroups(ctx context.Context, p *Principal, limit int, after Cursor) (*Page[Group], error) {
	if err := managesPeople(p); err != nil {
		return nil, err
	}
	return readPage(ctx, s, limit, func(r *store.Reader, most int) ([]store.Group, error) {
		return r.ListGroups(p.AccountNo, after.Milli, most)
	}, func(last *store.Group) Cursor { return numberCursor(last.No) }, shownGroups)
}

// GetGroup returns a group. Codes: group_not_found.
func (s *Service) GetGroup(ctx context.Context, p *Principal, id chargehand.GroupID) (g Group, err error) {
	if err := managesPeople(p); err != nil {
		return g, err
	}
	err = s.view(ctx, func(r *store.Reader) error {
		row, err := r.GroupByID(p.AccountNo, id)
		if err != nil {
			return notFoundIs(err, groupNotFound)
		}
		g, err = shownGroup(r, &row)
		return err
	})
	return g, err
}

// GroupMembers lists the members of a group. Codes: group_not_found.
func (s *Service) GroupMembers(ctx context.Context, p *Principal, id chargehand.GroupID, limit int, after Cursor) (*Page[FoundUser], error) {
	if err := managesPeople(p); err != nil {
		return nil, err
	}
	return readPage(ctx, s, limit, func(r *store.Reader, most int) ([]store.Person, error) {
		g, err := r.GroupByID(p.AccountNo, id)
		if err != nil {
			return nil, notFoundIs(err, groupNotFound)
		}
		return r.GroupMembers(g.No, after.Milli, most)
	}, func(last *store.Person) Cursor { return numberCursor(last.No) },
		each(func(_ *store.Reader, row *store.Person) (FoundUser, error) {
			return FoundUser{row.ID, row.Name, row.Email}, nil
		}))
}

// CreateGroup makes a group. Body: name. Codes: invalid_body, unknown_field, state_conflict (the name is taken),
// idempotency_key_reused, idempotency_in_progress.
func (s *Service) CreateGroup(ctx context.Context, p *Principal, body value.Value, i *Idempotency) (g Group, replayed bool, err error) {
	return guarded(ctx, s, p, i,
		func(c *idempotencyGuard) (Group, error) { return s.createGroup(ctx, p, body, c) },
		func(c *idempotencyGuard) (Group, error) {
			return s.GetGroup(ctx, p, chargehand.GroupID(c.found.Resource))
		})
}

func (s *Service) createGroup(ctx context.Context, p *Principal, body value.Value, c *idempotencyGuard) (g Group, err error) {
	row := store.Group{ID: newID[chargehand.GroupID](s.nowMs()), Account: p.AccountNo, CreatedMs: s.nowMs()}
	if row.Name, row.NameKey, err = groupName(body); err != nil {
		return g, err
	}
	err = s.changePeople(ctx, p, func(tx *store.Tx) error {
		if err := groupNameFree(tx, &row); err != nil {
			return err
		}
		if err := tx.InsertGroup(&row); err != nil {
			return err
		}
		if err := s.audit(ctx, tx, p, audit.GroupCreated, groupTarget(&row), changed("name", nil, row.Name)); err != nil {
			return err
		}
		if g, err = shownGroup(&tx.Reader, &row); err != nil {
			return err
		}
		return c.record(tx, statusCreated, "group", row.ID)
	})
	return g, err
}

// groupName reads the body of a group. Codes: invalid_body, unknown_field.
func groupName(body value.Value) (name, key string, err error) {
	f, err := openBody(body, "name")
	if err != nil {
		return "", "", err
	}
	if !f.has("name") {
		f.fail("name", "required", "The field \"name\" is missing.")
	}
	name, key = f.personName("name")
	return name, key, f.err()
}

// groupNameFree refuses a name that another group of the account has. The caller holds LockAdmins.
// Codes: state_conflict.
func groupNameFree(tx *store.Tx, row *store.Group) error {
	other, err := tx.GroupByName(row.Account, row.NameKey)
	if errors.Is(err, store.ErrNotFound) || err == nil && other.ID == row.ID {
		return nil
	}
	if err == nil {
		err = stateConflict("The account has a group of this name.")
	}
	return err
}

// PatchGroup renames a group. Codes: group_not_found, invalid_body, unknown_field, state_conflict.
func (s *Service) PatchGroup(ctx context.Context, p *Principal, id chargehand.GroupID, body value.Value) (g Group, err error) {
	name, key, err := groupName(body)
	if err != nil {
		return g, err
	}
	err = s.changeGroup(ctx, p, id, func(tx *store.Tx, row *store.Group) error {
		changes := changed("name", row.Name, name)
		row.Name, row.NameKey = name, key
		if err := groupNameFree(tx, row); err != nil {
			return err
		}
		if err := tx.RenameGroup(row); err != nil {
			return err
		}
		if len(changes) > 0 {
			if err := s.audit(ctx, tx, p, audit.GroupChanged, groupTarget(row), changes); err != nil {
				return err
			}
		}
		g, err = shownGroup(&tx.Reader, row)
		return err
	})
	return g, err
}

// DeleteGroup deletes a group with its grants. Codes: group_not_found, state_conflict, last_admin.
func (s *Service) DeleteGroup(ctx context.Context, p *Principal, id chargehand.GroupID) error {
	return s.changeGroup(ctx, p, id, func(tx *store.Tx, row *store.Group) error {
		return errors.Join(tx.DeleteGroup(row.No), s.audit(ctx, tx, p, audit.GroupDeleted, groupTarget(row), changed("name", row.Name, nil)))
	})
}

// changeGroup runs a change of a group that was made here. Codes: group_not_found, state_conflict, last_admin.
func (s *Service) changeGroup(ctx context.Context, p *Principal, id chargehand.GroupID, change func(*store.Tx, *store.Group) error) error {
	return s.changePeople(ctx, p, func(tx *store.Tx) error {
		row, err := tx.GroupByID(p.AccountNo, id)
		if err != nil {
			return notFoundIs(err, groupNotFound)
		}
		if row.Source != "" {
			return stateConflict("The group comes from " + row.Source + " and is changed there.")
		}
		return change(tx, &row)
	})
}

// JoinGroup adds a user to a group; one who is in it stays. Codes: group_not_found, user_not_found, insufficient_scope
// (the group may do what the principal may not), state_conflict.
func (s *Service) JoinGroup(ctx context.Context, p *Principal, id chargehand.GroupID, user chargehand.UserID) error {
	return s.changeGroup(ctx, p, id, func(tx *store.Tx, row *store.Group) error {
		m, err := tx.MemberByID(p.AccountNo, user)
		if err != nil {
			return notFoundIs(err, userNotFound)
		}
		grants, err := tx.ListGrants(store.GrantFilter{Account: p.AccountNo, Group: row.No, Limit: session.MaxGrantsOfOne})
		if err != nil {
			return err
		}
		for _, g := range grants {
			if err := covers(p, g.Role); err != nil {
				return err
			}
		}
		groups, err := tx.GroupsOf(p.AccountNo, m.Person.No)
		switch {
		case err != nil:
			return err
		case slices.ContainsFunc(groups, func(g store.Group) bool { return g.No == row.No }):
			return nil
		case len(groups) >= session.MaxGroupsOfOne:
			return stateConflict("A user is in at most " + strconv.Itoa(session.MaxGroupsOfOne) + " groups.")
		}
		return errors.Join(tx.JoinGroup(row, m.Person.No), s.audit(ctx, tx, p, audit.GroupJoined, groupTarget(row), changed("user_id", nil, user.String())))
	})
}

// LeaveGroup takes a user out of a group. Codes: group_not_found, user_not_found (or not in the group), last_admin.
func (s *Service) LeaveGroup(ctx context.Context, p *Principal, id chargehand.GroupID, user chargehand.UserID) error {
	return s.changeGroup(ctx, p, id, func(tx *store.Tx, row *store.Group) error {
		m, err := tx.MemberByID(p.AccountNo, user)
		if err == nil {
			err = tx.LeaveGroup(row.No, m.Person.No)
		}
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
			return chargehand.NewError(chargehand.CodeUserNotFound, "There is no such user in this group.")
		}
		if err != nil {
			return err
		}
		return s.audit(ctx, tx, p, audit.GroupLeft, groupTarget(row), changed("user_id", user.String(), nil))
	})
}
