//go:build !linux

package postgres

import "syscall"

// boundUnanswered is for Linux; elsewhere keepalives and the timeouts of statements must do.
func boundUnanswered(_, _ string, _ syscall.RawConn) error { return nil }
