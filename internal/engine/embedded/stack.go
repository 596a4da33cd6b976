package embedded

import "runtime"

// stackBytes is about how much of its stack an activity and the step after it use.
const stackBytes = 12 << 10

// growStack gives a new goroutine at once the stack that it will need. It would have to be copied into a larger one
// three times otherwise, each time with more on it.
//
//go:noinline
func growStack() {
	var room [stackBytes]byte
	runtime.KeepAlive(&room)
}
