package service

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"mime"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/store"
)

// Bounds of events from outside.
const (
	maxEvents              = 1_000 // in one request
	maxEventAttributeBytes = 1_024 // of the value of an attribute; indexes hold some of them
	maxEventAttributes     = 100   // of one event
	maxEventNameBytes      = 20    // of the name of an extension attribute
)

// PublishEvents is a request to store events.
type PublishEvents struct {
	// Body is an event in the JSON format of CloudEvents 1.0; with Batch an array of at most
	// 1,000 of them, which may be empty.
	Body        expr.Value
	Batch       bool
	Idempotency *Idempotency
}

// PublishEvents stores events in the environment of the principal, all of them or none, and
// hands them to whoever listens. They are durable when it returns nil. An event whose source
// and id are known already is accepted and not stored again.
// Codes: invalid_body, too_many_items, payload_too_large, and those of the Idempotency-Key.
func (s *Service) PublishEvents(ctx context.Context, p *Principal, r PublishEvents) (replayed bool, err error) {
	type nothing struct{}
	_, replayed, err = once(ctx, s, p, r.Idempotency, func(c *claim) (nothing, error) {
		events, err := ReadEvents(r.Body, r.Batch)
		if err != nil {
			return nothing{}, err
		}
		if len(events) > 0 {
			if err := s.engine.Publish(ctx, p.AccountNo, p.Environment, events); err != nil {
				return nothing{}, storageError(err)
			}
		}
		if c == nil {
			return nothing{}, nil
		}
		// Events are told apart by source and id, so that what a crash in between lets be
		// published twice is stored once.
		return nothing{}, s.update(ctx, func(tx *store.Tx) error { return c.record(tx, statusAccepted, "events", [16]byte{}) })
	}, func(*claim) (nothing, error) { return nothing{}, nil })
	return replayed, err
}

// ReadEvents checks the body of PublishEvents and returns its events. Codes: invalid_body, too_many_items, payload_too_large.
func ReadEvents(body expr.Value, batch bool) ([]map[string]any, error) {
	list := []any{body}
	if batch {
		var ok bool
		if list, ok = body.([]any); !ok {
			return nil, badBody(chargehand.FieldError{Code: "not_an_array", Detail: "A batch of events must be a JSON array, not " + kindOf(body) + "."})
		}
		if len(list) > maxEvents {
			return nil, chargehand.NewError(chargehand.CodeTooManyItems,
				fmt.Sprintf("The batch has %d events; at most %d are allowed. Send several batches.", len(list), maxEvents))
		}
	}
	events := make([]map[string]any, len(list))
	r := &eventReader{}
	for i, v := range list {
		if r.base = nil; batch {
			r.base = []string{strconv.Itoa(i)}
		}
		events[i] = r.read(v)
		if len(r.wrong) >= maxFields {
			break
		}
	}
	if len(r.wrong) > 0 {
		return nil, badBody(r.wrong...)
	}
	for i, event := range events {
		if n := len(expr.Marshal(event)); n > engine.MaxEventBytes {
			at := ""
			if batch {
				at = "/" + strconv.Itoa(i)
			}
			detail := fmt.Sprintf("The event has %d bytes as JSON; at most %d are allowed. Store the data elsewhere and send a link to it.", n, engine.MaxEventBytes)
			return nil, chargehand.NewError(chargehand.CodePayloadTooLarge, detail, chargehand.FieldError{Pointer: at, Code: "too_long", Detail: detail})
		}
	}
	return events, nil
}

// eventReader checks events by the rules of CloudEvents 1.0 and collects what is wrong.
type eventReader struct {
	base  []string // path of the event at hand
	event map[string]any
	wrong []chargehand.FieldError
}

func (r *eventReader) fail(name, code, detail string) {
	path := r.base
	if name != "" {
		path = append(path[:len(path):len(path)], name)
	}
	r.wrong = append(r.wrong, chargehand.FieldError{Pointer: pointer(path...), Code: code, Detail: detail})
}

// read checks one event and returns what is kept of it. Attributes that are null count as
// absent.
func (r *eventReader) read(v expr.Value) map[string]any {
	given, ok := v.(map[string]any)
	if !ok {
		r.fail("", "not_an_object", "An event must be a JSON object, not "+kindOf(v)+".")
		return nil
	}
	r.event = make(map[string]any, len(given))
	names := make([]string, 0, len(given))
	for name, value := range given {
		if value != nil || name == "data" {
			r.event[name] = value
			names = append(names, name)
		}
	}
	if len(names) > maxEventAttributes {
		r.fail("", "too_long", fmt.Sprintf("An event must not have more than %d attributes.", maxEventAttributes))
		return nil
	}
	r.required()
	r.optional()
	sort.Strings(names)
	for _, name := range names {
		if !isEventField(name) {
			r.extension(name)
		}
	}
	r.data()
	return r.event
}

func isEventField(name string) bool {
	switch name {
	case "specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema", "data", "data_base64":
		return true
	}
	return false
}

