package runlog

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// segmentBytes is how much of a log is written at a time.
	segmentBytes = 256 << 10
	// maxAge is how long something waits to be written, if no segment fills before. A line that is still being written
	// waits once more; both are below the two seconds that a crash may cost.
	maxAge = 800 * time.Millisecond
	// gatherTime is how much earlier a log is written where others are due: what is due at about the same time shares
	// a transaction.
	gatherTime = 400 * time.Millisecond
	// partsAtOnce is of how many logs something is written in one transaction, partsBytes how much that is together.
	partsAtOnce = 200
	partsBytes  = 256 << 10
	// inlineBytes is the length of the longest segment in a row.
	inlineBytes = 16 << 10
	// keptBytes is the length of the largest buffer of a segment that is used again.
	keptBytes = 2 * segmentBytes
	// writers is how many logs are written at once.
	writers = 4
	// chunkBytes is how much of what comes at once is kept in one piece, chunkTime what counts as at once.
	chunkBytes = 32 << 10
	chunkTime  = 5 * time.Millisecond
	// chunkCost is what a piece costs beside its bytes.
	chunkCost = 128
	// firstChunks is for how many pieces there is room at first.
	firstChunks = 4
	// outageTime is how long a segment waits for a store that is away.
	outageTime = time.Minute
)

// Limits bounds logs. A zero field stands for the default.
type Limits struct {
	Bytes      int64 // of one log, as it is stored; default DefaultBytes
	Pending    int64 // of one log that wait to be written; default 1 MiB
	AllPending int64 // of all logs that wait to be written; default 64 MiB
	Logs       int   // that wait to be written; default 10,000
}

// DefaultBytes is the limit of a log.
const DefaultBytes = 16 << 20

// Config is what a Writer needs. Store and Blobs are required.
type Config struct {
	Store  *store.Store
	Blobs  engine.Blobs
	Log    *slog.Logger // nil: nothing is logged
	Limits Limits
}

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Limits.Bytes = cmp.Or(c.Limits.Bytes, DefaultBytes)
	c.Limits.Pending = cmp.Or(c.Limits.Pending, 1<<20)
	c.Limits.AllPending = cmp.Or(c.Limits.AllPending, 64<<20)
	c.Limits.Logs = cmp.Or(c.Limits.Logs, 10_000)
	return c
}

// Stats are counts of a Writer.
type Stats struct {
	Logs    int   // that wait to be written
	Pending int64 // bytes that wait to be written
	Dropped int64 // bytes that found no room, or no store
}

// Writer writes the logs of the executions whose steps run in this process. It is safe for concurrent use. A nil
// Writer keeps no logs. It has no goroutine while it has nothing to write.
type Writer struct {
	Config
	ctx    context.Context // ends when Stop has waited long enough
	cancel context.CancelFunc

	buffers sync.Pool // of *[]byte, for long segments

	mu       sync.Mutex
	logs     map[int64]*pendingLog // by number of the execution
	waiting  []turn                // by the time at which they are due
	ready    []*pendingLog
	running  int // goroutines that write
	timer    *time.Timer
	stopping bool
	pending  int64
	dropped  int64
	emptied  chan struct{} // closed when a stopping Writer has nothing left
}

// turn is when a log is to be written.
type turn struct {
	log *pendingLog
	at  time.Time
}

// logState says where a log is that has something to be written.
type logState uint8

const (
	logIdle logState = iota
	logWaiting
	logReady
	logWriting
)

// pendingLog is what of the log of an execution waits to be written.
type pendingLog struct {
	no     int64
	state  logState
	due    time.Time // while it is waiting
	chunks []chunk
	bytes  int64 // of chunks
	ended  bool  // the log has reached its limit
	// pushed and done count chunks, so that Flush knows what it waits for. turned is closed after the turn; nil:
	// no Flush waits for that.
	pushed, done int64
	turned       chan struct{}

	// The following belong to the goroutine that writes the log.
	stored  int64          // bytes of the log; -1: not known
	partial map[*Task]bool // tasks with a line that is still being written
	lost    int64          // bytes of segments that could not be written
}

