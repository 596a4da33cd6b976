package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/chargehand/chargehand"
)

// Environments is a set of environments.
type Environments uint8

// The sets.
const (
	OnlyLive Environments = 1 << iota
	OnlyTest
	BothEnvironments = OnlyLive | OnlyTest
)

// Has reports whether e is in the set.
func (s Environments) Has(e chargehand.Environment) bool { return s&(1<<(e-1)) != 0 }

// Grant is a role that a person or a group has.
type Grant struct {
	No           int64 // ascends in the order of creation
	ID           chargehand.GrantID
	Account      int64
	Person       int64 // 0: a group has it
	Group        int64 // 0: a person has it
	Role         string
	Namespace    string                // that it is over; empty: see Workflow
	Workflow     chargehand.WorkflowID // that it is over; this and Namespace unset: everything
	Environments Environments
	CreatedMs    int64
	Creator      string // who made it: the id of a user or a key, or a name, for display
}

const selectGrant = `SELECT r.no, r.id, r.account, r.person, r.user_group, r.role, r.namespace, r.workflow_id, r.environments, r.created_ms,
 r.creator FROM role_grant r`

func scanGrant(r Row, g *Grant) {
	*g = Grant{
		No: r.Int(0), Account: r.Int(2), Person: r.Int(3), Group: r.Int(4), Role: r.Text(5), Namespace: r.Text(6),
		Environments: Environments(r.Int(8)), CreatedMs: r.Int(9), Creator: r.Text(10),
	}
	scanID(r, 1, &g.ID)
	scanID(r, 7, &g.Workflow)
}

// InsertGrant inserts g and sets g.No. ErrConflict: the id is taken.
func (t *Tx) InsertGrant(g *Grant) (err error) {
	g.No, err = t.insert("insert grant", `INSERT INTO role_grant
 (id, account, person, user_group, role, namespace, workflow_id, environments, created_ms, creator)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`, g.ID[:], g.Account, g.Person, g.Group, g.Role, textArg(g.Namespace), idArg(g.Workflow),
		int64(g.Environments), g.CreatedMs, g.Creator)
	return err
}

// DeleteGrant deletes a grant. ErrConflict: there is no such grant.
func (t *Tx) DeleteGrant(no int64) error {
	return t.change("delete grant", `DELETE FROM role_grant WHERE no = ?1`, no)
}

func (r *Reader) grants(what, query string, args ...any) ([]Grant, error) {
	return readAll(r, what, query, scanGrant, args...)
}

// GrantByID reads a grant of an account. Errors: ErrNotFound.
func (r *Reader) GrantByID(account int64, id chargehand.GrantID) (Grant, error) {
	return readOne(r, "read grant", selectGrant+` WHERE r.id = ?1 AND r.account = ?2`, scanGrant, id[:], account)
}

// GrantFilter selects grants of an account: those of a person, of a group, over a workflow, or all.
type GrantFilter struct {
	Account int64
	Person  int64     // 0: any
	Group   int64     // 0: any; Person is then not looked at
	Over    *Workflow // over this workflow, its namespace, or everything; nil: any. Then Person and Group are ignored
	Before  int64     // the number of the last one of the page before; 0: first page
	Limit   int
}

// ListGrants reads one page, newest first by number.
func (r *Reader) ListGrants(f GrantFilter) ([]Grant, error) {
	if f.Before == 0 {
		f.Before = maxSeq
	}
	query, args := selectGrant+` WHERE r.account = ?1`, []any{f.Account, f.Before, int64(f.Limit)}
	switch {
	case f.Over != nil:
		return r.grantsOver(&f)
	case f.Group != 0:
		query, args = query+` AND r.user_group = ?4 AND r.user_group <> 0`, append(args, f.Group)
	case f.Person != 0:
		query, args = query+` AND r.person = ?4 AND r.person <> 0`, append(args, f.Person)
	}
	return r.grants("list grants", query+` AND r.no < ?2 ORDER BY r.no DESC LIMIT ?3`, args...)
}

