package api

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/value"
)

// The media types of CloudEvents 1.0 over HTTP.
const (
	eventMedia = "application/cloudevents+json"
	batchMedia = "application/cloudevents-batch+json"
)

// eventPrefix begins the names of the headers that hold attributes in binary mode.
const eventPrefix = "Ce-"

// cloudEvent is an event as the document describes it; the service reads it.
type cloudEvent struct {
	_               struct{} `additionalProperties:"true"`
	SpecVersion     string   `json:"specversion" enum:"1.0" doc:"Version of CloudEvents."`
	ID              string   `json:"id" minLength:"1" maxLength:"1024" doc:"With source it tells events apart: what is known already is accepted and not stored again."`
	Source          string   `json:"source" format:"uri-reference" minLength:"1" maxLength:"1024"`
	Type            string   `json:"type" minLength:"1" maxLength:"1024"`
	Subject         string   `json:"subject,omitempty" minLength:"1" maxLength:"1024"`
	Time            string   `json:"time,omitempty" format:"date-time"`
	DataContentType string   `json:"datacontenttype,omitempty" doc:"Media type of the data; default application/json."`
	DataSchema      string   `json:"dataschema,omitempty" format:"uri"`
	Data            any      `json:"data,omitempty" doc:"Any JSON value."`
	DataBase64      string   `json:"data_base64,omitempty" doc:"Data that is not text, instead of data."`
}

var eventBody = &body{
	media: []string{eventMedia, batchMedia}, any: true, required: true,
	views: []any{cloudEvent{}, []cloudEvent{}},
	limit: func(l service.Limits) int64 { return l.EventsBytes },
	about: "One event or a batch of at most 1,000 events in the JSON format of CloudEvents 1.0; or, in binary mode, " +
		"the data of one event in any media type, with its attributes in headers: ce-specversion: 1.0, ce-id, ce-source, ce-type, and others.",
}

func eventEndpoints() []endpoint {
	return []endpoint{{
		method: post, path: "/events", id: "publishEvents", tag: "Events",
		summary: "Publish events",
		about: "Stores events in the environment of the key and hands them to the workflows that listen. All of them are durable " +
			"before the answer, or none. An event has at most 1 MiB as JSON. An event of the type io.chargehand.human.completed.v1 whose subject is the id " +
			"of a human task answers that task instead, where its definition says answer_by_event. That also needs tasks:respond. " +
			"Other types that begin with io.chargehand. are refused, and those of lifecycle events while executions publish them.",
		scopes: service.ScopeEventsWrite, body: eventBody, parameters: []*parameter{idempotencyParameter},
		answers: []answer{{status: 202, about: "Stored", headers: []string{"Idempotency-Replayed"}}},
		problems: []chargehand.Code{
			chargehand.CodeInvalidJSON, chargehand.CodeTooManyItems, chargehand.CodeHumanTaskNotFound, chargehand.CodeNotAssigned, chargehand.CodeClaimedByOther,
			chargehand.CodeAnswerInvalid, chargehand.CodeAnswerConflict, chargehand.CodeTaskWithdrawn,
		},
		// Events are data, as the inputs of executions are: only an answer to a human task is on record.
		change: "human task answered", audits: []audit.Action{audit.TaskAnswered}, serve: (*call).publishEvents,
	}}
}

func (c *call) publishEvents() error {
	r := service.PublishEvents{Idempotency: c.idempotency()}
	binary := false
	var err error
	switch media := c.mediaType(); {
	case strings.HasPrefix(media, "application/cloudevents"):
		r.Batch = media == batchMedia
		r.Body, err = c.structuredEvents()
	case c.hasEventHeader():
		binary = true
		r.Body, err = c.binaryEvent(media)
		if r.Idempotency != nil { // the headers are part of what was sent
			r.Idempotency.BodyHash = sha256.Sum256(value.Marshal(r.Body))
		}
	default:
		err = noEvent(c.r.Header.Get("Content-Type"))
	}
	if err != nil {
		return err
	}
	c.raw = nil
	c.unchanged = true
	if event, one := r.Body.(map[string]any); one && !r.Batch {
		if task, answers := service.AnsweredTask(event); answers {
			c.task, c.unchanged = task, false
		}
	}
	replayed, err := c.server.service.PublishEvents(c.r.Context(), c.principal, r)
	if err != nil {
		if binary {
			err = inHeaders(err)
		}
		return err
	}
	c.replayed(replayed)
	c.empty(http.StatusAccepted)
	return nil
}

// noEvent is the error for a request that is no event in any mode.
func noEvent(contentType string) error {
	detail := "The request has no Content-Type"
	if contentType != "" {
		detail = "Content-Type " + quote(contentType) + " is that of no event"
	}
	return chargehand.NewError(chargehand.CodeUnsupportedMediaType, detail+", and there are no ce- headers. Send an event as "+
		eventMedia+", a batch as "+batchMedia+", or the data alone with the headers ce-specversion: 1.0, ce-id, ce-source and ce-type.")
}

