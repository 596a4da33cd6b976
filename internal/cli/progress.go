package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chargehand/chargehand/client"
)

// progress tells how one execution goes: its tasks as they start and end, indented below the
// tasks that hold them, and on a terminal a line with what is running now.
type progress struct {
	console
	api       *client.Client
	execution *client.Execution
	line      *statusLine

	entries   []*shownTask // by seq
	suspended bool
	open      []string // ids of the human tasks that had not ended the last time

	policies map[string]retryPolicy // of tries, by reference
	asked    bool                   // the definition was asked for
	source   *client.WorkflowVersion
}

// shownTask is an entry of the timeline and what was written about it.
type shownTask struct {
	client.TimelineEntry
	depth    int
	parent   *shownTask
	children bool
	begun    bool // its start was written
	ended    bool // its end was written
}

func newProgress(con console, api *client.Client, e *client.Execution) *progress {
	p := &progress{console: con, api: api, execution: e, line: newStatusLine(con.err), policies: map[string]retryPolicy{}}
	p.line.println("execution " + e.ID)
	p.line.show(func() string { return "starting" })
	return p
}

// phase tells when the execution is suspended and when it continues.
func (p *progress) phase(ctx context.Context, phase string) {
	suspended := phase == "suspended"
	if suspended == p.suspended {
		return
	}
	p.suspended = suspended
	p.update(ctx, false)
	if !suspended {
		p.println("resumed")
		return
	}
	p.println("suspended: chargehand executions resume " + p.execution.ID)
}

// people tells of the human tasks of the execution that were not open before, and how to answer them.
func (p *progress) people(ctx context.Context, tasks []client.OpenTask) {
	known := p.open
	p.open = nil
	for i := range tasks {
		t := &tasks[i]
		if p.open = append(p.open, t.ID); slices.Contains(known, t.ID) {
			continue
		}
		p.update(ctx, false)
		p.println("needs a person: " + printable(t.Title))
		p.println("  chargehand tasks answer " + t.ID)
	}
}

func (p *progress) close() { p.line.close() }

// manyEntries is the maximum of entries at the end of a timeline that every update reads again for the sake of a
// running task that contains others. A task that began before them is read again when the execution has ended.
const manyEntries = 300

