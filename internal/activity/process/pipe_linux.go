package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// enlargePipe gives a pipe room for so many bytes. A kernel that refuses, because the pipes of the user have too much
// room already, leaves it as it is.
func enlargePipe(pipe *os.File, bytes int) {
	raw, err := pipe.SyscallConn() // Fd would make reads block a thread
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, bytes) })
}
