package reminder

import (
	"context"
	"errors"
	"time"

	"github.com/chargehand/chargehand/internal/mail"
	"github.com/chargehand/chargehand/internal/mail/letter"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// MailsPerMinute bounds the mails about human tasks that a workflow sends in a minute, in each environment.
	MailsPerMinute = 100
	// MaxWaiting bounds those of a workflow that wait, in each environment.
	MaxWaiting = 10_000
	// maxWaitingInAll bounds those of all accounts. An account may have half of the room that the others leave, so that
	// there is always some for one that has none yet.
	maxWaitingInAll = 200_000
	// outboxShare: while so many mails are due in the outbox, this package hands it no more. Those that were postponed do
	// not count: a mailbox that takes none for days must not keep back the mails to others.
	outboxShare = 200
	// postponedShare: while so many mails of an account were postponed, it gets no more about its tasks.
	postponedShare = 500
	// readAtOnce bounds the facts that one transaction reads. It begins with no further one when it has looked at that
	// many assignees, and writes that many mails: those of a fact may take several transactions.
	readAtOnce, assigneesAtOnce, writtenAtOnce = 20, 100, 500
	// mailsAtOnce bounds the mails that one transaction hands to the outbox, ratesAtOnce the workflows that one step hands
	// out mails of.
	mailsAtOnce, ratesAtOnce = 20, 32
	// mailLife is how long a mail is tried.
	mailLife = 3 * 24 * time.Hour
	// reader is the name under which mail reads facts.
	reader = "mail"
)

// letters are the kinds of letters by what they tell of. Of other facts there is none.
var letters = map[store.FactKind]letter.Kind{
	store.FactTaskOpened: letter.TaskOpened, store.FactTaskReminded: letter.TaskReminded, store.FactTaskOverdue: letter.TaskOverdue,
}

// follow makes mail a reader of the facts that are published from now on, if it is none.
func (w *Worker) follow(ctx context.Context) (bool, error) {
	if !w.config.Mail.On() || w.followed {
		return false, nil
	}
	err := w.update(ctx, func(tx *store.Tx) error {
		_, _, err := tx.FollowFacts(reader)
		return err
	})
	w.followed = err == nil
	return false, err
}

// readFacts makes mails of the facts that were published.
func (w *Worker) readFacts(ctx context.Context) (more bool, err error) {
	if !w.config.Mail.On() {
		return false, nil
	}
	behind := false
	err = w.view(ctx, func(r *store.Reader) (err error) {
		behind, err = r.FactsBehind(reader)
		return err
	})
	if err != nil || !behind {
		return false, err
	}
	if mine, err := w.lease(ctx, mailLease); err != nil || !mine {
		return false, err
	}
	var p page
	err = w.update(ctx, func(tx *store.Tx) (err error) {
		p, err = w.readPage(tx)
		return err
	})
	if err != nil {
		return false, err
	}
	for _, l := range p.left {
		w.left.Add(int64(l.mails))
		w.log.Warn("mails about a human task are not sent, because too many of its workflow or account wait",
			"human_task", l.task.String(), "fact", l.kind.String(), "mails", l.mails, "account_no", l.account, "workflow_most", w.most, "account_most", l.share)
	}
	return p.more, nil
}

// handOut hands mails to the outbox, some of each workflow that may send.
func (w *Worker) handOut(ctx context.Context) (more bool, err error) {
	if !w.config.Mail.On() {
		return false, nil
	}
	var due []store.TaskMailRate
	waiting := int64(0)
	err = w.view(ctx, func(r *store.Reader) (err error) {
		if due, err = r.TaskMailDue(w.nowMs(), ratesAtOnce); err == nil && len(due) > 0 {
			waiting, err = r.CountMailDue(w.nowMs(), outboxShare)
		}
		return err
	})
	if err != nil || len(due) == 0 || waiting >= outboxShare {
		return false, err
	}
	if mine, err := w.lease(ctx, mailLease); err != nil || !mine {
		return false, err
	}
	moved := false
	for _, rate := range due {
		if waiting >= outboxShare { // those of accounts whose turn was not yet come next
			return true, nil
		}
		var h handed
		err := w.update(ctx, func(tx *store.Tx) (err error) {
			h, err = w.handOutOf(tx, &rate)
			return err
		})
		if errors.Is(err, errOutboxFull) || errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil {
			return false, err
		}
		if err != nil {
			w.log.Warn("mails about human tasks of a workflow cannot be handed out; they are tried again in a minute",
				"workflow_no", rate.Workflow, "environment", rate.Environment.String(), "error", err)
			if err := w.update(ctx, func(tx *store.Tx) error { return w.later(tx, &rate) }); err != nil {
				return false, err
			}
			continue
		}
		moved = moved || h.ended > 0
		waiting += int64(h.mails)
		w.mailed.Add(int64(h.mails))
		if h.mails > 0 {
			w.config.Mail.Notify()
		}
		if h.postponed {
			w.log.Warn("mails about human tasks wait, because too many of their account are tried again later",
				"workflow", h.workflow, "environment", rate.Environment.String(), "waiting", h.held, "postponed", postponedShare)
		} else if h.held > 0 {
			w.log.Warn("mails about human tasks wait, because their workflow has sent as many as it may in a minute",
				"workflow", h.workflow, "environment", rate.Environment.String(), "waiting", h.held, "per_minute", MailsPerMinute)
		}
	}
	return moved, nil
}

