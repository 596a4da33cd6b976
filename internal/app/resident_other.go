//go:build !linux

package app

// releaseStartPages does something on Linux only.
func releaseStartPages() {}
