package runlog_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/runlog"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
	"github.com/chargehand/chargehand/internal/store/storetest"
)

var template = storetest.Template{Open: func(path string) (store.DB, error) {
	return sqlite.Open(sqlite.Options{Path: path, Owner: true})
}}

// fixture is a writer over a database with one execution.
type fixture struct {
	testing.TB
	store     *store.Store
	writer    *runlog.Writer
	execution int64

	mu    sync.Mutex
	blobs map[string][]byte

	blocked chan struct{} // Updates wait until it is closed; nil: they do not
	updates atomic.Int64
	gets    atomic.Int64 // of blobs
}

// blockingDB lets Updates wait.
type blockingDB struct {
	store.DB
	f *fixture
}

func (db blockingDB) Update(ctx context.Context, fn func(store.Conn) error) error {
	if db.f.blocked != nil {
		<-db.f.blocked
	}
	db.f.updates.Add(1)
	return db.DB.Update(ctx, fn)
}

func newFixture(t testing.TB, limits runlog.Limits) *fixture {
	f := &fixture{TB: t, blobs: map[string][]byte{}}
	db := template.New(t)
	f.store = store.New(blockingDB{storetest.Twice(db), f})
	if _, measured := t.(*testing.B); measured {
		f.store = store.New(blockingDB{db, f})
	}
	f.execution = f.insert(1)
	f.writer = runlog.NewWriter(runlog.Config{Store: f.store, Blobs: f, Limits: limits})
	t.Cleanup(func() {
		f.writer.Stop(context.Background())
		if s := f.writer.Stats(); s.Logs != 0 || s.Pending != 0 {
			t.Errorf("at the end %+v", s)
		}
		if _, measured := t.(*testing.B); !measured {
			storetest.CheckUsage(t, db)
		}
		if err := f.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// insert inserts an execution and returns its number.
func (f *fixture) insert(id byte) int64 {
	f.Helper()
	row := store.Execution{
		ID: chargehand.ExecutionID{id}, Account: 1, Environment: chargehand.Live, Status: chargehand.Processing, Phase: chargehand.Running,
		State: store.StateActive, StartedBy: 7,
	}
	if err := f.store.Update(context.Background(), func(tx *store.Tx) error { return tx.InsertExecution(&row) }); err != nil {
		f.Fatal(err)
	}
	return row.No
}

// Put implements engine.Blobs.
func (f *fixture) Put(ctx context.Context, data []byte) ([]byte, error) {
	digest := sha256.Sum256(data)
	f.mu.Lock()
	f.blobs[string(digest[:])] = bytes.Clone(data)
	f.mu.Unlock()
	return digest[:], f.store.Update(ctx, func(tx *store.Tx) error { return tx.ReserveBlob(digest[:], int64(len(data))) })
}

// Get implements engine.Blobs.
func (f *fixture) Get(_ context.Context, digest []byte) ([]byte, error) {
	f.gets.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if data, ok := f.blobs[string(digest)]; ok {
		return data, nil
	}
	return nil, store.ErrNotFound
}

func (f *fixture) lines(q runlog.Query) (lines []runlog.Line) {
	f.Helper()
	err := runlog.Read(context.Background(), f.store, f, f.execution, q, func(l *runlog.Line) bool {
		lines = append(lines, *l)
		return true
	})
	if err != nil {
		f.Fatal(err)
	}
	return lines
}

// text is the log as a person reads it.
func (f *fixture) text(q runlog.Query) string {
	f.Helper()
	var b strings.Builder
	for _, l := range f.lines(q) {
		fmt.Fprintf(&b, "%d %d %s %s %s\n", l.Number, l.Seq, l.Level, l.Stream, l.Text)
	}
	return b.String()
}

func (f *fixture) segments() (n int) {
	f.Helper()
	err := f.store.View(context.Background(), func(r *store.Reader) error {
		list, err := r.LogSegments(f.execution, 0, 1000)
		n = len(list)
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	return n
}

func (f *fixture) flush() { f.writer.Flush(context.Background(), f.execution) }

// end ends a task as a shell step without a fault does.
func end(t *runlog.Task) { t.End(&activity.Call{Kind: "shell"}, time.Second, nil, false) }

func TestLinesOfTasks(t *testing.T) {
	f := newFixture(t, runlog.Limits{})
	shell := f.writer.Task(f.execution, 3, nil)
	shell.Output(chargehand.LogStdout, []byte("one\ntw"))
	shell.Output(chargehand.LogStderr, []byte("wrong\r\n"))
	shell.Output(chargehand.LogStdout, []byte("o\n\nno end \xff"))
	end(shell)
	call := f.writer.Task(f.execution, 4, nil)
	call.Line(chargehand.LogDebug, "a note")
	call.End(&activity.Call{Kind: "http", Attempt: 2}, 1234*time.Microsecond, &machine.Fault{Type: machine.ErrTimeout, Status: 408, Detail: "of a secret"}, false)
	f.writer.Task(f.execution, 5, nil).End(&activity.Call{Kind: "http"}, time.Second, nil, false)
	f.writer.Task(f.execution, 6, nil).End(&activity.Call{Kind: "mcp", Attempt: 1}, time.Second, nil, true)
	f.flush()
	const whole = "1 3 info stdout one\n2 3 info stderr wrong\n3 3 info stdout two\n4 3 info stdout \n5 3 info stdout no end \uFFFD\n" +
		"6 4 debug log a note\n7 4 error log http, attempt 2: failed with status 408 (timeout) after 1ms\n8 5 info log http, attempt 1: completed in 1s\n" +
		"9 6 warning log mcp, attempt 1: stopped after 1s\n"
	if got := f.text(runlog.Query{}); got != whole {
		t.Errorf("log\n%s\nwant\n%s", got, whole)
	}
	for want, q := range map[string]runlog.Query{
		"2 3 info stderr wrong\n":                            {Streams: []chargehand.LogStream{chargehand.LogStderr}},
		"8 5 info log http, attempt 1: completed in 1s\n":    {After: 7, Level: chargehand.LogInfo, Text: "HTTP"},
		"6 4 debug log a note\n":                             {Seqs: []int64{4}, Text: "note"},
		"9 6 warning log mcp, attempt 1: stopped after 1s\n": {Level: chargehand.LogWarning, After: 7},
		"": {After: 9},
	} {
		if got := f.text(q); got != want {
			t.Errorf("%+v: %q, want %q", q, got, want)
		}
	}
	var sizes map[int64]int64
	if err := f.store.View(t.Context(), func(r *store.Reader) (err error) { sizes, err = runlog.TaskBytes(r, f.execution); return err }); err != nil {
		t.Fatal(err)
	}
	if sizes[3] != 26 || sizes[6] == 0 || len(sizes) != 4 {
		t.Errorf("bytes by task: %v", sizes)
	}
}

// TestQuietTaskWritesNothing: a step that says nothing leaves no row and nothing in memory.
func TestQuietTaskWritesNothing(t *testing.T) {
	f := newFixture(t, runlog.Limits{})
	end(f.writer.Task(f.execution, 1, nil))
	if s := f.writer.Stats(); s.Logs != 0 {
		t.Errorf("%+v", s)
	}
	f.flush()
	if n := f.segments(); n != 0 {
		t.Errorf("%d segments", n)
	}
	var none *runlog.Writer
	none.Task(1, 1, nil).Output(chargehand.LogStdout, []byte("x"))
	none.Flush(t.Context(), 1)
	none.Stop(t.Context())
}

// TestWrittenInTime: what is older than two seconds is stored, without a request for it, also a line without an end.
func TestWrittenInTime(t *testing.T) {
	f := newFixture(t, runlog.Limits{})
	task := f.writer.Task(f.execution, 1, nil)
	task.Output(chargehand.LogStdout, []byte("whole\nnot whole"))
	began := time.Now()
	for len(f.lines(runlog.Query{})) < 2 {
		if time.Since(began) > time.Minute {
			t.Fatalf("not stored: %q", f.text(runlog.Query{}))
		}
		time.Sleep(20 * time.Millisecond) // nothing tells that a segment was stored
	}
	t.Logf("stored after %s", time.Since(began))
	end(task)
}

// TestSecretsAreCut writes a secret in two pieces, cut at every byte, with a segment between them.
func TestSecretsAreCut(t *testing.T) {
	const token = "p4ss/w+rd and\nmore"
	f := newFixture(t, runlog.Limits{})
	redactor := func(context.Context) (*secret.Redactor, error) { return secret.NewRedactor(token), nil }
	for cut := range len(token) {
		task := f.writer.Task(f.execution, cut+1, redactor)
		task.Output(chargehand.LogStdout, []byte("<"+token[:cut]))
		f.flush()
		task.Output(chargehand.LogStdout, []byte(token[cut:]+">\n"))
		task.Line(chargehand.LogInfo, "note "+token)
		end(task)
	}
	f.flush()
	got := f.text(runlog.Query{})
	if strings.Contains(got, "p4ss") || strings.Contains(got, "more") || strings.Count(got, "<[redacted]>\n") != len(token) || strings.Count(got, "note [redacted]\n") != len(token) {
		t.Errorf("log\n%s", got)
	}
}

// TestSecretAtTheEndOfAMessage: a message that is cut within a secret does not show its begin.
func TestSecretAtTheEndOfAMessage(t *testing.T) {
	const token, most = "open-sesame", 256 << 10
	f := newFixture(t, runlog.Limits{})
	task := f.writer.Task(f.execution, 1, func(context.Context) (*secret.Redactor, error) { return secret.NewRedactor(token), nil })
	for cut := range len(token) + 1 {
		task.Line(chargehand.LogInfo, strings.Repeat("x", most-cut)+token+"!")
		f.flush()
	}
	end(task)
	f.flush()
	got := ""
	for _, l := range f.lines(runlog.Query{}) { // messages are cut into lines
		got += l.Text
	}
	if strings.Contains(got, token[:secret.MinTextBytes]) || strings.Count(got, "[redacted]") != len(token)+1-secret.MinTextBytes {
		t.Errorf("%d are redacted; the log ends with %q", strings.Count(got, "[redacted]"), got[max(0, len(got)-100):])
	}
}

// TestUnreadableSecrets: without the secrets no text is shown.
func TestUnreadableSecrets(t *testing.T) {
	f := newFixture(t, runlog.Limits{})
	task := f.writer.Task(f.execution, 1, func(context.Context) (*secret.Redactor, error) { return nil, store.ErrNotFound })
	task.Output(chargehand.LogStdout, []byte("anything\n"))
	task.Line(chargehand.LogInfo, "anything")
	end(task)
	f.flush()
	if got := f.text(runlog.Query{}); strings.Contains(got, "anything") || strings.Count(got, "not shown") != 1 {
		t.Errorf("log\n%s", got)
	}
}

// TestSecretsOfAnEndedExecution: texts are shown, without their secrets, that are written when the execution has ended
// and its secrets are gone, if they were loaded before.
func TestSecretsOfAnEndedExecution(t *testing.T) {
	f := newFixture(t, runlog.Limits{})
	ended, reads := false, 0
	redactor := func(context.Context) (*secret.Redactor, error) {
		if reads++; ended {
			return nil, store.ErrNotFound
		}
		return secret.NewRedactor(map[string]any{"token": "open-sesame"}), nil
	}
	silent := f.writer.Task(f.execution, 1, redactor)
	silent.LoadSecrets(t.Context())
	if reads != 0 {
		t.Errorf("the secrets of a task that says nothing were read %d times", reads)
	}
	end(silent)
	task := f.writer.Task(f.execution, 2, redactor)
	task.Output(chargehand.LogStdout, []byte("say open-sesame"))
	task.LoadSecrets(t.Context())
	ended = true
	end(task)
	f.flush()
	if got := f.text(runlog.Query{}); !strings.Contains(got, "say [redacted]") {
		t.Errorf("log\n%s", got)
	}
}

func TestLimitOfALog(t *testing.T) {
	const limit = 300 << 10
	f := newFixture(t, runlog.Limits{Bytes: limit})
	task := f.writer.Task(f.execution, 1, nil)
	for range 5 {
		for range 100 {
			task.Output(chargehand.LogStdout, []byte(strings.Repeat("x", 1999)+"\n"))
		}
		f.flush()
	}
	end(task)
	again := f.writer.Task(f.execution, 2, nil) // as after a restart, when nothing is known of the log
	again.Line(chargehand.LogInfo, "later")
	f.flush()
	lines := f.lines(runlog.Query{})
	last := lines[len(lines)-1]
	if !strings.Contains(last.Text, "reached its limit") || last.Level != chargehand.LogWarning || len(lines) < 140 || len(lines) > limit/2000+1 {
		t.Errorf("%d lines, the last one %+v", len(lines), last)
	}
}

// TestDroppedIsCounted holds the store up: the task does not wait, and the log says how much is missing.
func TestDroppedIsCounted(t *testing.T) {
	f := newFixture(t, runlog.Limits{Pending: 512 << 10})
	f.blocked = make(chan struct{})
	task := f.writer.Task(f.execution, 1, nil)
	const pieces, size = 200, 10_000
	began := time.Now()
	for range pieces {
		task.Output(chargehand.LogStdout, []byte(strings.Repeat("x", size-1)+"\n"))
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("the task waited for %s", took)
	}
	close(f.blocked)
	end(task)
	f.flush()
	shown, missing := 0, 0
	for _, l := range f.lines(runlog.Query{}) {
		var n int
		if _, err := fmt.Sscanf(l.Text, "[%d bytes are missing here", &n); err == nil {
			missing += n
			continue
		}
		shown += len(l.Text) + 1
	}
	if missing == 0 || shown+missing != pieces*size || f.writer.Stats().Dropped != int64(missing) {
		t.Errorf("%d bytes are shown and %d missing, of %d; %+v", shown, missing, pieces*size, f.writer.Stats())
	}
}

// TestDroppedOfSeveralTasks holds the store up while tasks write in turn: what is missing of each takes one note,
// however often they write.
func TestDroppedOfSeveralTasks(t *testing.T) {
	f := newFixture(t, runlog.Limits{Pending: 64 << 10})
	f.blocked = make(chan struct{})
	tasks := []*runlog.Task{f.writer.Task(f.execution, 1, nil), f.writer.Task(f.execution, 2, nil), f.writer.Task(f.execution, 3, nil)}
	const pieces, size = 500, 1000
	for range pieces {
		for _, task := range tasks {
			task.Output(chargehand.LogStdout, []byte(strings.Repeat("x", size-1)+"\n"))
		}
	}
	close(f.blocked)
	for _, task := range tasks {
		end(task)
	}
	f.flush()
	shown, missing, notes := 0, 0, 0
	for _, l := range f.lines(runlog.Query{}) {
		var n int
		if _, err := fmt.Sscanf(l.Text, "[%d bytes are missing here", &n); err == nil {
			missing += n
			notes++
			continue
		}
		shown += len(l.Text) + 1
	}
	// A few may be taken to be written before the store holds them up.
	if missing == 0 || shown+missing != pieces*size*len(tasks) || notes > 2*len(tasks) {
		t.Errorf("%d bytes are shown and %d missing, of %d, in %d notes", shown, missing, pieces*size*len(tasks), notes)
	}
}

// TestLongLines: what has no line break becomes lines of bounded length, and no character is cut.
func TestLongLines(t *testing.T) {
	f := newFixture(t, runlog.Limits{})
	task := f.writer.Task(f.execution, 1, nil)
	text := strings.Repeat("ü", 50_000)
	task.Output(chargehand.LogStdout, []byte(text))
	end(task)
	f.flush()
	got := ""
	for _, l := range f.lines(runlog.Query{}) {
		if len(l.Text) > runlog.MaxLineBytes {
			t.Errorf("a line of %d bytes", len(l.Text))
		}
		got += l.Text
	}
	if got != text {
		t.Errorf("%d bytes of %d, or others", len(got), len(text))
	}
}

// TestConcurrentTasks writes by many tasks to many logs at once.
func TestConcurrentTasks(t *testing.T) {
	f := newFixture(t, runlog.Limits{})
	var all sync.WaitGroup
	for n := range 16 {
		all.Go(func() {
			task := f.writer.Task(f.execution, n+1, nil)
			for i := range 100 {
				task.Output(chargehand.LogStdout, fmt.Appendf(nil, "%d\n", i))
				if i%30 == 0 {
					f.flush()
				}
			}
			end(task)
		})
	}
	all.Wait()
	f.flush()
	next := map[int64]int{}
	lines := f.lines(runlog.Query{})
	for i, l := range lines {
		if l.Number != int64(i+1) || l.Text != fmt.Sprint(next[l.Seq]) {
			t.Fatalf("line %d: %+v, want %d", i, l, next[l.Seq])
		}
		next[l.Seq]++
	}
	if len(lines) != 1600 {
		t.Errorf("%d lines", len(lines))
	}
}

// TestShortLogsShareTransactions: what waits of many logs is written in few transactions, and a log that has ended or
// whose execution is gone keeps the others from nothing.
func TestShortLogsShareTransactions(t *testing.T) {
	f := newFixture(t, runlog.Limits{Bytes: 2000})
	say := func(execution int64, text string) {
		task := f.writer.Task(execution, 1, nil)
		task.Line(chargehand.LogInfo, text)
		end(task)
	}
	say(f.execution, strings.Repeat("x", 3000))
	f.flush()
	if got := f.text(runlog.Query{}); !strings.Contains(got, "reached its limit") {
		t.Fatalf("log\n%s", got)
	}
	const logs, gone = 150, 99_999
	var all []int64
	for n := range logs {
		all = append(all, f.insert(byte(n+2)))
	}
	before := f.updates.Load()
	for n, execution := range all {
		say(execution, fmt.Sprint("line of ", n))
		if n == logs/2 {
			say(f.execution, "behind the end")
			say(gone, "of nothing")
		}
	}
	f.writer.Stop(t.Context())
	if n := f.updates.Load() - before; n < 1 || n > logs/10 {
		t.Errorf("%d transactions for %d logs", n, logs)
	}
	for n, execution := range all {
		f.execution = execution
		if got, want := f.text(runlog.Query{}), fmt.Sprintf("1 1 info log line of %d\n", n); got != want {
			t.Errorf("log %q, want %q", got, want)
		}
	}
	if d := f.writer.Stats().Dropped; d != 0 {
		t.Errorf("%d bytes were dropped", d)
	}
}

// TestSearchContinues: a search in vain says where the next one begins, which reads nothing of what was searched.
func TestSearchContinues(t *testing.T) {
	f := newFixture(t, runlog.Limits{})
	task := f.writer.Task(f.execution, 1, nil)
	q := runlog.Query{Text: "Needle"}
	search := func(wantLine, wantLast, wantGets int64) {
		t.Helper()
		before := f.gets.Load()
		found, last, err := runlog.Search(t.Context(), f.store, f, f.execution, q)
		if err != nil {
			t.Fatal(err)
		}
		line := int64(0)
		if found != nil {
			line = found.Number
		}
		if gets := f.gets.Load() - before; line != wantLine || last != wantLast || gets != wantGets {
			t.Errorf("after %d: line %d, last %d, %d contents read; want %d, %d, %d", q.After, line, last, gets, wantLine, wantLast, wantGets)
		}
		q.After = last
	}
	search(0, 0, 0)
	hay := []byte(strings.Repeat(strings.Repeat("x", 99)+"\n", 300))
	task.Output(chargehand.LogStdout, hay)
	f.flush()
	search(0, 300, 1)
	search(0, 300, 0)
	task.Output(chargehand.LogStdout, hay)
	f.flush()
	task.Output(chargehand.LogStdout, append(hay, "a needle\n"...))
	f.flush()
	search(901, 600, 2)
	search(901, 600, 1)
	q.Seqs, q.After = []int64{2}, 0
	search(0, 901, 0)
	q.After = 5000
	search(0, 5000, 0)
	end(task)
}

// TestSegmentsKeepTheirLines: what was written does not change when the memory of a segment is used for the next one,
// whatever the lines are like.
func TestSegmentsKeepTheirLines(t *testing.T) {
	f := newFixture(t, runlog.Limits{})
	task := f.writer.Task(f.execution, 1, nil)
	var want []string
	for n, width := range []int{99, 1, 0, 7000, 30} {
		var piece []byte
		for i := 0; len(piece) < 200_000 && i < 20_000; i++ {
			text := strings.Repeat(string(rune('a'+(n+i)%26)), width)
			piece, want = append(append(piece, text...), '\n'), append(want, text)
		}
		task.Output(chargehand.LogStdout, piece)
		f.flush()
	}
	end(task)
	f.flush()
	var got []string
	for _, l := range f.lines(runlog.Query{}) {
		got = append(got, l.Text)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%d lines, want %d, or others", len(got), len(want))
	}
}

// BenchmarkKeep is what it takes to keep what steps write, but for the database and the disk, in lines of that length.
func BenchmarkKeep(b *testing.B) {
	for _, width := range []int{999, 79, 9} {
		b.Run(fmt.Sprint(width), func(b *testing.B) {
			f := newFixture(b, runlog.Limits{Bytes: 1 << 40, Pending: 4 << 20})
			task := f.writer.Task(f.execution, 1, nil)
			piece := []byte(strings.Repeat(strings.Repeat("x", width)+"\n", 32<<10/(width+1)))
			b.SetBytes(int64(len(piece) * 32))
			b.ReportAllocs()
			for b.Loop() {
				for range 32 {
					task.Output(chargehand.LogStdout, piece)
				}
				f.flush()
			}
			end(task)
			if d := f.writer.Stats().Dropped; d != 0 {
				b.Errorf("%d bytes were dropped", d)
			}
		})
	}
}

// BenchmarkOutput is what a step pays for a piece of 32 KiB.
func BenchmarkOutput(b *testing.B) {
	f := newFixture(b, runlog.Limits{Bytes: 1 << 40})
	task := f.writer.Task(f.execution, 1, nil)
	piece := []byte(strings.Repeat(strings.Repeat("x", 79)+"\n", 32<<10/80))
	b.SetBytes(int64(len(piece)))
	for b.Loop() {
		task.Output(chargehand.LogStdout, piece)
	}
}
