package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// namespaceFlags are the namespaces of a supervisor and all below it. The supervisor is process
// 1 of its PID namespace: when it ends, however that comes about, the kernel kills all others.
const namespaceFlags = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC

// namespaceAttr makes a helper start in namespaces of its own. It has the capabilities to
// arrange them and to take capabilities from its command, all of them worth nothing outside.
func namespaceAttr() (*syscall.SysProcAttr, error) {
	uids, err := ownIDs("/proc/self/uid_map", os.Geteuid())
	if err != nil {
		return nil, err
	}
	gids, err := ownIDs("/proc/self/gid_map", os.Getegid())
	if err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{
		Setsid: true, Cloneflags: namespaceFlags, UidMappings: uids, GidMappings: gids,
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP},
	}, nil
}

// ownIDs maps a user to itself, and root, whose commands may own files to others, every id that
// it knows.
func ownIDs(path string, id int) ([]syscall.SysProcIDMap, error) {
	if os.Geteuid() != 0 {
		return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var ids []syscall.SysProcIDMap
	for line := range strings.Lines(string(text)) {
		var inside, outside, size int
		if _, err := fmt.Sscan(line, &inside, &outside, &size); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		ids = append(ids, syscall.SysProcIDMap{ContainerID: inside, HostID: inside, Size: size})
	}
	return ids, nil
}

// The folder for shared memory, and the maximum that a command may keep in it.
const (
	sharedFolder   = "/dev/shm"
	maxSharedBytes = 64 << 20
)

// arrangeNamespaces gives this process, the first of its PID namespace, a /proc that shows its
// descendants alone, and shared memory that ends with them.
func arrangeNamespaces() error {
	if os.Getpid() != 1 {
		return errors.New("this process is not the first of its PID namespace")
	}
	// What is unmounted outside goes here too; what is mounted here is not seen outside.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep mounts apart: %w", err)
	}
	const plain = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("proc", "/proc", "proc", plain, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if !exists(sharedFolder) {
		return nil
	}
	if err := unix.Mount("tmpfs", sharedFolder, "tmpfs", plain, fmt.Sprintf("mode=1777,size=%d", maxSharedBytes)); err != nil {
		return fmt.Errorf("mount %s: %w", sharedFolder, err)
	}
	return nil
}

// sharedBytes is what lies in the shared memory of these namespaces.
func sharedBytes() int64 {
	var stat unix.Statfs_t
	if unix.Statfs(sharedFolder, &stat) != nil || stat.Type != unix.TMPFS_MAGIC {
		return 0
	}
	return int64(stat.Blocks-stat.Bfree) * stat.Bsize
}

// trialMode is the helper mode that only tries to arrange namespaces.
const trialMode = "namespaces"

// trialMain tells by exit code and standard error.
func trialMain() int {
	if err := arrangeNamespaces(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return helperFailed
	}
	return 0
}

// rootCause is an error without the path of the helper.
func rootCause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

const trialTime = 20 * time.Second

// namespaceSupport tells why helpers cannot have namespaces here; nil: they can. The kernel has
// too many ways to refuse them, and so have containers: a helper tries, once in this process.
var namespaceSupport = sync.OnceValue(func() error {
	attr, err := namespaceAttr()
	if err != nil {
		return err
	}
	var words bytes.Buffer
	trial := helperCommand(trialMode)
	trial.SysProcAttr, trial.Stderr, trial.WaitDelay = attr, &words, time.Second
	if err := trial.Start(); err != nil {
		return fmt.Errorf("the kernel refuses them: %w", rootCause(err))
	}
	alarm := time.AfterFunc(trialTime, func() { _ = trial.Process.Kill() })
	defer alarm.Stop()
	err = trial.Wait()
	if text := strings.TrimSpace(words.String()); text != "" {
		return errors.New(text)
	}
	return err
})
