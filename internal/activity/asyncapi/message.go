package asyncapi

import (
	"encoding/base64"
	"fmt"
	"mime"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/chargehand/chargehand/internal/activity/failure"
	activityhttp "github.com/chargehand/chargehand/internal/activity/http"
	"github.com/chargehand/chargehand/internal/asyncapidoc"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// defaultContentType is that of messages for which the document names none.
const defaultContentType = "application/json"

func isJSON(media string) bool {
	return media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
}

func isText(media string) bool {
	return strings.HasPrefix(media, "text/") || media == "application/xml" || strings.HasSuffix(media, "+xml")
}

func mediaOf(contentType string) string {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return strings.ToLower(strings.TrimSpace(contentType))
	}
	return media
}

// encode makes the message to send. One without a payload has an empty body.
func encode(message map[string]any, contentType string) (Outgoing, *machine.Fault) {
	out := Outgoing{ContentType: contentType}
	if out.ContentType == "" {
		out.ContentType = defaultContentType
	}
	headers, isObject := message["headers"].(map[string]any)
	if message["headers"] != nil && !isObject {
		return out, failure.Configuration("the headers of a message must be an object")
	}
	out.Headers = headers
	payload, given := message["payload"]
	if !given {
		return out, nil
	}
	if isJSON(mediaOf(out.ContentType)) {
		out.Body = value.Marshal(payload)
		return out, nil
	}
	text, ok := activityhttp.Scalar(payload)
	if !ok {
		return out, failure.Configuration(fmt.Sprintf("the document gives messages the content type %q, so the payload must be a text; objects and lists can be sent as JSON",
			excerpt.Clip(out.ContentType, failure.ClipBytes)))
	}
	out.Body = []byte(text)
	return out, nil
}

// decode makes data of a message that came.
func decode(m Incoming, described []asyncapidoc.Message) value.Value {
	contentType := m.ContentType
	if contentType == "" {
		contentType = described[0].ContentType
	}
	if contentType == "" {
		contentType = defaultContentType
	}
	headers := m.Headers
	if headers == nil {
		headers = map[string]value.Value{}
	}
	payload := payloadOf(m.Body, mediaOf(contentType))
	var correlation value.Value
	for _, description := range described {
		if found, ok := asyncapidoc.Locate(description.Correlation, headers, payload); ok {
			correlation = found
			break
		}
	}
	return map[string]any{"payload": payload, "headers": headers, "correlationId": correlation}
}

func payloadOf(body []byte, media string) value.Value {
	if isJSON(media) {
		if len(body) == 0 {
			return nil
		}
		if value, err := value.Parse(body, value.Limits{Depth: value.MaxDepth}); err == nil {
			return value
		}
	}
	if (isJSON(media) || isText(media)) && utf8.Valid(body) {
		return string(body)
	}
	return base64.StdEncoding.EncodeToString(body)
}

// HeaderValues makes data of header fields: a text, or a list of texts.
func HeaderValues(fields map[string][]string) map[string]value.Value {
	headers := make(map[string]value.Value, len(fields))
	for name, values := range fields {
		name = strings.ToValidUTF8(name, "\uFFFD")
		if len(values) == 1 {
			headers[name] = strings.ToValidUTF8(values[0], "\uFFFD")
			continue
		}
		list := make([]any, len(values))
		for i, value := range values {
			list[i] = strings.ToValidUTF8(value, "\uFFFD")
		}
		headers[name] = list
	}
	return headers
}

func withoutUser(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "its server"
	}
	return failure.ShownURL(u)
}

// byteSize renders n in the largest binary unit that divides it.
func byteSize(n int64) string {
	units := []string{"bytes", "KiB", "MiB"}
	at := 0
	for at < len(units)-1 && n >= 1024 && n%1024 == 0 {
		n /= 1024
		at++
	}
	return fmt.Sprintf("%d %s", n, units[at])
}
