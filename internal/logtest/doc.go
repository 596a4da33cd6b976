// Package logtest holds what tests need to read a log while it is written.
//
// A Buffer takes the output of a handler of log/slog. Its methods are safe for concurrent use.
package logtest
