package http

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"mime"
	nethttp "net/http"
	"net/url"
	"sort"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/failure"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// Output says what of the answer becomes the task's output.
type Output string

// The outputs (docs/language/call-http.md).
const (
	OutputContent  Output = "content"  // the parsed body (T40)
	OutputRaw      Output = "raw"      // the body as base64
	OutputResponse Output = "response" // request, statusCode, headers and content
)

// Request is a call with every value resolved.
type Request struct {
	Method         string
	Endpoint       string
	Header         nethttp.Header
	Query          url.Values
	Body           value.Value // nil: none
	Output         Output
	Redirect       bool        // follow redirects, and accept 300–399 (T39)
	Authentication value.Value // a policy as package credential reads it; nil: none
}

// requestFromArgs reads the arguments that the machine evaluated.
func requestFromArgs(args value.Value) (*Request, *machine.Fault) {
	with, _ := args.(map[string]any)
	req := &Request{Output: OutputContent}
	method, _ := with["method"].(string)
	var fault *machine.Fault
	if req.Method, fault = CheckMethod(method); fault != nil {
		return nil, fault
	}
	req.Endpoint, _ = with["endpoint"].(string)
	req.Redirect, _ = with["redirect"].(bool)
	req.Body = with["body"]
	if req.Output, fault = OutputOf(with["output"]); fault != nil {
		return nil, fault
	}
	if req.Header, fault = HeaderOf(with["headers"]); fault != nil {
		return nil, fault
	}
	if req.Query, fault = QueryOf(with["query"]); fault != nil {
		return nil, fault
	}
	req.Authentication = with["authentication"]
	return req, nil
}

// OutputOf reads an `output` argument; nil means content.
func OutputOf(v value.Value) (Output, *machine.Fault) {
	switch v {
	case nil, string(OutputContent):
		return OutputContent, nil
	case string(OutputRaw):
		return OutputRaw, nil
	case string(OutputResponse):
		return OutputResponse, nil
	}
	return "", failure.Configuration("output must be content, raw or response")
}

func basicAuth(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// HeaderOf reads a `headers` argument: scalars, and arrays for repeated headers. It refuses what belongs to the
// connection, or to proxies. Nil: there is none.
func HeaderOf(v value.Value) (nethttp.Header, *machine.Fault) {
	fields, fault := fieldsOf("headers", v)
	if fault != nil || len(fields) == 0 {
		return nil, fault
	}
	header := make(nethttp.Header, len(fields))
	for _, f := range fields {
		name := nethttp.CanonicalHeaderKey(f.name)
		for _, value := range f.values {
			if fault := CheckHeader(f.name, value); fault != nil {
				return nil, fault
			}
		}
		header[name] = append(header[name], f.values...)
	}
	return header, nil
}

// CheckMethod is a method in upper case. It refuses what cannot be the method of a request.
func CheckMethod(method string) (string, *machine.Fault) {
	upper := strings.ToUpper(method)
	if !httpguts.ValidHeaderFieldName(upper) { // a method is a token, as a field name is
		return "", failure.Configuration(fmt.Sprintf("%q is not an HTTP method", excerpt.Clip(method, clipBytes)))
	}
	switch upper {
	case nethttp.MethodConnect, nethttp.MethodTrace: // they speak to proxies, and show what was sent
		return "", failure.Configuration("the method " + upper + " cannot be called")
	}
	return upper, nil
}

// CheckHeader refuses what cannot be a header of a request.
func CheckHeader(name, value string) *machine.Fault {
	if !httpguts.ValidHeaderFieldName(name) {
		return failure.Configuration(fmt.Sprintf("%q is not a header name", excerpt.Clip(name, clipBytes)))
	}
	switch canonical := nethttp.CanonicalHeaderKey(name); canonical {
	case "Connection", "Content-Length", "Transfer-Encoding", "Upgrade", "Te", "Trailer":
		return failure.Configuration("the header " + canonical + " is set by the connection and cannot be given")
	case "Expect", "Proxy-Authorization", "Proxy-Connection", "Keep-Alive":
		return failure.Configuration("the header " + canonical + " is not for the server that is called and cannot be given")
	}
	if !httpguts.ValidHeaderFieldValue(value) {
		return failure.Configuration("the value of the header " + name + " contains characters that a header cannot hold")
	}
	return nil
}

// QueryOf reads a `query` argument: scalars, and arrays for repeated parameters; nil: there is none.
func QueryOf(v value.Value) (url.Values, *machine.Fault) {
	fields, fault := fieldsOf("query", v)
	if fault != nil || len(fields) == 0 {
		return nil, fault
	}
	query := make(url.Values, len(fields))
	for _, f := range fields {
		query[f.name] = f.values
	}
	return query, nil
}

type field struct {
	name   string
	values []string
}

// fieldsOf reads a map of scalars or arrays of scalars, in order of name; null is left out.
func fieldsOf(what string, v value.Value) ([]field, *machine.Fault) {
	if v == nil {
		return nil, nil
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, failure.Configuration(what + " must be an object")
	}
	if len(object) == 0 {
		return nil, nil
	}
	fields := make([]field, 0, len(object))
	for name, value := range object {
		list, isList := value.([]any)
		if !isList {
			list = []any{value}
		}
		f := field{name: name}
		for _, item := range list {
			if item == nil {
				continue
			}
			text, ok := Scalar(item)
			if !ok {
				return nil, failure.Configuration(fmt.Sprintf("%s: the value of %q must be a text, a number, a boolean or a list of these", what, excerpt.Clip(name, clipBytes)))
			}
			f.values = append(f.values, text)
		}
		if len(f.values) > 0 {
			fields = append(fields, f)
		}
	}
	sort.Slice(fields, func(i, j int) bool { return fields[i].name < fields[j].name })
	return fields, nil
}

// Scalar is the text of a string, number or boolean.
func Scalar(v value.Value) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool, int, *big.Int, float64:
		return string(value.Append(nil, v)), true
	}
	return "", false
}

