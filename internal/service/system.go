package service

import "time"

// System is the state of an installation, as the server that is asked sees it.
type System struct {
	Version   string
	Engine    string // embedded or temporal
	Database  string // sqlite or postgresql
	StartedAt time.Time
	AsOf      time.Time
	WriterLag time.Duration // that a transaction takes that writes nothing; negative: it did not end in time
	// Executions that have not ended, by state.
	Queued, Ready, Active, Parked, Delayed int64
	Counted                                int64 // what is counted of each kind at most
	// OldestWaiting is when the oldest execution was created that waits for a slot; zero: none does.
	OldestWaiting time.Time
	TimersDue     int64 // of the embedded engine
	Messages      int64 // on their way to Temporal
	MessagesLate  time.Duration
	Workers       int64 // that ask Temporal for work; negative: not known
	Processes     []SystemProcess
	Disks         []SystemDisk
	Reserve       bool // a disk has less free space than its reserve
	LastBackup    time.Time
	Findings      []SystemFinding
}

// SystemProcess is a process that works on the installation.
type SystemProcess struct {
	Name    string // host and process
	SeenAt  time.Time
	Standby bool // it waits to take over
}

// SystemDisk is a disk that the server writes to.
type SystemDisk struct {
	Folder      string
	Free, Total uint64
}

// SystemFinding is one thing that was looked at.
type SystemFinding struct {
	What    string
	OK      bool
	Detail  string
	Damages []string
}
