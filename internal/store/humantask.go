package store

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/chargehand/chargehand"
)

// TaskStatus is the status of a human task. Numbers are stored.
type TaskStatus uint8

// The statuses. A task that is answered or withdrawn has ended: its status never changes again.
const (
	TaskOpen      TaskStatus = 1
	TaskClaimed   TaskStatus = 2
	TaskAnswered  TaskStatus = 3
	TaskWithdrawn TaskStatus = 4
)

// NeverDue is the due time of a task that has none: it comes behind all others.
const NeverDue = math.MaxInt64

// HumanTask is a task that an execution has opened for a person.
type HumanTask struct {
	No          int64
	ID          chargehand.HumanTaskID
	Account     int64
	Environment chargehand.Environment
	Workflow    int64
	Execution   int64
	Batch       int64  // of the execution; 0: none
	Command     uint64 // of the execution, that has opened it
	Seq         int    // of the timeline entry of the task
	Reference   string // JSON pointer of the task
	Iterations  []int
	Status      TaskStatus
	Why         uint8 // it is withdrawn (machine.Withdrawal)
	Used        bool  // the execution has used its answer
	Step        int64 // counts the changes of the row
	Priority    int
	DueMs       int64 // NeverDue: none
	CreatedMs   int64
	EndedMs     int64 // 0: it is open or claimed
	Claimant    int64 // who has claimed it, as Execution.StartedBy
	Answerer    int64 // who has answered it
	Title       string
	Assignees   TaskAssignees
	Reassigners string  // ids of the users and API keys that have reassigned it, each once, separated by spaces
	Owner       int64   // whose storage request and answer count for: the starter of the execution
	Request     Payload // the request as JSON (package human); lists do not read it
	Answer      Payload // the answer as JSON; zero: none
}

