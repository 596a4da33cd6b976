package process

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// launcherMode is the helper mode that starts supervisors in namespaces. The fork that a user
// namespace needs copies the page tables of the process that forks, and the server may be large. The
// launcher is small, does nothing else, and ends with the server.
const launcherMode = "launch"

const launcherFD = 3

// endedWell is the report of a supervisor's end with exit code 0.
const endedWell = "ok"

// launcherMain starts a supervisor for each message, which brings its files and one more, to
// report its id and its end by.
func launcherMain() int {
	unix.CloseOnExec(launcherFD)
	room := make([]byte, unix.CmsgSpace(4*(len(helperFiles{})+1)))
	for {
		var nothing [1]byte
		n, size, _, _, err := unix.Recvmsg(launcherFD, nothing[:], room, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n == 0 || err != nil {
			return 0 // the server has ended
		}
		go launch(receivedFiles(room[:size]))
	}
}

func receivedFiles(control []byte) []*os.File {
	var files []*os.File
	messages, _ := unix.ParseSocketControlMessage(control)
	for i := range messages {
		fds, _ := unix.ParseUnixRights(&messages[i])
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files
}

// launch starts one supervisor and reports.
func launch(files []*os.File) {
	var given helperFiles
	if len(files) != len(given)+1 {
		return // none, or not all, for lack of descriptors: the closed report tells
	}
	report := files[copy(given[:], files)]
	defer report.Close()
	cmd, err := startNamespaced(given)
	given.close()
	if err == nil {
		fmt.Fprintf(report, "%d\n", cmd.Process.Pid)
		if err = cmd.Wait(); err == nil {
			fmt.Fprint(report, endedWell)
			return
		}
	}
	fmt.Fprint(report, err)
}

func startNamespaced(files helperFiles) (*exec.Cmd, error) {
	attr, err := namespaceAttr()
	if err != nil {
		return nil, err
	}
	cmd := supervisorCommand(files)
	cmd.SysProcAttr = attr
	return cmd, cmd.Start()
}

// launcher is the one of this process.
var launcher struct {
	sync.Mutex
	socket int // 0: none runs
}

// startLaunched has the launcher start a supervisor. One that has died is replaced.
func startLaunched(files helperFiles) (*supervisorProcess, error) {
	reportR, reportW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer reportW.Close()
	fds := []int{}
	for _, file := range append(files[:], reportW) {
		fds = append(fds, int(file.Fd()))
	}
	launcher.Lock()
	defer launcher.Unlock()
	for range 2 {
		if launcher.socket == 0 {
			if launcher.socket, err = startLauncher(); err != nil {
				break
			}
		}
		if err = unix.Sendmsg(launcher.socket, []byte{0}, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL); err == nil {
			p := &supervisorProcess{ended: make(chan error, 1)}
			go p.hear(reportR)
			return p, nil
		}
		_ = unix.Close(launcher.socket)
		launcher.socket = 0
	}
	reportR.Close()
	return nil, fmt.Errorf("launcher: %w", err)
}

// startLauncher returns our end of its socket.
func startLauncher() (int, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	end := os.NewFile(uintptr(pair[1]), "launcher")
	defer end.Close()
	cmd := helperCommand(launcherMode)
	cmd.ExtraFiles = []*os.File{end}
	if err := cmd.Start(); err != nil {
		return 0, errors.Join(err, unix.Close(pair[0]))
	}
	go func() { _ = cmd.Wait() }()
	return pair[0], nil
}

// hear takes the reports of the launcher: the id, then how it ended.
func (p *supervisorProcess) hear(report *os.File) {
	defer report.Close()
	lines := bufio.NewReader(report)
	first, err := lines.ReadString('\n')
	pid, _ := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 0 {
		p.ended <- fmt.Errorf("the launcher starts none: %s", cmp.Or(first, "it died, or has no descriptors"))
		return
	}
	p.pid.Store(int64(pid))
	rest, _ := io.ReadAll(lines)
	p.pid.Store(0)
	switch string(rest) {
	case endedWell:
		p.ended <- nil
	case "":
		p.ended <- errLauncherDied
	default:
		p.ended <- errors.New(string(rest))
	}
}
