package store

import (
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
)

// TaskMail is a mail about a human task that waits until it is handed to the outbox of mails (Mail), at the rate at
// which its workflow may send them.
type TaskMail struct {
	No          int64
	Account     int64
	Environment chargehand.Environment
	Workflow    int64
	Task        int64    // number of the human task
	Fact        FactKind // that it tells of
	Person      int64    // 0: it goes to Address, which no member of the account has
	Address     string
}

// TaskMailRate is how fast a workflow sends mails about its human tasks in an environment.
type TaskMailRate struct {
	Account     int64
	Workflow    int64
	Environment chargehand.Environment
	DueMs       int64 // when to look at it next
	MinuteMs    int64 // when the minute began
	Sent        int64 // handed to the outbox in it
	Waiting     int64 // mails
}

const taskMailRateColumns = `account, workflow, environment, due_ms, minute_ms, sent, waiting`

func scanTaskMailRate(r Row, m *TaskMailRate) {
	*m = TaskMailRate{r.Int(0), r.Int(1), chargehand.Environment(r.Int(2)), r.Int(3), r.Int(4), r.Int(5), r.Int(6)}
}

// InsertTaskMail adds mails of one workflow and environment to those that wait, and has them looked at at nowMs. At
// most that many wait then: left is how many were left out, the last ones.
func (t *Tx) InsertTaskMail(mails []TaskMail, most, nowMs int64) (left int, err error) {
	if len(mails) == 0 {
		return 0, nil
	}
	of := mails[0]
	var waiting int64
	err = t.one(`INSERT INTO task_mail_rate (account, workflow, environment, due_ms, minute_ms, sent, waiting) VALUES (?4, ?1, ?2, ?3, 0, 0, 0)
 ON CONFLICT (workflow, environment) DO UPDATE SET due_ms = excluded.due_ms RETURNING waiting`, func(r Row) { waiting = r.Int(0) },
		of.Workflow, int64(of.Environment), nowMs, of.Account)
	if err != nil {
		return 0, fmt.Errorf("insert mail about a human task: %w", err)
	}
	n := min(len(mails), int(max(most-waiting, 0)))
	for _, m := range mails[:n] {
		err := t.c.Send("insert mail about a human task", `INSERT INTO task_mail (account, environment, workflow, task, fact, person, address)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`, m.Account, int64(m.Environment), m.Workflow, m.Task, int64(m.Fact), m.Person, textArg(m.Address))
		if err != nil {
			return 0, err
		}
	}
	return len(mails) - n, t.c.Send("count mail about human tasks", `UPDATE task_mail_rate SET waiting = waiting + ?3 WHERE workflow = ?1 AND environment = ?2`,
		of.Workflow, int64(of.Environment), int64(n))
}

// TaskMailDue reads up to limit rates that are to be looked at at nowMs: one of each account, then a second one of
// each, and so on. The longest due come first.
func (r *Reader) TaskMailDue(nowMs int64, limit int) ([]TaskMailRate, error) {
	return readAll(r, "read rates of mail about human tasks", `SELECT `+taskMailRateColumns+` FROM (SELECT `+taskMailRateColumns+`,
 ROW_NUMBER() OVER (PARTITION BY account ORDER BY due_ms, workflow, environment) AS turn FROM task_mail_rate WHERE due_ms <= ?1) due
 ORDER BY turn, due_ms, workflow, environment LIMIT ?2`, scanTaskMailRate, nowMs, int64(limit))
}

// LockTaskMailRate reads a rate and locks it until the Update is committed. ok is false if there is none, or another
// Update holds the lock.
func (t *Tx) LockTaskMailRate(workflow int64, env chargehand.Environment) (rate TaskMailRate, ok bool, err error) {
	rate, err = readOne(&t.Reader, "lock the rate of mail about human tasks", `SELECT `+taskMailRateColumns+` FROM task_mail_rate
 WHERE workflow = ?1 AND environment = ?2`+t.c.SkipLocked(),
		scanTaskMailRate, workflow, int64(env))
	if errors.Is(err, ErrNotFound) {
		return rate, false, nil
	}
	return rate, err == nil, err
}

// WaitingTaskMail reads up to limit mails of a workflow and environment that wait, the oldest first.
func (r *Reader) WaitingTaskMail(workflow int64, env chargehand.Environment, limit int) ([]TaskMail, error) {
	return readAll(r, "read mail about human tasks", `SELECT no, account, environment, workflow, task, fact, person, address FROM task_mail
 WHERE workflow = ?1 AND environment = ?2 ORDER BY no LIMIT ?3`, func(row Row, m *TaskMail) {
		*m = TaskMail{
			No: row.Int(0), Account: row.Int(1), Environment: chargehand.Environment(row.Int(2)), Workflow: row.Int(3), Task: row.Int(4),
			Fact: FactKind(row.Int(5)), Person: row.Int(6), Address: row.Text(7),
		}
	}, workflow, int64(env), int64(limit))
}

// EndTaskMail deletes a mail that was handed to the outbox or is not needed. The caller has locked its rate, and writes
// it (MoveTaskMailRate). ErrConflict: there is no such mail.
func (t *Tx) EndTaskMail(no int64) error {
	return t.change("delete mail about a human task", `DELETE FROM task_mail WHERE no = ?1`, no)
}

// MoveTaskMailRate writes a rate that the caller has locked. One that says nothing any more is deleted: no mail waits,
// and none was sent in its minute.
func (t *Tx) MoveTaskMailRate(m *TaskMailRate) error {
	if m.Waiting == 0 && m.Sent == 0 {
		return t.c.Send("delete the rate of mail about human tasks", `DELETE FROM task_mail_rate WHERE workflow = ?1 AND environment = ?2`,
			m.Workflow, int64(m.Environment))
	}
	return t.c.Send("move the rate of mail about human tasks", `UPDATE task_mail_rate SET due_ms = ?3, minute_ms = ?4, sent = ?5, waiting = ?6
 WHERE workflow = ?1 AND environment = ?2`, m.Workflow, int64(m.Environment), m.DueMs, m.MinuteMs, m.Sent, m.Waiting)
}

// TaskMailOfAccounts is how many mails about human tasks wait, of each account that has some.
func (r *Reader) TaskMailOfAccounts() (map[int64]int64, error) {
	waiting := map[int64]int64{}
	err := r.c.Query(`SELECT account, CAST(SUM(waiting) AS BIGINT) FROM task_mail_rate GROUP BY account`, func(row Row) error {
		waiting[row.Int(0)] = row.Int(1)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count mail about human tasks: %w", err)
	}
	return waiting, nil
}

// CountTaskMail is how many mails about human tasks wait in all.
func (r *Reader) CountTaskMail() (int64, error) {
	return r.count("count mail about human tasks", `SELECT COALESCE(CAST(SUM(waiting) AS BIGINT), 0) FROM task_mail_rate`)
}
