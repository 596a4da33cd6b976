package postgres

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// boundUnanswered gives up a connection whose peer has not confirmed what we sent.
func boundUnanswered(_, _ string, c syscall.RawConn) error {
	// Without it the connection works, and a dead peer is noticed later.
	return c.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, deadPeerMs) })
}