// NewWriter makes a Writer.
func NewWriter(c Config) *Writer {
	w := &Writer{Config: c.withDefaults(), logs: map[int64]*pendingLog{}, emptied: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// Stats returns the counts of now.
func (w *Writer) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Stats{len(w.logs), w.pending, w.dropped}
}

// push adds a chunk to the log of its task, with what was written to a stream, which it copies. It never waits.
func (w *Writer) push(c chunk, output []byte) {
	c.at = time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.put(c, output)
}

// put is push of a chunk that has its time. The caller holds w.mu.
func (w *Writer) put(c chunk, output []byte) {
	t, size := c.task, c.size()+int64(len(output))
	l := w.logs[t.execution]
	switch {
	case t.ended || c.kind == chunkEnd && !t.wrote:
		return
	case l == nil && (len(w.logs) >= w.Limits.Logs || w.ctx.Err() != nil):
		t.lost += size
		w.dropped += size
		return
	case l == nil:
		l = &pendingLog{no: t.execution, stored: -1}
		w.logs[l.no] = l
	}
	t.wrote = t.wrote || c.kind == chunkOutput
	t.said = t.said || c.kind == chunkOutput || c.kind == chunkLine
	if t.lost > 0 {
		l.lose(t, t.lost, c.at)
		t.lost = 0
	}
	if !w.fits(l, size) && c.kind != chunkEnd {
		w.dropped += size
		l.lose(t, size, c.at)
	} else {
		w.pending += l.add(c, output)
	}
	w.schedule(l, c.at)
}

// fits reports whether a log may have so many more bytes that wait. If all logs together have many, each may have less.
func (w *Writer) fits(l *pendingLog, size int64) bool {
	most := w.Limits.Pending
	if w.pending > w.Limits.AllPending/2 {
		most /= 8
	}
	return l.bytes+size+chunkCost <= most && w.pending+size+chunkCost <= w.Limits.AllPending
}

// add appends a chunk, or joins it with the last one, and returns by how many bytes more wait.
func (l *pendingLog) add(c chunk, output []byte) int64 {
	size := c.size() + int64(len(output))
	if last := l.last(); last != nil && last.kind == chunkOutput && c.kind == chunkOutput && last.task == c.task && last.stream == c.stream &&
		last.output.Len()+len(output) <= chunkBytes && c.at.Sub(last.at) < chunkTime {
		last.output.Write(output)
		l.bytes += size
		return size
	}
	if c.kind == chunkOutput {
		c.output = &strings.Builder{} // gives its bytes as a string without another copy
		c.output.Grow(len(output))
		c.output.Write(output)
	}
	if l.chunks == nil {
		l.chunks = make([]chunk, 0, firstChunks)
	}
	l.chunks = append(l.chunks, c)
	l.pushed++
	l.bytes += size + chunkCost
	return size + chunkCost
}

// lose notes that bytes of a task found no room. It takes no room of its own that grows: as long as nothing finds room,
// each task has one note.
func (l *pendingLog) lose(t *Task, size int64, at time.Time) {
	for i := len(l.chunks) - 1; i >= 0 && l.chunks[i].kind == chunkGap; i-- {
		if l.chunks[i].task == t {
			l.chunks[i].lost += size
			return
		}
	}
	l.chunks = append(l.chunks, chunk{task: t, kind: chunkGap, lost: size, at: at})
	l.pushed++
}

func (l *pendingLog) last() *chunk {
	if len(l.chunks) == 0 {
		return nil
	}
	return &l.chunks[len(l.chunks)-1]
}

// schedule gives a log its turn, if it has none. The caller holds w.mu.
func (w *Writer) schedule(l *pendingLog, now time.Time) {
	full := l.bytes >= segmentBytes || w.stopping
	switch {
	case l.state == logWriting || l.state == logReady:
	case full:
		w.makeReady(l)
	case l.state == logIdle:
		l.state, l.due = logWaiting, now.Add(maxAge)
		w.waiting = append(w.waiting, turn{l, l.due})
		if len(w.waiting) == 1 {
			w.arm(maxAge)
		}
	}
}

func (w *Writer) arm(after time.Duration) {
	if w.timer == nil {
		w.timer = time.AfterFunc(after, w.fire)
		return
	}
	w.timer.Reset(after)
}

// fire makes the logs ready that are due, and those that are due soon.
func (w *Writer) fire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, gather := time.Now(), time.Duration(0)
	for len(w.waiting) > 0 {
		first := w.waiting[0]
		current := first.log.state == logWaiting && first.log.due.Equal(first.at)
		if wait := first.at.Sub(now); current && wait > gather {
			w.arm(wait)
			return
		}
		w.waiting[0] = turn{}
		w.waiting = w.waiting[1:]
		if current {
			w.makeReady(first.log)
			gather = gatherTime
		}
	}
	w.waiting = nil
}

