package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// followTasks follows the human tasks of a principal. News are joined until they say what is wanted.
func (fx *humanFixture) followTasks(p *Principal) *taskStream {
	r := &taskStream{t: fx.t, states: make(chan string, 1000), has: map[chargehand.HumanTaskID]HumanTask{}}
	r.reader = fx.follows(fx.t.(*testing.T), func(ctx context.Context, send func([]StreamEvent) error) error {
		return fx.Follow(ctx, p, []Topic{MyTasks}, view, func(events []StreamEvent) error {
			for _, e := range events {
				for _, t := range e.Tasks.Changed {
					r.has[t.ID] = t
				}
				for _, id := range e.Tasks.Removed {
					if _, there := r.has[id]; !there {
						r.states <- "removed what was not there"
					}
					delete(r.has, id)
				}
				var titles []string
				for _, t := range r.has {
					title := t.Title
					if t.Status == "claimed" {
						title += " claimed by " + t.ClaimedBy.Name
					}
					titles = append(titles, title)
				}
				slices.Sort(titles)
				c := e.Tasks.Counts
				r.states <- fmt.Sprintf("%d+%d+%d of %d, %d late: %s", c.Mine.Count, c.Groups.Count, c.Unassigned.Count, c.All.Count, c.Overdue.Count, strings.Join(titles, ", "))
			}
			return nil
		})
	})
	return r
}

type taskStream struct {
	*reader
	t      testing.TB
	states chan string
	has    map[chargehand.HumanTaskID]HumanTask // belongs to the stream
}

// until waits for a state. Those before it may be any.
func (r *taskStream) until(want string) {
	r.t.Helper()
	var got string
	for {
		select {
		case got = <-r.states:
			if got == want {
				return
			}
		case <-time.After(time.Minute):
			r.t.Fatalf("got %q, want %q", got, want)
		}
	}
}

