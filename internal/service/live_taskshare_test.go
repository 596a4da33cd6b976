package service

import (
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// taskReadings are topics of human tasks that are read by a test alone, at times that it says.
type taskReadings struct {
	*live
	now   time.Time
	costs map[int64]time.Duration // of a reading, by account
}

func newTaskReadings() *taskReadings {
	h := &taskReadings{
		live: &live{topics: map[Topic]*topic{}}, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), costs: map[int64]time.Duration{},
	}
	h.taskTopics.init()
	h.taskTopics.checkedAt = h.now.Add(time.Hour)
	return h
}

// comes makes a topic of an account, for a reader that has just come.
func (h *taskReadings) comes(account int64, id byte) *topic {
	scope := store.TaskScope{Account: account, Environment: chargehand.Live}
	t := &topic{followed: followed{Topic: Topic{Kind: TopicTasks, ID: [16]byte{byte(account), id}}}, due: true, mine: &mine{scope: scope, asked: true}}
	h.topics[t.Topic], h.taskTopics.changes[scope] = t, 0
	return t
}

// read reads the topic that is next; nil: none may be read yet.
func (h *taskReadings) read() *topic {
	found, _, _ := h.dueTaskTopic(h.now)
	if found != nil {
		asked, began := h.taskTopics.begin(found), h.now
		h.now = began.Add(h.costs[found.mine.scope.Account])
		h.taskTopics.end(found, asked, began, h.now)
	}
	return found
}

// TestTaskTopicsRoundRobin: an account whose readers come again and again, and whose tasks take long to read, keeps the
// readers of another one waiting for one reading at most, be these new or not.
func TestTaskTopicsRoundRobin(t *testing.T) {
	h := newTaskReadings()
	waiting := h.comes(2, 1)
	h.read()
	h.costs[1], h.costs[2] = 10*time.Second, time.Millisecond
	for i := range byte(100) {
		for id := range byte(5) { // all streams of the account are opened anew: nothing is left of what it has had
			delete(h.topics, Topic{Kind: TopicTasks, ID: [16]byte{1, id}})
		}
		h.dueTaskTopic(h.now)
		for id := range byte(5) {
			h.comes(1, id)
		}
		h.now = h.now.Add(liveGap)
		if waiting.due = true; i%2 == 1 {
			waiting.mine.asked = true
		}
		if first, second := h.read(), h.read(); first != waiting && second != waiting {
			t.Fatalf("round %d: two readings went by", i)
		}
	}
}

// TestTaskTopicsRestByThemselves: readings that take long have their own account rest, so that three quarters of the
// time are free, and no other.
func TestTaskTopicsRestByThemselves(t *testing.T) {
	h := newTaskReadings()
	slow, quick := h.comes(1, 1), h.comes(2, 1)
	h.read()
	h.read()
	h.costs[1] = 10 * time.Second
	h.now = h.now.Add(time.Second)
	if slow.due = true; h.read() != slow {
		t.Fatal("the only topic was not read")
	}
	h.now = h.now.Add(liveGap)
	if slow.due, quick.due = true, true; h.read() != quick {
		t.Fatal("the topic of another account waits")
	}
	h.now = h.now.Add(29 * time.Second)
	if h.read() != nil {
		t.Error("read again before its rest is over")
	}
	h.now = h.now.Add(time.Second)
	if h.read() != slow {
		t.Error("not read after its rest")
	}
	// While two accounts have something to be read, each has half of the quarter.
	h.costs[2] = time.Second
	if slow.due, quick.due = true, true; h.read() != quick {
		t.Fatal("the topic of another account waits")
	}
	slow.due, quick.due = false, true
	h.now = h.now.Add(6 * time.Second)
	if h.read() != nil {
		t.Error("read again before its rest is over, beside another account")
	}
	h.now = h.now.Add(time.Second)
	if h.read() != quick {
		t.Error("not read after its rest, beside another account")
	}
}

// TestTaskTopicsOfOneAccount: a reader that comes again and again keeps the others of its account from no news.
func TestTaskTopicsOfOneAccount(t *testing.T) {
	h := newTaskReadings()
	waiting := h.comes(1, 1)
	h.read()
	h.costs[1] = time.Second
	for range 20 {
		h.now = h.now.Add(liveGap)
		waiting.due = true
		h.dueTaskTopic(h.now) // as the loop does
		rest := h.taskTopics.of(waiting).rest
		reads := 0
		for h.now = h.now.Add(max(0, rest.Sub(h.now))); waiting.due; reads++ {
			h.comes(1, 2)
			h.read()
		}
		if reads > 2 {
			t.Fatalf("%d readings for one that comes again and again", reads)
		}
	}
}