// makeReady puts a log behind those that are ready. The caller holds w.mu.
func (w *Writer) makeReady(l *pendingLog) {
	l.state = logReady
	w.ready = append(w.ready, l)
	if w.running < writers {
		w.running++
		go w.run()
	}
}

// run writes logs as long as some are ready.
func (w *Writer) run() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.ready) > 0 {
		parts := w.takeReady()
		stopping := w.stopping
		w.mu.Unlock()
		w.write(parts, stopping)
		w.mu.Lock()
		for i := range parts {
			w.turned(parts[i].log, parts[i].chunks)
		}
	}
	w.running--
}

// part is what is written of a log in one turn.
type part struct {
	log    *pendingLog
	chunks []chunk
}

// takeReady takes what waits of a log that is ready, and of those behind it as long as that is little.
func (w *Writer) takeReady() (parts []part) {
	for size := int64(0); len(w.ready) > 0 && len(parts) < partsAtOnce; {
		l := w.ready[0]
		if size += l.bytes; len(parts) > 0 && size > partsBytes {
			break
		}
		w.ready[0] = nil
		w.ready = w.ready[1:]
		l.state = logWriting
		parts = append(parts, part{l, w.take(l)})
	}
	return parts
}

// take takes about a segment of what waits.
func (w *Writer) take(l *pendingLog) []chunk {
	n, size := 0, int64(0)
	for n < len(l.chunks) && size < segmentBytes {
		if l.chunks[n].kind != chunkGap {
			size += l.chunks[n].size() + chunkCost
		}
		n++
	}
	taken := l.chunks[:n:n]
	l.chunks = l.chunks[n:]
	if len(l.chunks) == 0 {
		l.chunks = nil
	}
	l.bytes -= size
	w.pending -= size
	return taken
}

// turned follows the turn of a log. The caller holds w.mu.
func (w *Writer) turned(l *pendingLog, chunks []chunk) {
	l.done += int64(len(chunks))
	l.state = logIdle
	if l.turned != nil {
		close(l.turned)
		l.turned = nil
	}
	if l.ended {
		for _, c := range append(chunks, l.chunks...) {
			c.task.ended = true
		}
		w.pending -= l.bytes
		l.done += int64(len(l.chunks))
		l.chunks, l.bytes, l.partial = nil, 0, nil
	}
	clear(chunks) // what is left of the log shares their array, which would keep what they held
	switch {
	case len(l.chunks) > 0 && time.Since(l.chunks[0].at) >= maxAge:
		w.makeReady(l)
	case len(l.chunks) > 0:
		w.schedule(l, l.chunks[0].at)
	case len(l.partial) > 0 || l.lost > 0 && w.ctx.Err() == nil:
		w.schedule(l, time.Now())
	default:
		delete(w.logs, l.no)
		if w.stopping && len(w.logs) == 0 {
			close(w.emptied)
		}
	}
}

// Flush returns when what the tasks of an execution have handed over before is written, or ctx ends.
func (w *Writer) Flush(ctx context.Context, execution int64) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.logs[execution]
	if l == nil {
		return
	}
	for target := l.pushed; l.done < target && ctx.Err() == nil && w.ctx.Err() == nil; {
		if l.state == logWaiting || l.state == logIdle {
			w.makeReady(l)
		}
		if l.turned == nil {
			l.turned = make(chan struct{})
		}
		turned := l.turned
		w.mu.Unlock()
		select {
		case <-turned:
		case <-ctx.Done():
		case <-w.ctx.Done():
		}
		w.mu.Lock()
	}
}

// Stop writes what waits until ctx ends, and then drops what is left. No task may be running any more.
func (w *Writer) Stop(ctx context.Context) {
	if w == nil {
		return
	}
	w.mu.Lock()
	first := !w.stopping
	w.stopping = true
	for _, l := range w.logs {
		if l.state == logWaiting {
			w.makeReady(l)
		}
	}
	if first && len(w.logs) == 0 {
		close(w.emptied)
	}
	w.mu.Unlock()
	select {
	case <-w.emptied:
	case <-ctx.Done():
		w.Log.Warn("the end of logs of executions was not written in time", "logs", w.Stats().Logs)
	}
	w.cancel()
}
