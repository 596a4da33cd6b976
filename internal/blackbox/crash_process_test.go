package blackbox_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// crashProcess is a process as /proc shows it; the start time tells apart two with one id.
type crashProcess struct {
	pid, parent int
	started     string
	what        string // environment, command line and working directory
}

// crashProcesses lists what runs on this machine now.
func crashProcesses() []crashProcess {
	var list []crashProcess
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		pid, _ := strconv.Atoi(filepath.Base(folder))
		stat, err := os.ReadFile(folder + "/stat")
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if fields[0] == "Z" || fields[0] == "X" {
			continue // dead, but not yet collected
		}
		parent, _ := strconv.Atoi(fields[1])
		command, _ := os.ReadFile(folder + "/cmdline")
		environment, _ := os.ReadFile(folder + "/environ")
		cwd, _ := os.Readlink(folder + "/cwd")
		list = append(list, crashProcess{pid: pid, parent: parent, started: fields[19],
			what: string(bytes.ReplaceAll(command, []byte{0}, []byte{' '})) + "|" + cwd + "|" + string(environment)})
	}
	return list
}

// processTree is what a server started, with the children of its children.
func processTree(server int) map[string]bool {
	processes := map[int]bool{server: true}
	ids := map[string]bool{}
	list := crashProcesses()
	for grown := true; grown; {
		grown = false
		for _, p := range list {
			if processes[p.parent] && !processes[p.pid] {
				processes[p.pid], grown = true, true
				ids[fmt.Sprint(p.pid, "@", p.started)] = true
			}
		}
	}
	return ids
}

// verifyNoSurvivor checks that soon after a kill nothing is left of what the
// server had started: neither one of its children nor anything that works in its directory.
func verifyNoSurvivor(t *testing.T, processes map[string]bool, dataDir string) time.Duration {
	t.Helper()
	begin := time.Now()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		var left []string
		for _, p := range crashProcesses() {
			if p.pid != os.Getpid() && (processes[fmt.Sprint(p.pid, "@", p.started)] || strings.Contains(p.what, dataDir)) {
				left = append(left, fmt.Sprintf("%d %.150q", p.pid, p.what))
			}
		}
		if len(left) == 0 {
			return time.Since(begin)
		}
		if time.Since(begin) > 30*time.Second {
			t.Errorf("%d processes outlive the server:\n%s", len(left), strings.Join(left, "\n"))
			return time.Since(begin)
		}
		<-tick.C
	}
}
