package script

import (
	"io"
	"sync"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/process"
)

// While a script runs, its worker sends what it writes in frames of their own: a byte that says which stream, then the
// text. The answer, which is JSON, follows them.
const (
	stdoutFrame = 1
	stderrFrame = 2
)

const (
	// liveTime is how long a worker collects what is written, liveBytes how much.
	liveTime  = 100 * time.Millisecond
	liveBytes = 32 << 10
)

// liveOutput sends what a script writes, in the worker. A nil one sends nothing.
type liveOutput struct {
	to io.Writer

	mu    sync.Mutex
	frame []byte
	timer *time.Timer
}

func (l *liveOutput) write(stderr bool, text string) {
	if l == nil || text == "" {
		return
	}
	kind := byte(stdoutFrame)
	if stderr {
		kind = stderrFrame
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.frame) > 0 && l.frame[0] != kind {
		l.send()
	}
	if len(l.frame) == 0 {
		l.frame = append(l.frame, kind)
		if l.timer == nil {
			l.timer = time.AfterFunc(liveTime, l.flush)
		} else {
			l.timer.Reset(liveTime)
		}
	}
	if l.frame = append(l.frame, text...); len(l.frame) >= liveBytes {
		l.send()
	}
}

// flush sends what was collected.
func (l *liveOutput) flush() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.send()
}

// send sends the frame. If it cannot be sent, the answer cannot either, and the worker ends.
func (l *liveOutput) send() {
	if len(l.frame) > 0 {
		_ = process.WriteFrame(l.to, l.frame)
		l.frame = l.frame[:0]
	}
}

// outputLog takes the frames of a worker into the log of the execution, in the server.
type outputLog struct{ log activity.Log }

// take reports whether a frame holds what a script has written, and not its answer.
func (o outputLog) take(frame []byte) bool {
	if len(frame) == 0 || o.log == nil {
		return false
	}
	switch frame[0] {
	case stdoutFrame:
		o.log.Output(chargehand.LogStdout, frame[1:])
	case stderrFrame:
		o.log.Output(chargehand.LogStderr, frame[1:])
	default:
		return false
	}
	return true
}
