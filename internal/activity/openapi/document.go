package openapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v3"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/http"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/machine"
)

const (
	maxDocuments     = 64
	defaultFreshness = time.Minute
	longestFreshness = time.Hour
)

// documents caches parsed documents by address and credentials for as long as their
// Cache-Control says, at most an hour (T69).
type documents struct {
	http *http.Caller
	now  func() time.Time

	mu    sync.Mutex
	known map[string]cached
}

type cached struct {
	doc   *openapi3.T
	until time.Time
}

func newDocuments(caller *http.Caller) *documents {
	return &documents{http: caller, now: time.Now, known: map[string]cached{}}
}

func (d *documents) get(ctx context.Context, call activity.Call, address string, auth expr.Value) (*openapi3.T, *machine.Fault) {
	key := call.Account.String() + " " + call.Environment.String() + " " + string(expr.Marshal(auth)) + " " + address
	d.mu.Lock()
	entry, found := d.known[key]
	d.mu.Unlock()
	if found && d.now().Before(entry.until) {
		return entry.doc, nil
	}
	fetched := d.http.Do(ctx, activity.Call{Account: call.Account, Environment: call.Environment}, &http.Request{
		Method: nethttp.MethodGet, Endpoint: address, Output: http.OutputResponse, Redirect: true, Authentication: auth,
	})
	if fetched.Fault != nil {
		fetched.Fault.Detail = "fetch the OpenAPI document: " + fetched.Fault.Detail
		return nil, fetched.Fault
	}
	answer, _ := fetched.Output.(map[string]any)
	doc, err := parse(answer["content"], address)
	if err != nil {
		return nil, configuration(fmt.Sprintf("the OpenAPI document %s cannot be read: %v", address, err))
	}
	headers, _ := answer["headers"].(map[string]any)
	d.keep(key, cached{doc, d.now().Add(freshness(headers))})
	return doc, nil
}

func (d *documents) keep(key string, entry cached) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) >= maxDocuments {
		clear(d.known) // rare, and a document is soon fetched again
	}
	d.known[key] = entry
}

func freshness(headers map[string]any) time.Duration {
	control, _ := headers["Cache-Control"].(string)
	for directive := range strings.SplitSeq(control, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(strings.ToLower(directive)), "=")
		switch name {
		case "no-store", "no-cache":
			return 0
		case "max-age":
			seconds, err := time.ParseDuration(value + "s")
			if err == nil && seconds >= 0 {
				return min(seconds, longestFreshness)
			}
		}
	}
	return defaultFreshness
}

// parse reads a document of version 2.0, 3.0 or 3.1 from what the HTTP call returned: a
// JSON value, or text (YAML, or JSON with another media type), or base64 of such a text.
// External references are not followed: they would be fetched without the egress rules.
func parse(content expr.Value, address string) (*openapi3.T, error) {
	data, err := asJSON(content)
	if err != nil {
		return nil, err
	}
	location, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("parse the address: %w", err)
	}
	var version struct{ Swagger, OpenAPI string }
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, fmt.Errorf("it is not an object: %w", err)
	}
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = false
	switch {
	case strings.HasPrefix(version.Swagger, "2."):
		var old openapi2.T
		if err := json.Unmarshal(data, &old); err != nil {
			return nil, err
		}
		if old.Host == "" {
			old.Host = location.Host
			if len(old.Schemes) == 0 {
				old.Schemes = []string{location.Scheme}
			}
		}
		return openapi2conv.ToV3WithLoader(&old, loader, location)
	case strings.HasPrefix(version.OpenAPI, "3."):
		return loader.LoadFromDataWithPath(data, location)
	}
	return nil, fmt.Errorf("it has neither swagger: 2.0 nor openapi: 3.x")
}

func asJSON(content expr.Value) ([]byte, error) {
	text, isText := content.(string)
	if !isText {
		return expr.Marshal(content), nil
	}
	if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
		text = string(raw)
	}
	if json.Valid([]byte(text)) {
		return []byte(text), nil
	}
	var tree any
	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		return nil, fmt.Errorf("it is neither JSON nor YAML: %w", err)
	}
	return json.Marshal(tree)
}
