package openapi

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/failure"
	"github.com/chargehand/chargehand/internal/activity/http"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/lru"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/resource"
)

const (
	// maxParsed and maxParsedBytes bound the parsed documents that are kept; bytes are those
	// of their texts, which take about ten times as much when they are parsed.
	maxParsed      = 64
	maxParsedBytes = 16 << 20
	// maxReferenced bounds the documents that one document refers to.
	maxReferenced = 32
)

// document is a parsed description. It is never changed.
type document struct {
	*openapi3.T
	address string // where it came from, for relative servers; empty: not known
	digest  string
}

// documents reads descriptions and keeps the parsed ones by digest.
type documents struct {
	http  *http.Caller
	cache *resource.Cache

	parsed *lru.Cache[string, *document]
}

func newDocuments(caller *http.Caller, cache *resource.Cache) *documents {
	return &documents{http: caller, cache: cache, parsed: lru.New[string, *document](lru.Bounds{Entries: maxParsed, Size: maxParsedBytes}, nil)}
}

// get reads the document of a call: {content, digest} where it was pinned when the definition
// was deployed, else {endpoint, authentication} (T69).
func (d *documents) get(ctx context.Context, call activity.Call, described map[string]any) (*document, *machine.Fault) {
	address, _ := described["endpoint"].(string)
	scope := call.Account.String() + " " + call.Environment.String()
	request := resource.Request{URI: address, Authentication: described["authentication"]}
	content := resource.Content{URI: address}
	if pinned, isPinned := described["content"].(string); isPinned {
		content.Data = []byte(pinned)
		content.Digest, _ = described["digest"].(string)
	} else if d.http.OwnFile(address) {
		var fault *machine.Fault
		if content, fault = d.ownFile(ctx, call, address); fault != nil {
			return nil, fault
		}
	} else {
		var err error
		if content, err = d.cache.Fetch(ctx, scope, request); err != nil {
			return nil, fetchFault(err)
		}
	}
	key := scope + " " + content.Digest + " " + content.URI
	if known, found := d.parsed.Get(key); found {
		return known, nil
	}
	references := &references{cache: d.cache, ctx: ctx, scope: scope, request: request}
	described3, err := parse(ctx, content.Data, content.URI, references)
	if err != nil {
		if references.failed != nil {
			return nil, fetchFault(references.failed)
		}
		if ctx.Err() != nil {
			return nil, failure.NoAnswer("the OpenAPI document " + excerpt.Clip(shown(address), clipBytes) + " was not read in time")
		}
		return nil, configuration(fmt.Sprintf("the OpenAPI document %s cannot be read: %v", excerpt.Clip(shown(address), clipBytes), excerpt.Clip(err.Error(), clipBytes)))
	}
	doc := &document{described3, content.URI, content.Digest}
	if references.count == 0 && content.Digest != "" { // what others hold may change without the digest of this one
		d.parsed.Add(key, doc, len(content.Data))
	}
	return doc, nil
}

// ownFile reads a file of this installation, which needs no connection (docs/language/files.md).
func (d *documents) ownFile(ctx context.Context, call activity.Call, address string) (resource.Content, *machine.Fault) {
	read := d.http.Do(ctx, activity.Call{Account: call.Account, Environment: call.Environment, Execution: call.Execution},
		&http.Request{Method: "GET", Endpoint: address, Output: http.OutputRaw})
	if read.Fault != nil {
		return resource.Content{}, read.Fault
	}
	if len(read.Files) > 0 {
		return resource.Content{}, configuration("the OpenAPI document " + excerpt.Clip(address, clipBytes) + " is too large")
	}
	text, _ := read.Output.(string)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return resource.Content{}, configuration("the OpenAPI document " + excerpt.Clip(address, clipBytes) + " cannot be read")
	}
	sum := sha256.Sum256(data)
	return resource.Content{Data: data, Digest: "sha256:" + hex.EncodeToString(sum[:])}, nil
}

func fetchFault(err error) *machine.Fault {
	var failed *resource.Error
	if !errors.As(err, &failed) {
		return configuration("the OpenAPI document cannot be read: " + excerpt.Clip(err.Error(), clipBytes))
	}
	fault := failed.Fault()
	fault.Detail = "fetch the OpenAPI document: " + fault.Detail
	return fault
}

// references reads the documents that one document refers to, with its credentials where
// they are of its origin.
type references struct {
	cache   *resource.Cache
	ctx     context.Context
	scope   string
	request resource.Request
	count   int
	failed  error
}

func (r *references) read(_ *openapi3.Loader, at *url.URL) ([]byte, error) {
	if r.count++; r.count > maxReferenced {
		return nil, fmt.Errorf("it refers to more than %d other documents", maxReferenced)
	}
	from, err := url.Parse(r.request.URI)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || from.Scheme == "https" && at.Scheme == "http" {
		return nil, fmt.Errorf("it refers to %s, which it may not", excerpt.Clip(at.Redacted(), clipBytes))
	}
	request := resource.Request{URI: at.String()}
	if from.Scheme == at.Scheme && strings.EqualFold(from.Host, at.Host) {
		request.Authentication = r.request.Authentication
	}
	content, err := r.cache.Fetch(r.ctx, r.scope, request)
	if err != nil {
		r.failed = err
		return nil, err
	}
	return asJSON(r.ctx, content.Data)
}

// parse reads a document of version 2.0, 3.0 or 3.1, as JSON or YAML.
func parse(ctx context.Context, data []byte, address string, references *references) (*openapi3.T, error) {
	data, err := asJSON(ctx, data)
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
	if references != nil && references.cache != nil {
		loader.IsExternalRefsAllowed, loader.ReadFromURIFunc = true, references.read
	}
	switch {
	case strings.HasPrefix(version.Swagger, "2."):
		var old openapi2.T
		if err := json.Unmarshal(data, &old); err != nil {
			return nil, err
		}
		if old.Host == "" {
			old.Host = location.Host
			if len(old.Schemes) == 0 && location.Scheme != "" {
				old.Schemes = []string{location.Scheme}
			}
		}
		return openapi2conv.ToV3WithLoader(&old, loader, location)
	case strings.HasPrefix(version.OpenAPI, "3."):
		return loader.LoadFromDataWithPath(data, location)
	}
	return nil, fmt.Errorf("it has neither swagger: 2.0 nor openapi: 3.x")
}

func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "of the call"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// clipBytes bounds what messages show of texts of authors and peers.
const clipBytes = 300
