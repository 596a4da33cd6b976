package service

import (
	"time"

	"github.com/chargehand/chargehand/internal/cloudevent"
	"github.com/chargehand/chargehand/internal/plan"
)

// Limits are the bounds of the service. Zero fields stand for the defaults.
type Limits struct {
	BodyBytes           int64         // body of one execution and of any other small request; default 1 MiB
	BatchBodyBytes      int64         // body of a batch; default 32 MiB
	DefinitionBytes     int64         // default 1 MiB
	EventsBytes         int64         // body of a batch of events; default 8 MiB
	UploadBytes         int64         // one file; default 1 GiB
	JSONDepth           int           // levels of nesting of a body; default 64
	BatchItems          int           // default 10,000
	Concurrency         int           // largest effective concurrency of a batch; default 100
	Wait                time.Duration // longest `wait`; default 60 s
	RatePerSecond       float64       // requests per key; default 1,000; negative: no limit
	InlinePayloadBytes  int           // larger payloads go to the blob store; default 128 KiB
	IdempotencyKeyBytes int           // default 255
	EventStreams        int           // streams of events that are open at once; default 2,000
	EventStreamsPerKey  int           // of those, of one key or person; default 100
	// PoolLimits are the limits that other packages enforce. The service only lists them.
	PoolLimits []Limit
}

// Limit is one bound as GET /limits tells it.
type Limit struct {
	Name        string // snake_case, unit last
	Value       int64  // 0: no limit
	Description string
}

// defaultConcurrency is the concurrency of a batch that names none (docs/reference/api.md).
const defaultConcurrency = 5

// WithDefaults fills in what is not set.
func (l Limits) WithDefaults() Limits {
	orElse := func(v *int64, other int64) {
		if *v == 0 {
			*v = other
		}
	}
	orElse(&l.BodyBytes, 1<<20)
	orElse(&l.BatchBodyBytes, 32<<20)
	orElse(&l.DefinitionBytes, 1<<20)
	orElse(&l.EventsBytes, 8<<20)
	orElse(&l.UploadBytes, 1<<30)
	orElseInt := func(v *int, other int) {
		if *v == 0 {
			*v = other
		}
	}
	orElseInt(&l.JSONDepth, 64)
	orElseInt(&l.BatchItems, 10_000)
	orElseInt(&l.Concurrency, 100)
	orElseInt(&l.InlinePayloadBytes, 128<<10)
	orElseInt(&l.IdempotencyKeyBytes, 255)
	orElseInt(&l.EventStreams, 2000)
	orElseInt(&l.EventStreamsPerKey, 100)
	if l.Wait == 0 {
		l.Wait = 60 * time.Second
	}
	if l.RatePerSecond == 0 {
		l.RatePerSecond = 1000
	}
	return l
}

// Limits are the bounds in force, defaults filled in.
func (s *Service) Limits() Limits { return s.limits }

// List is the bounds of the installation that authors and clients meet, in a fixed order.
func (l Limits) List() []Limit {
	return append([]Limit{
		{"body_bytes", l.BodyBytes, "Body of a request, unless another limit is named for it, and input of one item of a batch."},
		{"batch_body_bytes", l.BatchBodyBytes, "Body of a batch."},
		{"definition_bytes", l.DefinitionBytes, "A workflow definition."},
		{"upload_bytes", l.UploadBytes, "One uploaded file."},
		{"json_depth", int64(l.JSONDepth), "Levels of nesting of a JSON body."},
		{"batch_items", int64(l.BatchItems), "Items of one batch."},
		{"batch_concurrency", int64(l.Concurrency), "Executions of one batch that run at once; a larger wish is lowered to this."},
		{"page_items", 100, "Items of one page of a list."},
		{"wait_seconds", int64(l.Wait / time.Second), "Longest time that a request waits for an execution or a batch."},
		{"event_streams", int64(l.EventStreams), "Streams of events that one server has open at once."},
		{"event_streams_per_key", int64(l.EventStreamsPerKey), "Those of one API key or person."},
		{"stream_topics", MaxTopics, "Topics of one stream."},
		{"operations", MaxActiveOperations, "Operations on many executions that are under way in an environment."},
		{"kept_operations", MaxKeptOperations, "Operations that are kept in an environment; the oldest that has ended makes room."},
		{"operation_executions", MaxOperationExecutions, "Executions that one operation acts on."},
		{"operation_ids", MaxOperationIDs, "Executions that the request for an operation names."},
		{"requests_per_second", max(0, int64(l.RatePerSecond)), "Requests per second and API key, twice as many at once; 0 means no limit."},
		{"idempotency_key_bytes", int64(l.IdempotencyKeyBytes), "Length of an Idempotency-Key."},
		{"idempotency_seconds", int64(idempotencyLife / time.Second), "How long an Idempotency-Key counts."},
		{"link_seconds", int64(linkLife / time.Second), "How long a signed link to a file is valid."},
		{"personal_keys", maxPersonalKeys, "Personal keys of a user that have not ended, in all environments and accounts."},
		{"secrets", maxSecrets, "Secrets of an environment."},
		{"secret_bytes", maxSecretBytes, "Value of a secret as JSON."},
		{"event_bytes", cloudevent.MaxBytes, "An event, as JSON."},
		{"events", maxEvents, "Events of one request."},
		{"events_bytes", l.EventsBytes, "Body of a request with events."},
		{"resources", plan.MaxResources, "External resources of a definition that are kept with it."},
		{"resource_bytes", plan.MaxResourceBytes, "One of those resources."},
		{"resources_bytes", maxResourceSum, "Those resources together."},
		{"resources_seconds", int64(maxResourceTime / time.Second), "Time to fetch those resources together."},
		{"payload_inline_bytes", int64(l.InlinePayloadBytes), "Larger inputs and outputs are kept as files."},
	}, l.PoolLimits...)
}
