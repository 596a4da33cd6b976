package blackbox_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/servertest"
)

const streamed = `document: {dsl: '1.0.3', namespace: stream, name: long, version: '1.0.0'}
do:
  - each:
      for: {each: n, in: '${ [range(60)] }'}
      do:
        - rest: {wait: {milliseconds: 30}}
        - note: {set: {n: '${ $n }'}}
`

// TestStreamsGoOnAfterKills kills the server again and again while executions are followed: the events have every
// start and end of a task once and in order, and they are those of the timeline.
func TestStreamsGoOnAfterKills(t *testing.T) {
	t.Parallel()
	options := servertest.Options{DataDir: t.TempDir()}
	server := servertest.Start(t, options)
	key := server.Key
	options.Listen = strings.TrimPrefix(server.URL, "http://")
	api := client.New(server.URL, key)
	workflow := server.Apply(t, streamed)
	var readers sync.WaitGroup
	for range 6 {
		e, err := api.Start(t.Context(), workflow, nil, client.StartOptions{})
		if err != nil {
			t.Fatal(err)
		}
		readers.Go(func() { followToTheEnd(t, api, e) })
	}
	ended := make(chan struct{})
	go func() { readers.Wait(); close(ended) }()
	kills := 0
	for over := false; !over; {
		select {
		case <-ended:
			over = true
		// Random moments are what is tested. The first one comes long before an execution can have waited 60 times.
		case <-time.After(time.Duration(300+rand.IntN(400+1100*min(kills, 1))) * time.Millisecond):
			if kills < 4 {
				server.Kill()
				server = servertest.Launch(t, options)
				kills++
			}
		}
	}
	if kills == 0 {
		t.Error("everything has ended before the first kill")
	}
}

// followToTheEnd follows one execution, whatever happens to the server.
func followToTheEnd(t *testing.T, api *client.Client, e *client.Execution) {
	var last int64
	open := map[int]bool{} // tasks by their number
	started := 0
	state := ""
	deadline, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for {
		err := api.FollowExecution(deadline, e.WorkflowID, e.ID, last, func(event client.StreamEvent) error {
			switch {
			case event.Execution != nil:
				state = event.Execution.Status
			case event.Gap != nil:
				t.Errorf("execution %s has the gap %+v", e.ID, *event.Gap)
			case event.Task.Seq != last+1:
				t.Errorf("execution %s: event %d comes after %d", e.ID, event.Task.Seq, last)
			case event.Task.Ended == !open[event.Task.TaskSeq]:
				t.Errorf("execution %s: event %d of task %d, ended: %v", e.ID, event.Task.Seq, event.Task.TaskSeq, event.Task.Ended)
			}
			if event.Task != nil {
				last = event.Task.Seq
				if open[event.Task.TaskSeq] = !event.Task.Ended; !event.Task.Ended {
					started++
				}
			}
			return nil
		})
		if err == nil {
			break
		}
		if !errors.Is(err, client.ErrUnreachable) {
			t.Errorf("execution %s: %v", e.ID, err)
			return
		}
	}
	entries := 0
	for cursor := ""; ; {
		page, err := api.Timeline(t.Context(), e.WorkflowID, e.ID, client.TimelineFilter{}, 100, cursor)
		if errors.Is(err, client.ErrUnreachable) && deadline.Err() == nil {
			continue
		}
		if err != nil {
			t.Error(err)
			return
		}
		entries += len(page.Data)
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if state != "finished" || started != entries || last != int64(2*entries) || entries != 121 {
		t.Errorf("execution %s is %s: %d tasks have started in %d events, and %d are in its timeline", e.ID, state, started, last, entries)
	}
}
