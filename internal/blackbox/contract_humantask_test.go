package blackbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/client"
)

const asks = `document: {dsl: '1.0.3', namespace: people, name: ask, version: '1.0.0'}
do:
  - ask:
      call: human:1.0.0@default
      with: {title: Look at it, outcomes: [fine, wrong]}
  - end: {set: {outcome: '${ .outcome }'}}
`

// taskStream is what a key hears of its human tasks.
type taskStream struct {
	t    *testing.T
	news chan string
	end  chan error
}

func followTasks(ctx context.Context, t *testing.T, api *client.Client, topic bool) *taskStream {
	s := &taskStream{t: t, news: make(chan string, 1000), end: make(chan error, 1)}
	has := map[string]client.HumanTask{}
	handle := func(e client.StreamEvent) error {
		for _, task := range e.Tasks.Changed {
			has[task.ID] = task
		}
		for _, id := range e.Tasks.Removed {
			delete(has, id)
		}
		var list []string
		for _, task := range has {
			list = append(list, task.Title+" "+task.Status)
		}
		slices.Sort(list)
		s.news <- fmt.Sprintf("%d: %s", e.Tasks.Counts.Unassigned.Count, strings.Join(list, ", "))
		return nil
	}
	go func() {
		if topic {
			s.end <- api.Follow(ctx, []string{"tasks:mine"}, handle)
		} else {
			s.end <- api.FollowHumanTasks(ctx, handle)
		}
	}()
	return s
}

// until waits for a state; those before it may be any.
func (s *taskStream) until(want string) {
	s.t.Helper()
	for got, deadline := "", time.After(time.Minute); got != want; {
		select {
		case got = <-s.news:
		case err := <-s.end:
			s.t.Fatalf("the stream has ended after %q, before %q: %v", got, want, err)
		case <-deadline:
			s.t.Fatalf("the last state is %q, want %q", got, want)
		}
	}
}

// TestContractTaskStream: who may answer human tasks hears of those that are opened, claimed and answered, also by
// others, until its key is revoked.
func TestContractTaskStream(t *testing.T) {
	t.Parallel()
	s := start(t)
	admin := client.New(s.URL, s.Key)
	workflow := s.Apply(t, asks)
	key, err := admin.CreateKey(t.Context(), client.NewKey{Name: "reader", Scopes: []string{"tasks:read", "executions:read"}})
	if err != nil {
		t.Fatal(err)
	}
	own, topics := followTasks(t.Context(), t, client.New(s.URL, key.Key), false), followTasks(t.Context(), t, client.New(s.URL, key.Key), true)
	both := func(want string) {
		t.Helper()
		own.until(want)
		topics.until(want)
	}
	both("0: ")
	e, err := admin.Start(t.Context(), workflow, nil, client.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	both("1: Look at it open")
	page, err := admin.ListHumanTasks(t.Context(), client.HumanTaskFilter{}, 10, "")
	if err != nil || len(page.Data) != 1 {
		t.Fatalf("tasks: %+v, %v", page, err)
	}
	id := page.Data[0].ID
	if _, err := admin.ClaimHumanTask(t.Context(), id, false); err != nil {
		t.Fatal(err)
	}
	both("1: Look at it claimed")
	if _, err := admin.AnswerHumanTask(t.Context(), id, client.HumanTaskAnswer{Outcome: "fine"}); err != nil {
		t.Fatal(err)
	}
	both("0: ")
	// A wait ends where a person is awaited: on Temporal the execution hears of the answer a moment after the stream.
	until(t, time.Minute, "the execution has ended", func() bool {
		done, err := admin.GetExecution(t.Context(), workflow, e.ID, 0)
		return err == nil && done.Status == "finished"
	})
	if err := admin.RevokeKey(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	for _, stream := range []*taskStream{own, topics} {
		var end *client.StreamEnd
		select {
		case err := <-stream.end:
			if !errors.As(err, &end) || end.Reason != "revoked" {
				t.Errorf("the stream has ended with %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("the stream has not ended with its key")
		}
	}
}