// content is an encoded body, which redirects and authentication may need again.
type content struct {
	first  io.ReadCloser
	again  func() (io.ReadCloser, error)
	length int64
}

// body encodes the body by the Content-Type that the author gave; without one it is JSON.
// It returns nil where there is none.
func (c *Caller) body(ctx context.Context, call activity.Call, req *Request, header nethttp.Header) (*content, *machine.Fault) {
	if req.Body == nil {
		return nil, nil
	}
	given := header.Get("Content-Type")
	if given == "" {
		header.Set("Content-Type", "application/json")
		return encoded(value.Marshal(req.Body)), nil
	}
	media, _, err := mime.ParseMediaType(given)
	if err != nil {
		return nil, failure.Configuration(fmt.Sprintf("the Content-Type %q cannot be read", excerpt.Clip(given, clipBytes)))
	}
	if isJSON(media) {
		return encoded(value.Marshal(req.Body)), nil
	}
	if media == "application/x-www-form-urlencoded" {
		if _, isObject := req.Body.(map[string]any); isObject {
			form, fault := QueryOf(req.Body)
			if fault != nil {
				return nil, fault
			}
			return encoded([]byte(form.Encode())), nil
		}
	}
	if text, ok := Scalar(req.Body); ok {
		return encoded([]byte(text)), nil
	}
	if uri, isReference := referenceURI(req.Body); isReference {
		return c.fileBody(ctx, call, uri)
	}
	return nil, failure.Configuration(fmt.Sprintf("a body of type %s must be a text or a file reference", media))
}

func encoded(data []byte) *content {
	again := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	first, _ := again()
	return &content{first, again, int64(len(data))}
}

// fileBody sends a stored file without holding it; to send it again is to open it again.
func (c *Caller) fileBody(ctx context.Context, call activity.Call, uri string) (*content, *machine.Fault) {
	meta, first, err := c.cfg.Files.Open(ctx, call.Account, call.Environment, call.Execution, uri)
	if err != nil {
		return nil, failure.Configuration("the file " + uri + " that the body names cannot be read")
	}
	again := func() (io.ReadCloser, error) {
		_, content, err := c.cfg.Files.Open(ctx, call.Account, call.Environment, call.Execution, uri)
		return content, err
	}
	return &content{first, again, meta.Size}, nil
}

func referenceURI(v value.Value) (string, bool) {
	object, _ := v.(map[string]any)
	uri, _ := object["uri"].(string)
	return uri, strings.Contains(uri, chargehand.APIPath+"/files/")
}

func isJSON(media string) bool {
	return media == "application/json" || strings.HasSuffix(media, "+json") || media == "text/json"
}
