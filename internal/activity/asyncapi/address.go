package asyncapi

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/activity/failure"
	activityhttp "github.com/chargehand/chargehand/internal/activity/http"
	"github.com/chargehand/chargehand/internal/machine"
)

// Textual reports whether messages of a content type are text: JSON, XML and text.
func Textual(contentType string) bool {
	media := mediaOf(contentType)
	return contentType == "" || isJSON(media) || isText(media)
}

// Address is the address of a channel of the families http and ws: that of the server with the
// channel's appended, and the query that the binding fixes by const or default.
func Address(at *Endpoint) (*url.URL, *machine.Fault) {
	text := at.URL
	if channel := strings.TrimPrefix(at.Target.Address, "/"); channel != "" {
		text += "/" + channel
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil, failure.Configuration("the address of the " + at.Where + " cannot be read")
	}
	query := u.Query()
	for _, binding := range []map[string]any{at.ChannelBinding, at.OperationBinding} {
		schema, _ := binding["query"].(map[string]any)
		properties, _ := schema["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			property, _ := properties[name].(map[string]any)
			value, fixed := property["const"]
			if !fixed {
				value, fixed = property["default"]
			}
			if text, ok := activityhttp.Scalar(value); fixed && ok && !query.Has(name) {
				query.Set(name, text)
			}
		}
	}
	u.RawQuery = query.Encode()
	return u, nil
}