// structuredEvents parses an event or a batch that is one JSON text.
func (c *call) structuredEvents() (value.Value, error) {
	b := *eventBody
	b.any = false
	if err := c.checkMediaType(&b); err != nil {
		return nil, err
	}
	v, err := value.Parse(c.raw, value.Limits{Depth: c.server.limits.JSONDepth, Bytes: len(c.raw)})
	if err != nil {
		return nil, badJSON(err)
	}
	return v, nil
}

func (c *call) hasEventHeader() bool {
	for name := range c.r.Header {
		if strings.HasPrefix(name, eventPrefix) {
			return true
		}
	}
	return false
}

// binaryEvent makes an event of headers and body.
func (c *call) binaryEvent(media string) (value.Value, error) {
	event := map[string]any{}
	for header, values := range c.r.Header {
		name, ok := strings.CutPrefix(header, eventPrefix)
		if !ok {
			continue
		}
		shown := strings.ToLower(header)
		if slices.ContainsFunc(values, func(v string) bool { return v != values[0] }) {
			return nil, badParameter(shown, "was sent more than once, with different values.")
		}
		name = strings.ToLower(name)
		switch name {
		case "datacontenttype":
			return nil, badParameter(shown, "is not allowed: the header Content-Type says it.")
		case "data", "data_base64":
			return nil, badParameter(shown, "is not allowed: the data of the event is the body.")
		}
		text := headerText(values[0])
		if !utf8.ValidString(text) {
			return nil, badParameter(shown, "is not valid UTF-8.")
		}
		event[name] = text
	}
	types := c.r.Header["Content-Type"]
	if len(types) > 1 {
		return nil, badParameter("Content-Type", "was sent more than once.")
	}
	if len(types) == 1 && types[0] != "" {
		event["datacontenttype"] = types[0]
	}
	return event, c.binaryData(event, media)
}

// binaryData makes the body the data of an event.
func (c *call) binaryData(event map[string]any, media string) error {
	_, subtype, _ := strings.Cut(media, "/")
	_, suffix, _ := strings.Cut(subtype, "+")
	has := func(format string) bool { return subtype == format || suffix == format }
	switch {
	case len(c.raw) == 0:
	case has("json"):
		data, err := value.Parse(c.raw, value.Limits{Depth: c.server.limits.JSONDepth, Bytes: len(c.raw)})
		if err != nil {
			return badJSON(err)
		}
		event["data"] = data
	case (strings.HasPrefix(media, "text/") || has("xml") || has("yaml")) && c.isUTF8():
		event["data"] = string(c.raw)
	default:
		event["data_base64"] = base64.StdEncoding.EncodeToString(c.raw)
	}
	return nil
}

// isUTF8 reports whether the body is text in UTF-8, by its bytes and by what is said of it.
func (c *call) isUTF8() bool {
	_, params, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	charset := strings.ToLower(params["charset"])
	return (charset == "" || charset == "utf-8" || charset == "us-ascii") && utf8.Valid(c.raw)
}

// headerText decodes the value of a header as CloudEvents writes it: perhaps quoted, and with
// percent signs for what a header cannot hold.
func headerText(value string) string {
	if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' {
		var plain strings.Builder
		for rest := value[1 : n-1]; rest != ""; rest = rest[1:] {
			if rest[0] == '\\' && len(rest) > 1 {
				rest = rest[1:]
			}
			plain.WriteByte(rest[0])
		}
		value = plain.String()
	}
	if !strings.Contains(value, "%") {
		return value
	}
	text := make([]byte, 0, len(value))
	for i := 0; i < len(value); i++ {
		if value[i] == '%' && i+2 < len(value) {
			high, low := hexDigit(value[i+1]), hexDigit(value[i+2])
			if high >= 0 && low >= 0 {
				text = append(text, byte(high<<4|low))
				i += 2
				continue
			}
		}
		text = append(text, value[i])
	}
	return string(text)
}

// hexDigit is the value of a hexadecimal digit, or -1.
func hexDigit(c byte) int {
	at := strings.IndexByte("0123456789abcdefABCDEF", c)
	if at >= 16 {
		at -= 6
	}
	return at
}

// inHeaders changes an error of the service, which names attributes of the event, so that it names the headers.
func inHeaders(err error) error {
	var shown *chargehand.Error
	if !errors.As(err, &shown) || shown.Code != chargehand.CodeInvalidBody {
		return err
	}
	renamed := *shown
	renamed.Code = chargehand.CodeInvalidParameter
	renamed.Fields = slices.Clone(shown.Fields)
	for i := range renamed.Fields {
		f := &renamed.Fields[i]
		switch f.Pointer {
		case "":
		case "/datacontenttype":
			f.Parameter = "Content-Type"
		default:
			f.Parameter = strings.ToLower(eventPrefix) + jsonpointer.Unescape(f.Pointer[1:])
		}
	}
	return &renamed
}
