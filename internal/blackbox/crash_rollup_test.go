package blackbox_test

import (
	"encoding/json"
	"net/url"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
)

// hourCounts are what an hour of the overview counts.
type hourCounts struct {
	Started   int64 `json:"started"`
	Finished  int64 `json:"finished"`
	Failed    int64 `json:"error"`
	Cancelled int64 `json:"cancelled"`
}

// rollupTime is how long the server has to count what has happened.
const rollupTime = 60 * time.Second

// verifyRollups compares what the overview has counted by the hour with a recount of everything that lists show.
func verifyRollups(t *testing.T, server *servertest.Server, since time.Time) {
	t.Helper()
	want := recount(t, server)
	var o struct {
		AsOf    time.Time `json:"as_of"`
		Buckets []struct {
			At time.Time `json:"at"`
			hourCounts
		} `json:"buckets"`
	}
	query := "?step=1h&from=" + url.QueryEscape(since.UTC().Format(time.RFC3339))
	asked := time.Now()
	for o.AsOf.Before(asked) {
		if time.Since(asked) > rollupTime {
			t.Fatalf("the counts are as of %v, %v after all has ended", o.AsOf, rollupTime)
		}
		<-time.After(100 * time.Millisecond) // the counter makes a pass every few seconds
		readJSON(t, server, "/overview"+query, &o)
	}
	seen := map[time.Time]bool{}
	for _, b := range o.Buckets {
		seen[b.At] = true
		if got := b.hourCounts; got != want[b.At] {
			t.Errorf("in the hour from %v, %+v are counted, and there are %+v", b.At, got, want[b.At])
		}
	}
	for at, counts := range want {
		if !seen[at] {
			t.Errorf("there are %+v in the hour from %v, which the overview does not have", counts, at)
		}
	}
}

// recount counts all executions by the hour, one after the other.
func recount(t *testing.T, server *servertest.Server) map[time.Time]hourCounts {
	t.Helper()
	hours := map[time.Time]hourCounts{}
	count := func(at time.Time, change func(*hourCounts)) {
		hour := at.UTC().Truncate(time.Hour)
		c := hours[hour]
		change(&c)
		hours[hour] = c
	}
	for cursor := ""; ; {
		var page struct {
			Data []struct {
				Status, Phase string
				CreatedAt     time.Time `json:"created_at"`
				FinishedAt    time.Time `json:"finished_at"`
			}
			Cursor string
		}
		readJSON(t, server, "/executions?limit=100"+cursor, &page)
		for _, e := range page.Data {
			count(e.CreatedAt, func(c *hourCounts) { c.Started++ })
			switch {
			case e.FinishedAt.IsZero():
			case e.Phase == "cancelled":
				count(e.FinishedAt, func(c *hourCounts) { c.Cancelled++ })
			case e.Status == "error":
				count(e.FinishedAt, func(c *hourCounts) { c.Failed++ })
			default:
				count(e.FinishedAt, func(c *hourCounts) { c.Finished++ })
			}
		}
		if page.Cursor == "" {
			return hours
		}
		cursor = "&cursor=" + url.QueryEscape(page.Cursor)
	}
}

func readJSON(t *testing.T, server *servertest.Server, path string, into any) {
	t.Helper()
	a := server.Do(t, "GET", path, "")
	if err := json.Unmarshal(a.Body, into); a.Status != 200 || err != nil {
		t.Fatalf("GET %s: %d, %v\n%s", path, a.Status, err, a.Body)
	}
}
