package service

import (
	"reflect"
	"testing"
	"time"
)

func TestLimitsAreAllListed(t *testing.T) {
	fx := newFixture(t, func(c *Config) {
		c.Limits.PoolLimits = []Limit{{Name: "processes", Value: 8, Description: "Processes at once."}}
	})
	list := fx.Limits().List()
	want := map[string]int64{
		"body_bytes": 1 << 20, "batch_body_bytes": 32 << 20, "definition_bytes": 1 << 20, "upload_bytes": 1 << 30, "json_depth": 64,
		"batch_items": 10_000, "batch_concurrency": 100, "page_items": 100, "wait_seconds": 60, "requests_per_second": 1000,
		"idempotency_key_bytes": 255, "idempotency_seconds": 86400, "link_seconds": 3600, "payload_inline_bytes": 128 << 10, "processes": 8,
		"personal_keys": 50, "event_streams": 2000, "event_streams_per_key": 100, "stream_topics": 20,
		"secrets": 1000, "secret_bytes": 64 << 10,
		"events": 1000, "event_bytes": 1 << 20, "events_bytes": 8 << 20,
		"resources": 64, "resource_bytes": 1 << 20, "resources_bytes": 16 << 20, "resources_seconds": 30,
		"operations": MaxActiveOperations, "kept_operations": MaxKeptOperations, "operation_executions": MaxOperationExecutions, "operation_ids": MaxOperationIDs,
		"archives": MaxArchives, "archives_per_key": MaxArchivesPerKey, "archive_bytes": MaxArchiveBytes, "archive_files": MaxArchiveFiles,
	}
	for _, l := range list {
		if value, ok := want[l.Name]; !ok || value != l.Value || l.Description == "" {
			t.Errorf("%+v is listed, want %d", l, value)
		}
		delete(want, l.Name)
	}
	if len(want) != 0 {
		t.Errorf("%v are not listed", want)
	}
	// Every bound is in the list: one entry per field, and twenty-two that are no fields.
	if fields := reflect.TypeFor[Limits]().NumField() - 1; len(list) != fields+22 {
		t.Errorf("%d bounds are listed of %d fields", len(list), fields)
	}
}

func TestLimitsKeepWhatIsSet(t *testing.T) {
	set := Limits{
		BodyBytes: 1, BatchBodyBytes: 2, DefinitionBytes: 3, EventsBytes: 11, UploadBytes: 4, JSONDepth: 5, BatchItems: 6, Concurrency: 7,
		Wait: 8 * time.Second, RatePerSecond: -1, InlinePayloadBytes: 9, IdempotencyKeyBytes: 10, EventStreams: 12, EventStreamsPerKey: 13,
	}
	if got := set.WithDefaults(); !reflect.DeepEqual(got, set) {
		t.Errorf("%+v became %+v", set, got)
	}
}

func TestNewPanicsWithoutItsParts(t *testing.T) {
	for name, c := range map[string]Config{"nothing": {}, "short keys": {Store: newFixture(t).rows, Engine: &fakeEngine{}, Plans: &Plans{}}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("with %s it is made", name)
				}
			}()
			New(c)
		}()
	}
}
