package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/chargehand/chargehand/client"
)

// What one request to publish takes (GET /limits).
const (
	maxEventsAtOnce = 1_000
	maxEventsBytes  = 8 << 20
)

func newEvents(con console) *cobra.Command {
	c := &connection{console: con}
	return group("events", "Publish events that workflows listen to", c.eventsPublish())
}

func (c *connection) eventsPublish() *cobra.Command {
	cmd := c.verb("publish FILE", "Publish events from a file or standard input", exactArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		in := c.in
		if args[0] != "-" {
			f, err := os.Open(args[0])
			if err != nil {
				return usage("%w", unreadable(err))
			}
			defer f.Close()
			in = f
		}
		return c.publish(ctx, api, in)
	})
	cmd.Long = `Publish events in the JSON format of CloudEvents 1.0 in the environment of the key.

The input is one event, an array of them, or one after the other, as in a file with an event a line. They are sent in
batches of at most 1,000; each batch is stored as a whole or not at all. An event whose source and id are known is not
stored again, so the command may be repeated.`
	return cmd
}

// publish reads events and sends them in batches, in their order.
func (c *connection) publish(ctx context.Context, api *client.Client, in io.Reader) error {
	var batch []json.RawMessage
	bytesOf, sent := 0, 0
	send := func() error {
		if len(batch) == 0 {
			return nil
		}
		body := append(append([]byte{'['}, bytes.Join(rawTexts(batch), []byte{','})...), ']')
		if err := api.PublishEvents(ctx, client.EventBatchMedia, body); err != nil {
			if sent > 0 {
				return fmt.Errorf("after %d events that are stored: %w", sent, err)
			}
			return err
		}
		sent += len(batch)
		batch, bytesOf = batch[:0], 0
		return nil
	}
	err := eachEvent(in, func(event json.RawMessage) error {
		if len(batch) == maxEventsAtOnce || bytesOf+len(event) > maxEventsBytes-2*maxEventsAtOnce {
			if err := send(); err != nil {
				return err
			}
		}
		batch = append(batch, event)
		bytesOf += len(event)
		return nil
	})
	if err == nil {
		err = send()
	}
	if err != nil {
		return err
	}
	if fmt.Fprintf(c.err, "published %d event", sent); sent != 1 {
		fmt.Fprint(c.err, "s")
	}
	fmt.Fprintln(c.err)
	return nil
}

func rawTexts(list []json.RawMessage) [][]byte {
	texts := make([][]byte, len(list))
	for i := range list {
		texts[i] = list[i]
	}
	return texts
}

// eachEvent reads JSON texts one after the other; of an array each element.
func eachEvent(in io.Reader, take func(json.RawMessage) error) error {
	d := json.NewDecoder(in)
	for {
		var text json.RawMessage
		if err := d.Decode(&text); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return usage("the events are not JSON: %w", err)
		}
		if text[0] != '[' {
			if err := take(text); err != nil {
				return err
			}
			continue
		}
		var list []json.RawMessage
		if err := json.Unmarshal(text, &list); err != nil {
			return usage("read the events: %w", err)
		}
		for _, event := range list {
			if err := take(event); err != nil {
				return err
			}
		}
	}
}
