package service

import (
	"context"
	"crypto/subtle"
	"errors"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/signin/token"
	"github.com/chargehand/chargehand/internal/store"
)

// LinkState says what a link to a human task is good for.
type LinkState uint8

// The states. Only with LinkOpen the task can be answered by the link.
const (
	LinkOpen      LinkState = 1 + iota
	LinkTaken               // another person works on the task
	LinkUsed                // the task was answered by this link
	LinkAnswered            // it was answered in another way
	LinkWithdrawn           // its answer is not needed any more
	LinkExpired
	LinkRevoked
	LinkReplaced // the server has mailed newer ones
	LinkRefused  // its addressee may not answer the task any more
)

// LinkedTask is a human task as the holder of a link to it sees it.
type LinkedTask struct {
	State LinkState
	At    time.Time // of what the state says; zero: it has no time
	Ends  time.Time // when the link does
	Name  string    // of the addressee
	Given string    // with LinkUsed: the title of the outcome
	// With LinkOpen, and with LinkTaken and LinkUsed for an answer that is sent all the same:
	Task HumanTask // with Full, without comments and links
	// With LinkOpen and LinkTaken:
	Files []File // of the task, with addresses; content types and names are those of who uploaded them
	// Referred are the files that the data to be looked at refers to, with addresses.
	Referred map[chargehand.FileID]File
}

// openedLink is a link with what is needed to answer by it.
type openedLink struct {
	link  store.TaskLink
	task  store.HumanTask
	who   responder
	state LinkState
	at    time.Time
}

// noSuchLink is the answer for an address that never was one.
func noSuchLink() error {
	return chargehand.NewError(chargehand.CodeTaskLinkNotFound, "This link is not known. Check that the address is complete.")
}

// openLink finds a link by its secret. Codes: task_link_not_found.
func (s *Service) openLink(ctx context.Context, secret string) (o openedLink, err error) {
	if !token.WellFormed(secret) {
		return o, noSuchLink()
	}
	hash := token.Hash(secret)
	err = s.view(ctx, func(r *store.Reader) error {
		if o.link, err = r.TaskLinkByHash(hash[:]); err != nil {
			return notFoundIs(err, noSuchLink)
		}
		if subtle.ConstantTimeCompare(o.link.Hash, hash[:]) != 1 {
			return noSuchLink()
		}
		if o.task, err = r.HumanTaskByNo(o.link.Task); err != nil {
			return notFoundIs(err, noSuchLink)
		}
		return s.judgeLink(r, &o)
	})
	if err != nil || o.state != LinkAnswered {
		return o, err
	}
	output, err := s.taskPayload(ctx, o.task.Answer)
	if via := human.AnswerOf(output).By.Via; err == nil && via.Kind == human.ViaLink && via.ID == o.link.ID.String() {
		o.state = LinkUsed
	}
	return o, err
}

// judgeLink finds out what a link to a task that was read is good for, and who answers by it.
func (s *Service) judgeLink(r *store.Reader, o *openedLink) error {
	var ended bool
	var err error
	if o.who, ended, err = s.addressee(r, &o.task, &o.link); err != nil {
		return err
	}
	if o.state, o.at = s.linkState(o); o.state != LinkOpen && o.state != LinkTaken {
		return nil
	}
	may := false
	if !ended {
		if may, err = s.mayActBy(r, &o.task, &o.who); err != nil {
			return err
		}
	}
	if !may {
		o.state, o.at = LinkRefused, time.Time{}
	}
	return nil
}

// mayActBy reports whether the responder of a link may answer a task.
func (s *Service) mayActBy(r *store.Reader, task *store.HumanTask, who *responder) (bool, error) {
	resolved := *task
	resolved.Assignees.Exclude = slices.Clone(task.Assignees.Exclude)
	err := s.resolveExcluded(r, &resolved)
	if err == nil {
		err = who.mayAct(&resolved)
	}
	var refused *chargehand.Error
	if errors.As(err, &refused) {
		return false, nil
	}
	return err == nil, err
}

// linkState is the state of a link as far as the rows say it.
func (s *Service) linkState(o *openedLink) (LinkState, time.Time) {
	switch {
	case o.task.Status == store.TaskAnswered: // whatever became of the link later, its holder learns that
		return LinkAnswered, atMs(o.task.EndedMs)
	case o.link.RevokedMs != 0:
		return LinkRevoked, atMs(o.link.RevokedMs)
	case o.link.ReplacedMs != 0 && o.task.Status != store.TaskWithdrawn:
		return LinkReplaced, atMs(o.link.ReplacedMs)
	case o.link.ExpiresMs <= s.nowMs():
		return LinkExpired, atMs(o.link.ExpiresMs)
	case o.task.Status == store.TaskWithdrawn:
		return LinkWithdrawn, atMs(o.task.EndedMs)
	case o.task.Status == store.TaskClaimed && o.task.Claimant != o.who.actor:
		return LinkTaken, time.Time{}
	}
	return LinkOpen, time.Time{}
}

// principal is the holder of a link. It reads no files but those.
func (o *openedLink) principal(files []chargehand.FileID) *Principal {
	return &Principal{
		Kind: KindLink, AccountNo: o.task.Account, Environment: o.task.Environment, Name: o.who.name, link: o.link.ID,
		Workflows: []chargehand.WorkflowID{}, Limits: store.NoWorkflow(), files: files,
	}
}

// LinkedTask reads a task by the secret of a link. It changes nothing. Codes: task_link_not_found.
func (s *Service) LinkedTask(ctx context.Context, secret string, v View) (*LinkedTask, error) {
	o, err := s.openLink(ctx, secret)
	if err != nil {
		return nil, err
	}
	t := &LinkedTask{State: o.state, At: o.at, Ends: atMs(o.link.ExpiresMs), Name: o.link.Name}
	if o.state != LinkOpen && o.state != LinkTaken && o.state != LinkUsed {
		return t, nil
	}
	full, err := s.fullTask(ctx, &o.task, nil)
	if err != nil {
		return nil, err
	}
	if o.state == LinkUsed {
		given, _ := full.Request.Outcome(full.Answer.Outcome)
		t.Given = given.Title
	}
	err = s.view(ctx, func(r *store.Reader) error {
		if t.Task, err = s.shownTask(r, o.principal(nil), &o.who, &o.task); err != nil || o.state == LinkUsed {
			return err
		}
		request := &full.Request
		known, err := filesOfExecution(r, &o.task, []any{request.Files, request.Show, request.Data})
		if err != nil {
			return err
		}
		t.Files, t.Referred = nil, map[chargehand.FileID]File{}
		for _, reference := range request.Files {
			id, _ := referenceID(reference)
			if row, ok := known[id]; ok {
				t.Files = append(t.Files, *s.file(&row, v))
			}
		}
		for _, id := range engine.NamedFiles([]any{request.Show, request.Data}) {
			if row, ok := known[id]; ok {
				t.Referred[id] = *s.file(&row, v)
			}
		}
		return nil
	})
	t.Task.Full = full
	return t, err
}
