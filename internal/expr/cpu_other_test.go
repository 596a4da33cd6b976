//go:build !unix

package expr

import "time"

var processStart = time.Now()

func cpuTime() time.Duration { return time.Since(processStart) }
