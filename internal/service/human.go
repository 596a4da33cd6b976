package service

import (
	"errors"
	"slices"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/store"
)

// responder is who acts on human tasks: a person, in whatever way a request of its comes, or a key that stands for
// none. The person decides about who may answer, so a second key of a person is the same responder.
type responder struct {
	actor  int64     // as store.Execution.StartedBy
	id     string    // of the user; the e-mail address of a person without membership; of a key that stands for none
	name   string    // for display
	person bool      // it is one
	email  string    // in the form that is compared
	hidden string    // id of a person that is not shown, because the account does not know it as an active user
	groups []string  // names, in the form that is compared
	behind []string  // persons who act by it, such as the one who has made the key, or the key's key: none may be excluded
	via    human.Via // the way on which the request came
}

// responder is the principal as it acts on human tasks.
func (s *Service) responder(r *store.Reader, p *Principal) (responder, error) {
	who := responder{actor: p.actor(), id: p.ActorID(), name: p.Name, via: human.Via{Kind: human.ViaSession, ID: p.Session.String()}}
	if p.Session.IsZero() {
		who.via = human.Via{Kind: human.ViaKey, ID: p.Key.String()}
	}
	if p.PersonNo == 0 {
		key, err := r.KeyByNo(p.KeyNo)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return who, err
		}
		who.behind, err = makers(r, key)
		who.behind = append(who.behind, who.id)
		return who, err
	}
	row, err := r.PersonByNo(p.PersonNo)
	if err != nil {
		return who, err
	}
	return who, who.setPerson(r, p.AccountNo, &row)
}

// maxMakers bounds how many have made or rotated an API key that acts on human tasks, or the keys of these.
const maxMakers = 100

// makers are the ids of those who know the secret of a key: the persons and keys that have made or rotated it, those
// who have made or rotated these keys, and so on. Keys are never deleted, so all persons behind a key are found. Codes:
// not_assigned.
func makers(r *store.Reader, key store.Key) (list []string, err error) {
	for keys := []store.Key{key}; len(keys) > 0; keys = keys[1:] {
		for _, text := range append(strings.Fields(keys[0].Rotators), keys[0].Creator) {
			maker := engine.PersonKey(text)
			id, bad := chargehand.ParseID[taskKind](maker)
			if bad != nil || slices.Contains(list, maker) { // the command line has no id
				continue
			}
			if len(list) == maxMakers {
				return nil, chargehand.NewError(chargehand.CodeNotAssigned,
					"Too many people and API keys have made or rotated this one to know who stands behind it. Use another key.")
			}
			list = append(list, maker)
			next, err := r.KeyByID(key.Account, key.Environment, chargehand.KeyID(id))
			if errors.Is(err, store.ErrNotFound) { // it is a person
				continue
			}
			if err != nil {
				return nil, err
			}
			if next.Person != 0 {
				row, err := r.PersonByNo(next.Person)
				if err != nil {
					return nil, err
				}
				list = append(list, row.ID.String())
				continue
			}
			keys = append(keys, next)
		}
	}
	return list, nil
}

func (w *responder) setPerson(r *store.Reader, account int64, row *store.Person) error {
	w.person, w.id, w.name, w.email, w.hidden, w.actor = true, row.ID.String(), row.Name, row.EmailKey, "", -row.No
	groups, err := r.GroupsOf(account, row.No)
	w.groups = nil
	for _, g := range groups {
		w.groups = append(w.groups, g.NameKey)
	}
	return err
}

// onBehalfOf is the responder that a key with tasks:impersonate acts for on a task. Only the active users of the
// account have an id: who answers does not learn which other addresses the installation knows. Codes:
// insufficient_scope, not_assigned, invalid_body.
func (s *Service) onBehalfOf(r *store.Reader, p *Principal, key responder, task *store.HumanTask, email string) (responder, error) {
	if err := Require(p, ScopeTasksImpersonate); err != nil {
		return key, err
	}
	shown, compared, complaint := person.Email(email)
	if complaint != "" {
		return key, badBody(chargehand.FieldError{Pointer: "/on_behalf_of", Code: "invalid_email", Detail: "The e-mail address " + complaint})
	}
	other := key
	other.behind = append(slices.Clone(key.behind), behindOf(key)...)
	if err := other.setBehind(r, p, key, task); err != nil {
		return key, err
	}
	other.name = shown
	ended, err := other.setAddress(r, p.AccountNo, compared, 0)
	if err == nil && ended {
		err = chargehand.NewError(chargehand.CodeNotAssigned, "The person "+shown+" may not answer in this account.")
	}
	return other, err
}

