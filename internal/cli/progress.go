package cli

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/chargehand/chargehand/client"
)

// progress tells how one execution goes: a spinner on a terminal, a line for each change
// elsewhere, and in both the tasks as they end.
type progress struct {
	console
	api    *client.Client
	seen   int // highest seq of a task that was told
	status string
	bars   *mpb.Progress
	bar    *mpb.Bar
	once   sync.Once
}

func newProgress(con console, api *client.Client, e *client.Execution) *progress {
	p := &progress{console: con, api: api}
	if !terminal(con.err) {
		fmt.Fprintf(con.err, "execution %s of workflow %s\n", e.ID, e.WorkflowID)
		return p
	}
	p.bars = mpb.New(mpb.WithOutput(con.err), mpb.WithWidth(1))
	p.bar = p.bars.New(0, mpb.SpinnerStyle(), mpb.BarRemoveOnComplete(),
		mpb.AppendDecorators(
			decor.Any(func(decor.Statistics) string { return " " + e.ID + "  " }),
			decor.Elapsed(decor.ET_STYLE_GO),
		))
	return p
}

func (p *progress) show(ctx context.Context, e *client.Execution) {
	p.tasks(ctx, e)
	if e.Status != p.status {
		p.status = e.Status
		p.line(p.paintStatus(e.Status))
	}
}

// tasks tells those that ended since the last time; a failure to ask only hides progress.
func (p *progress) tasks(ctx context.Context, e *client.Execution) {
	cursor := ""
	if p.seen > 0 {
		cursor = fmt.Sprint(p.seen)
	}
	page, err := p.api.Timeline(ctx, e.WorkflowID, e.ID, 100, cursor)
	if err != nil {
		return
	}
	for _, task := range page.Data {
		if task.FinishedAt == nil || task.StartedAt == nil {
			break // tasks are told in order of start; this one is told when it has ended
		}
		p.seen = task.Seq
		p.line(fmt.Sprintf("  %-10s %s  %s", task.Phase, printable(task.Reference), task.FinishedAt.Sub(*task.StartedAt).Round(time.Millisecond)))
	}
}

func (p *progress) line(text string) {
	if p.bars == nil {
		fmt.Fprintln(p.err, text)
		return
	}
	fmt.Fprintln(p.bars, text)
}

func (p *progress) stop() {
	p.once.Do(func() {
		if p.bar != nil {
			p.bar.SetTotal(1, true)
			p.bar.Abort(true)
			p.bars.Wait()
		}
	})
}

// counter tells how a batch goes: a bar with rate and time left on a terminal, a line every
// few seconds elsewhere.
type counter struct {
	console
	started  time.Time
	lastLine time.Time
	bars     *mpb.Progress
	bar      *mpb.Bar
	failed   int
	once     sync.Once
}

const plainLineEvery = 2 * time.Second

func newCounter(con console, b *client.Batch) *counter {
	t := &counter{console: con, started: time.Now()}
	if !terminal(con.err) {
		fmt.Fprintf(con.err, "batch %s: %d items, %d at once\n", b.BatchID, b.Total, b.EffectiveConcurrency)
		return t
	}
	t.bars = mpb.New(mpb.WithOutput(con.err))
	t.bar = t.bars.AddBar(int64(b.Total),
		mpb.PrependDecorators(decor.CountersNoUnit("%d / %d")),
		mpb.AppendDecorators(
			decor.Percentage(),
			decor.AverageSpeed(0, "  %.0f/s", decor.WCSyncSpace),
			decor.AverageETA(decor.ET_STYLE_GO, decor.WCSyncSpace),
			decor.Any(func(decor.Statistics) string {
				if t.failed == 0 {
					return ""
				}
				return con.paint("31", fmt.Sprintf("  %d failed", t.failed))
			}),
		))
	return t
}

func (t *counter) show(b *client.Batch) {
	done := b.Completed + b.Failed
	if t.bar != nil {
		t.failed = b.Failed
		t.bar.SetCurrent(int64(done))
		return
	}
	if now := time.Now(); b.Final() || now.Sub(t.lastLine) >= plainLineEvery {
		t.lastLine = now
		rate := float64(done) / max(now.Sub(t.started).Seconds(), 0.001)
		fmt.Fprintf(t.err, "%d of %d, %d failed, %.0f/s\n", done, b.Total, b.Failed, rate)
	}
}

func (t *counter) stop() {
	t.once.Do(func() {
		if t.bar != nil {
			if !t.bar.Completed() {
				t.bar.Abort(false)
			}
			t.bars.Wait()
		}
	})
}
