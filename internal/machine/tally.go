package machine

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/chargehand/chargehand"
)

// Tally counts the entries of a timeline by their task: what a progress report needs of entries that are
// no longer read, because there are many, or no longer there.
type Tally struct {
	tasks map[int]*TaskTally // by the number of the task
}

// TaskTally counts the entries of one task. The zero value has none.
type TaskTally struct {
	Number                                                   int // of the task
	Pending, Running, Waiting, Cancelled, Faulted, Completed int
	FirstFaulted                                             int // the least Seq of a faulted entry; 0: none
	Last                                                     int // the greatest Seq
	LastPhase                                                chargehand.Phase
	Attempts                                                 int   // the greatest Attempt
	MinMs, MaxMs, SumMs                                      int64 // from start to end, of those that have ended
}

// Ended is how many of the entries have ended.
func (t *TaskTally) Ended() int { return t.Cancelled + t.Faulted + t.Completed }

// Empty reports whether nothing was counted.
func (t *Tally) Empty() bool { return len(t.tasks) == 0 }

// Tasks are the counts of the tasks that have any, in the order of the definition.
func (t *Tally) Tasks() []TaskTally {
	list := make([]TaskTally, 0, len(t.tasks))
	for _, number := range slices.Sorted(maps.Keys(t.tasks)) {
		list = append(list, *t.tasks[number])
	}
	return list
}

// Count is the tally of t and of records. t stays as it is.
func (t *Tally) Count(records []Record) Tally {
	sum := Tally{tasks: make(map[int]*TaskTally, len(t.tasks))}
	//workflowcheck:ignore copies into a map
	for number, task := range t.tasks {
		copied := *task
		sum.tasks[number] = &copied
	}
	for i := range records {
		sum.count(&records[i].Entry)
	}
	return sum
}

// add counts an entry if it has ended.
func (t *Tally) add(e *Entry) {
	if e.Ended() {
		t.count(e)
	}
}

func (t *Tally) count(e *Entry) {
	task := t.tasks[e.task.Number]
	if task == nil {
		if t.tasks == nil {
			t.tasks = map[int]*TaskTally{}
		}
		task = &TaskTally{Number: e.task.Number, MinMs: math.MaxInt64}
		t.tasks[e.task.Number] = task
	}
	if e.Seq > task.Last {
		task.Last, task.LastPhase = e.Seq, e.Phase
	}
	task.Attempts = max(task.Attempts, e.Attempt)
	switch e.Phase {
	case chargehand.Running:
		task.Running++
	case chargehand.Waiting:
		task.Waiting++
	case chargehand.Cancelled:
		task.Cancelled++
	case chargehand.Faulted:
		task.Faulted++
		if task.FirstFaulted == 0 || e.Seq < task.FirstFaulted {
			task.FirstFaulted = e.Seq
		}
	case chargehand.Completed:
		task.Completed++
	default:
		task.Pending++
	}
	if !e.Ended() {
		return
	}
	took := max(0, e.EndedMs-e.StartedMs)
	task.MinMs, task.MaxMs = min(task.MinMs, took), max(task.MaxMs, took)
	task.SumMs += took
}

// tallyNumbers is the stored form of a TaskTally.
type tallyNumbers [11]int64

// numbers are the counts of ended entries, as they are stored.
func (t *TaskTally) numbers() tallyNumbers {
	return [...]int64{
		int64(t.Number), int64(t.Cancelled), int64(t.Faulted), int64(t.Completed), int64(t.FirstFaulted), int64(t.Last), int64(t.LastPhase),
		int64(t.Attempts), t.MinMs, t.MaxMs, t.SumMs,
	}
}

// put is the inverse of numbers. It reports whether they may be counts of one of so many tasks.
func (t *Tally) put(n tallyNumbers, tasks int) bool {
	for _, v := range n {
		if v < 0 {
			return false
		}
	}
	if n[0] >= int64(tasks) || t.tasks[int(n[0])] != nil || n[1]+n[2]+n[3] < 1 || n[6] > int64(chargehand.Completed) {
		return false
	}
	if t.tasks == nil {
		t.tasks = map[int]*TaskTally{}
	}
	t.tasks[int(n[0])] = &TaskTally{
		Number: int(n[0]), Cancelled: int(n[1]), Faulted: int(n[2]), Completed: int(n[3]), FirstFaulted: int(n[4]), Last: int(n[5]),
		LastPhase: chargehand.Phase(n[6]), Attempts: int(n[7]), MinMs: n[8], MaxMs: n[9], SumMs: n[10],
	}
	return true
}

func (t *Tally) append(dst []byte) []byte {
	tasks := t.Tasks()
	dst = binary.AppendUvarint(dst, uint64(len(tasks)))
	for i := range tasks {
		for _, n := range tasks[i].numbers() {
			dst = binary.AppendUvarint(dst, uint64(n))
		}
	}
	return dst
}

func (r *timelineReader) tally() (t Tally) {
	for range r.number(len(r.plan.Tasks)) {
		var n tallyNumbers
		for i := range n {
			n[i] = int64(r.uvarint())
		}
		if !t.put(n, len(r.plan.Tasks)) {
			r.fail()
			return Tally{}
		}
	}
	return t
}

// tally writes the counts of each task as a list of numbers.
func (w *checkpointWriter) tally(t *Tally) {
	tasks := t.Tasks()
	w.list("tally", len(tasks), func(i int) {
		w.open('[')
		for _, n := range tasks[i].numbers() {
			w.plainInteger(int(n))
		}
		w.close(']')
	})
}

func (r *restorer) tally(m *Machine, top object) {
	for _, v := range top.list("tally") {
		var n tallyNumbers
		list, _ := v.([]any)
		for i := range min(len(list), len(n)) {
			one, ok := list[i].(int)
			n[i] = int64(one)
			*r.bad = *r.bad || !ok
		}
		if len(list) != len(n) || !m.trace.tally.put(n, len(r.plan.Tasks)) {
			*r.bad = true
		}
	}
}
