package http

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	nethttp "net/http"
	"net/url"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/failure"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// What follows depends on the request and the answer alone, so that an answer that is made up becomes the same outcome
// as one that comes over the network.

// Answer is the answer of a server.
type Answer struct {
	Status int
	Header nethttp.Header
	Body   []byte
}

// Outcome is what becomes of a call with the arguments of kind "http" when a server answers so. The body is not stored
// as a file, however large it is.
func Outcome(args value.Value, a Answer) activity.Result {
	req, fault := requestFromArgs(args)
	if fault != nil {
		return activity.Result{Fault: fault}
	}
	return req.Outcome(a)
}

// Outcome is the result of the request when a server answers so.
func (r *Request) Outcome(a Answer) activity.Result {
	target, err := url.Parse(r.Endpoint)
	if err != nil {
		return activity.Result{Fault: failure.Configuration(fmt.Sprintf("the endpoint %q is not an address", r.Endpoint))}
	}
	out := &nethttp.Request{Method: r.Method, URL: target, Header: r.Header}
	resp := &nethttp.Response{StatusCode: a.Status, Header: a.Header, Body: io.NopCloser(bytes.NewReader(a.Body))}
	if !r.accepts(a.Status) {
		return activity.Result{Fault: statusFault(out, resp)}
	}
	var content value.Value
	if r.Method != nethttp.MethodHead {
		var fault *machine.Fault
		if content, fault = r.parse(out, a.Header.Get("Content-Type"), a.Body); fault != nil {
			return activity.Result{Fault: fault}
		}
	}
	return activity.Result{Output: r.shape(out, resp, content)}
}

// accepts reports whether a status is a success (T39).
func (r *Request) accepts(status int) bool {
	return status >= 200 && (status < 300 || r.Redirect && status < 400)
}

// parse makes data of a body (T40): JSON is parsed, text stays text, anything else is base64, nothing is null.
func (r *Request) parse(out *nethttp.Request, declared string, data []byte) (value.Value, *machine.Fault) {
	switch {
	case len(data) == 0:
		return nil, nil
	case r.Output == OutputRaw:
		return base64.StdEncoding.EncodeToString(data), nil
	}
	media, params, err := mime.ParseMediaType(declared)
	if err != nil {
		media, params = "", nil
	}
	if isJSON(media) {
		value, err := value.Parse(data, value.Limits{Depth: maxResponseDepth})
		if err != nil {
			return nil, failure.BadAnswer(
				fmt.Sprintf("%s %s answered JSON that cannot be read: %v", out.Method, failure.ShownURL(out.URL), err))
		}
		return value, nil
	}
	if isText(media) {
		if text, ok := decodeText(data, declared, params["charset"]); ok {
			return text, nil
		}
	}
	return base64.StdEncoding.EncodeToString(data), nil
}

// shape is the output that the author has asked for.
func (r *Request) shape(out *nethttp.Request, resp *nethttp.Response, content value.Value) value.Value {
	if r.Output != OutputResponse {
		return content
	}
	return map[string]any{
		"request": map[string]any{
			"method": out.Method, "uri": out.URL.String(), "headers": headerValue(out.Header),
		},
		"statusCode": resp.StatusCode,
		"headers":    headerValue(resp.Header),
		"content":    content,
	}
}
