package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chargehand/chargehand"
)

// Group is a group of members of an account.
type Group struct {
	No        int64 // ascends in the order of creation
	ID        chargehand.GroupID
	Account   int64
	Name      string
	NameKey   string // in the form that is compared (package person): unique in the account
	Source    string // the identity provider that has the group, as oidc:NAME; empty: it was made here
	CreatedMs int64
}

const selectGroup = `SELECT g.no, g.id, g.account, g.name, g.name_key, g.source, g.created_ms FROM user_group g`

func scanGroup(r Row, g *Group) {
	*g = Group{No: r.Int(0), Account: r.Int(2), Name: r.Text(3), NameKey: r.Text(4), Source: r.Text(5), CreatedMs: r.Int(6)}
	scanID(r, 1, &g.ID)
}

// InsertGroup inserts g and sets g.No. ErrConflict: the id or the name is taken.
func (t *Tx) InsertGroup(g *Group) (err error) {
	g.No, err = t.insert("insert group", `INSERT INTO user_group (id, account, name, name_key, source, created_ms)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6)`, g.ID[:], g.Account, g.Name, g.NameKey, textArg(g.Source), g.CreatedMs)
	return err
}

// RenameGroup writes Name and NameKey of g. ErrConflict: the name is taken, or there is no such group.
func (t *Tx) RenameGroup(g *Group) error {
	t.tasksOfAccountChanged(g.Account)
	return t.change("rename group", `UPDATE user_group SET name = ?2, name_key = ?3 WHERE no = ?1`, g.No, g.Name, g.NameKey)
}

// DeleteGroup deletes a group with its grants and places. ErrConflict: there is no such group.
func (t *Tx) DeleteGroup(no int64) error {
	err := t.leaves("delete group", `DELETE FROM user_group WHERE no = ?1 RETURNING account`, no)
	if err == nil {
		err = t.c.Send("delete grants", `DELETE FROM role_grant WHERE user_group = ?1 AND user_group <> 0`, no)
	}
	if err == nil {
		err = t.c.Send("empty group", `DELETE FROM group_member WHERE user_group = ?1`, no)
	}
	return err
}

// JoinGroup adds a person to a group; one who is in it stays.
func (t *Tx) JoinGroup(g *Group, person int64) error {
	t.tasksOfAccountChanged(g.Account)
	return t.c.Send("join group", `INSERT INTO group_member (user_group, person, account) VALUES (?1, ?2, ?3)
 ON CONFLICT (user_group, person) DO NOTHING`, g.No, person, g.Account)
}

// LeaveGroup takes a person out of a group. ErrConflict: the person is not in it.
func (t *Tx) LeaveGroup(group, person int64) error {
	return t.leaves("leave group", `DELETE FROM group_member WHERE user_group = ?1 AND person = ?2 RETURNING account`, group, person)
}

