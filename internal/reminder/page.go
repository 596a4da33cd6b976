package reminder

import (
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/chargehand/chargehand/internal/store"
)

// page is what one transaction makes of facts. They are read in order. The recipients of a fact may be more than one
// transaction writes mails to: then the cursor says up to which of them, in the order of their keys, it is done. So
// each gets one mail, also when people join or leave groups meanwhile.
type page struct {
	more      bool // there may be further facts, or more of the last one
	left      []leftOut
	assignees int             // that were looked at
	mails     int             // that were written, or left out
	waiting   map[int64]int64 // mails of each account
}

// leftOut are mails that could not be queued.
type leftOut struct {
	task    uuid.UUID
	kind    store.FactKind
	account int64
	share   int64 // how many of the account could wait
	mails   int
}

// readPage makes mails of the next facts, within an Update, and moves the reader past them.
func (w *Worker) readPage(tx *store.Tx) (p page, err error) {
	at, ok, err := tx.FollowFacts(reader)
	if err != nil || !ok {
		return p, err
	}
	facts, err := tx.Facts(at, readAtOnce)
	if err != nil || len(facts) == 0 {
		return p, err
	}
	text, err := tx.FactPart(reader)
	if err != nil {
		return p, err
	}
	if p.waiting, err = tx.TaskMailOfAccounts(); err != nil {
		return p, err
	}
	p.more = len(facts) == readAtOnce
	for i := range facts {
		f := &facts[i]
		if p.assignees >= assigneesAtOnce || p.mails >= w.atOnce {
			p.more = true
			return p, tx.MoveFactCursor(reader, at, "")
		}
		if letters[f.Kind] == "" {
			at = f.Number
			continue
		}
		done, err := w.readFact(tx, f, partOf(text, f.Number), &p)
		if err != nil {
			return p, err
		}
		if done != "" {
			p.more = true
			return p, tx.MoveFactCursor(reader, at, textOfPart(f.Number, done))
		}
		at = f.Number
	}
	return p, tx.MoveFactCursor(reader, at, "")
}

// textOfPart says up to which recipient mails about a fact were written; partOf reads it. It is empty for another fact:
// the one that it was about was deleted.
func textOfPart(fact int64, key string) string { return strconv.FormatInt(fact, 10) + " " + key }

func partOf(text string, fact int64) string {
	key, ok := strings.CutPrefix(text, strconv.FormatInt(fact, 10)+" ")
	if !ok {
		return ""
	}
	return key
}

// readFact makes mails of a fact, to the recipients behind a key. done is the key of the last one if there are more.
func (w *Worker) readFact(tx *store.Tx, f *store.Fact, after string, p *page) (done string, err error) {
	task, found, err := openTask(&tx.Reader, f.Task)
	if err != nil || !found {
		return "", err
	}
	p.assignees += 1 + len(task.Assignees.Users) + len(task.Assignees.Groups)
	list, err := recipientsOf(&tx.Reader, &task)
	if err != nil {
		return "", err
	}
	for len(list) > 0 && list[0].key() <= after {
		list = list[1:]
	}
	if room := w.atOnce - p.mails; len(list) > room {
		list = list[:room]
		done = list[room-1].key()
	}
	p.mails += len(list)
	share := p.share(f.Account, w.inAll)
	fits := list[:min(int64(len(list)), max(share-p.waiting[f.Account], 0))]
	mails := make([]store.TaskMail, len(fits))
	for i, to := range fits {
		mails[i] = store.TaskMail{
			Account: f.Account, Environment: f.Environment, Workflow: f.Workflow, Task: f.Task, Fact: f.Kind, Person: to.person, Address: to.address,
		}
	}
	left, err := tx.InsertTaskMail(mails, w.most, w.nowMs())
	if err != nil {
		return "", err
	}
	p.waiting[f.Account] += int64(len(fits) - left)
	if left += len(list) - len(fits); left > 0 {
		p.left = append(p.left, leftOut{uuid.UUID(task.ID), f.Kind, f.Account, share, left})
	}
	return done, nil
}

// share bounds the mails of an account that wait: half of the room that those of other accounts leave.
func (p *page) share(account, inAll int64) int64 {
	room := inAll
	for other, waiting := range p.waiting {
		if other != account {
			room -= waiting
		}
	}
	return max(room, 0) / 2
}