// TaskAssignees says who may answer a task, in the words of its request.
type TaskAssignees struct {
	Users   []string `json:"users,omitempty"`
	Groups  []string `json:"groups,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
}

// CandidateKind says what a TaskCandidate names. Numbers are stored.
type CandidateKind uint8

// The kinds.
const (
	CandidateAnybody CandidateKind = 1 // the task has no assignee
	CandidateUser    CandidateKind = 2 // e-mail address or id of a person
	CandidateGroup   CandidateKind = 3 // name of a group
	CandidateClaim   CandidateKind = 4 // id of the person who has claimed it
)

// TaskCandidate is in whose list a task is as long as it is open. Names are in the form that is compared.
type TaskCandidate struct {
	Kind CandidateKind
	Name string
}

// OpenTask inserts a task with those who may answer it, its due time, the times at which to remind of it, and the fact
// that it was opened. It sets h.No and h.Step. A blob of its request must have been reserved. ErrConflict: the
// execution has opened it already.
func (t *Tx) OpenTask(h *HumanTask, candidates []TaskCandidate, remindMs ...int64) error {
	h.Step = 1
	row := idKey(h.ID)
	no, err := t.insert("open a human task", `INSERT INTO human_task (id, account, environment, workflow, execution, batch, command, seq, reference, iterations,
 status, step, priority, due_ms, created_ms, title, assignees, request, request_blob, request_size, owner, bytes)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 1, 1, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)`,
		h.ID[:], h.Account, int64(h.Environment), h.Workflow, h.Execution, h.Batch, int64(h.Command), int64(h.Seq), h.Reference, listArg(h.Iterations),
		int64(h.Priority), h.DueMs, h.CreatedMs, t.seal(kindTaskTitle, row, []byte(h.Title)), assigneesArg(h.Assignees),
		t.seal(kindTaskRequest, row, h.Request.Inline), t.hide(h.Request.Blob), sizeArg(h.Request), h.Owner, h.Request.Size)
	if err != nil {
		return err
	}
	t.countUsage(h.Account, h.Environment, h.Owner, Usage{Bytes: h.Request.Size})
	h.No, h.Status = no, TaskOpen
	if err := t.refBlob(h.Request.Blob); err != nil {
		return err
	}
	if err := t.insertCandidates(h, candidates); err != nil {
		return err
	}
	if err := t.insertTaskTimes(h, remindMs); err != nil {
		return err
	}
	return t.noteTask(h, FactTaskOpened, h.CreatedMs)
}

func (t *Tx) insertCandidates(h *HumanTask, candidates []TaskCandidate) error {
	for _, c := range candidates {
		err := t.c.Send("insert candidate", `INSERT INTO human_candidate (account, environment, kind, name, task, workflow, due_ms, priority)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (task, kind, name) DO NOTHING`,
			h.Account, int64(h.Environment), int64(c.Kind), c.Name, h.No, h.Workflow, h.DueMs, int64(h.Priority))
		if err != nil {
			return err
		}
	}
	return nil
}

// ClaimTask makes a task that of a claimant, in whose list it is as person (empty: no person's). Its step must be that
// of h. ErrConflict: the task has changed meanwhile, or has ended.
func (t *Tx) ClaimTask(h *HumanTask, claimant int64, person string) error {
	if err := t.setClaim(h, TaskClaimed, claimant); err != nil || person == "" {
		return err
	}
	return t.insertCandidates(h, []TaskCandidate{{CandidateClaim, person}})
}

// ReleaseTask takes back a claim, as ClaimTask makes it.
func (t *Tx) ReleaseTask(h *HumanTask) error { return t.setClaim(h, TaskOpen, 0) }

// ReleaseTasksOf takes back all claims of a person in an account. person is the name by which ClaimTask lists it.
func (t *Tx) ReleaseTasksOf(account int64, person string) error {
	t.tasksOfAccountChanged(account)
	for _, env := range []chargehand.Environment{chargehand.Live, chargehand.Test} {
		err := t.c.Send("release the human tasks of a person", `UPDATE human_task SET status = 1, claimant = 0, step = step + 1
 WHERE no IN (SELECT task FROM human_candidate WHERE account = ?1 AND environment = ?2 AND kind = 4 AND name = ?3) AND status = 2`,
			account, int64(env), person)
		if err != nil {
			return err
		}
		err = t.c.Send("delete the claims of a person", `DELETE FROM human_candidate
 WHERE account = ?1 AND environment = ?2 AND kind = 4 AND name = ?3`, account, int64(env), person)
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *Tx) setClaim(h *HumanTask, status TaskStatus, claimant int64) error {
	err := t.change("claim or release a human task", `UPDATE human_task SET status = ?3, claimant = ?4, step = step + 1
 WHERE no = ?1 AND step = ?2 AND ended_ms = 0`, h.No, h.Step, int64(status), claimant)
	if err != nil {
		return err
	}
	t.tasksChanged(h.Account, h.Environment)
	h.Status, h.Claimant = status, claimant
	h.Step++
	return t.c.Send("delete claim", `DELETE FROM human_candidate WHERE task = ?1 AND kind = 4`, h.No)
}

// ReassignTask says anew who may answer a task, with those that have reassigned it, and takes back its claim. Its step
// must be that of h. ErrConflict: the task has changed meanwhile, or has ended.
func (t *Tx) ReassignTask(h *HumanTask, assignees TaskAssignees, reassigners string, candidates []TaskCandidate) error {
	err := t.change("reassign a human task", `UPDATE human_task SET status = 1, claimant = 0, assignees = ?3, reassigners = ?4, step = step + 1
 WHERE no = ?1 AND step = ?2 AND ended_ms = 0`, h.No, h.Step, assigneesArg(assignees), textArg(reassigners))
	if err != nil {
		return err
	}
	t.tasksChanged(h.Account, h.Environment)
	h.Status, h.Claimant, h.Assignees, h.Reassigners = TaskOpen, 0, assignees, reassigners
	h.Step++
	if err := t.dropCandidates(h.No); err != nil {
		return err
	}
	return t.insertCandidates(h, candidates)
}

// AnswerTask ends a task with its answer, whose blob must have been reserved: compare-and-set on open and claimed. Its
// step must be that of h. used says that the execution takes the answer in the same transaction. ErrConflict: the task
// has changed meanwhile, or has ended; nothing was written.
func (t *Tx) AnswerTask(h *HumanTask, answerer int64, answer Payload, endedMs int64, used bool) error {
	err := t.change("answer a human task", `UPDATE human_task SET status = 3, answerer = ?3, ended_ms = ?4, used = ?5, step = step + 1,
 answer = ?6, answer_blob = ?7, answer_size = ?8, bytes = bytes + ?9 WHERE no = ?1 AND step = ?2 AND ended_ms = 0`,
		h.No, h.Step, answerer, endedMs, flagArg(used), t.seal(kindTaskAnswer, idKey(h.ID), answer.Inline), t.hide(answer.Blob), sizeArg(answer), answer.Size)
	if err != nil {
		return err
	}
	t.countUsage(h.Account, h.Environment, h.Owner, Usage{Bytes: answer.Size})
	h.Status, h.Answerer, h.Answer, h.EndedMs, h.Used = TaskAnswered, answerer, answer, endedMs, used
	h.Step++
	if err := t.refBlob(answer.Blob); err != nil {
		return err
	}
	return t.taskEnded(h, FactTaskAnswered, endedMs)
}

// taskEnded removes what an open task has beside its row, and notes how it ended. Its times go first: what was noted of
// them in another transaction comes before the end then.
func (t *Tx) taskEnded(h *HumanTask, how FactKind, endedMs int64) error {
	if err := t.dropCandidates(h.No); err != nil {
		return err
	}
	if err := t.c.Send("delete times of a human task", `DELETE FROM human_time WHERE task = ?1`, h.No); err != nil {
		return err
	}
	if err := t.dropDrafts(h, `DELETE FROM human_draft WHERE task = ?1`, h.No); err != nil {
		return err
	}
	if err := t.endLinks(h.No); err != nil {
		return err
	}
	return t.noteTask(h, how, endedMs)
}

// withdrawn runs an UPDATE that withdraws tasks, and notes the end of each.
func (t *Tx) withdrawn(query string, endedMs int64, args ...any) (ended int, err error) {
	var tasks []HumanTask
	err = t.c.Query(query+` RETURNING no, account, environment`, func(r Row) error {
		tasks = append(tasks, HumanTask{No: r.Int(0), Account: r.Int(1), Environment: chargehand.Environment(r.Int(2))})
		return nil
	}, args...)
	for i := 0; i < len(tasks) && err == nil; i++ {
		err = t.taskEnded(&tasks[i], FactTaskWithdrawn, endedMs)
	}
	if err != nil {
		return 0, fmt.Errorf("withdraw human tasks: %w", err)
	}
	return len(tasks), nil
}

func (t *Tx) dropCandidates(task int64) error {
	return t.c.Send("delete candidates", `DELETE FROM human_candidate WHERE task = ?1`, task)
}

// WithdrawTask ends the task of a command without an answer: compare-and-set on open and claimed. If it was answered
// before, its answer counts as not used. It returns the status of the task then; 0: there is no such task.
func (t *Tx) WithdrawTask(execution int64, command uint64, why uint8, endedMs int64) (TaskStatus, error) {
	ended, err := t.withdrawn(`UPDATE human_task SET status = 4, why = ?3, ended_ms = ?4, claimant = 0, step = step + 1
 WHERE execution = ?1 AND command = ?2 AND status < 3`, endedMs, execution, int64(command), int64(why), endedMs)
	if err != nil {
		return 0, err
	}
	if ended > 0 {
		return TaskWithdrawn, nil
	}
	var status TaskStatus
	err = t.c.Query(`UPDATE human_task SET used = 0 WHERE execution = ?1 AND command = ?2 RETURNING status`, func(r Row) error {
		status = TaskStatus(r.Int(0))
		return nil
	}, execution, int64(command))
	if err != nil {
		return 0, fmt.Errorf("withdraw an answered task: %w", err)
	}
	return status, nil
}

// UseAnswer reads the task of a command of an execution, and notes that its answer, if there is one, is used. Errors:
// ErrNotFound.
func (t *Tx) UseAnswer(execution int64, command uint64) (HumanTask, error) {
	err := t.c.Send("use an answer", `UPDATE human_task SET used = 1 WHERE execution = ?1 AND command = ?2 AND status = 3 AND used = 0`, execution, int64(command))
	if err != nil {
		return HumanTask{}, err
	}
	return t.humanTask(` WHERE h.execution = ?1 AND h.command = ?2`, execution, int64(command))
}

// withdrawal is why the end of an execution withdraws its tasks (machine.Withdrawal).
func withdrawal(phase chargehand.Phase) uint8 {
	const cancelled, ended = 2, 5
	if phase == chargehand.Cancelled {
		return cancelled
	}
	return ended
}

// withdrawTasks ends the tasks of an execution that ends.
func (t *Tx) withdrawTasks(execution int64, why uint8, endedMs int64) error {
	_, err := t.withdrawn(`UPDATE human_task SET status = 4, why = ?2, ended_ms = ?3, claimant = 0, step = step + 1
 WHERE execution = ?1 AND status < 3`, endedMs, execution, int64(why), endedMs)
	return err
}

// listArg is a list of numbers as JSON; an empty one is NULL.
func listArg(list []int) any {
	if len(list) == 0 {
		return nil
	}
	return jsonText(list)
}

func assigneesArg(a TaskAssignees) any {
	if len(a.Users)+len(a.Groups)+len(a.Exclude) == 0 {
		return nil
	}
	return jsonText(a)
}

func jsonText(v any) string {
	data, err := json.Marshal(v)
	if err != nil { // texts and numbers always have JSON
		panic(err)
	}
	return string(data)
}