// leaves runs a statement that returns the account in which people are in a group no more. ErrConflict: it returns
// none.
func (t *Tx) leaves(what, query string, args ...any) error {
	err := t.one(query, func(r Row) { t.tasksOfAccountChanged(r.Int(0)) }, args...)
	if errors.Is(err, ErrNotFound) {
		return ErrConflict
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func (r *Reader) group(query string, args ...any) (Group, error) {
	return readOne(r, "read group", query, scanGroup, args...)
}

func (r *Reader) groups(what, query string, args ...any) ([]Group, error) {
	return readAll(r, what, query, scanGroup, args...)
}

// GroupByID reads a group of an account. Errors: ErrNotFound.
func (r *Reader) GroupByID(account int64, id chargehand.GroupID) (Group, error) {
	return r.group(selectGroup+` WHERE g.id = ?1 AND g.account = ?2`, id[:], account)
}

// GroupByNo reads a group by its internal number. Errors: ErrNotFound.
func (r *Reader) GroupByNo(no int64) (Group, error) {
	return r.group(selectGroup+` WHERE g.no = ?1`, no)
}

// GroupByName reads a group by its name in the form that is compared. Errors: ErrNotFound.
func (r *Reader) GroupByName(account int64, key string) (Group, error) {
	return r.group(selectGroup+` WHERE g.account = ?1 AND g.name_key = ?2`, account, key)
}

// ListGroups reads a page of the groups of an account, newest first by number, those before the one with that number
// (0: first page).
func (r *Reader) ListGroups(account, before int64, limit int) ([]Group, error) {
	if before == 0 {
		before = maxSeq
	}
	return r.groups("list groups", selectGroup+` WHERE g.account = ?1 AND g.no < ?2 ORDER BY g.no DESC LIMIT ?3`, account, before, int64(limit))
}

// SearchGroups reads up to limit groups of an account whose name begins with that text in the form that is compared.
func (r *Reader) SearchGroups(account int64, prefix string, limit int) ([]Group, error) {
	return r.groups("search groups", selectGroup+` WHERE g.account = ?1 AND g.name_key >= ?2 AND g.name_key < ?3
 ORDER BY g.name_key LIMIT ?4`, account, prefix, afterPrefix(prefix), int64(limit))
}

// GroupsOf lists the groups of a member of an account, in no order.
func (r *Reader) GroupsOf(account, person int64) ([]Group, error) {
	return r.groups("list groups of a member", selectGroup+` JOIN group_member m ON m.user_group = g.no
 WHERE m.person = ?1 AND m.account = ?2`, person, account)
}

// GroupMembers reads up to limit members of a group by the number of the person, those after that number (0: the
// first ones).
func (r *Reader) GroupMembers(group, after int64, limit int) ([]Person, error) {
	return readAll(r, "list members of a group", `SELECT `+personColumns+` FROM group_member m JOIN person p ON p.no = m.person
 WHERE m.user_group = ?1 AND m.person > ?2 ORDER BY m.person LIMIT ?3`, scanPerson, group, after, int64(limit))
}

// FirstActiveMembers reads up to limit members of a group who may act in the account (Member.Counts), by the number of
// the person, of those who are among the first members.
func (r *Reader) FirstActiveMembers(account, group int64, among, limit int) ([]Person, error) {
	return readAll(r, "list active members of a group", `SELECT `+personColumns+` FROM (SELECT person FROM group_member WHERE user_group = ?2
 ORDER BY person LIMIT ?3) g JOIN membership m ON m.account = ?1 AND m.person = g.person JOIN person p ON p.no = g.person
 WHERE m.status = ?4 AND p.disabled_ms = 0 ORDER BY g.person LIMIT ?5`, scanPerson, account, group, int64(among), int64(Active), int64(limit))
}

// FirstMembers reads up to limit members of each of some groups, by the number of the group; those with the lowest
// numbers of the person, ascending.
func (r *Reader) FirstMembers(groups []int64, limit int) (map[int64][]chargehand.UserID, error) {
	type member struct {
		group, person int64
		id            chargehand.UserID
	}
	var list []member
	err := inGroups(groups, func(_ string, args []any) error {
		return r.c.Query(firstMembers(len(args)), func(row Row) error {
			one := member{group: row.Int(0), person: row.Int(1)}
			scanID(row, 2, &one.id)
			list = append(list, one)
			return nil
		}, append(args, int64(limit-1), maxSeq)...)
	})
	if err != nil {
		return nil, fmt.Errorf("list first members of groups: %w", err)
	}
	slices.SortFunc(list, func(a, b member) int { return cmp.Compare(a.person, b.person) })
	byGroup := make(map[int64][]chargehand.UserID, len(groups))
	for _, one := range list {
		byGroup[one.group] = append(byGroup[one.group], one.id)
	}
	return byGroup, nil
}

// firstMembers makes the query of FirstMembers for n groups, the arguments ?1 to ?n. Behind them are the limit less
// one, and a number above those of all persons. Each group is a part with a bound of its own: a large one is not read
// to its end, and both dialects read each part from the index of its members.
func firstMembers(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString("\nUNION ALL ")
		}
		fmt.Fprintf(&b, `SELECT m.user_group, m.person, p.id FROM group_member m JOIN person p ON p.no = m.person
 WHERE m.user_group = ?%[1]d AND m.person <= COALESCE(
 (SELECT x.person FROM group_member x WHERE x.user_group = ?%[1]d ORDER BY x.person LIMIT 1 OFFSET ?%[2]d), ?%[3]d)`, i+1, n+1, n+2)
	}
	return b.String()
}

// InGroup reports whether a person is in a group.
func (r *Reader) InGroup(group, person int64) (bool, error) {
	return r.exists("look into group", `SELECT person FROM group_member WHERE user_group = ?1 AND person = ?2`, group, person)
}
