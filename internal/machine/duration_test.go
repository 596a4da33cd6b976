package machine

import (
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/dsl"
)

// Months and years follow the calendar in UTC; a day that a month lacks becomes its last (T52).
func TestAddSpan(t *testing.T) {
	const day = 24 * 60 * 60 * 1000
	tests := []struct {
		from string
		span dsl.Span
		want string
	}{
		{"2026-01-15T10:00:00.5Z", dsl.Span{Months: 1}, "2026-02-15T10:00:00.5Z"},
		{"2026-01-31T10:00:00Z", dsl.Span{Months: 1}, "2026-02-28T10:00:00Z"},
		{"2028-01-31T10:00:00Z", dsl.Span{Months: 1}, "2028-02-29T10:00:00Z"},
		{"2028-02-29T10:00:00Z", dsl.Span{Months: 12}, "2029-02-28T10:00:00Z"},
		{"2026-12-31T23:59:59.999Z", dsl.Span{Months: 2, Milliseconds: 1}, "2027-03-01T00:00:00Z"},
		{"2026-10-31T00:00:00Z", dsl.Span{Months: 1, Milliseconds: day}, "2026-12-01T00:00:00Z"},
		{"2026-01-01T00:00:00Z", dsl.Span{Milliseconds: day}, "2026-01-02T00:00:00Z"},
		{"2026-01-01T00:00:00Z", dsl.Span{Months: 12 * 1000}, "3026-01-01T00:00:00Z"},
		{"9999-06-01T00:00:00Z", dsl.Span{Months: 12}, "9999-12-31T23:59:59.999Z"},
		{"2026-01-01T00:00:00Z", dsl.Span{Months: 1 << 60}, "9999-12-31T23:59:59.999Z"},
		{"2026-01-01T00:00:00Z", dsl.Span{Milliseconds: 1 << 62}, "9999-12-31T23:59:59.999Z"},
	}
	for _, test := range tests {
		from, err := time.Parse(time.RFC3339, test.from)
		if err != nil {
			t.Fatal(err)
		}
		got := time.UnixMilli(addSpan(from.UnixMilli(), test.span)).UTC()
		if want, _ := time.Parse(time.RFC3339, test.want); !got.Equal(want) {
			t.Errorf("%s and %+v is %s, want %s", test.from, test.span, got, test.want)
		}
	}
}

// T20: constant d, linear d·n, exponential d·2^(n−1), growing to one hour at most.
func TestGrownDelay(t *testing.T) {
	const hour = 60 * 60 * 1000
	tests := []struct {
		backoff dsl.Backoff
		delay   int64
		retry   int
		want    int64
	}{
		{dsl.BackoffConstant, 1000, 7, 1000},
		{dsl.BackoffConstant, 3 * hour, 7, 3 * hour},
		{dsl.BackoffLinear, 1000, 1, 1000},
		{dsl.BackoffLinear, 1000, 3, 3000},
		{dsl.BackoffLinear, 1000, 1 << 40, hour},
		{dsl.BackoffLinear, 0, 9, 0},
		{dsl.BackoffLinear, 2 * hour, 9, 2 * hour},
		{dsl.BackoffExponential, 1000, 1, 1000},
		{dsl.BackoffExponential, 1000, 2, 2000},
		{dsl.BackoffExponential, 1000, 5, 16000},
		{dsl.BackoffExponential, 1000, 100, hour},
		{dsl.BackoffExponential, 0, 100, 0},
		{dsl.BackoffExponential, 2 * hour, 3, 2 * hour},
	}
	for _, test := range tests {
		if got := grownDelay(test.backoff, test.delay, test.retry); got != test.want {
			t.Errorf("backoff %d of %d ms before retry %d is %d, want %d", test.backoff, test.delay, test.retry, got, test.want)
		}
	}
}