// setAddress makes the responder the person of an e-mail address in the form that is compared, or the person with a
// number where that is not 0. Only an active user of the account has an id then: an answer does not tell which other
// addresses the installation knows. ended: it is a disabled user, or was a user as the person with the number, and is
// none any more.
func (w *responder) setAddress(r *store.Reader, account int64, compared string, no int64) (ended bool, err error) {
	w.person, w.id, w.email, w.groups = true, compared, compared, nil
	var row store.Person
	if no != 0 {
		row, err = r.PersonByNo(no)
	} else {
		row, err = r.PersonByEmail(compared)
	}
	if errors.Is(err, store.ErrNotFound) {
		return no != 0, nil
	}
	if err != nil {
		return false, err
	}
	w.hidden, w.email = row.ID.String(), row.EmailKey
	m, err := r.MemberByNo(account, row.No)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return no != 0, nil
	case err != nil:
		return false, err
	case m.Counts():
		return false, w.setPerson(r, account, &row)
	}
	return m.Status != store.Invited || row.DisabledMs != 0, nil // one who is invited is in no group yet
}

// behindOf is the person that a personal key stands for, who acts for another one.
func behindOf(key responder) []string {
	if !key.person {
		return nil
	}
	return []string{key.id, key.email}
}

// setBehind says in the way of an answer in another name who may have given it: the persons that have made the key or
// rotated it, and those that have reassigned the task.
func (w *responder) setBehind(r *store.Reader, p *Principal, key responder, task *store.HumanTask) error {
	w.via.Behind = task.Reassigners
	if key.person {
		w.via.MadeBy = key.id
		return nil
	}
	row, err := r.KeyByNo(p.KeyNo)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var persons []string
	for _, id := range key.behind {
		if parsed, bad := chargehand.ParseID[taskKind](id); bad == nil {
			_, err := r.KeyByID(row.Account, row.Environment, chargehand.KeyID(parsed))
			switch {
			case errors.Is(err, store.ErrNotFound):
				persons = append(persons, id)
			case err != nil:
				return err
			}
		}
	}
	if len(persons) == 0 {
		return nil
	}
	if len(persons) > maxPersonsBehind {
		return chargehand.NewError(chargehand.CodeNotAssigned, "Too many people have made or rotated this API key to name them in an answer. Use another key.")
	}
	if i := slices.Index(persons, engine.PersonKey(row.Creator)); i > 0 {
		persons[0], persons[i] = persons[i], persons[0]
	}
	w.via.MadeBy, w.via.Behind = persons[0], strings.TrimSpace(strings.Join(persons[1:], " ")+" "+task.Reassigners)
	return nil
}

// maxPersonsBehind bounds the persons behind an API key that an answer names.
const maxPersonsBehind = 20

// candidates are the lists that the tasks of a responder are in: its own, what it has claimed, those of its groups, and
// that of tasks without an assignee.
func (w *responder) candidates() []store.TaskCandidate {
	return append(w.own(), append(w.ofGroups(), store.TaskCandidate{Kind: store.CandidateAnybody})...)
}

func (w *responder) own() []store.TaskCandidate {
	if !w.person {
		return nil
	}
	list := []store.TaskCandidate{
		{Kind: store.CandidateUser, Name: w.id}, {Kind: store.CandidateUser, Name: w.email}, {Kind: store.CandidateClaim, Name: w.id},
	}
	if w.hidden != "" {
		list = append(list, store.TaskCandidate{Kind: store.CandidateUser, Name: w.hidden})
	}
	return list
}