// update reads what is new in the timeline and shows it. If the request fails, no progress is shown; that is no error.
func (p *progress) update(ctx context.Context, final bool) {
	from := 0
	for from < len(p.entries) {
		t := p.entries[from]
		if t.FinishedAt == nil && (final || !t.children || len(p.entries)-from < manyEntries) {
			break
		}
		from++
	}
	cursor := ""
	if from > 0 {
		cursor = fmt.Sprint(p.entries[from-1].Seq)
	}
	for {
		page, err := p.api.Timeline(ctx, p.execution.WorkflowID, p.execution.ID, client.TimelineFilter{Summary: true}, maxPage, cursor)
		if err != nil {
			return
		}
		for i := range page.Data {
			p.take(&page.Data[i])
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	p.write(ctx)
}

// take keeps an entry, or what is new about it.
func (p *progress) take(e *client.TimelineEntry) {
	at, known := slices.BinarySearchFunc(p.entries, e.Seq, func(t *shownTask, seq int) int { return t.Seq - seq })
	if known {
		p.entries[at].TimelineEntry = *e
		return
	}
	t := &shownTask{TimelineEntry: *e}
	bySeq := func(t *shownTask, seq int) int { return t.Seq - seq }
	if over, found := slices.BinarySearchFunc(p.entries, e.ParentSeq, bySeq); found {
		above := p.entries[over]
		t.parent, t.depth, above.children = above, above.depth+1, true
	}
	p.entries = slices.Insert(p.entries, at, t)
}

// write writes the starts and ends that were not written yet, and what is running. The end of a
// task whose start was written comes after what is in it.
func (p *progress) write(ctx context.Context) {
	var running, ending []*shownTask
	end := func(t *shownTask) {
		t.ended = true
		p.println(p.taskLine(ctx, t, t.Phase, between(t.StartedAt, t.FinishedAt)))
	}
	for _, t := range p.entries[p.writtenFrom():] {
		for n := len(ending); n > 0 && !ending[n-1].holds(t); n-- {
			end(ending[n-1])
			ending = ending[:n-1]
		}
		switch {
		case t.ended:
		case t.FinishedAt != nil && t.begun:
			ending = append(ending, t)
		case t.FinishedAt != nil:
			end(t)
		default:
			// On a terminal the last line says what is running; a task that holds others has a line of its own.
			if !t.begun && (t.children || !terminal(p.err)) {
				t.begun = true
				p.println(p.taskLine(ctx, t, t.Phase, ""))
			}
			if !t.children || p.betweenAttempts(t) != nil {
				running = append(running, t)
			}
		}
	}
	for n := len(ending); n > 0; n-- {
		end(ending[n-1])
	}
	p.showRunning(ctx, running)
}

// holds reports whether other is within t.
func (t *shownTask) holds(other *shownTask) bool {
	for above := other.parent; above != nil; above = above.parent {
		if above == t {
			return true
		}
	}
	return false
}

// println writes a line that stays, within the width of a terminal: the whole error comes at the end.
func (p *progress) println(text string) {
	if width := terminalWidth(p.err); width > 0 {
		text = truncate(text, width)
	}
	p.line.println(text)
}

// writtenFrom is the first entry of which something may not be written.
func (p *progress) writtenFrom() int {
	for i, t := range p.entries {
		if !t.ended {
			return i
		}
	}
	return len(p.entries)
}

// taskLine is a task in a line: phase, name, attempt, iteration, time, error.
func (p *progress) taskLine(ctx context.Context, t *shownTask, state, took string) string {
	line := strings.Repeat("  ", t.depth+1) + p.paintStatus(state) + strings.Repeat(" ", max(0, 9-len(state))) + " " + p.taskName(ctx, t)
	if took != "" {
		line += "  " + took
	}
	if t.Error != nil {
		line += "  " + printable(faultText(t.Error))
	}
	return line
}

// taskName is the name of a task with its iteration and, from the second one on, its attempt.
func (p *progress) taskName(ctx context.Context, t *shownTask) string {
	name := printable(t.Name)
	around := 0 // loops around the task that this one is a part of
	if t.parent != nil {
		around = len(t.parent.Iterations)
	}
	if n := len(t.Iterations); n > around {
		name += fmt.Sprintf("[%d]", t.Iterations[n-1])
	}
	attempts := 0
	if t.parent != nil && (t.Attempt > 1 || t.Phase == "faulted") {
		attempts = p.policy(ctx, t.parent).attempts
	}
	switch {
	case attempts > 0:
		return fmt.Sprintf("%s: attempt %d of %d", name, t.Attempt, attempts)
	case t.Attempt > 1:
		return fmt.Sprintf("%s: attempt %d", name, t.Attempt)
	}
	return name
}

// betweenAttempts is the task that failed last below a try that waits for its next attempt.
func (p *progress) betweenAttempts(t *shownTask) *shownTask {
	for i := len(p.entries) - 1; i >= 0 && p.entries[i] != t; i-- {
		if child := p.entries[i]; t.holds(child) {
			if child.parent == t && child.FinishedAt != nil && child.Phase == "faulted" {
				return child
			}
			return nil
		}
	}
	return nil
}

// showRunning puts what is running on the last line.
func (p *progress) showRunning(ctx context.Context, running []*shownTask) {
	var texts []func() string
	if p.suspended {
		texts = append(texts, func() string { return "suspended" })
	}
	for _, t := range running {
		failed := p.betweenAttempts(t)
		if failed == nil {
			name, since := p.taskName(ctx, t), t.StartedAt
			if t.Phase == "waiting" {
				name += " (" + waitText(t.WaitingFor) + ")"
			}
			texts = append(texts, func() string { return name + " " + elapsed(since) })
			continue
		}
		policy := p.policy(ctx, t)
		text := fmt.Sprintf("%s: attempt %d", printable(failed.Name), failed.Attempt+1)
		if policy.attempts > 0 {
			text += fmt.Sprintf(" of %d", policy.attempts)
		}
		wait := t.WaitingFor
		texts = append(texts, func() string {
			if wait != nil && wait.Until != nil {
				if left := time.Until(*wait.Until); left > 0 {
					return fmt.Sprintf("%s, next in %d s", text, int(left.Seconds()+0.999))
				}
			}
			return text + " comes next"
		})
	}
	p.line.show(func() string {
		const shown = 3
		var parts []string
		for _, text := range texts[:min(len(texts), shown)] {
			parts = append(parts, text())
		}
		if len(texts) > shown {
			parts = append(parts, fmt.Sprintf("%d more", len(texts)-shown))
		}
		if len(parts) == 0 {
			return "running"
		}
		return strings.Join(parts, " · ")
	})
}

func elapsed(since *time.Time) string {
	if since == nil {
		return ""
	}
	return fmt.Sprintf("%d s", int(time.Since(*since).Seconds()))
}

// policy is what the definition of the execution says about the retries of a try.
func (p *progress) policy(ctx context.Context, t *shownTask) retryPolicy {
	if known, ok := p.policies[t.Reference]; ok {
		return known
	}
	if !p.asked {
		p.asked = true
		v, err := p.api.GetVersion(ctx, p.execution.WorkflowID, p.execution.WorkflowVersion, p.execution.Revision)
		if err == nil {
			p.source = v
		}
	}
	var policy retryPolicy
	if p.source != nil {
		policy, _ = policyOf(p.source.Definition, t.Reference)
	}
	p.policies[t.Reference] = policy
	return policy
}

// counter tells how a batch goes: on a terminal a line with a bar, rate, time left and a task that
// is running; elsewhere a line every few seconds.
type counter struct {
	console
	line     *statusLine
	lastLine time.Time

	mu      sync.Mutex
	batch   *client.Batch
	first   *client.Batch // as it was when following began: the rate is of what came after
	started time.Time
	task    string
}

const plainLineEvery = 2 * time.Second

func newCounter(con console, b *client.Batch) *counter {
	t := &counter{console: con, line: newStatusLine(con.err), batch: b, started: time.Now()}
	t.line.println(fmt.Sprintf("batch %s: %s, %d at once", b.BatchID, counted(b.Total, "item"), b.EffectiveConcurrency))
	t.line.show(t.text)
	return t
}

// show takes a new state; task is one that is running.
func (t *counter) show(b *client.Batch, task string) {
	t.mu.Lock()
	t.batch, t.task = b, task
	if t.first == nil {
		t.first, t.started = b, time.Now()
	}
	rate := t.rate()
	t.mu.Unlock()
	if terminal(t.err) {
		return
	}
	if now := time.Now(); b.Final() || now.Sub(t.lastLine) >= plainLineEvery {
		t.lastLine = now
		text := fmt.Sprintf("%d of %d, %s", b.Completed+b.Failed, b.Total, failedCounts(b))
		if rate > 0 && !b.Final() { // the line behind the last one tells how long all took
			text += fmt.Sprintf(", %.0f/s", rate)
		}
		if task != "" {
			text += ", " + task
		}
		t.line.println(text)
	}
}

// rate is items per second since following began.
func (t *counter) rate() float64 {
	seconds := time.Since(t.started).Seconds()
	if t.first == nil || seconds < 0.2 {
		return 0
	}
	return float64(t.batch.Completed+t.batch.Failed-t.first.Completed-t.first.Failed) / seconds
}

func (t *counter) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.batch
	done := b.Completed + b.Failed
	text := fmt.Sprintf("%s %d of %d", bar(done, b.Total, 12), done, b.Total)
	if b.Total > 0 {
		text += fmt.Sprintf("  %d%%", 100*done/b.Total)
	}
	if b.Failed > 0 {
		text += "  " + failedCounts(b)
	}
	if rate := t.rate(); rate > 0 {
		text += fmt.Sprintf("  %.0f/s", rate)
		if left := time.Duration(float64(b.Total-done) / rate * float64(time.Second)); left > time.Second {
			text += "  " + left.Round(time.Second).String() + " left"
		}
	}
	if t.task != "" {
		text += "  " + t.task
	}
	return text
}

func (t *counter) close() { t.line.close() }
