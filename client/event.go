package client

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

// EventBatchMedia is the media type of a JSON array of events (CloudEvents 1.0) for PublishEvents, which takes
// application/cloudevents+json, too: one event.
const EventBatchMedia = "application/cloudevents-batch+json"

// PublishEvents stores an event, or with EventBatchMedia all events of an array or none, in
// the environment of the key. They are durable when it returns nil. The server stores an event with a known source
// and id only once.
func (c *Client) PublishEvents(ctx context.Context, media string, events []byte) error {
	return c.do(ctx, call{
		method: http.MethodPost, path: "/events", contentType: media, idempotent: true,
		raw: func() io.Reader { return bytes.NewReader(events) },
	})
}
