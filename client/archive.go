package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// Archive writes an execution with all that is kept of it as a zip file: execution.json, its definition,
// timeline.jsonl, log.jsonl, its files, and files.json, which says what is missing. It returns how many bytes were
// written. With an error, what was written is no zip file; with ErrUnreachable, the server could not send all of it.
// Codes: execution_not_found, archive_too_large, rate_limited.
func (c *Client) Archive(ctx context.Context, workflow, id string, to io.Writer) (int64, error) {
	resp, err := c.send(ctx, call{method: http.MethodGet, path: execution(workflow, id) + "/archive", accept: "application/zip"})
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body := &partBody{from: resp.Body}
	n, err := io.Copy(to, body)
	switch {
	case body.err != nil && ctx.Err() != nil:
		return n, ctx.Err()
	case body.err != nil:
		return n, fmt.Errorf("%w: the archive is not complete: %w", ErrUnreachable, body.err)
	case err != nil:
		return n, fmt.Errorf("write the archive: %w", err)
	}
	return n, nil
}