func (r *eventReader) required() {
	version, has := r.event["specversion"]
	switch {
	case !has:
		r.fail("specversion", "required", `The attribute "specversion" is missing. It must be "1.0".`)
	case version != "1.0":
		r.fail("specversion", "unsupported", `The attribute "specversion" must be "1.0".`)
	}
	for _, name := range [...]string{"id", "source", "type"} {
		if _, has := r.event[name]; !has {
			r.fail(name, "required", "The attribute "+quote(name)+" is missing.")
			continue
		}
		text, ok := r.text(name)
		if ok && name == "source" {
			if _, err := url.Parse(text); err != nil {
				r.fail(name, "bad_uri", `The attribute "source" must be a URI or a path, such as /shop/orders.`)
			}
		}
	}
}

func (r *eventReader) optional() {
	r.text("subject")
	if text, ok := r.text("time"); ok {
		if _, err := time.Parse(time.RFC3339Nano, text); err != nil {
			r.fail("time", "bad_time", `The attribute "time" must be a time like 2030-01-31T12:00:00Z.`)
		}
	}
	if text, ok := r.text("datacontenttype"); ok {
		if media, _, err := mime.ParseMediaType(text); err != nil || !strings.Contains(media, "/") {
			r.fail("datacontenttype", "bad_media_type", `The attribute "datacontenttype" must be a media type such as application/json.`)
		}
	}
	if text, ok := r.text("dataschema"); ok {
		if u, err := url.Parse(text); err != nil || !u.IsAbs() {
			r.fail("dataschema", "bad_uri", `The attribute "dataschema" must be an absolute URI.`)
		}
	}
}

// text checks an attribute that must be a text, if it is there. ok: it is there and one.
func (r *eventReader) text(name string) (text string, ok bool) {
	v, has := r.event[name]
	if !has {
		return "", false
	}
	text, ok = v.(string)
	switch {
	case !ok:
		r.fail(name, "wrong_type", "The attribute "+quote(name)+" must be a string, not "+kindOf(v)+".")
		return "", false
	case text == "":
		r.fail(name, "empty", "The attribute "+quote(name)+" must not be empty.")
		return "", false
	}
	return text, r.printable(name, text)
}

// printable checks what holds of every text in an attribute.
func (r *eventReader) printable(name, text string) bool {
	switch {
	case len(text) > maxEventAttributeBytes:
		r.fail(name, "too_long", fmt.Sprintf("The attribute %s must not be longer than %d bytes.", quote(name), maxEventAttributeBytes))
		return false
	case strings.ContainsFunc(text, unicode.IsControl):
		r.fail(name, "control_character", "The attribute "+quote(name)+" must not hold control characters.")
		return false
	}
	return true
}

// extension checks an attribute that CloudEvents does not know.
func (r *eventReader) extension(name string) {
	good := func(c rune) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
	bad := name == "" || strings.ContainsFunc(name, func(c rune) bool { return !good(c) })
	if bad || len(name) > maxEventNameBytes {
		r.fail(name, "bad_name", fmt.Sprintf("The name of the attribute %s must be 1 to %d lower-case letters a to z and digits. What the event tells belongs into \"data\".", quote(name), maxEventNameBytes))
		return
	}
	switch v := r.event[name].(type) {
	case bool:
	case string:
		r.printable(name, v)
	case int:
		if v < math.MinInt32 || v > math.MaxInt32 {
			r.fail(name, "out_of_range", "The attribute "+quote(name)+" must be a whole number of 32 bits. Send a larger one as a string.")
		}
	default:
		r.fail(name, "wrong_type", "The attribute "+quote(name)+" must be a string, a boolean or a whole number of 32 bits, not "+kindOf(v)+".")
	}
}

func (r *eventReader) data() {
	v, has := r.event["data_base64"]
	if !has {
		return
	}
	if _, both := r.event["data"]; both {
		r.fail("data_base64", "ambiguous", `An event has "data" or "data_base64", not both.`)
		return
	}
	text, ok := v.(string)
	if !ok {
		r.fail("data_base64", "wrong_type", `The field "data_base64" must be a string, not `+kindOf(v)+".")
		return
	}
	if _, err := base64.StdEncoding.Strict().DecodeString(text); err != nil || strings.ContainsAny(text, "\r\n") {
		r.fail("data_base64", "bad_base64", `The field "data_base64" must be base64 (RFC 4648, section 4).`)
	}
}

// deleteEvents deletes events that are past their time. It takes up to sweepRows of
// all streams together.
func (s *Service) deleteEvents(ctx context.Context) (n int, err error) {
	var streams []store.Stream
	err = s.view(ctx, func(r *store.Reader) (err error) {
		streams, err = r.Streams()
		return err
	})
	for i := 0; i < len(streams) && n < sweepRows && err == nil; i++ {
		before, deleted := s.now().Add(-s.retention.Events).UnixMilli(), 0
		err = s.update(ctx, func(tx *store.Tx) (err error) {
			deleted, err = tx.DeleteEvents(streams[i].Account, streams[i].Environment, before, sweepRows-n)
			return err
		})
		n += deleted
	}
	return n, err
}