// TestFollowHumanTasks: who follows its tasks hears of each change of one that it sees, made by whatever part of this
// process or by another one, and of no other.
func TestFollowHumanTasks(t *testing.T) {
	fx := newHumanFixture(t)
	ada, ben := fx.member("ada", store.Grant{Role: "participant"}), fx.member("ben", store.Grant{Role: "operator"})
	fx.join("Finance", ada)
	group := store.Group{ID: newID[chargehand.GroupID](fx.nowMs()), Account: fx.account.No, Name: "Sales", NameKey: "sales", CreatedMs: fx.nowMs()}
	if err := fx.rows.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertGroup(&group) }); err != nil {
		t.Fatal(err)
	}
	own := fx.open(map[string]any{"title": "own", "due": "PT1H", "assignees": people([]any{ada.Person.Email}, nil, nil)})
	a, b := fx.session(fx.signIn(ada), chargehand.Live), fx.session(fx.signIn(ben), chargehand.Live)
	hers, his := fx.followTasks(a), fx.followTasks(b)
	hers.until("1+0+0 of 1, 0 late: own")
	his.until("0+0+0 of 1, 0 late: ")

	shared := fx.open(map[string]any{"title": "shared", "assignees": people(nil, []any{"finance"}, nil)})
	hers.until("1+1+0 of 2, 0 late: own, shared")
	fx.open(map[string]any{"title": "sold", "assignees": people(nil, []any{"Sales"}, nil)})
	his.until("0+0+0 of 3, 0 late: ")
	free := fx.open(map[string]any{"title": "free"})
	hers.until("1+1+1 of 3, 0 late: free, own, shared")
	his.until("0+0+1 of 4, 0 late: free")
	if _, err := fx.ClaimHumanTask(t.Context(), b, free, nil); err != nil {
		t.Fatal(err)
	}
	hers.until("1+1+1 of 3, 0 late: free claimed by ben, own, shared")
	his.until("1+0+1 of 4, 0 late: free claimed by ben")

	// What decides in whose list a task is, beside the task.
	if err := fx.rows.Update(t.Context(), func(tx *store.Tx) error { return tx.JoinGroup(&group, ada.Person.No) }); err != nil {
		t.Fatal(err)
	}
	hers.until("1+2+1 of 4, 0 late: free claimed by ben, own, shared, sold")
	if err := fx.rows.Update(t.Context(), func(tx *store.Tx) error { return tx.LeaveGroup(group.No, ada.Person.No) }); err != nil {
		t.Fatal(err)
	}
	hers.until("1+1+1 of 3, 0 late: free claimed by ben, own, shared")
	if _, err := fx.ReassignHumanTask(t.Context(), b, shared, map[string]any{"users": []any{ben.Person.Email}}); err != nil {
		t.Fatal(err)
	}
	hers.until("1+0+1 of 2, 0 late: free claimed by ben, own")
	his.until("2+0+1 of 4, 0 late: free claimed by ben, shared")
	fx.pass(2 * time.Hour)
	err := fx.rows.Update(t.Context(), func(tx *store.Tx) error {
		due, err := tx.TaskTimesDue(chargehand.Live, fx.nowMs(), 9)
		if err != nil || len(due) != 1 {
			return errors.Join(err, fmt.Errorf("%d times are due", len(due)))
		}
		_, err = tx.TakeTaskTimes(due[0].Task, due[0].Kind, fx.nowMs())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	hers.until("1+0+1 of 2, 1 late: free claimed by ben, own")

	// Ends.
	if err := fx.answer(a, own, map[string]any{}); err != nil {
		t.Fatal(err)
	}
	hers.until("0+0+1 of 1, 0 late: free claimed by ben")
	err = fx.rows.Update(t.Context(), func(tx *store.Tx) error {
		row, err := tx.FindExecution(fx.e.ID)
		if err == nil {
			_, err = engine.WithdrawTask(tx, row.No, 4, machine.WithdrawnTimeout, fx.nowMs())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	hers.until("0+0+0 of 0, 0 late: ")
	his.until("1+0+0 of 2, 0 late: shared")

	// Another process.
	other := humanFixture{fixture: fx.node(nil), e: fx.e, command: fx.command}
	other.open(map[string]any{"title": "elsewhere"})
	hers.until("0+0+1 of 1, 0 late: elsewhere")
}

// TestFollowManyHumanTasks: of many tasks, those the stream has those that are due first.
func TestFollowManyHumanTasks(t *testing.T) {
	fx := newHumanFixture(t)
	for range MaxFollowedTasks {
		fx.open(map[string]any{"title": "x", "due": "PT1H"})
	}
	r := fx.followTasks(fx.p)
	r.until(fmt.Sprintf("0+0+%[1]d of %[1]d, 0 late: x%[2]s", MaxFollowedTasks, strings.Repeat(", x", MaxFollowedTasks-1)))
	fx.open(map[string]any{"title": "late", "due": "PT2H"})
	r.until(fmt.Sprintf("0+0+%[1]d of %[1]d, 0 late: x%[2]s", MaxFollowedTasks+1, strings.Repeat(", x", MaxFollowedTasks-1)))
	fx.open(map[string]any{"title": "soon", "due": "PT1M"})
	r.until(fmt.Sprintf("0+0+%[1]d of %[1]d, 0 late: soon%[2]s", MaxFollowedTasks+2, strings.Repeat(", x", MaxFollowedTasks-1)))
}

// TestFollowHumanTasksEnds: only who may read tasks follows them, and only as long as that is so.
func TestFollowHumanTasksEnds(t *testing.T) {
	fx := newHumanFixture(t)
	wantCode(t, fx.Follow(t.Context(), fx.principal(chargehand.Live, ScopeExecutionsRead), []Topic{MyTasks}, view, nil), chargehand.CodeInsufficientScope)
	m := fx.member("ada", store.Grant{Role: "participant"})
	p := fx.session(fx.signIn(m), chargehand.Live)
	fx.open(map[string]any{"title": "free"})
	r := fx.followTasks(p)
	r.until("0+0+1 of 1, 0 late: free")
	elsewhere := fx.followTasks(fx.test)
	elsewhere.until("0+0+0 of 0, 0 late: ")
	stranger := fx.followTasks(fx.stranger())
	stranger.until("0+0+0 of 0, 0 late: ")
	fx.give(m, store.Grant{Role: "viewer"})
	r.wantEnd(EndRevoked)
	r = fx.followTasks(fx.session(fx.signIn(m), chargehand.Live))
	r.until("0+0+1 of 1, 0 late: free")
	if err := fx.rows.Update(t.Context(), func(tx *store.Tx) error { return tx.DeleteMember(fx.account.No, m.Person.No) }); err != nil {
		t.Fatal(err)
	}
	r.wantEnd(EndRevoked)
	if len(elsewhere.states)+len(stranger.states) > 0 {
		t.Error("changes in another environment or account came")
	}
}

// TestFollowHumanTasksReadsLittle: readers of one person are read for together, and nothing is read while nothing
// changes, but for one question for all.
func TestFollowHumanTasksReadsLittle(t *testing.T) {
	fx := newHumanFixture(t)
	one := fx.followTasks(fx.p)
	one.until("0+0+0 of 0, 0 late: ")
	var more []*taskStream
	for range 5 {
		more = append(more, fx.followTasks(fx.p))
	}
	for _, r := range more {
		r.until("0+0+0 of 0, 0 late: ")
	}
	before := fx.db.views.Load()
	fx.open(map[string]any{"title": "free"})
	for _, r := range append(more, one) {
		r.until("0+0+1 of 1, 0 late: free")
	}
	// Of the change there are a question and a reading, and once a second there is a question.
	if n := fx.db.views.Load() - before; n > 6 {
		t.Errorf("%d views for a change and 6 readers", n)
	}
	fx.live.mu.Lock()
	defer fx.live.mu.Unlock()
	if len(fx.live.topics) != 1 {
		t.Errorf("%d topics", len(fx.live.topics))
	}
}

// TestFollowHumanTasksByRights: whether an answer would be refused changes without the task.
func TestFollowHumanTasksByRights(t *testing.T) {
	fx := newHumanFixture(t)
	ada := fx.member("ada", store.Grant{Role: "operator"})
	p := fx.session(fx.signIn(ada), chargehand.Live)
	fx.open(map[string]any{"title": "free", "assignees": people(nil, nil, []any{ada.Person.Email})})
	var states [2]*taskState
	for i, scopes := range []*Principal{p, fx.p} {
		err := fx.view(t.Context(), func(r *store.Reader) (err error) {
			states[i], err = fx.tasksFor(r, scopes, states[0], uint64(i+1))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	a, b := states[0].tasks[0], states[1].tasks[0]
	if a.Refused != chargehand.CodeExcluded || b.Refused != chargehand.CodeNotAssigned || a.round != 1 || b.round != 2 || states[1].equal(states[0]) {
		t.Errorf("refused %s in %d, then %s in %d", a.Refused, a.round, b.Refused, b.round)
	}
}