// later has the mails of a workflow looked at in a minute, within an Update.
func (w *Worker) later(tx *store.Tx, due *store.TaskMailRate) error {
	rate, ok, err := tx.LockTaskMailRate(due.Workflow, due.Environment)
	if err != nil || !ok {
		return err
	}
	rate.DueMs = w.nowMs() + time.Minute.Milliseconds()
	return tx.MoveTaskMailRate(&rate)
}

// handed is what became of the mails of a workflow.
type handed struct {
	ended    int    // mails that do not wait any more
	mails    int    // of them, those that were handed to the outbox
	held     int64  // mails that wait for the next minute; 0: as before
	workflow string // if so

	postponed bool // they wait because too many of the account were postponed
}

// handOutOf hands mails of a workflow to the outbox, within an Update.
func (w *Worker) handOutOf(tx *store.Tx, due *store.TaskMailRate) (h handed, err error) {
	rate, ok, err := tx.LockTaskMailRate(due.Workflow, due.Environment)
	if err != nil || !ok {
		return h, err
	}
	nowMs := w.nowMs()
	const minute = int64(time.Minute / time.Millisecond)
	if passed := nowMs - rate.MinuteMs; passed >= minute || passed < 0 { // the clock may have gone back
		rate.MinuteMs, rate.Sent = nowMs, 0
	}
	mails, err := tx.WaitingTaskMail(rate.Workflow, rate.Environment, int(min(mailsAtOnce, MailsPerMinute-rate.Sent)))
	if err != nil {
		return h, err
	}
	if len(mails) > 0 {
		postponed, err := tx.CountPostponedMail(mails[0].Account, nowMs, postponedShare)
		if err != nil {
			return h, err
		}
		if postponed >= postponedShare {
			h.held, h.postponed, rate.DueMs = rate.Waiting, true, nowMs+minute
			if h.workflow, err = workflowID(tx, rate.Workflow); err != nil {
				return h, err
			}
			return h, tx.MoveTaskMailRate(&rate)
		}
	}
	for i := range mails {
		sent, err := w.hand(tx, &mails[i])
		if err != nil {
			return h, err
		}
		if err := tx.EndTaskMail(mails[i].No); err != nil {
			return h, err
		}
		h.ended++
		if rate.Waiting--; sent {
			h.mails++
			rate.Sent++
		}
	}
	if rate.DueMs = rate.MinuteMs + minute; rate.Waiting > 0 && rate.Sent < MailsPerMinute {
		rate.DueMs = nowMs // those that are due longer come first
	} else if rate.Waiting > 0 && h.mails > 0 {
		h.held = rate.Waiting
		if h.workflow, err = workflowID(tx, rate.Workflow); err != nil {
			return h, err
		}
	}
	return h, tx.MoveTaskMailRate(&rate)
}

func workflowID(tx *store.Tx, no int64) (string, error) {
	of, err := tx.WorkflowByNo(no)
	return of.ID.String(), err
}

// hand writes a mail to the outbox, within an Update. false: it is not needed any more.
func (w *Worker) hand(tx *store.Tx, m *store.TaskMail) (bool, error) {
	task, to, err := addresseeOf(&tx.Reader, m)
	if err != nil || to == nil {
		return false, err
	}
	address, until, err := w.config.Link(tx, task, to)
	if err != nil || address == "" {
		return false, err
	}
	account, err := tx.AccountByNo(task.Account)
	if err != nil {
		return false, err
	}
	of, err := tx.WorkflowByNo(task.Workflow)
	if err != nil {
		return false, err
	}
	l := letter.Letter{
		Kind: letters[m.Fact], Locale: to.Locale, Name: to.Name, Account: account.Name, URL: address, Until: until,
		Environment: task.Environment.String(), Task: task.Title, Workflow: of.Namespace + "/" + of.Name, Priority: task.Priority,
	}
	if task.DueMs != store.NeverDue {
		l.Due = time.UnixMilli(task.DueMs)
	}
	taken, err := w.config.Mail.Put(tx, mail.Mail{
		Account: task.Account, Person: to.Person, To: to.Email, Letter: l, Until: w.config.Now().Add(mailLife),
	})
	if err == nil && !taken {
		err = errOutboxFull
	}
	return taken, err
}

// errOutboxFull undoes an Update: other mails have filled the outbox meanwhile.
var errOutboxFull = errors.New("the outbox of mails is full")
