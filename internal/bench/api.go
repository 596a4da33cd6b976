package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// api sends prepared requests with as little work as possible, so that the client takes
// little of the machine that it measures.
type api struct {
	base string
	key  string
	http *http.Client
}

func newAPI(address, key string, connections int) *api {
	return &api{
		base: strings.TrimSuffix(strings.TrimSuffix(address, "/"), "/api/v1") + "/api/v1",
		key:  key,
		http: &http.Client{
			Transport: &http.Transport{
				MaxIdleConns: 2 * connections, MaxIdleConnsPerHost: 2 * connections,
				// Below the two minutes of the server: a POST is not repeated by net/http when it meets a connection
				// in the moment in which the server closes it.
				IdleConnTimeout: time.Minute,
			},
			Timeout: 90 * time.Second,
		},
	}
}

// send returns the body of a success.
func (a *api) send(ctx context.Context, method, url, contentType string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header["X-Api-Key"] = []string{a.key}
	req.Header["Content-Type"] = []string{contentType}
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		return nil, fmt.Errorf("%s %s: %s: %s", method, url, resp.Status, clip(answer))
	}
	return answer, nil
}

func clip(b []byte) string {
	const most = 300
	return string(b[:min(len(b), most)])
}

func (a *api) post(ctx context.Context, path string, body []byte) ([]byte, error) {
	return a.send(ctx, http.MethodPost, a.base+path, "application/json", body)
}

// apply deploys a definition and returns the workflow's path.
func (a *api) apply(ctx context.Context, definition string) (string, error) {
	answer, err := a.send(ctx, http.MethodPost, a.base+"/workflows", "application/yaml", []byte(definition))
	if err != nil {
		return "", err
	}
	var applied struct{ ID string }
	if err := json.Unmarshal(answer, &applied); err != nil {
		return "", err
	}
	return "/workflows/" + applied.ID, nil
}

// awaitEnded waits until the newest execution of a workflow, and so every earlier one of a
// drained queue, has ended: none is left initial or processing.
func (a *api) awaitEnded(ctx context.Context, workflow string) error {
	for _, status := range []string{"initial", "processing"} {
		for {
			answer, err := a.send(ctx, http.MethodGet, a.base+workflow+"/executions?limit=1&status="+status, "application/json", nil)
			if err != nil {
				return err
			}
			var page struct{ Data []json.RawMessage }
			if err := json.Unmarshal(answer, &page); err != nil {
				return err
			}
			if len(page.Data) == 0 {
				break
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	return nil
}
