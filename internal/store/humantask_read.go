package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chargehand/chargehand"
)

const (
	humanTaskColumns = `h.no, h.id, h.account, h.environment, h.workflow, h.execution, h.batch, h.command, h.seq, h.reference, h.iterations,
 h.status, h.why, h.used, h.step, h.priority, h.due_ms, h.created_ms, h.ended_ms, h.claimant, h.answerer, h.title, h.assignees,
 h.reassigners, h.owner`
	humanTaskPayloads = `, h.request, h.request_blob, h.request_size, h.answer, h.answer_blob, h.answer_size`
	humanRequestAt    = 25
)

func (r *Reader) scanHumanTask(rw Row, h *HumanTask) error {
	*h = HumanTask{
		No: rw.Int(0), Account: rw.Int(2), Environment: chargehand.Environment(rw.Int(3)), Workflow: rw.Int(4), Execution: rw.Int(5),
		Batch: rw.Int(6), Command: uint64(rw.Int(7)), Seq: int(rw.Int(8)), Reference: rw.Text(9),
		Status: TaskStatus(rw.Int(11)), Why: uint8(rw.Int(12)), Used: rw.Int(13) != 0, Step: rw.Int(14), Priority: int(rw.Int(15)),
		DueMs: rw.Int(16), CreatedMs: rw.Int(17), EndedMs: rw.Int(18), Claimant: rw.Int(19), Answerer: rw.Int(20),
		Reassigners: rw.Text(23), Owner: rw.Int(24),
	}
	scanID(rw, 1, &h.ID)
	if !rw.Null(10) {
		_ = json.Unmarshal(rw.Bytes(10), &h.Iterations)
	}
	if !rw.Null(22) {
		if err := json.Unmarshal(rw.Bytes(22), &h.Assignees); err != nil { // without them, too many people may answer
			return fmt.Errorf("read the assignees of human task %s: %w", h.ID, err)
		}
	}
	title, err := r.open(kindTaskTitle, idKey(h.ID), rw.Bytes(21))
	h.Title = string(title)
	return err
}

func (r *Reader) humanTask(where string, args ...any) (h HumanTask, err error) {
	var bad error
	err = r.one(`SELECT `+humanTaskColumns+humanTaskPayloads+` FROM human_task h`+where, func(row Row) {
		bad = r.scanHumanTask(row, &h)
		h.Request = r.payload(row, humanRequestAt, kindTaskRequest, idKey(h.ID))
		h.Answer = r.payload(row, humanRequestAt+3, kindTaskAnswer, idKey(h.ID))
	}, args...)
	if bad != nil {
		bad = fmt.Errorf("%w: %w", ErrDamaged, bad)
	}
	if err = cmp.Or(err, bad); err != nil {
		return HumanTask{}, fmt.Errorf("read a human task: %w", err)
	}
	return h, nil
}

// HumanTaskByID reads a task of an account and environment. Errors: ErrNotFound.
func (r *Reader) HumanTaskByID(account int64, env chargehand.Environment, id chargehand.HumanTaskID) (HumanTask, error) {
	return r.humanTask(` WHERE h.id = ?1 AND h.account = ?2 AND h.environment = ?3`, id[:], account, int64(env))
}

// HumanTaskOf reads the task of a command of an execution. Errors: ErrNotFound.
func (r *Reader) HumanTaskOf(execution int64, command uint64) (HumanTask, error) {
	return r.humanTask(` WHERE h.execution = ?1 AND h.command = ?2`, execution, int64(command))
}

// HumanTaskByNo reads a task by its internal number. Errors: ErrNotFound, ErrDamaged.
func (r *Reader) HumanTaskByNo(no int64) (HumanTask, error) {
	return r.humanTask(` WHERE h.no = ?1`, no)
}

// OpenTask is what an execution shows of a task of its that is open or claimed. It does not change as long as it is.
type OpenTask struct {
	ID         chargehand.HumanTaskID
	Title      string
	Reference  string
	Iterations []int
	DueMs      int64 // NeverDue: none

	command int64
}

// OpenTasksOf reads tasks of some executions that are open or claimed: of each the up to limit newest, the oldest of
// these first. It looks at all tasks of an execution that has fewer.
func (r *Reader) OpenTasksOf(executions []int64, limit int) (map[int64][]OpenTask, error) {
	found := make(map[int64][]OpenTask)
	err := inGroups(executions, func(_ string, args []any) error {
		parts := make([]string, len(args))
		for i := range parts { // each with a bound of its own
			parts[i] = fmt.Sprintf(`SELECT h.execution, h.id, h.title, h.reference, h.iterations, h.due_ms, h.command FROM human_task h
 WHERE h.execution = ?%[1]d AND h.status < 3 AND h.command >= COALESCE(
 (SELECT x.command FROM human_task x WHERE x.execution = ?%[1]d AND x.status < 3 ORDER BY x.command DESC LIMIT 1 OFFSET ?%[2]d), 0)`, i+1, len(args)+1)
		}
		return r.c.Query(strings.Join(parts, "\nUNION ALL "), func(row Row) error {
			t := OpenTask{Reference: row.Text(3), DueMs: row.Int(5), command: row.Int(6)}
			scanID(row, 1, &t.ID)
			if !row.Null(4) {
				_ = json.Unmarshal(row.Bytes(4), &t.Iterations)
			}
			title, err := r.open(kindTaskTitle, idKey(t.ID), row.Bytes(2))
			t.Title = string(title)
			found[row.Int(0)] = append(found[row.Int(0)], t)
			return err
		}, append(args, int64(limit-1))...)
	})
	if err != nil {
		return nil, fmt.Errorf("read the open human tasks of executions: %w", err)
	}
	for _, list := range found {
		slices.SortFunc(list, func(a, b OpenTask) int { return cmp.Compare(a.command, b.command) })
	}
	return found, nil
}

// ExecutionName reads what human tasks show of an execution: its id and, if it is an item of a batch, the id of the
// item. Errors: ErrNotFound.
func (r *Reader) ExecutionName(no int64) (id chargehand.ExecutionID, item string, err error) {
	err = r.one(`SELECT id, item_id FROM execution WHERE no = ?1`, func(row Row) {
		scanID(row, 0, &id)
		item = row.Text(1)
	}, no)
	if err != nil {
		return id, "", fmt.Errorf("read the name of an execution: %w", err)
	}
	return id, item, nil
}
