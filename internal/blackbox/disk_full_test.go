//go:build linux

package blackbox_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/peer"

	"golang.org/x/sys/unix"

	"github.com/chargehand/chargehand/internal/servertest"
)

const diskBytes = 8 << 20

// smallDisk mounts a file system of 8 MiB, which only root may do, and returns its folder.
func smallDisk(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		peer.Skip(t, "mounting a small file system needs Linux and root")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", diskBytes)); err != nil {
		peer.Skip(t, "mounting a small file system is not allowed here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// fillDisk leaves at most that many bytes free, and returns the file that takes the rest. Called again, the file grows.
func fillDisk(t *testing.T, dir string, free uint64) string {
	t.Helper()
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "ballast")
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if available := stat.Bavail * uint64(stat.Bsize); available > free {
		if _, err := file.Write(make([]byte, available-free)); err != nil && !errors.Is(err, unix.ENOSPC) {
			t.Fatal(err)
		}
	}
	return path
}

// remountDisk gives the disk another size, or makes it read-only.
func remountDisk(t *testing.T, dir string, bytes int, flags uintptr) {
	t.Helper()
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|flags, fmt.Sprintf("size=%d", bytes)); err != nil {
		peer.Skip(t, "remounting is not allowed here: %v", err)
	}
}

// diskLoad starts executions until an answer says that there is no room.
type diskLoad struct {
	t         *testing.T
	server    *servertest.Server
	receiver  *crashReceiver
	workflows map[string]string
	flows     []crashFlow

	mu       sync.Mutex
	accepted map[string]*crashRequest // by id
	refused  map[string]bool          // tags
}

func newDiskLoad(t *testing.T, server *servertest.Server) *diskLoad {
	l := &diskLoad{t: t, server: server, receiver: newCrashReceiver(t), workflows: map[string]string{},
		accepted: map[string]*crashRequest{}, refused: map[string]bool{}}
	for _, f := range append(crashFlows(), crashItem) {
		switch f.name {
		case "trivial", "timer", "calls", "retry", "item":
			l.flows = append(l.flows, f)
			l.workflows[f.name] = server.Apply(t, f.definition(l.receiver.URL))
		}
	}
	return l
}

// fill starts executions and batches from four clients until each was refused often.
func (l *diskLoad) fill(phase string) {
	var clients sync.WaitGroup
	for client := range 4 {
		clients.Go(func() {
			refusals := 0
			deadline := time.Now().Add(2 * time.Minute)
			for n := 0; refusals < 10; n++ {
				if time.Now().After(deadline) {
					l.t.Error("the disk was never full")
					return
				}
				flow := &l.flows[n%len(l.flows)]
				q := &crashRequest{flow: flow, batch: flow.name == "item", in: crashInput{Tag: fmt.Sprintf("%s-%d-%d", phase, client, n), N: n, MS: 50 + n%100}}
				if l.start(q) {
					l.read(q)
				} else {
					refusals++
				}
			}
		})
	}
	clients.Wait()
}

