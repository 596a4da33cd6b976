package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
	"github.com/chargehand/chargehand/internal/store/storetest"
)

// childVariable makes the test binary a process that writes until it is killed.
const childVariable = "CHARGEHAND_STORE_CRASH_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childVariable); path != "" {
		if err := crashChild(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// crashChild accepts and ends executions from several goroutines, and says on stdout which
// number that was reported durable to it, after the report.
func crashChild(path string) error {
	db, err := sqlite.Open(sqlite.Options{Path: path, Owner: true})
	if err != nil {
		return err
	}
	st := store.New(db)
	out := bufio.NewWriter(os.Stdout)
	var mu sync.Mutex
	say := func(word string, no int64) error {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(out, word, no)
		return out.Flush()
	}
	errs := make(chan error)
	for i := range 8 {
		go func() {
			for n := uint64(0); ; n++ {
				if err := crashStep(st, say, uint64(os.Getpid())<<32|n<<4|uint64(i)); err != nil {
					errs <- err
				}
			}
		}()
	}
	return <-errs
}

func crashStep(st *store.Store, say func(string, int64) error, n uint64) error {
	e, o := trivial(int64(n), 1_700_000_000_000)
	e.Status, e.Phase, e.State, e.FinishedMs = chargehand.Initial, chargehand.Pending, store.StateQueued, 0
	e.StartedBy = int64(n % 3)
	ctx := context.Background()
	err := st.Update(ctx, func(tx *store.Tx) error {
		if err := tx.InsertExecution(&e); err != nil {
			return err
		}
		if err := tx.PutTimer(store.Timer{Environment: chargehand.Live, Execution: e.No, Command: 1, DueMs: 1}); err != nil {
			return err
		}
		return tx.AppendJournal(&store.JournalRow{Execution: e.No, Seq: 1, Event: store.Payload{Inline: make([]byte, 300)}})
	})
	if err != nil {
		return err
	}
	if err := say("accepted", e.No); err != nil || n%3 == 0 {
		return err
	}
	err = st.Update(ctx, func(tx *store.Tx) error {
		_, err := tx.FinishExecution(e.No, chargehand.Finished, chargehand.Completed, 1, 2, &o)
		return err
	})
	if err != nil {
		return err
	}
	return say("finished", e.No)
}

// crashRun starts a child and reads what it says until enough, then calls stop, and reads
// on to the end.
func crashRun(t *testing.T, path string, enough int, stop func(*os.Process), said map[string]bool) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+path)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		said[lines.Text()] = true
		if n == enough {
			stop(child.Process)
		}
	}
	if err := child.Wait(); err == nil || child.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended by itself: %v", err)
	}
}

// checkSaid opens a database and looks for everything that was reported durable to its writer.
func checkSaid(t *testing.T, path string, said map[string]bool) {
	t.Helper()
	db := mustOpen(t, sqlite.Options{Path: path, Owner: true})
	defer db.Close()
	storetest.CheckInvariants(t, db)
	st := store.New(db)
	for line := range said {
		var word string
		var no int64
		if n, _ := fmt.Sscan(line, &word, &no); n != 2 {
			continue // cut off by the kill
		}
		err := st.View(t.Context(), func(r *store.Reader) error {
			e, err := r.ExecutionByNo(no)
			if err == nil && word == "finished" && e.State != store.StateEnded {
				err = fmt.Errorf("it is not final: %+v", e)
			}
			return err
		})
		if err != nil {
			t.Errorf("after %q: %v", line, err)
		}
	}
	var broken int64
	err := db.View(t.Context(), func(c store.Conn) error {
		return c.Query(`PRAGMA integrity_check`, func(r store.Row) error {
			if r.Text(0) != "ok" {
				broken++
				t.Errorf("integrity: %s", r.Text(0))
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestKill kills a writing process at random moments, again and again on the same file.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	said := map[string]bool{}
	for round := range 6 {
		crashRun(t, path, 200+rand.IntN(3000), func(p *os.Process) { p.Kill() }, said)
		checkSaid(t, path, said)
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	if len(said) < 2000 {
		t.Errorf("only %d writes were acknowledged", len(said))
	}
}

// TestFrozenCopy copies the files of a writing process at one moment, as a crash of the
// machine would leave them, without the shared memory that a crash takes away.
func TestFrozenCopy(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "data.db")
	for round := range 4 {
		copied := filepath.Join(dir, strconv.Itoa(round), "data.db")
		if err := os.Mkdir(filepath.Dir(copied), 0o700); err != nil {
			t.Fatal(err)
		}
		said, before := map[string]bool{}, map[string]bool{}
		crashRun(t, path, 300+rand.IntN(3000), func(p *os.Process) {
			if err := p.Signal(syscall.SIGSTOP); err != nil {
				t.Error(err)
			}
			waitStopped(t, p.Pid)
			for line := range said {
				before[line] = true
			}
			for _, suffix := range []string{"", "-wal"} {
				content, err := os.ReadFile(path + suffix)
				if err == nil {
					err = os.WriteFile(copied+suffix, content, 0o600)
				}
				if err != nil {
					t.Error(err)
				}
			}
			p.Kill()
		}, said)
		checkSaid(t, copied, before)
	}
}

// waitStopped waits until the kernel says that the process has stopped.
func waitStopped(t *testing.T, pid int) {
	t.Helper()
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the child did not stop: %v", err)
	}
}
