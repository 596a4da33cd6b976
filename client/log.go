package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// LogLine is a line of the log of an execution.
type LogLine struct {
	Line   int64     `json:"line"`
	At     time.Time `json:"at"`
	Seq    *int64    `json:"seq"` // of the entry in the timeline; nil: of none
	Level  string    `json:"level"`
	Stream string    `json:"stream"`
	Text   string    `json:"text"`
}

// LogFilter says which lines of a log are wanted. The zero filter wants all.
type LogFilter struct {
	After   int64 // only lines behind that one
	Seqs    []int64
	Level   string // or more urgent
	Streams []string
	Text    string
	Limit   int           // lines of one page; 0: the server's default
	Wait    time.Duration // for the first line
}

// LogPage is a page of a log.
type LogPage struct {
	Lines    []LogLine
	Complete bool // the execution has ended: if the page has fewer lines than the limit, nothing follows
}

// Log returns a page of the log of an execution.
func (c *Client) Log(ctx context.Context, workflow, id string, f LogFilter) (*LogPage, error) {
	q := url.Values{}
	if f.After > 0 {
		q.Set("after", strconv.FormatInt(f.After, 10))
	}
	for _, seq := range f.Seqs {
		q.Add("seq", strconv.FormatInt(seq, 10))
	}
	for _, stream := range f.Streams {
		q.Add("stream", stream)
	}
	if f.Level != "" {
		q.Set("level", f.Level)
	}
	if f.Text != "" {
		q.Set("q", f.Text)
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	resp, err := c.send(ctx, call{method: http.MethodGet, path: execution(workflow, id) + "/log", query: waitQuery(q, f.Wait)})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	page := &LogPage{Complete: resp.Header.Get("Chargehand-Log-Complete") == "true"}
	lines := json.NewDecoder(bufio.NewReader(resp.Body))
	for lines.More() {
		var l LogLine
		if err := lines.Decode(&l); err != nil {
			return nil, fmt.Errorf("read a line of the log: %w", err)
		}
		page.Lines = append(page.Lines, l)
	}
	if _, err := lines.Token(); err != nil && err.Error() != "EOF" {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	return page, nil
}
