package reminder

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/store"
)

// MailsPerGroup bounds the members of a group that get mail about a task.
const MailsPerGroup = 50

// Addressee is whom a mail about a human task goes to.
type Addressee struct {
	Person int64  // number; 0: the installation does not know this person
	ID     string // of the user; empty: it is none
	Email  string
	Name   string
	Locale string
}

// Link makes the address at which an addressee acts on a task, and says until when it can be used (zero: as long as the
// task is open). It does nothing but SQL. An empty address says that there is none, and no mail is written.
type Link func(tx *store.Tx, t *store.HumanTask, to *Addressee) (address string, until time.Time, err error)

// pageOf is the Link to the page of a task, which only a member of the account can open.
func pageOf(base string) Link {
	return func(_ *store.Tx, t *store.HumanTask, to *Addressee) (string, time.Time, error) {
		if to.Person == 0 {
			return "", time.Time{}, nil
		}
		return base + "/inbox/" + t.ID.String(), time.Time{}, nil
	}
}

// assignees are the names by which a task says who may answer it, in the form that is compared.
type assignees struct{ users, groups, exclude []string }

func assigneesOf(t *store.HumanTask) (a assignees) {
	for _, user := range t.Assignees.Users {
		a.users = append(a.users, engine.PersonKey(user))
	}
	for _, group := range t.Assignees.Groups {
		a.groups = append(a.groups, person.Key(group))
	}
	for _, excluded := range t.Assignees.Exclude {
		a.exclude = append(a.exclude, engine.PersonKey(excluded))
	}
	return a
}

// names reports whether a list has a person, by id or e-mail address.
func names(list []string, p *store.Person) bool {
	return slices.Contains(list, p.ID.String()) || slices.Contains(list, p.EmailKey)
}

// recipient is whom a mail of a task goes to: a member by number, or an address.
type recipient struct {
	person  int64
	address string
}

// key orders the recipients of a task: members by number, then addresses.
func (r recipient) key() string {
	if r.person != 0 {
		return fmt.Sprintf("%019d", r.person)
	}
	return "@" + r.address
}

// recipientsOf are those who may answer a task, each once, in the order of their keys. They are found by a few rows for
// each of its assignees.
func recipientsOf(r *store.Reader, task *store.HumanTask) (list []recipient, err error) {
	a := assigneesOf(task)
	found := map[recipient]bool{}
	for i, user := range a.users {
		if slices.Contains(a.users[:i], user) {
			continue
		}
		p, known, err := personOf(r, user)
		switch {
		case err != nil:
			return nil, err
		case known:
			counts, err := isMember(r, task.Account, p.No)
			if err != nil {
				return nil, err
			}
			if counts && !names(a.exclude, &p) {
				found[recipient{person: p.No}] = true
			}
		case !slices.Contains(a.exclude, user):
			if shown, _, complaint := person.Email(strings.TrimSpace(task.Assignees.Users[i])); complaint == "" {
				found[recipient{address: shown}] = true
			}
		}
	}
	for i, group := range a.groups {
		if slices.Contains(a.groups[:i], group) {
			continue
		}
		members, err := membersOf(r, task.Account, group, a.exclude)
		if err != nil {
			return nil, err
		}
		for _, no := range members {
			found[recipient{person: no}] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b recipient) int { return strings.Compare(a.key(), b.key()) }), nil
}

// openTask reads a task that has not ended. One that is damaged, which the store logs, must not keep back the mails
// about others: it counts as not found.
func openTask(r *store.Reader, no int64) (task store.HumanTask, found bool, err error) {
	task, err = r.HumanTaskByNo(no)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDamaged) {
		return task, false, nil
	}
	return task, err == nil && task.EndedMs == 0, err
}

// personOf finds a person by id or e-mail address.
func personOf(r *store.Reader, key string) (p store.Person, known bool, err error) {
	if id, bad := chargehand.ParseID[struct{}](key); bad == nil {
		p, err = r.PersonByID(chargehand.UserID(id))
	} else {
		p, err = r.PersonByEmail(key)
	}
	if errors.Is(err, store.ErrNotFound) {
		return p, false, nil
	}
	return p, err == nil, err
}

// isMember reports whether a person may act in an account.
func isMember(r *store.Reader, account, person int64) (bool, error) {
	m, err := r.MemberByNo(account, person)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && m.Counts(), err
}

// membersExamined bounds the members of a group that are looked at: most of them may be disabled.
const membersExamined = 10 * MailsPerGroup

// membersOf are up to MailsPerGroup members of a group who may act in the account and are not excluded, those who are
// known the longest.
func membersOf(r *store.Reader, account int64, name string, exclude []string) (list []int64, err error) {
	group, err := r.GroupByName(account, name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	members, err := r.FirstActiveMembers(account, group.No, membersExamined, MailsPerGroup+len(exclude))
	for i := range members {
		if len(list) < MailsPerGroup && !names(exclude, &members[i]) {
			list = append(list, members[i].No)
		}
	}
	return list, err
}

// addresseeOf finds out, when a mail is about to be handed out, whom it goes to; nil: to no person any more, because
// the task has ended, or the person may not answer it.
func addresseeOf(r *store.Reader, m *store.TaskMail) (*store.HumanTask, *Addressee, error) {
	task, found, err := openTask(r, m.Task)
	if err != nil || !found {
		return nil, nil, err
	}
	a := assigneesOf(&task)
	if m.Person == 0 {
		key := engine.PersonKey(m.Address)
		_, known, err := personOf(r, key)
		if err != nil || known || !slices.Contains(a.users, key) || slices.Contains(a.exclude, key) {
			return nil, nil, err
		}
		return &task, &Addressee{Email: m.Address}, nil
	}
	p, err := r.MemberByNo(task.Account, m.Person)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil || !p.Counts() || names(a.exclude, &p.Person) {
		return nil, nil, err
	}
	assigned := names(a.users, &p.Person)
	if !assigned {
		groups, err := r.GroupsOf(task.Account, m.Person)
		if err != nil {
			return nil, nil, err
		}
		assigned = slices.ContainsFunc(groups, func(g store.Group) bool { return slices.Contains(a.groups, g.NameKey) })
	}
	if !assigned {
		return nil, nil, nil
	}
	return &task, &Addressee{
		Person: p.Person.No, ID: p.Person.ID.String(), Email: p.Person.Email, Name: p.Person.Name, Locale: p.Person.Locale,
	}, nil
}
