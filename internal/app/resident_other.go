//go:build !linux

package app

import "context"

// releasePages and releaseWhenIdle do something on Linux only.
func releasePages() {}

func releaseWhenIdle(context.Context) {}
