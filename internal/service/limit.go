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
	Setting     string // setting of `chargehand serve` that changes it; empty: none does
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
		{Name: "body_bytes", Value: l.BodyBytes, Description: "Body of a request, unless another limit is named for it, and input of one item of a batch."},
		{Name: "batch_body_bytes", Value: l.BatchBodyBytes, Description: "Body of a batch."},
		{Name: "definition_bytes", Value: l.DefinitionBytes, Description: "A workflow definition."},
		{Name: "upload_bytes", Value: l.UploadBytes, Description: "One uploaded file."},
		{Name: "json_depth", Value: int64(l.JSONDepth), Description: "Levels of nesting of a JSON body."},
		{Name: "batch_items", Value: int64(l.BatchItems), Description: "Items of one batch."},
		{Name: "batch_concurrency", Value: int64(l.Concurrency), Description: "Executions of one batch that run at once; a larger wish is lowered to this."},
		{Name: "page_items", Value: 100, Description: "Items of one page of a list."},
		{Name: "wait_seconds", Value: int64(l.Wait / time.Second), Description: "Longest time that a request waits for an execution or a batch."},
		{Name: "event_streams", Value: int64(l.EventStreams), Description: "Streams of events that one server has open at once."},
		{Name: "event_streams_per_key", Value: int64(l.EventStreamsPerKey), Description: "Those of one API key or person."},
		{Name: "stream_topics", Value: MaxTopics, Description: "Topics of one stream."},
		{Name: "archives", Value: MaxArchives, Description: "Archives of executions that one server sends at once; an account has half of them in an environment."},
		{Name: "archives_per_key", Value: MaxArchivesPerKey, Description: "Those of one API key or person."},
		{Name: "archive_bytes", Value: MaxArchiveBytes, Description: "Files of an execution in an archive, together."},
		{Name: "archive_files", Value: MaxArchiveFiles, Description: "Files of an execution in an archive, those included that are missing."},
		{Name: "operations", Value: MaxActiveOperations, Description: "Operations on many executions that are under way in an environment."},
		{Name: "kept_operations", Value: MaxKeptOperations, Description: "Operations that are kept in an environment; the oldest that has ended makes room."},
		{Name: "operation_executions", Value: MaxOperationExecutions, Description: "Executions that one operation acts on."},
		{Name: "operation_ids", Value: MaxOperationIDs, Description: "Executions that the request for an operation names."},
		{Name: "requests_per_second", Value: max(0, int64(l.RatePerSecond)), Description: "Requests per second and API key, twice as many at once; 0 means no limit.", Setting: "rate-limit"},
		{Name: "idempotency_key_bytes", Value: int64(l.IdempotencyKeyBytes), Description: "Length of an Idempotency-Key."},
		{Name: "idempotency_seconds", Value: int64(idempotencyLife / time.Second), Description: "How long an Idempotency-Key counts."},
		{Name: "link_seconds", Value: int64(linkLife / time.Second), Description: "How long a signed link to a file is valid."},
		{Name: "personal_keys", Value: maxPersonalKeys, Description: "Personal keys of a user that have not ended, in all environments and accounts."},
		{Name: "secrets", Value: maxSecrets, Description: "Secrets of an environment."},
		{Name: "secret_bytes", Value: maxSecretBytes, Description: "Value of a secret as JSON."},
		{Name: "event_bytes", Value: cloudevent.MaxBytes, Description: "An event, as JSON."},
		{Name: "events", Value: maxEvents, Description: "Events of one request."},
		{Name: "events_bytes", Value: l.EventsBytes, Description: "Body of a request with events."},
		{Name: "resources", Value: plan.MaxResources, Description: "External resources of a definition that are kept with it."},
		{Name: "resource_bytes", Value: plan.MaxResourceBytes, Description: "One of those resources."},
		{Name: "resources_bytes", Value: maxResourceSum, Description: "Those resources together."},
		{Name: "resources_seconds", Value: int64(maxResourceTime / time.Second), Description: "Time to fetch those resources together."},
		{Name: "payload_inline_bytes", Value: int64(l.InlinePayloadBytes), Description: "Larger inputs and outputs are kept as files."},
	}, l.PoolLimits...)
}