// start reports whether a request was accepted. A refusal has to be clear.
func (l *diskLoad) start(q *crashRequest) bool {
	path, want := "/workflows/"+l.workflows[q.flow.name]+"/executions", http.StatusCreated
	if q.batch {
		path, want = "/workflows/"+l.workflows[q.flow.name]+"/batch", http.StatusAccepted
	}
	answer, err := l.server.Try("POST", path, q.body())
	if err != nil {
		l.t.Errorf("start on a full disk: %v", err)
		return false
	}
	var made struct {
		ExecutionID string `json:"execution_id"`
		BatchID     string `json:"batch_id"`
		Code        string
		Detail      string
	}
	if err := json.Unmarshal(answer.Body, &made); err != nil {
		l.t.Errorf("start on a full disk: %d %.300s", answer.Status, answer.Body)
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if answer.Status == want {
		q.executed = made.ExecutionID + made.BatchID
		q.path = path + "/" + q.executed
		l.accepted[q.executed] = q
		return true
	}
	full := answer.Status == http.StatusServiceUnavailable && made.Code == "unavailable" && answer.Header.Get("Retry-After") != ""
	reserve := answer.Status == http.StatusInsufficientStorage && made.Code == "storage_reserve"
	if !full && !reserve || made.Detail == "" || answer.Header.Get("Content-Type") != "application/problem+json" {
		l.t.Errorf("a refusal on a full disk is not clear: %d %v %.300s", answer.Status, answer.Header, answer.Body)
	}
	l.refused[q.in.Tag] = true
	return false
}

// read checks that what was accepted can be read, disk or not.
func (l *diskLoad) read(q *crashRequest) crashView {
	var view crashView
	answer, err := l.server.Try("GET", q.path, "")
	if err != nil || answer.Status != http.StatusOK || json.Unmarshal(answer.Body, &view) != nil {
		l.t.Errorf("read %s: %v %d %.300s", q.path, err, answer.Status, answer.Body)
	}
	return view
}

// goesOn waits until the server accepts again, or what it had accepted before has taken the room.
func (l *diskLoad) goesOn(disk string) time.Duration {
	begin := time.Now()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		q := &crashRequest{flow: &l.flows[0], in: crashInput{Tag: fmt.Sprintf("again-%s-%d", begin.Format("150405.000"), n)}}
		if l.start(q) {
			return time.Since(begin)
		}
		if time.Since(begin) > time.Minute {
			var now unix.Statfs_t
			if err := unix.Statfs(disk, &now); err != nil || now.Bavail*20 < now.Blocks {
				l.t.Logf("%d of %d blocks are free, less than the reserve: what was accepted has taken the room (%v)", now.Bavail, now.Blocks, err)
				return time.Since(begin)
			}
			l.t.Fatal("a minute after there is room, nothing is accepted")
		}
		<-tick.C
	}
}

// verify checks that all that was accepted ends, and that nothing else exists.
func (l *diskLoad) verify() {
	load := &crashLoad{t: l.t, server: l.server, receiver: l.receiver, flows: l.flows, item: crashItem, workflows: l.workflows}
	deadline := time.Now().Add(2 * time.Minute)
	batches := 0
	for _, q := range l.accepted {
		for q.last = l.read(q); !q.last.final() && time.Now().Before(deadline); q.last = l.read(q) {
			<-time.After(2 * time.Millisecond) // a server looked at from outside has no other signal
		}
		if !q.last.final() {
			l.t.Errorf("%s %s has not ended, though there is room: %+v", q.flow.name, q.path, q.last)
			continue
		}
		q.seenEnd = time.Now()
		if q.batch {
			batches++
			load.verifyBatch(q, batches)
			continue
		}
		load.verifyEnd(q.flow, q.in, q.path, q.last)
		load.verifyTimeline(q.flow, q.in, q.path)
		load.receiver.verifyOrder(l.t, q)
	}
	for _, f := range l.flows {
		path, query := "/workflows/"+l.workflows[f.name]+"/executions", "?limit=100"
		if f.name == "item" {
			path, query = "/workflows/"+l.workflows[f.name]+"/batch", "?limit=100&executions=none"
		}
		for _, view := range load.pages(path + query) {
			if id := cmp.Or(view.ID, view.BatchID); l.accepted[id] == nil {
				l.t.Errorf("%s %s exists, though no answer said that it was accepted; its tag is %q", f.name, id, load.tagOf(path+"/"+id, f.name == "item"))
			}
		}
	}
	if items := load.pages("/workflows/" + l.workflows["item"] + "/executions?limit=100"); len(items) != batches*crashItems {
		l.t.Errorf("%d items of %d batches exist, want %d", len(items), batches, batches*crashItems)
	}
	l.t.Logf("%d accepted, %d of them batches of %d; %d refused", len(l.accepted), batches, crashItems, len(l.refused))
}

func diskOptions(disk string) servertest.Options {
	return servertest.Options{DataDir: filepath.Join(disk, "data"), Args: []string{"--rate-limit", "0", "--allow-egress", "127.0.0.1"}}
}

// TestDiskFull fills the disk under load: what cannot be stored is refused with a clear 503, or 507 once the server has
// seen that the disk has not its reserve; reads still work, and with room again everything that was accepted ends, and
// no call is repeated. At first another file takes the room; then the database itself has no more.
func TestDiskFull(t *testing.T) {
	disk := smallDisk(t)
	server := servertest.Start(t, diskOptions(disk))
	load := newDiskLoad(t, server)
	ballast := fillDisk(t, disk, 1<<20)
	load.fill("ballast")
	load.lists()
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	t.Logf("accepted again %v after there is room", load.goesOn(disk).Round(time.Millisecond))
	load.fill("grown")
	load.lists()
	remountDisk(t, disk, 8*diskBytes, 0)
	t.Logf("accepted again %v after the disk has grown", load.goesOn(disk).Round(time.Millisecond))
	load.verify()
	load.receiver.verify(t, nil) // without a kill no call may come again
	if code := server.Stop(); code != 0 {
		t.Errorf("the server ended with exit code %d", code)
	}
	crashDoctor(t, filepath.Join(disk, "data"))
}

