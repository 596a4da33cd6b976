package service

import "time"

// Limits are the bounds of the service. Zero fields stand for the defaults.
type Limits struct {
	BodyBytes           int64         // body of one execution and of any other small request; default 1 MiB
	BatchBodyBytes      int64         // body of a batch; default 32 MiB
	DefinitionBytes     int64         // default 1 MiB
	UploadBytes         int64         // default 1 GiB
	JSONDepth           int           // default 64
	BatchItems          int           // default 10,000
	Concurrency         int           // largest effective concurrency of a batch; default 100
	Wait                time.Duration // default 60 s
	RatePerSecond       float64       // per key; default 1,000; negative: no limit
	InlinePayloadBytes  int           // larger payloads go to the blob store; default 128 KiB
	IdempotencyKeyBytes int           // default 255
}

// Limit is one bound as GET /limits tells it.
type Limit struct {
	Name        string // snake_case, unit last
	Value       int64
	Description string
}

// Limits are the bounds in force, defaults filled in.
func (s *Service) Limits() Limits { panic("unfinished") }

// List is every bound of the installation, in a fixed order.
func (l Limits) List() []Limit { panic("unfinished") }
