package store

import (
	"strconv"
	"strings"

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

// MemberFilter selects members of an account.
type MemberFilter struct {
	Account int64
	Prefix  string       // what the e-mail, or the name, begins with in the form that is compared; empty: anything
	Status  MemberStatus // 0: any. A person who is disabled in all accounts is disabled
	After   int64        // the number of the last one of the page before; 0: first page
	Limit   int
}

// statusIs is a condition of a query, and the argument behind that many others.
func (f *MemberFilter) statusIs(args []any) (string, []any) {
	n := strconv.Itoa(len(args) + 1)
	switch f.Status {
	case 0:
		return "", args
	case Disabled:
		return ` AND (m.status = ?` + n + ` OR p.disabled_ms <> 0)`, append(args, int64(Disabled))
	}
	return ` AND m.status = ?` + n + ` AND p.disabled_ms = 0`, append(args, int64(f.Status))
}

// ListMembers reads a page of the members of an account: newest first by number; those that a text selects by their
// e-mail, and then those that it selects by their name. Errors: ErrNotFound (with Prefix, there is no member After).
func (r *Reader) ListMembers(f MemberFilter) ([]Member, error) {
	if f.Prefix != "" {
		return r.searchMembers(f)
	}
	if f.After == 0 {
		f.After = maxSeq
	}
	status, args := f.statusIs([]any{f.Account, f.After, int64(f.Limit)})
	return r.members("list members", selectMember+` WHERE m.account = ?1 AND m.no < ?2`+status+` ORDER BY m.no DESC LIMIT ?3`, args...)
}

// SearchMembers reads up to limit active members of an account whose e-mail, or whose name, begins with that text in
// the form that is compared, those with such an e-mail first. No member is in the list twice.
func (r *Reader) SearchMembers(account int64, prefix string, limit int) ([]Member, error) {
	return r.searchMembers(MemberFilter{Account: account, Prefix: prefix, Status: Active, Limit: limit})
}

// searchMembers reads members by their e-mails, in their order, and then by their names those that have no such e-mail.
func (r *Reader) searchMembers(f MemberFilter) (list []Member, err error) {
	var last Member
	if f.After != 0 {
		if last, err = r.member(selectMember+` WHERE m.no = ?1 AND m.account = ?2`, f.After, f.Account); err != nil {
			return nil, err
		}
	}
	byName := f.After != 0 && !strings.HasPrefix(last.Person.EmailKey, f.Prefix)
	if !byName {
		status, args := f.statusIs([]any{f.Account, f.Prefix, afterPrefix(f.Prefix), int64(f.Limit), last.Person.EmailKey})
		list, err = r.members("search members by e-mail", selectMember+` WHERE m.account = ?1 AND m.email_key >= ?2 AND m.email_key < ?3
 AND m.email_key > ?5`+status+` ORDER BY m.email_key LIMIT ?4`, args...)
		if err != nil || len(list) == f.Limit {
			return list, err
		}
		last = Member{}
	}
	from := max(f.Prefix, last.Person.NameKey)
	status, args := f.statusIs([]any{f.Account, f.Prefix, afterPrefix(f.Prefix), int64(f.Limit - len(list)), from, last.No})
	more, err := r.members("search members by name", selectMember+` WHERE m.account = ?1 AND m.name_key >= ?5 AND m.name_key < ?3
 AND (m.name_key > ?5 OR m.no > ?6) AND (m.email_key < ?2 OR m.email_key >= ?3)`+status+` ORDER BY m.name_key, m.no LIMIT ?4`, args...)
	return append(list, more...), err
}

// afterPrefix is greater than every text in UTF-8 that begins with prefix, and no greater than any other that is
// greater than prefix: U+10FFFF is no character.
func afterPrefix(prefix string) string { return prefix + "\U0010FFFF" }
