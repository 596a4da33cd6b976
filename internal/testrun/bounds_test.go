package testrun_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/testrun"
)

// streaming is a runner of a stream.
type streaming func(ctx context.Context, c activity.Call) activity.Result

func (s streaming) Run(ctx context.Context, c activity.Call) activity.Result { return s(ctx, c) }

// A real stream that does not end is an error of the test, and not a test without end.
func TestEndlessStream(t *testing.T) {
	const definition = `
do:
  - news:
      call: asyncapi
      with:
        document: {endpoint: 'https://example.org/asyncapi.json'}
        operation: receiveNews
        subscription: {consume: {amount: 2}}
`
	const tests = "tests: [{name: news, mocks: {news: {real: true}}}]"
	forever := func(_ context.Context, c activity.Call) activity.Result {
		for {
			if err := c.Progress(context.Background(), map[string]any{"n": 1}); err != nil {
				return activity.Result{}
			}
		}
	}
	silent := func(ctx context.Context, c activity.Call) activity.Result {
		_ = c.Progress(ctx, 1)
		<-ctx.Done()
		return activity.Result{}
	}
	ends := func(ctx context.Context, c activity.Call) activity.Result {
		_ = errors.Join(c.Progress(ctx, 1), c.Progress(ctx, 2))
		return activity.Result{}
	}
	for name, c := range map[string]struct {
		run  streaming
		want string
	}{
		"too many": {forever, "news error\n  endless line 1: The stream of \"news\" (asyncapi) does not end: more than 10000 messages have come. " +
			"A test takes in a real stream as a whole, when it has ended; play this one by `messages`."},
		"too long": {silent, "news error\n  endless line 1: The stream of \"news\" (asyncapi) does not end: it is still open after 50ms of real time, in which 1 message came. " +
			"A test takes in a real stream as a whole, when it has ended; play this one by `messages`."},
		"it ends": {ends, "news passed"},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, run(t, definition, tests, func(o *testrun.Config, _ files) {
				o.StreamTime = 50 * time.Millisecond
				if name != "too long" {
					o.StreamTime = time.Minute
				}
				o.Real = func(activity.Call) (activity.Runner, error) { return c.run, nil }
			}), c.want)
		})
	}
}

// Snapshots that cannot be read are not taken for none: they would be written anew.
func TestUnreadableSnapshots(t *testing.T) {
	r := run(t, "do: [{a: {set: {x: 1}}}]", "tests: [{name: a, expect: {snapshot: true}}]", func(c *testrun.Config, folder files) {
		c.ReadFile = func(path string) ([]byte, error) {
			if path == "flow.snap.yaml" {
				return nil, errors.New("input/output error")
			}
			return folder.read(path)
		}
	})
	check(t, r, "flow.snap.yaml:1:1 The snapshots cannot be read: input/output error.")
	if r.Files[0].Snapshots != nil {
		t.Error("they would be written")
	}
}

// An outcome counts when the person answers, not when the task is opened.
func TestOutcomeAfterTimeout(t *testing.T) {
	definition := `
do:
  - guard:
      try:
        - ask:
            call: human:1.0.0@default
            with: {title: Approve, outcomes: [approve, reject]}
            timeout: {after: PT1H}
      catch: {errors: {with: {status: 408}}, do: [{late: {set: {late: true}}}]}
`
	for _, c := range []struct {
		after, elapsed string
		want           int
	}{{"PT2H", "PT1H", 0}, {"PT30M", "PT30M", 1}} {
		r := run(t, definition, fmt.Sprintf(
			"tests: [{name: late, mocks: {ask: {after: %s, answers: {outcome: approve}}}, expect: {elapsed: %s}}]", c.after, c.elapsed))
		hits := -1
		for _, task := range r.Coverage[0].Tasks {
			for _, b := range task.Branches {
				if b.Name == "outcome approve" {
					hits = b.Hits
				}
			}
		}
		if r.Counts.Passed != 1 || hits != c.want {
			t.Errorf("answered after %s: %+v, %d hits\n%s", c.after, r.Counts, hits, text(r))
		}
	}
}
