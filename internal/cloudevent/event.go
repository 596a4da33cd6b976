package cloudevent

import (
	"encoding/base64"
	"fmt"
	"math"
	"mime"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/value"
)

// Bounds of an event.
const (
	MaxBytes          = 1 << 20 // of the whole event as JSON
	MaxAttributes     = 100     // with the data
	MaxAttributeBytes = 1_024   // of the value of an attribute; indexes hold some of them
	MaxNameBytes      = 20      // of the name of an extension attribute
)

// Problem is a mistake in an attribute, or in the event if Name is empty. Detail is a
// sentence for the author of the event.
type Problem struct {
	Name   string
	Code   string
	Detail string
}

// Check returns what is kept of an event, and all that is wrong with it, by name. Attributes that are
// null count as absent; data may be null.
func Check(given map[string]any) (event map[string]any, wrong []Problem) {
	r := reader{event: make(map[string]any, len(given))}
	names := make([]string, 0, len(given))
	//workflowcheck:ignore the names are sorted
	for name, value := range given {
		if value != nil || name == "data" {
			r.event[name] = value
			names = append(names, name)
		}
	}
	if len(names) > MaxAttributes {
		r.fail("", "too_long", fmt.Sprintf("An event must not have more than %d attributes.", MaxAttributes))
		return nil, r.wrong
	}
	slices.Sort(names)
	r.required()
	r.optional()
	for _, name := range names {
		if !isField(name) {
			r.extension(name)
		}
	}
	r.data()
	return r.event, r.wrong
}

// Size is the number of bytes of an event as JSON, and what is wrong with it, if it is too large.
func Size(event map[string]any) (bytes int, wrong *Problem) {
	bytes = len(value.Marshal(event))
	if bytes <= MaxBytes {
		return bytes, nil
	}
	return bytes, &Problem{Code: "too_long", Detail: fmt.Sprintf(
		"The event has %d bytes as JSON; at most %d are allowed. Store the data elsewhere and send a link to it.", bytes, MaxBytes)}
}

type reader struct {
	event map[string]any
	wrong []Problem
}

func (r *reader) fail(name, code, detail string) {
	r.wrong = append(r.wrong, Problem{Name: name, Code: code, Detail: detail})
}

func isField(name string) bool {
	switch name {
	case "specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema", "data", "data_base64":
		return true
	}
	return false
}

func (r *reader) required() {
	version, has := r.event["specversion"]
	switch {
	case !has:
		r.fail("specversion", "required", `The attribute "specversion" is missing. It must be "1.0".`)
	case version != "1.0":
		r.fail("specversion", "unsupported", `The attribute "specversion" must be "1.0".`)
	}
	for _, name := range [...]string{"id", "source", "type"} {
		if _, has := r.event[name]; !has {
			r.fail(name, "required", "The attribute "+excerpt.Quote(name)+" is missing.")
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

func (r *reader) optional() {
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

// text checks an attribute that must be a text, if it is present. ok: it is present and a text.
func (r *reader) text(name string) (text string, ok bool) {
	v, has := r.event[name]
	if !has {
		return "", false
	}
	text, ok = v.(string)
	switch {
	case !ok:
		r.fail(name, "wrong_type", "The attribute "+excerpt.Quote(name)+" must be a string, not "+value.KindOf(v)+".")
		return "", false
	case text == "":
		r.fail(name, "empty", "The attribute "+excerpt.Quote(name)+" must not be empty.")
		return "", false
	}
	return text, r.printable(name, text)
}

// printable checks what holds of every text in an attribute.
func (r *reader) printable(name, text string) bool {
	switch {
	case len(text) > MaxAttributeBytes:
		r.fail(name, "too_long", fmt.Sprintf("The attribute %s must not be longer than %d bytes.", excerpt.Quote(name), MaxAttributeBytes))
		return false
	case strings.ContainsFunc(text, unicode.IsControl):
		r.fail(name, "control_character", "The attribute "+excerpt.Quote(name)+" must not hold control characters.")
		return false
	}
	return true
}

// extension checks an attribute that CloudEvents does not know.
func (r *reader) extension(name string) {
	good := func(c rune) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
	bad := name == "" || strings.ContainsFunc(name, func(c rune) bool { return !good(c) })
	if bad || len(name) > MaxNameBytes {
		r.fail(name, "bad_name", fmt.Sprintf(
			"The name of the attribute %s must be 1 to %d lower-case letters a to z and digits. The data of the event belongs in \"data\".", excerpt.Quote(name), MaxNameBytes))
		return
	}
	switch v := r.event[name].(type) {
	case bool:
	case string:
		r.printable(name, v)
	case int:
		if v < math.MinInt32 || v > math.MaxInt32 {
			r.fail(name, "out_of_range", "The attribute "+excerpt.Quote(name)+" must be a whole number of 32 bits. Send a larger one as a string.")
		}
	default:
		r.fail(name, "wrong_type", "The attribute "+excerpt.Quote(name)+" must be a string, a boolean or a whole number of 32 bits, not "+value.KindOf(v)+".")
	}
}

func (r *reader) data() {
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
		r.fail("data_base64", "wrong_type", `The field "data_base64" must be a string, not `+value.KindOf(v)+".")
		return
	}
	if _, err := base64.StdEncoding.Strict().DecodeString(text); err != nil || strings.ContainsAny(text, "\r\n") {
		r.fail("data_base64", "bad_base64", `The field "data_base64" must be base64 (RFC 4648, section 4).`)
	}
}
