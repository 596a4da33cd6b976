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
	v := timelinePage{Data: make([]timelineEntry, len(page.Data)), Truncated: page.Truncated}
	if page.Next != 0 {
		text := strconv.FormatInt(page.Next, 10)
		v.Cursor = &text
	}
	for i := range page.Data {
		v.Data[i] = viewTimelineEntry(&page.Data[i])
	}
	return c.view(http.StatusOK, v)
}

func viewTimelineEntry(e *service.TimelineEntry) timelineEntry {
	return timelineEntry{
		Seq: e.Seq, Name: e.Name, Reference: e.Reference, Iteration: e.Iteration, Attempt: e.Attempt, Phase: e.Phase.String(),
		StartedAt: at(e.StartedAt), FinishedAt: at(e.FinishedAt), Input: e.Input, Output: e.Output,
		Error: viewExecutionError(e.Error), Files: viewResults(e.Files), Document: e.Document,
	}
}