// lists checks that lists are answered though nothing can be stored.
func (l *diskLoad) lists() {
	for _, path := range []string{"/workflows", "/executions?limit=100"} {
		if a := l.server.Do(l.t, "GET", path, ""); a.Status != http.StatusOK {
			l.t.Errorf("GET %s on a full disk: %d %.300s", path, a.Status, a.Body)
		}
	}
}

// TestDiskFullCrash kills the server on a full disk. Whether one can start there is not said,
// but it must say what is wrong if it cannot; with room it does, and nothing is lost.
func TestDiskFullCrash(t *testing.T) {
	disk := smallDisk(t)
	options := diskOptions(disk)
	server := servertest.Start(t, options)
	options.Listen = strings.TrimPrefix(server.URL, "http://")
	load := newDiskLoad(t, server)
	ballast := fillDisk(t, disk, 1<<20)
	load.fill("full")
	kill := crashKill{from: time.Now()}
	server.Kill()
	kill.to = time.Now()
	kills := append([]crashKill{kill}, diskStart(t, options)...)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	remountDisk(t, disk, 8*diskBytes, 0)
	life := servertest.Launch(t, options)
	load.goesOn(disk)
	load.verify()
	load.receiver.verify(t, kills)
	if code := life.Stop(); code != 0 {
		t.Errorf("the server ended with exit code %d", code)
	}
	crashDoctor(t, options.DataDir)
}

// diskStart starts a server on a full disk and ends it. It must either serve or end with exit
// code 1 and a reason.
func diskStart(t *testing.T, options servertest.Options) []crashKill {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := servertest.Command(t, append([]string{"serve", "--data-dir", options.DataDir, "--listen", options.Listen}, options.Args...)...)
	cmd.Stderr = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
		text, _ := os.ReadFile(out.Name())
		if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(text), "full") {
			t.Errorf("on a full disk the server ends with exit code %d and says:\n%s", cmd.ProcessState.ExitCode(), text)
		}
		t.Logf("on a full disk: %.400s", text)
		return nil
	case <-time.After(700 * time.Millisecond): // it serves
		kill := crashKill{from: time.Now()}
		_ = cmd.Process.Kill()
		<-ended
		kill.to = time.Now()
		t.Log("the server starts on a full disk")
		return []crashKill{kill}
	}
}

// TestDiskReadOnly starts the server on a directory that it cannot write: exit code 1, and an
// error that names the place and the reason.
func TestDiskReadOnly(t *testing.T) {
	disk := smallDisk(t)
	options := diskOptions(disk)
	server := servertest.Start(t, options)
	workflow := server.Apply(t, crashFlows()[0].definition(""))
	server.Run(t, workflow, `{"tag":"a","n":1}`)
	if code := server.Stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	empty := filepath.Join(disk, "empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	remountDisk(t, disk, diskBytes, unix.MS_RDONLY)
	for name, dir := range map[string]string{"used": options.DataDir, "empty": empty, "missing": filepath.Join(disk, "missing")} {
		t.Run(name, func(t *testing.T) {
			out, err := servertest.Command(t, "serve", "--data-dir", dir, "--listen", "127.0.0.1:0").CombinedOutput()
			exit, ok := err.(*exec.ExitError)
			if !ok || exit.ExitCode() != 1 {
				t.Fatalf("serve on a read-only directory: %v\n%s", err, out)
			}
			if text := string(out); !strings.Contains(text, dir) || !strings.Contains(text, "read-only") || strings.Contains(text, "goroutine ") {
				t.Errorf("the error does not name the directory and say that it is read-only:\n%s", text)
			}
			t.Logf("%s", out)
		})
	}
	remountDisk(t, disk, diskBytes, 0)
	again := servertest.Launch(t, options)
	again.Key = server.Key
	again.Run(t, workflow, `{"tag":"b","n":1}`)
}
