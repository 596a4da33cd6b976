package temporal

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/chargehand/chargehand/internal/background"
)

// TestWorkerCountIsLogged: a node without a worker logs once that no other node has one either, and once that this
// is over.
func TestWorkerCountIsLogged(t *testing.T) {
	type answer struct {
		workers int
		err     error
	}
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		answers := make(chan answer)
		c := newWorkerCount(func(ctx context.Context) (int, error) {
			select {
			case a := <-answers:
				return a.workers, a.err
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}, slog.New(slog.NewTextHandler(&log, nil)))
		services := background.NewGroup()
		services.Start("worker count", c.run)
		for i, step := range []struct {
			answer
			want        int64
			warns, ends int // in the log so far
		}{
			{answer{0, errDown}, -1, 0, 0},
			{answer{0, nil}, 0, 0, 0}, // it may be about to come
			{answer{0, nil}, 0, 1, 0},
			{answer{0, nil}, 0, 1, 0},
			{answer{0, errDown}, -1, 1, 0},
			{answer{2, nil}, 2, 1, 1},
			{answer{2, nil}, 2, 1, 1},
			{answer{0, nil}, 0, 1, 1},
		} {
			answers <- step.answer
			synctest.Wait()
			warns, ends := strings.Count(log.String(), "level=WARN"), strings.Count(log.String(), "level=INFO")
			if got := c.workers.Load(); got != step.want || warns != step.warns || ends != step.ends {
				t.Errorf("step %d: %d workers, want %d; the log says\n%s", i, got, step.want, log.String())
			}
		}
		if err := services.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestWorkersAreCounted asks a real server, which remembers for 10 s what it has answered.
func TestWorkersAreCounted(t *testing.T) {
	t.Parallel()
	for want, b := range []*serverFixture{newIdleServerFixture(t), newServerFixture(t, defaultLimits())} {
		if want > 0 { // it has asked for work once it has had some
			b.end(b.begin(compile(t, "do: [{a: {set: '${ 1 }'}}]"), 0, echo))
		}
		if n, err := b.remote.workers(t.Context()); err != nil || n != want {
			t.Errorf("%d workers are counted, want %d (%v)", n, want, err)
		}
	}
}
