package api

import (
	"net/http"
	"strconv"

	"github.com/chargehand/chargehand/internal/service"
)

func (c *call) getTimeline() error {
	page, err := c.server.service.Timeline(c.r.Context(), c.principal, c.workflow, c.execution, c.args.limit, c.args.seq, c.asked())
	if err != nil {
		return err
	}
	l := openList(len(page.Data) * 512)
	for i := range page.Data {
		o := object(l.next())
		appendTimelineEntry(&o, &page.Data[i])
		l.add(o.end())
	}
	var cursor *string
	if page.Next != 0 {
		text := strconv.FormatInt(page.Next, 10)
		cursor = &text
	}
	l.close(cursor)
	l.boolean("truncated", page.Truncated)
	c.json(http.StatusOK, l.writer.end())
	return nil
}

func appendTimelineEntry(o *writer, e *service.TimelineEntry) {
	o.number("seq", e.Seq)
	o.text("name", e.Name)
	o.text("reference", e.Reference)
	o.number("iteration", int64(e.Iteration))
	o.number("attempt", int64(e.Attempt))
	o.text("phase", e.Phase.String())
	o.time("started_at", e.StartedAt.UnixMilli())
	o.optionalTime("finished_at", e.FinishedAt)
	if e.Input != nil {
		o.raw("input", e.Input)
	}
	if e.Output != nil {
		o.raw("output", e.Output)
	}
	if e.Error != nil {
		appendExecutionError(o, e.Error)
	}
	if len(e.Files) > 0 {
		appendResults(o, "files", e.Files)
	}
	if e.Document != "" {
		o.text("document_digest", e.Document)
	}
}
