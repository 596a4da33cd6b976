package a2a

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/chargehand/chargehand/internal/activity/failure"
	"github.com/chargehand/chargehand/internal/activity/remote"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// exchange is one JSON-RPC request and what answers it.
type exchange struct {
	client   *http.Client
	endpoint *url.URL
	method   string
	streams  bool
	limit    int64
	where    string
}

// do sends the request and reads the answer.
func (x *exchange) do(ctx context.Context, parameters map[string]any) (value.Value, *machine.Fault) {
	request := map[string]any{"jsonrpc": "2.0", "id": 1, "method": x.method}
	if parameters != nil {
		request["params"] = parameters
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.endpoint.String(), bytes.NewReader(value.Marshal(request)))
	if err != nil {
		return nil, failure.Configuration(err.Error())
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if x.streams {
		req.Header.Set("Accept", "text/event-stream, application/json")
	}
	resp, err := x.client.Do(req)
	if err != nil {
		return nil, failure.Connection(x.where, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, failure.Status(x.where, resp)
	}
	body := remote.Limit(resp.Body, x.limit)
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media == "text/event-stream" {
		return x.stream(body)
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, x.broken(err)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil // some agents answer nothing where there is nothing to tell (delete)
	}
	result, fault := x.result(data)
	if fault == nil && x.streams {
		result = []any{result}
	}
	return result, fault
}

// stream gathers the results of a stream until it ends.
func (x *exchange) stream(body io.Reader) (value.Value, *machine.Fault) {
	events := remote.NewStream(body, int(x.limit))
	results := []any{}
	for {
		event, err := events.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, x.broken(err)
		}
		result, fault := x.result(event.Data)
		if fault != nil {
			return nil, fault
		}
		results = append(results, result)
		if !x.streams {
			return result, nil
		}
	}
	if !x.streams {
		return nil, failure.NoAnswer(x.where + ": the stream ended without an answer")
	}
	return results, nil
}

func (x *exchange) broken(err error) *machine.Fault {
	if errors.Is(err, remote.ErrTooLarge) {
		return failure.Runtime("Answer too large", fmt.Sprintf("%s answered more than %d bytes, the limit of an answer", x.where, x.limit))
	}
	return failure.Connection(x.where, err)
}

// result reads one JSON-RPC response.
func (x *exchange) result(data []byte) (value.Value, *machine.Fault) {
	v, err := value.Parse(data, value.Limits{Depth: value.MaxDepth})
	if err != nil {
		return nil, failure.Runtime("Agent answered unusable data", fmt.Sprintf("%s answered JSON that cannot be read: %v", x.where, err))
	}
	response, _ := v.(map[string]any)
	if refusal, ok := response["error"].(map[string]any); ok {
		message, _ := refusal["message"].(string)
		detail := fmt.Sprintf("%s answered error %s: %s", x.where, value.Marshal(refusal["code"]), excerpt.Clip(message, failure.ClipBytes))
		if refusal["data"] != nil {
			detail += " " + excerpt.Clip(string(value.Marshal(refusal["data"])), failure.ClipBytes)
		}
		return nil, failure.Runtime("Agent answered an error", detail)
	}
	result, ok := response["result"]
	if !ok {
		return nil, failure.Runtime("Agent answered unusable data", x.where+" answered neither a result nor an error: no JSON-RPC response")
	}
	return result, nil
}
