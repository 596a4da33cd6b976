package service

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/signin/token"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// The bounds of links to human tasks.
const (
	// MaxTaskLinks bounds the links that people and API keys make to one task.
	MaxTaskLinks = 100
	// MaxOpenLinks bounds the links to open tasks that one person has made: those of a session are revoked in the
	// transaction that ends it.
	MaxOpenLinks = 10_000
	// maxMailedLinks is how many links the server mails to one address for one task. An older one counts no more.
	maxMailedLinks = 3
	maxShownLinks  = MaxTaskLinks + maxMailedLinks*human.MaxAssignees
	// TaskLinkLife is how long a link lasts at most.
	TaskLinkLife    = 30 * 24 * time.Hour
	minTaskLinkLife = time.Minute
)

// TaskLinkPath is where the pages of links are, at the root.
const TaskLinkPath = "/t/"

// TaskLink is a link by which a person answers a human task without signing in.
type TaskLink struct {
	ID        chargehand.TaskLinkID
	Name      string // of the addressee
	Email     string // empty: not known
	MadeBy    Actor  // zero: the server, which has mailed it
	CreatedAt time.Time
	ExpiresAt time.Time
	RevokedAt time.Time // zero: it is not
	URL       string    // only in the answer that makes it
}

func shownLink(row *store.TaskLink) TaskLink {
	l := TaskLink{
		ID: row.ID, Name: row.Name, Email: row.Email, CreatedAt: atMs(row.CreatedMs), ExpiresAt: atMs(row.ExpiresMs), RevokedAt: atMs(row.RevokedMs),
	}
	switch {
	case row.Maker < 0:
		l.MadeBy = Actor{actorUser, row.MakerID, row.MakerName}
	case row.Maker > 0:
		l.MadeBy = Actor{actorKey, row.MakerID, row.MakerName}
	}
	return l
}

// LinkHumanTask is the request to make a link to a task. Body: name, email, expires_in.
type LinkHumanTask struct {
	Task chargehand.HumanTaskID
	Body value.Value
	// BaseURL is what the address of the link begins with.
	BaseURL     string
	Idempotency *Idempotency
}

// LinkHumanTask makes a link by which a person answers a task without signing in. The address is in this answer only,
// not in a repeated one. The principal counts as one of the persons of the link: one that the task excludes makes none.
// It is assigned to the task or has executions:manage, and the addressee must be allowed to answer.
// Codes: human_task_not_found, insufficient_scope, not_assigned, excluded, invalid_body, unknown_field, state_conflict
// (the task has ended, or it or its maker has too many links), idempotency_key_reused, idempotency_in_progress.
func (s *Service) LinkHumanTask(ctx context.Context, p *Principal, q LinkHumanTask) (l TaskLink, replayed bool, err error) {
	return guarded(ctx, s, p, q.Idempotency,
		func(c *idempotencyGuard) (TaskLink, error) { return s.linkTask(ctx, p, &q, c) },
		func(c *idempotencyGuard) (TaskLink, error) {
			err := s.view(ctx, func(r *store.Reader) error {
				row, _, err := s.seenTask(r, p, q.Task)
				if err != nil {
					return err
				}
				made, err := r.TaskLinkByID(row.No, chargehand.TaskLinkID(c.found.Resource))
				l = shownLink(&made)
				return notFoundIs(err, taskLinkNotFound)
			})
			return l, err
		})
}

func (s *Service) linkTask(ctx context.Context, p *Principal, q *LinkHumanTask, c *idempotencyGuard) (l TaskLink, err error) {
	f, err := openBody(q.Body, "name", "email", "expires_in")
	if err != nil {
		return l, err
	}
	made := store.TaskLink{ID: newID[chargehand.TaskLinkID](s.nowMs()), CreatedMs: s.nowMs()}
	if !f.has("name") {
		f.fail("name", "required", "The field \"name\" is missing: say whom the link is for.")
	}
	made.Name, _ = f.personName("name")
	if f.values["email"] != nil {
		made.Email, made.EmailKey = f.email("email")
	}
	life := f.duration("expires_in", TaskLinkLife, minTaskLinkLife, TaskLinkLife, "from 1m to 30d, such as 12h or 7d")
	if err := f.err(); err != nil {
		return l, err
	}
	made.ExpiresMs = made.CreatedMs + life.Milliseconds()
	text, hash := token.New()
	made.Hash = hash[:]
	if p.KeyNo != 0 && !p.ExpiresAt.IsZero() { // the secret that a key had before makes nothing that lasts longer
		made.ExpiresMs = min(made.ExpiresMs, p.ExpiresAt.UnixMilli())
	}
	err = s.updateTask(ctx, p, q.Task, ScopeTasksRespond, func(tx *store.Tx, row *store.HumanTask, who *responder) error {
		link := made
		if err := s.madeBy(tx, p, &link); err != nil {
			return err
		}
		if err := s.mayLink(tx, p, row, who, &link); err != nil {
			return err
		}
		if err := tx.InsertTaskLink(&link); err != nil {
			return err
		}
		// Of those made at the same time, each counts the ones before it.
		n, err := tx.CountTaskLinks(row.No, MaxTaskLinks+1)
		switch {
		case err != nil:
			return err
		case n > MaxTaskLinks:
			return stateConflict("100 links were made to this task, and it can have no more. Revoked ones count too.")
		}
		if err := s.checkOpenLinks(&tx.Reader, link.Maker); err != nil {
			return err
		}
		changes := audit.Changes{}.Set("link", nil, link.ID.String()).Set("name", nil, link.Name).Set("email", nil, link.Email).
			Set("expires_at", nil, atMs(link.ExpiresMs).Format(time.RFC3339))
		if err := s.audit(ctx, tx, p, audit.TaskLinkCreated, taskTarget(row), changes); err != nil {
			return err
		}
		l = shownLink(&link)
		return c.record(tx, statusCreated, "task_link", link.ID)
	})
	l.URL = q.BaseURL + TaskLinkPath + text
	return l, err
}

