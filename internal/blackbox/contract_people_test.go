package blackbox_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
)

// peopleNumber is how many tasks people race for: full with CHARGEHAND_FULL, fewer on PostgreSQL and still fewer on
// Temporal, where an execution costs more.
func peopleNumber(t *testing.T, few, full int) int {
	switch servertest.Setup(t) {
	case servertest.Postgres:
		return startNumber(few/2, full/20)
	case servertest.Temporal:
		return startNumber(few/3, full/100)
	}
	return startNumber(few, full)
}

// raceMany tries n times, eight at once, and counts how each has ended.
func raceMany(n int, try func(i int) string) map[string]int {
	ends := map[string]int{}
	var mu sync.Mutex
	next := make(chan int)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for i := range next {
				end := try(i)
				mu.Lock()
				ends[end]++
				mu.Unlock()
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
	return ends
}

// TestContractTwoAnswers lets two people answer each of many tasks (5,000 with CHARGEHAND_FULL) at the same time: one
// wins, and the execution has that answer. The other one gets 409, or 200 if it is the same answer of the same person.
func TestContractTwoAnswers(t *testing.T) {
	t.Parallel()
	s := start(t)
	ada, ben := invite(t, s, "ada", "participant"), invite(t, s, "ben", "participant")
	flow := deploy(t, s, "do:\n- ask: "+human("title: Choose, outcomes: [left, right], form: {type: object}")+"\n")
	n := peopleNumber(t, 60, 5_000)
	second := ada.newKey(t, "second")
	ends := raceMany(n, func(i int) string { return answerTwice(t, s, flow, i, ada, ben, second) })
	t.Logf("%d tasks: %v", n, ends)
	if ends["ada"] == 0 || ends["ben"] == 0 || ends["same"] == 0 {
		t.Errorf("some never won: %v", ends)
	}
}

// answerTwice starts an execution, answers its task twice at once, and says who has won.
func answerTwice(t *testing.T, s *server, flow string, i int, ada, ben *colleague, second string) string {
	path, task, err := openedTask(s, flow)
	if err != nil {
		t.Error(err)
		return ""
	}
	type try struct {
		key, by, outcome string
		answer           answer
	}
	tries := []try{{key: ada.key, by: ada.id, outcome: "left"}, {key: ben.key, by: ben.id, outcome: "right"}}
	if same := i%5 == 0; same { // the same person, with another key
		tries[1] = try{key: second, by: ada.id, outcome: "left"}
	}
	if i%2 == 1 {
		tries[0], tries[1] = tries[1], tries[0]
	}
	together(2, func(j int) {
		var err error
		tries[j].answer, err = s.Try("POST", "/human-tasks/"+task+"/answer", fmt.Sprintf(`{"outcome":%q,"data":{"n":%d}}`, tries[j].outcome, i), "X-Api-Key", tries[j].key)
		if err != nil {
			t.Error(err)
		}
	})
	e, err := ended(s, path)
	if err != nil || e["status"] != "finished" {
		t.Errorf("it ends as %v %v", e, err)
		return ""
	}
	output := fields(e["output"])
	winners, end := 0, ""
	for _, try := range tries {
		answered := fields(try.answer.Object()["answer"])
		switch {
		case try.answer.Status == 200:
			winners++
			if end = "ada"; try.by == ben.id {
				end = "ben"
			}
			if output["outcome"] != try.outcome || fields(output["by"])["id"] != try.by || answered["outcome"] != try.outcome || !equal(fields(output["by"])["via"], fields(answered["by"])["via"]) {
				t.Errorf("%s of %s was answered with 200 %s, the execution has %v", try.outcome, try.by, try.answer.Body, output)
			}
		case try.answer.Status != 409 || try.answer.Object()["code"] != "answer_conflict":
			t.Errorf("%s of %s: %d %s", try.outcome, try.by, try.answer.Status, try.answer.Body)
		}
	}
	switch {
	case tries[0].by == tries[1].by && winners == 2:
		return "same"
	case winners != 1:
		t.Errorf("%d answers were accepted: %s and %s", winners, tries[0].answer.Body, tries[1].answer.Body)
	}
	return end
}

// openedTask starts an execution and waits until it asks a person. It returns the path of the execution and the id of
// its task, which may have timed out. It is for goroutines, which must not end the test.
func openedTask(s *server, flow string) (path, task string, err error) {
	made, err := s.Try("POST", executions(flow)+"?wait=60s", `{"input":{}}`)
	if err != nil || made.Status != 201 {
		return "", "", fmt.Errorf("start: %w %d %s", err, made.Status, made.Body)
	}
	id, tasks := text(made.Object()["execution_id"]), list(made.Object()["human_tasks"])
	for asked := 0; len(tasks) == 0 && asked < 5 && text(made.Object()["status"]) == "processing"; asked++ {
		// A busy machine has not opened the task within the wait.
		if made, err = s.Try("GET", executions(flow)+"/"+id+"?wait=60s", ""); err != nil {
			return "", "", err
		}
		tasks = list(made.Object()["human_tasks"])
	}
	if len(tasks) == 0 {
		withdrawn, err := s.Try("GET", "/human-tasks?status=withdrawn&sort=created&execution_id="+id, "")
		if err != nil {
			return "", "", err
		}
		tasks = list(withdrawn.Object()["data"])
	}
	if len(tasks) != 1 {
		return "", "", fmt.Errorf("the tasks are %v: %s", tasks, made.Body)
	}
	return executions(flow) + "/" + id, text(fields(tasks[0])["id"]), nil
}

// TestContractAnswersRace lets answers race with the timeout of their task and with the cancellation of their
// execution, 10,000 times with CHARGEHAND_FULL: task, execution, timeline and what was answered always agree.
func TestContractAnswersRace(t *testing.T) {
	t.Parallel()
	s := start(t)
	seed := uint64(crashNumber(t, "CHARGEHAND_RACE_SEED", int(time.Now().UnixNano()%1_000_000)))
	t.Logf("CHARGEHAND_RACE_SEED=%d", seed)
	flow := func(ms int) string {
		return deploy(t, s, fmt.Sprintf("do:\n- ask: {call: 'human:1.0.0@default', with: {title: Quick, form: {type: object}}, timeout: {after: {milliseconds: %d}}}\n", ms))
	}
	times, reads := []int{2, 5, 15, 40}, 4
	if servertest.Setup(t) == servertest.Temporal { // its timers and steps take longer
		times, reads = []int{50, 200, 500, 2_000}, 60
	}
	quick, lasting := make([]string, len(times)), flow(3_600_000)
	for i, ms := range times {
		quick[i] = flow(ms)
	}
	n := peopleNumber(t, 80, 10_000)
	ends := raceMany(n, func(i int) string {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		raced, cancels := quick[r.IntN(len(quick))], r.IntN(2) == 0
		if cancels && r.IntN(3) > 0 {
			raced = lasting
		}
		return raceAnswer(t, s, raced, cancels, reads, r)
	})
	t.Logf("%d tasks: %v", n, ends)
	if servertest.Setup(t) != servertest.SQLite { // who wins a few slow races depends on how busy the machine is
		return
	}
	for _, end := range []string{"answered", "timeout", "cancelled"} {
		if ends[end] == 0 {
			t.Errorf("none was %s: %v", end, ends)
		}
	}
}

// raceAnswer answers the task of a new execution while it times out or is cancelled, and says how it has ended. One of
// the two comes after up to that many reads, in which some time passes.
func raceAnswer(t *testing.T, s *server, flow string, cancels bool, reads int, r *rand.Rand) string {
	path, task, err := openedTask(s, flow)
	if err != nil {
		t.Error(err)
		return ""
	}
	before, late := r.IntN(reads), r.IntN(2)
	var answered, cancelled answer
	together(2, func(i int) {
		if i == late {
			for range before {
				_, _ = s.Try("GET", path, "")
			}
		}
		var err error
		if i == 0 {
			answered, err = s.Try("POST", "/human-tasks/"+task+"/answer", `{"outcome":"done","data":{"mark":"`+task+`"}}`)
		} else if cancels {
			cancelled, err = s.Try("POST", path+"/cancel", `{"reason":"race"}`)
		}
		if err != nil {
			t.Error(err)
		}
	})
	e, err := ended(s, path)
	timeline, err2 := endedTimeline(s, path)
	// Temporal says whether an answer was used before it stores the timeline, and after the end of the execution.
	row, err3 := s.Try("GET", "/human-tasks/"+task, "")
	if err != nil || err2 != nil || err3 != nil {
		t.Error(err, err2, err3)
		return ""
	}
	return raceEnd(t, e, row.Object(), timeline, answered, cancelled)
}

// endedTimeline reads the timeline of an execution that has ended and had begun. On Temporal, it is stored a moment
// after a cancellation.
func endedTimeline(s *server, path string) ([]any, error) {
	for deadline := time.Now().Add(endTime); ; {
		a, err := s.Try("GET", path+"/timeline", "")
		if entries := list(a.Object()["data"]); err != nil || a.Status != 200 || len(entries) > 0 || time.Now().After(deadline) {
			return entries, err
		}
		time.Sleep(askPause)
	}
}

// raceEnd holds what is stored of an execution with one task against each other.
func raceEnd(t *testing.T, e, task object, timeline []any, answered, cancelled answer) string {
	status, reason := text(task["status"]), text(task["withdrawn_reason"])
	phase, problem := text(e["phase"]), fields(e["error"])
	wrong := func(what string) {
		t.Errorf("%s: the execution is %s with %v, output %v; the task %s %s, answer %v; the timeline %v; answered %d %s, cancelled %d", what, phase, problem, e["output"],
			status, reason, task["answer"], timeline, answered.Status, answered.Body, cancelled.Status)
	}
	accepted := answered.Status == 200
	used := fields(task["answer"])["used"] == true
	if accepted != (status == "answered") || !accepted && (answered.Status != 409 || answered.Object()["code"] != "task_withdrawn") {
		wrong("what was said of the answer is not so")
	}
	entry := object{}
	if len(timeline) != 1 {
		wrong("the timeline has not one entry")
	} else {
		entry = fields(timeline[0])
	}
	if cancelled.Status != 0 && (cancelled.Status == 202) != (phase == "cancelled") {
		wrong("what was said of the cancellation is not so")
	}
	switch {
	case phase == "completed":
		if status != "answered" || !used || text(fields(fields(e["output"])["data"])["mark"]) != text(task["id"]) || entry["phase"] != "completed" {
			wrong("it has completed")
		}
		return "answered"
	case phase == "faulted":
		if status != "withdrawn" || reason != "timeout" || problem["status"] != 408 || entry["phase"] != "faulted" {
			wrong("it has faulted")
		}
		return "timeout"
	case phase == "cancelled" && status == "answered":
		if used != (entry["phase"] == "completed") { // on Temporal, the answer may be taken and then be the last that happens
			wrong("it was cancelled after an answer")
		}
		return "cancelled after an answer"
	case phase == "cancelled":
		if status != "withdrawn" || reason != "cancelled" && reason != "timeout" || entry["phase"] == "completed" {
			wrong("it was cancelled")
		}
		return "cancelled"
	}
	wrong("it has not ended")
	return ""
}