func (w *responder) ofGroups() []store.TaskCandidate {
	list := make([]store.TaskCandidate, 0, len(w.groups))
	for _, name := range w.groups {
		list = append(list, store.TaskCandidate{Kind: store.CandidateGroup, Name: name})
	}
	return list
}

// isAssigned reports whether a task is assigned to the responder, or has no assignee.
func (w *responder) isAssigned(a store.TaskAssignees) bool {
	mine := w.candidates()
	return slices.ContainsFunc(engine.Candidates(a), func(c store.TaskCandidate) bool { return slices.Contains(mine, c) })
}

// is reports whether a text of a definition names the responder: its id or e-mail address.
func (w *responder) is(text string) bool {
	key := engine.PersonKey(text)
	return w.person && (key == w.id || key == w.email || w.hidden != "" && key == w.hidden)
}

// mayAct tells whether the responder may claim or answer a task. Codes: not_assigned, excluded.
func (w *responder) mayAct(t *store.HumanTask) error {
	a := t.Assignees
	restricted := len(a.Users)+len(a.Groups)+len(a.Exclude) > 0
	if !w.person && restricted {
		return chargehand.NewError(chargehand.CodeNotAssigned,
			"The task is for certain people, and this API key stands for no person. Use a session or a personal key, or a key with tasks:impersonate and on_behalf_of.")
	}
	if err := w.notExcluded(t); err != nil {
		return err
	}
	if !w.isAssigned(a) {
		return chargehand.NewError(chargehand.CodeNotAssigned, "The task is assigned to other people. Someone with executions:manage may reassign it.")
	}
	return nil
}

// refusal is the code with which an answer of the responder would be refused now; empty: it may answer. What the task
// excludes must be resolved.
func (w *responder) refusal(p *Principal, workflow chargehand.WorkflowID, namespace string, t *store.HumanTask) chargehand.Code {
	var refused *chargehand.Error
	switch t.Status {
	case store.TaskAnswered:
		return chargehand.CodeAnswerConflict
	case store.TaskWithdrawn:
		return chargehand.CodeTaskWithdrawn
	}
	if errors.As(p.mayOn(ScopeTasksRespond, workflow, namespace), &refused) || errors.As(w.mayAct(t), &refused) {
		return refused.Code
	}
	if t.Status == store.TaskClaimed && t.Claimant != w.actor {
		return chargehand.CodeClaimedByOther
	}
	return ""
}

// notExcluded refuses a responder that a task excludes, or behind which a person is whom it excludes. What the task
// excludes must be resolved. Codes: excluded.
func (w *responder) notExcluded(t *store.HumanTask) error {
	for _, excluded := range t.Assignees.Exclude {
		if w.is(excluded) || slices.Contains(w.behind, engine.PersonKey(excluded)) {
			return chargehand.NewError(chargehand.CodeExcluded, "The task excludes this person, whatever session, key or link is used.")
		}
	}
	return nil
}

// resolveExcluded adds the ids of the users whose e-mail addresses a task excludes, because the person behind a key is
// known by id; and those who have made or rotated an API key that it excludes, because they know its secret.
func (s *Service) resolveExcluded(r *store.Reader, t *store.HumanTask) error {
	for _, excluded := range slices.Clone(t.Assignees.Exclude) {
		text := engine.PersonKey(excluded)
		id, bad := chargehand.ParseID[taskKind](text)
		if bad != nil {
			row, err := r.PersonByEmail(text)
			if err == nil {
				t.Assignees.Exclude = append(t.Assignees.Exclude, row.ID.String())
			} else if !errors.Is(err, store.ErrNotFound) {
				return err
			}
			continue
		}
		key, err := r.KeyByID(t.Account, t.Environment, chargehand.KeyID(id))
		if errors.Is(err, store.ErrNotFound) { // it is a person
			continue
		}
		if err != nil {
			return err
		}
		list, err := makers(r, key)
		if err != nil {
			return err
		}
		t.Assignees.Exclude = append(t.Assignees.Exclude, list...)
	}
	return nil
}