// checkOpenLinks refuses a link, which is written already, that a person has made beyond the bound. Codes:
// state_conflict.
func (s *Service) checkOpenLinks(r *store.Reader, maker int64) error {
	if maker >= 0 { // of an API key: they end with it, without being walked
		return nil
	}
	n, err := r.CountOpenLinks(-maker, s.openLinks+1)
	if err == nil && n > int64(s.openLinks) {
		err = stateConflict("You have made " + strconv.Itoa(s.openLinks) + " links to tasks that are open. Revoke some of them first, or make links with an API key.")
	}
	return err
}

// mayLink tells whether a principal may make a link, of which it sets the task, the person and the maker.
// Codes: not_assigned, excluded, invalid_body.
func (s *Service) mayLink(tx *store.Tx, p *Principal, row *store.HumanTask, who *responder, l *store.TaskLink) error {
	if err := s.resolveExcluded(&tx.Reader, row); err != nil {
		return err
	}
	if err := who.notExcluded(row); err != nil {
		return err
	}
	if err := s.assignedOrManages(&tx.Reader, p, row, who); err != nil {
		return err
	}
	if l.EmailKey == "" && isRestricted(row) {
		return badBody(chargehand.FieldError{Pointer: "/email", Code: "required",
			Detail: "The task is not for all people, so the field \"email\" must say whom the link is for."})
	}
	l.Task, l.Maker, l.MakerID, l.MakerName = row.No, who.actor, who.id, who.name
	if l.EmailKey != "" {
		m, err := memberByEmail(&tx.Reader, row.Account, l.EmailKey)
		if err == nil {
			l.Person = m.Person.No
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	addressee, ended, err := s.addressee(&tx.Reader, row, l)
	switch {
	case err != nil:
		return err
	case ended:
		return chargehand.NewError(chargehand.CodeNotAssigned, "The person "+l.Email+" may not answer in this account.")
	}
	return addressee.mayAct(row)
}

// madeBy notes by which session or API key a principal makes a link: it ends with that. A session that was revoked
// makes none any more, although a node may know it for a second yet, and is not revoked meanwhile. Codes:
// invalid_credentials.
func (s *Service) madeBy(tx *store.Tx, p *Principal, l *store.TaskLink) error {
	if l.MakerKey = p.KeyNo; p.SessionNo == 0 {
		return nil
	}
	row, err := tx.SessionForUpdate(p.SessionNo)
	if err != nil {
		return notFoundIs(err, noSession)
	}
	if row.ID != p.Session || row.RevokedMs != 0 || row.Account != p.AccountNo {
		return noSession()
	}
	l.MakerSession = row.ID
	return nil
}

// isRestricted reports whether only some may answer a task of those who may answer tasks at all.
func isRestricted(row *store.HumanTask) bool { return human.Assignees(row.Assignees).Restricted() }

// assignedOrManages refuses a principal that a task is not assigned to, unless it has executions:manage. An API key
// that stands for no person is assigned to tasks only that are for all people. Codes: not_assigned.
func (s *Service) assignedOrManages(r *store.Reader, p *Principal, row *store.HumanTask, who *responder) error {
	if who.isAssigned(row.Assignees) && (who.person || !isRestricted(row)) {
		return nil
	}
	w, err := r.WorkflowByNo(row.Workflow)
	if err != nil {
		return err
	}
	if p.mayOn(ScopeExecutionsManage, w.ID, w.Namespace) != nil {
		return chargehand.NewError(chargehand.CodeNotAssigned,
			"The task is not assigned to you. Links to it are made by the people it is assigned to, and by those with executions:manage.")
	}
	return nil
}

// addressee is the responder of a link to a task: the person that it was made for, behind whom its maker is, and those
// who have reassigned the task. It needs no scope of its own, as people do not who have no account. ended: the person
// was a user and is one no more, or is disabled; or that is so of the maker, which knows the address, or the API key by
// which the link was made was revoked or has expired.
func (s *Service) addressee(r *store.Reader, task *store.HumanTask, l *store.TaskLink) (who responder, ended bool, err error) {
	account := task.Account
	who = responder{id: l.ID.String(), name: l.Name, via: human.Via{
		Kind: human.ViaLink, ID: l.ID.String(), MadeBy: l.MakerID, Behind: task.Reassigners,
	}}
	if who.behind, ended, err = behindLink(r, account, l, s.nowMs()); err != nil || ended || l.EmailKey == "" {
		return who, ended, err
	}
	ended, err = who.setAddress(r, account, l.EmailKey, l.Person)
	return who, ended, err
}

// memberByEmail finds the member of an account that has an e-mail address in the form that is compared. Errors:
// store.ErrNotFound.
func memberByEmail(r *store.Reader, account int64, compared string) (store.Member, error) {
	known, err := r.PersonByEmail(compared)
	if err != nil {
		return store.Member{}, err
	}
	return r.MemberByNo(account, known.No)
}

// behindLink are the persons and API keys that may hold a link beside its addressee: its maker, and those behind that.
// ended: the maker has lost the right to act at all, or too many are behind it to know them.
func behindLink(
	r *store.Reader, account int64, l *store.TaskLink, nowMs int64,
) (behind []string, ended bool, err error) {
	var key store.Key
	if l.MakerKey != 0 {
		key, err = r.KeyByNo(l.MakerKey) // never deleted
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, false, err
		}
		if key.RevokedMs != 0 || key.ExpiresMs != 0 && nowMs >= key.ExpiresMs {
			return nil, true, nil
		}
	}
	switch {
	case l.Maker == 0:
		return nil, false, nil
	case l.Maker < 0:
		m, err := r.MemberByNo(account, -l.Maker)
		if errors.Is(err, store.ErrNotFound) {
			return nil, true, nil
		}
		return []string{l.MakerID, m.Person.EmailKey}, err == nil && !m.Counts(), err
	}
	behind, err = makers(r, key)
	var refused *chargehand.Error
	if errors.As(err, &refused) {
		return nil, true, nil
	}
	return append(behind, l.MakerID), false, err
}

func taskLinkNotFound() error {
	return chargehand.NewError(chargehand.CodeTaskLinkNotFound, "The task has no such link.")
}

// RevokeTaskLink ends a link to a task. Its maker revokes it, those whom the task is assigned to, and those with
// executions:manage. A link that is revoked stays so. Codes: human_task_not_found, task_link_not_found,
// insufficient_scope, not_assigned, state_conflict (the task has ended, and its links with it).
func (s *Service) RevokeTaskLink(ctx context.Context, p *Principal, task chargehand.HumanTaskID, id chargehand.TaskLinkID) error {
	return s.updateTask(ctx, p, task, ScopeTasksRespond, func(tx *store.Tx, row *store.HumanTask, who *responder) error {
		l, err := tx.TaskLinkByID(row.No, id)
		if err != nil {
			return notFoundIs(err, taskLinkNotFound)
		}
		if l.Maker != who.actor {
			if err := s.assignedOrManages(&tx.Reader, p, row, who); err != nil {
				return err
			}
		}
		if l.RevokedMs != 0 {
			return nil
		}
		if err := tx.RevokeTaskLink(l.No, s.nowMs()); err != nil {
			return err
		}
		return s.audit(ctx, tx, p, audit.TaskLinkRevoked, taskTarget(row), audit.Changes{}.Set("link", l.ID.String(), nil))
	})
}

// MailedTaskLink makes, within an Update, the link of a mail to a person about a task that is open. base is what its
// address begins with, and to an e-mail address; name is for a person who is no user. The address is empty if the
// person may not answer the task. No maker is behind such a link, and the audit log does not list it. Of the links that
// were mailed to one address for one task the newest count, at most 3.
func (s *Service) MailedTaskLink(tx *store.Tx, task *store.HumanTask, base, to, name string) (address string, err error) {
	shown, key, complaint := person.Email(to)
	if complaint != "" || task.EndedMs != 0 {
		return "", nil
	}
	if name, complaint = person.Name(name); complaint != "" {
		name = shown
	}
	now := s.nowMs()
	text, hash := token.New()
	l := store.TaskLink{
		ID: newID[chargehand.TaskLinkID](now), Task: task.No, Hash: hash[:], Name: strings.TrimSpace(name), Email: shown, EmailKey: key,
		CreatedMs: now, ExpiresMs: now + TaskLinkLife.Milliseconds(),
	}
	m, err := memberByEmail(&tx.Reader, task.Account, key)
	switch {
	case err == nil:
		if l.Person = m.Person.No; m.Counts() {
			l.Name = m.Person.Name
		}
	case !errors.Is(err, store.ErrNotFound):
		return "", err
	}
	who, ended, err := s.addressee(&tx.Reader, task, &l)
	if err != nil || ended {
		return "", err
	}
	if may, err := s.mayActBy(&tx.Reader, task, &who); err != nil || !may {
		return "", err
	}
	if err := tx.InsertTaskLink(&l); err != nil {
		return "", err
	}
	return base + TaskLinkPath + text, tx.KeepMailedLinks(task.No, key, maxMailedLinks, now)
}
