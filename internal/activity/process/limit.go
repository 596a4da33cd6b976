package process

import (
	"cmp"
	"fmt"
	"time"
)

// Limits bounds one command with all its descendants. A zero field stands for the default.
type Limits struct {
	Time        time.Duration // wall time; default 10 minutes
	Grace       time.Duration // between SIGTERM and SIGKILL; default 2 seconds
	MemoryBytes int64         // resident memory of the tree, data segment of each process; default 1 GiB
	OutputBytes int64         // stdout and stderr together; default 16 MiB
	FileBytes   int64         // size of one file; default 1 GiB
	DiskBytes   int64         // size of the private directory; default 4 GiB
	Processes   int           // processes at one time; default 256
	OpenFiles   int           // descriptors of each process; default 4096
}

// The defaults of Limits.
const (
	DefaultTime        = 10 * time.Minute
	DefaultGrace       = 2 * time.Second
	DefaultMemoryBytes = 1 << 30
	DefaultOutputBytes = 16 << 20
	DefaultFileBytes   = 1 << 30
	DefaultDiskBytes   = 4 << 30
	DefaultProcesses   = 256
	DefaultOpenFiles   = 4096
	DefaultSlots       = 8
)

// or returns l with its zero fields taken from base.
func (l Limits) or(base Limits) Limits {
	return Limits{
		Time:        cmp.Or(l.Time, base.Time),
		Grace:       cmp.Or(l.Grace, base.Grace),
		MemoryBytes: cmp.Or(l.MemoryBytes, base.MemoryBytes),
		OutputBytes: cmp.Or(l.OutputBytes, base.OutputBytes),
		FileBytes:   cmp.Or(l.FileBytes, base.FileBytes),
		DiskBytes:   cmp.Or(l.DiskBytes, base.DiskBytes),
		Processes:   cmp.Or(l.Processes, base.Processes),
		OpenFiles:   cmp.Or(l.OpenFiles, base.OpenFiles),
	}
}

var defaultLimits = Limits{
	Time: DefaultTime, Grace: DefaultGrace, MemoryBytes: DefaultMemoryBytes, OutputBytes: DefaultOutputBytes,
	FileBytes: DefaultFileBytes, DiskBytes: DefaultDiskBytes, Processes: DefaultProcesses, OpenFiles: DefaultOpenFiles,
}

// Limit names a bound that a command ran into.
type Limit string

// The limits that end a command.
const (
	LimitTime      Limit = "time"
	LimitMemory    Limit = "memory"
	LimitOutput    Limit = "output"
	LimitDisk      Limit = "disk"
	LimitProcesses Limit = "processes"
)

// LimitError tells that a command was ended because it hit a limit. The Outcome that comes
// with it holds what the command wrote until then.
type LimitError struct {
	Limit  Limit
	Limits Limits // those that the command ran under
}

func (e *LimitError) Error() string {
	switch e.Limit {
	case LimitTime:
		return fmt.Sprintf("the process ran longer than %s and was stopped", e.Limits.Time)
	case LimitMemory:
		return fmt.Sprintf("the process and its children used more than %s of memory and were stopped", byteSize(e.Limits.MemoryBytes))
	case LimitOutput:
		return fmt.Sprintf("the process wrote more than %s to stdout and stderr and was stopped; write large results to a file in OUT_DIR", byteSize(e.Limits.OutputBytes))
	case LimitDisk:
		return fmt.Sprintf("the process wrote more than %s to its directory and was stopped", byteSize(e.Limits.DiskBytes))
	default:
		return fmt.Sprintf("the process had more than %d processes at one time and was stopped", e.Limits.Processes)
	}
}

// byteSize renders n in the largest binary unit that divides it.
func byteSize(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB"}
	at := 0
	for at < len(units)-1 && n >= 1024 && n%1024 == 0 {
		n /= 1024
		at++
	}
	return fmt.Sprintf("%d %s", n, units[at])
}

// StartError tells that a command could not be started: no such file, not executable, or too
// many bytes of arguments and environment. It is the author's or the installation's to mend.
type StartError struct {
	Path   string
	Detail string
}

func (e *StartError) Error() string { return "start " + e.Path + ": " + e.Detail }
