package blackbox_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/servertest"
)

// logLost is the age from which on a line of a log survives a crash.
const logLost = 2 * time.Second

// logWriter writes a line, and then notes in a file when it has done so. With ballast each line is followed by so much
// that segments become too large for their rows.
const logWriter = `document: {dsl: '1.0.3', namespace: crash, name: %s, version: '1.0.0'}
do:
- write:
    metadata: {onInterrupted: fault}
    run:
      shell:
        command: |
          i=0
          while :; do
            i=$((i+1)); echo "line $i"; %s
            echo "$i $(date +%%s%%3N)" >>"$OUT_DIR/$NAME"; sleep 0.1
          done
        environment: {NAME: '${ .name }'}
`

// TestLogsAfterKills kills the server again and again while steps write: of each log nothing is lost that was written
// two seconds before the kill, or that was read before it. CHARGEHAND_CRASH_KILLS is the number of kills
// (default 1).
func TestLogsAfterKills(t *testing.T) {
	t.Parallel()
	options := servertest.Options{DataDir: t.TempDir(), Args: []string{"--allow-run", "shell", "--rate-limit", "0"}}
	server := servertest.Start(t, options)
	key := server.Key
	options.Listen = strings.TrimPrefix(server.URL, "http://")
	api := client.New(server.URL, key)
	short := server.Apply(t, fmt.Sprintf(logWriter, "short", ":"))
	long := server.Apply(t, fmt.Sprintf(logWriter, "long", `head -c 60000 /dev/zero | tr '\0' x; echo`))
	trivial := server.Apply(t, "document: {dsl: '1.0.3', namespace: crash, name: beside, version: '1.0.0'}\ndo:\n- a: {set: {x: 1}}\n")
	for life := range crashNumber(t, "CHARGEHAND_CRASH_KILLS", 1) {
		var logs []*followedLog
		for i, workflow := range []string{short, short, long} {
			l := &followedLog{name: fmt.Sprintf("%d-%d", life, i), scratch: filepath.Join(options.DataDir, "scratch")}
			e, err := api.Start(t.Context(), workflow, []byte(`{"name":"`+l.name+`"}`), client.StartOptions{})
			if err != nil {
				t.Fatal(err)
			}
			l.execution = e
			logs = append(logs, l)
		}
		for _, l := range logs {
			eventually(t, "the step writes", func() bool { return len(l.notes(t)) > 0 })
		}
		following, stop := context.WithCancel(t.Context())
		var beside sync.WaitGroup
		for _, l := range logs[1:] { // no client reads the first one
			beside.Go(func() { l.follow(following, api) })
		}
		var slowest time.Duration // of a request that writes: what a commit takes on this machine now
		beside.Go(func() { slowest = slowestStart(following, api, trivial) })
		<-time.After(logLost + time.Duration(300+rand.IntN(1500))*time.Millisecond) // a random moment is what is tested
		killed := time.Now()
		server.Kill()
		stop()
		beside.Wait()
		for _, l := range logs {
			l.written = l.notes(t) // the next life of the server deletes them
		}
		server = servertest.Launch(t, options)
		for _, l := range logs {
			l.verify(t, api, killed.Add(-logLost-10*slowest))
		}
	}
}

// slowestStart starts an execution every 100 ms until the context ends, and says how long the slowest start took.
func slowestStart(ctx context.Context, api *client.Client, workflow string) (slowest time.Duration) {
	for {
		began := time.Now()
		_, err := api.Start(ctx, workflow, nil, client.StartOptions{})
		slowest = max(slowest, time.Since(began))
		if err != nil {
			return slowest
		}
		select {
		case <-ctx.Done():
			return slowest
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// followedLog is a log that a step writes and a client reads.
type followedLog struct {
	name      string
	scratch   string // folder of the folders of steps
	execution *client.Execution
	seen      []client.LogLine
	written   []time.Time // when the step had written each of its lines
}

// notes reads when the step had written each of its lines, by the file that it makes.
func (l *followedLog) notes(t *testing.T) (times []time.Time) {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(l.scratch, "*", "out", l.name))
	if len(names) == 0 {
		return nil
	}
	file, err := os.Open(names[0])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		number, at, _ := strings.Cut(lines.Text(), " ")
		ms, err := strconv.ParseInt(at, 10, 64)
		if err != nil || number != fmt.Sprint(len(times)+1) {
			break // the last one is not whole
		}
		times = append(times, time.UnixMilli(ms))
	}
	return times
}

// follow reads the log until the server is gone.
func (l *followedLog) follow(ctx context.Context, api *client.Client) {
	for {
		filter := client.LogFilter{After: int64(len(l.seen)), Wait: 20 * time.Second}
		page, err := api.Log(ctx, l.execution.WorkflowID, l.execution.ID, filter)
		if err != nil {
			return
		}
		l.seen = append(l.seen, page.Lines...)
	}
}

// verify reads the log of the execution, which the kill has ended.
func (l *followedLog) verify(t *testing.T, api *client.Client, kept time.Time) {
	t.Helper()
	var e *client.Execution
	eventually(t, "the interrupted execution has ended", func() bool {
		var err error
		if e, err = api.GetExecution(t.Context(), l.execution.WorkflowID, l.execution.ID, 20*time.Second); err != nil {
			t.Fatal(err)
		}
		return e.Final()
	})
	if e.Error == nil || e.Error.Code != "interrupted" {
		t.Fatalf("execution %s ended as %s %+v", e.ID, e.Status, e.Error)
	}
	var lines []client.LogLine
	for complete := false; !complete; {
		filter := client.LogFilter{After: int64(len(lines)), Limit: 10_000}
		page, err := api.Log(t.Context(), e.WorkflowID, e.ID, filter)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, page.Lines...)
		complete = page.Complete && len(page.Lines) < filter.Limit
	}
	count := 0 // lines of the step, which follow each other
	for i, line := range lines {
		if line.Line != int64(i+1) {
			t.Fatalf("line %d of log %s has the number %d", i+1, l.name, line.Line)
		}
		if strings.HasPrefix(line.Text, "line ") {
			if count++; line.Text != fmt.Sprint("line ", count) {
				t.Fatalf("log %s has %q where line %d belongs", l.name, line.Text, count)
			}
		}
		if i < len(l.seen) && (l.seen[i].Text != line.Text || !l.seen[i].At.Equal(line.At)) {
			t.Errorf("line %d of log %s was read as %.100q and is now %.100q", line.Line, l.name, l.seen[i].Text, line.Text)
		}
	}
	if len(lines) < len(l.seen) {
		t.Errorf("log %s had %d lines when it was read, and has %d", l.name, len(l.seen), len(lines))
	}
	lost := 0
	for _, at := range l.written[min(count, len(l.written)):] {
		if at.Before(kept) {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("log %s lost %d lines of before %v; the step wrote %d, and %d are there", l.name, lost, kept, len(l.written), count)
	}
	t.Logf("log %s: %d of %d lines of the step are there, %d lines were read before the kill", l.name, count, len(l.written), len(l.seen))
}
