package store

import (
	"github.com/chargehand/chargehand"
)

// MemberStatus is the status of a membership.
type MemberStatus uint8

// The statuses. Only an active member of an account can sign in to it.
const (
	Invited MemberStatus = 1 + iota
	Active
	Disabled
)

var memberStatusNames = [...]string{"", "invited", "active", "disabled"}

func (s MemberStatus) String() string { return memberStatusNames[s] }

// Member is a person as a member of an account.
type Member struct {
	No         int64 // ascends in the order of creation
	Account    int64
	Person     Person
	Status     MemberStatus
	CreatedMs  int64
	LastSeenMs int64 // 0: never
}

// Counts reports whether the person may act in the account: an active member who is not disabled everywhere.
func (m *Member) Counts() bool { return m.Status == Active && m.Person.DisabledMs == 0 }

const selectMember = `SELECT m.no, m.account, m.status, m.created_ms, m.last_seen_ms, ` + personColumns + `, m.name_key
 FROM membership m JOIN person p ON p.no = m.person`

func scanMember(r Row, m *Member) {
	*m = Member{No: r.Int(0), Account: r.Int(1), Status: MemberStatus(r.Int(2)), CreatedMs: r.Int(3), LastSeenMs: r.Int(4)}
	scanPersonAt(r, 5, &m.Person)
	m.Person.NameKey = r.Text(14)
}

// InsertMember makes m.Person a member of m.Account and sets m.No. Of the person, No, EmailKey and NameKey are read.
// ErrConflict: the person is a member.
func (t *Tx) InsertMember(m *Member) (err error) {
	m.No, err = t.insert("insert membership", `INSERT INTO membership (account, person, status, created_ms, email_key, name_key)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6)`, m.Account, m.Person.No, int64(m.Status), m.CreatedMs, m.Person.EmailKey, m.Person.NameKey)
	if err == nil {
		t.countUsage(m.Account, 0, 0, Usage{Users: 1})
	}
	return err
}

// SetMemberStatus changes the status of a membership. ErrConflict: it has not the status from.
func (t *Tx) SetMemberStatus(no int64, from, to MemberStatus) error {
	return t.change("set status of membership", `UPDATE membership SET status = ?3 WHERE no = ?1 AND status = ?2`, no, int64(from), int64(to))
}

// TouchMember moves the time at which a member was last seen forward.
func (t *Tx) TouchMember(account, person, seenMs int64) error {
	return t.c.Send("touch membership", `UPDATE membership SET last_seen_ms = ?3 WHERE account = ?1 AND person = ?2 AND last_seen_ms < ?3`,
		account, person, seenMs)
}

// DeleteMember ends a membership, with the person's grants in the account and places in its groups. Sessions and
// personal keys are revoked by their own methods. ErrConflict: there is no such membership.
func (t *Tx) DeleteMember(account, person int64) error {
	err := t.change("delete membership", `DELETE FROM membership WHERE account = ?1 AND person = ?2`, account, person)
	if err == nil {
		t.countUsage(account, 0, 0, Usage{Users: -1})
		err = t.c.Send("delete grants", `DELETE FROM role_grant WHERE person = ?1 AND person <> 0 AND account = ?2`, person, account)
	}
	if err == nil {
		err = t.c.Send("leave groups", `DELETE FROM group_member WHERE person = ?1 AND account = ?2`, person, account)
	}
	return err
}

func (r *Reader) member(query string, args ...any) (Member, error) {
	return readOne(r, "read membership", query, scanMember, args...)
}

func (r *Reader) members(what, query string, args ...any) ([]Member, error) {
	return readAll(r, what, query, scanMember, args...)
}

// MemberByNo reads a person as a member of an account, by the person's number. Errors: ErrNotFound.
func (r *Reader) MemberByNo(account, person int64) (Member, error) {
	return r.member(selectMember+` WHERE m.account = ?1 AND m.person = ?2`, account, person)
}

// MemberByID reads a person as a member of an account. Errors: ErrNotFound.
func (r *Reader) MemberByID(account int64, id chargehand.UserID) (Member, error) {
	return r.member(selectMember+` WHERE m.account = ?1 AND p.id = ?2`, account, id[:])
}

// MembershipsOf lists the memberships of a person, oldest first.
func (r *Reader) MembershipsOf(person int64) ([]Member, error) {
	return r.members("list memberships", selectMember+` WHERE m.person = ?1 ORDER BY m.no`, person)
}

// ListMembers reads a page of the members of an account, newest first by number, those before the one with that number
// (0: first page).
func (r *Reader) ListMembers(account, before int64, limit int) ([]Member, error) {
	if before == 0 {
		before = maxSeq
	}
	return r.members("list members", selectMember+` WHERE m.account = ?1 AND m.no < ?2 ORDER BY m.no DESC LIMIT ?3`, account, before, int64(limit))
}

// SearchMembers reads up to limit members of an account whose e-mail, or whose name, begins with that text in the form
// that is compared, those with such an e-mail first. Invited and disabled members are among them. No member is
// in the list twice.
func (r *Reader) SearchMembers(account int64, prefix string, limit int) ([]Member, error) {
	list, err := r.members("search members", selectMember+` WHERE m.account = ?1 AND m.email_key >= ?2 AND m.email_key < ?3
 ORDER BY m.email_key LIMIT ?4`, account, prefix, afterPrefix(prefix), int64(limit))
	if err != nil {
		return nil, err
	}
	known := make(map[int64]bool, len(list))
	for i := range list {
		known[list[i].No] = true
	}
	more, err := r.members("search members", selectMember+` WHERE m.account = ?1 AND m.name_key >= ?2 AND m.name_key < ?3
 ORDER BY m.name_key, m.no LIMIT ?4`, account, prefix, afterPrefix(prefix), int64(limit))
	for i := range more {
		if len(list) < limit && !known[more[i].No] {
			list = append(list, more[i])
		}
	}
	return list, err
}

// afterPrefix is greater than every text in UTF-8 that begins with prefix, and no greater than any other that is
// greater than prefix: U+10FFFF is no character.
func afterPrefix(prefix string) string { return prefix + "\U0010FFFF" }