// grantsOver reads a page of the grants over a workflow. Each of the three kinds has an index of its own.
func (r *Reader) grantsOver(f *GrantFilter) (list []Grant, err error) {
	const page = ` AND r.no < ?2 ORDER BY r.no DESC LIMIT ?3`
	args := []any{f.Account, f.Before, int64(f.Limit)}
	everything, err1 := r.grants("list grants over everything",
		selectGrant+` WHERE r.account = ?1 AND r.namespace IS NULL AND r.workflow_id IS NULL`+page, args...)
	namespace, err2 := r.grants("list grants over a namespace",
		selectGrant+` WHERE r.account = ?1 AND r.namespace = ?4 AND r.namespace IS NOT NULL`+page, append(args, f.Over.Namespace)...)
	workflow, err3 := r.grants("list grants over a workflow",
		selectGrant+` WHERE r.account = ?1 AND r.workflow_id = ?4 AND r.workflow_id IS NOT NULL`+page, append(args, f.Over.ID[:])...)
	list = slices.Concat(everything, namespace, workflow)
	slices.SortFunc(list, func(a, b Grant) int { return cmp.Compare(b.No, a.No) })
	return list[:min(len(list), f.Limit)], errors.Join(err1, err2, err3)
}

// GrantsOf lists up to limit grants of a member of an account and of the groups of that member, in no order.
func (r *Reader) GrantsOf(account, person int64, limit int) ([]Grant, error) {
	list, err := r.grants("list grants of a member", selectGrant+` WHERE r.account = ?1 AND r.person = ?2 AND r.person <> 0 LIMIT ?3`,
		account, person, int64(limit))
	if err != nil || len(list) == limit {
		return list, err
	}
	more, err := r.grants("list grants of groups", selectGrant+` JOIN group_member m ON m.user_group = r.user_group
 WHERE m.person = ?2 AND m.account = ?1 AND r.user_group <> 0 LIMIT ?3`, account, person, int64(limit-len(list)))
	return append(list, more...), err
}

// HasAdmin reports whether an account has an active member with the role admin: by a grant of the person's own, or of a
// group that the person is in. Persons who are disabled everywhere do not count. An Update that decides on it holds
// LockAdmins.
func (r *Reader) HasAdmin(account int64) (bool, error) { return r.hasAdmin(account, "") }

// AdminCanSignIn is HasAdmin of members who have a password, a passkey or an identity.
func (r *Reader) AdminCanSignIn(account int64) (bool, error) {
	return r.hasAdmin(account, ` AND (p.password IS NOT NULL OR EXISTS (SELECT 1 FROM passkey k WHERE k.person = p.no)
 OR EXISTS (SELECT 1 FROM identity i WHERE i.person = p.no))`)
}

func (r *Reader) hasAdmin(account int64, condition string) (bool, error) {
	own, err := r.exists("look for admins", `SELECT r.no FROM role_grant r
 JOIN membership m ON m.account = r.account AND m.person = r.person JOIN person p ON p.no = r.person
 WHERE r.account = ?1 AND r.role = 'admin' AND r.person <> 0 AND m.status = ?2 AND p.disabled_ms = 0`+condition+` LIMIT 1`, account, int64(Active))
	if err != nil || own {
		return own, err
	}
	return r.exists("look for admins in groups", `SELECT r.no FROM role_grant r JOIN group_member g ON g.user_group = r.user_group
 JOIN membership m ON m.account = r.account AND m.person = g.person JOIN person p ON p.no = g.person
 WHERE r.account = ?1 AND r.role = 'admin' AND r.user_group <> 0 AND m.status = ?2 AND p.disabled_ms = 0`+condition+` LIMIT 1`, account, int64(Active))
}

// LockAdmins makes the caller the only one that changes who is an admin of an account. Errors: ErrNotFound.
func (t *Tx) LockAdmins(account int64) error {
	if _, err := t.account(selectAccount+` WHERE no = ?1`+t.c.ForUpdate(), account); err != nil {
		return fmt.Errorf("lock admins: %w", err)
	}
	return nil
}
