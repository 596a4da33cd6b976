package chargehand

// LogLevel says how much a line of the log of an execution matters.
type LogLevel uint8

// The levels, each more urgent than the one before.
const (
	LogTrace LogLevel = iota + 1
	LogDebug
	LogInfo
	LogWarning
	LogError
	LogCritical
)

var logLevels = [...]string{"", "trace", "debug", "info", "warning", "error", "critical"}

func (l LogLevel) String() string {
	if int(l) >= len(logLevels) {
		return ""
	}
	return logLevels[l]
}

// ParseLogLevel is the inverse of String.
func ParseLogLevel(name string) (LogLevel, bool) {
	for l := LogTrace; l <= LogCritical; l++ {
		if logLevels[l] == name {
			return l, true
		}
	}
	return 0, false
}

// LogStream says where a line of the log of an execution comes from.
type LogStream uint8

// The streams. What the server itself says of a step, and what the function log writes, is LogLines.
const (
	LogStdout LogStream = iota + 1
	LogStderr
	LogLines
)

var logStreams = [...]string{"", "stdout", "stderr", "log"}

func (s LogStream) String() string {
	if int(s) >= len(logStreams) {
		return ""
	}
	return logStreams[s]
}

// ParseLogStream is the inverse of String.
func ParseLogStream(name string) (LogStream, bool) {
	for s := LogStdout; s <= LogLines; s++ {
		if logStreams[s] == name {
			return s, true
		}
	}
	return 0, false
}
