package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	nethttp "net/http"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/failure"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

const (
	maxResponseDepth = 256
	shownBodyBytes   = 300
	redacted         = "[redacted]"
)

var errTooLarge = errors.New("body over the limit")

// limited fails, rather than ends, when more than left bytes come.
type limited struct {
	io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// receive turns the answer into a result.
func (c *Caller) receive(ctx context.Context, call activity.Call, req *Request, out *nethttp.Request, resp *nethttp.Response) activity.Result {
	if !req.accepts(resp.StatusCode) {
		return activity.Result{Fault: statusFault(out, resp)}
	}
	content, file, fault := c.content(ctx, call, req, out, resp)
	if fault != nil {
		return activity.Result{Fault: fault}
	}
	result := activity.Result{Output: req.shape(out, resp, content)}
	if file != nil {
		result.Files = []machine.File{*file}
	}
	return result
}

func statusFault(out *nethttp.Request, resp *nethttp.Response) *machine.Fault {
	detail := fmt.Sprintf("%s %s answered %d", out.Method, failure.ShownURL(out.URL), resp.StatusCode)
	head, _ := io.ReadAll(io.LimitReader(resp.Body, shownBodyBytes))
	if text := strings.TrimSpace(strings.ToValidUTF8(string(head), "")); text != "" {
		detail += ": " + text
	}
	// Reading a short rest lets the connection be used again.
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	return failure.Communication(resp.StatusCode, detail)
}

// headerValue shows headers as data, without credentials (T41).
func headerValue(header nethttp.Header) value.Value {
	object := make(map[string]any, len(header))
	for name, values := range header {
		if name == "Set-Cookie" || isCredential(name) {
			object[name] = redacted
			continue
		}
		object[name] = strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")
	}
	return object
}

// content reads the body (T40): JSON is parsed, text stays text, anything else is base64,
// nothing is null, and what is over the inline limit is stored as a file.
func (c *Caller) content(ctx context.Context, call activity.Call, req *Request, out *nethttp.Request, resp *nethttp.Response) (value.Value, *machine.File, *machine.Fault) {
	if out.Method == nethttp.MethodHead {
		return nil, nil, nil // Content-Length tells of a body that does not come
	}
	declared := resp.Header.Get("Content-Type")
	data, err := readAtMost(resp, c.cfg.InlineBytes)
	switch {
	case errors.Is(err, errTooLarge):
		return c.store(ctx, call, out, resp, data, declared)
	case err != nil:
		return nil, nil, c.connectionFault(ctx, out, err)
	}
	content, fault := req.parse(out, declared, data)
	return content, nil, fault
}

func isText(media string) bool {
	return strings.HasPrefix(media, "text/") || media == "application/xml" || strings.HasSuffix(media, "+xml")
}

func decodeText(data []byte, declared, label string) (string, bool) {
	if utf8.Valid(data) {
		return string(data), true
	}
	if label == "" {
		return "", false
	}
	encoding, _, _ := charset.DetermineEncoding(data, declared)
	decoded, err := encoding.NewDecoder().Bytes(data)
	return string(decoded), err == nil
}

// readAtMost returns the whole body, or errTooLarge with the first limit+1 bytes or more.
func readAtMost(resp *nethttp.Response, limit int64) ([]byte, error) {
	if resp.ContentLength > limit {
		return nil, errTooLarge
	}
	body := io.LimitReader(resp.Body, limit+1)
	var data []byte
	var err error
	if resp.ContentLength >= 0 && resp.ContentLength <= knownBodyBytes {
		data, err = readAll(body, int(resp.ContentLength))
	} else {
		data, err = io.ReadAll(body)
	}
	if err == nil && int64(len(data)) > limit {
		err = errTooLarge
	}
	return data, err
}

// knownBodyBytes is the longest body for which there is room before the first byte has come: a server may announce what
// it does not send.
const knownBodyBytes = 64 << 10

// readAll is io.ReadAll of about size bytes. One byte more makes room for the read that meets the end.
func readAll(r io.Reader, size int) ([]byte, error) {
	data := make([]byte, 0, size+1)
	for {
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return data, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}

// store keeps a large body as a file; the reference becomes the content.
func (c *Caller) store(ctx context.Context, call activity.Call, out *nethttp.Request, resp *nethttp.Response, head []byte, media string) (value.Value, *machine.File, *machine.Fault) {
	whole := &limited{Reader: io.MultiReader(strings.NewReader(string(head)), resp.Body), left: c.cfg.FileBytes}
	if media == "" {
		media = "application/octet-stream"
	}
	file, err := c.cfg.Files.Put(ctx, call.Account, call.Environment, fileName(out, resp), media, whole)
	if errors.Is(err, errTooLarge) {
		return nil, nil, failure.BadAnswer(
			fmt.Sprintf("%s %s answered more than %d bytes, the limit of a stored response", out.Method, failure.ShownURL(out.URL), c.cfg.FileBytes))
	}
	if err != nil {
		return nil, nil, c.connectionFault(ctx, out, err)
	}
	return file.Reference(), &file, nil
}

// fileName is for display only.
func fileName(out *nethttp.Request, resp *nethttp.Response) string {
	if _, params, err := mime.ParseMediaType(resp.Header.Get("Content-Disposition")); err == nil && params["filename"] != "" {
		return path.Base(params["filename"])
	}
	if name := path.Base(out.URL.Path); name != "." && name != "/" {
		return name
	}
	return "response"
}
