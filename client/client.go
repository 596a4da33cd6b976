package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Client is one connection setting: address and key.
type Client struct {
	base string // ends with /api/v1
	key  string
	http *http.Client
	// attempts is how often a request is sent at most; pause is the first delay between.
	attempts int
	pause    time.Duration
}

// Option changes a Client at construction.
type Option func(*Client)

// WithHTTPClient replaces http.DefaultClient.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithoutRetries sends every request once.
func WithoutRetries() Option { return func(c *Client) { c.attempts = 1 } }

// New returns a client of the server at address (http://host:port, with or without /api/v1).
func New(address, key string, options ...Option) *Client {
	base := strings.TrimSuffix(strings.TrimSuffix(address, "/"), "/api/v1") + "/api/v1"
	c := &Client{base: base, key: key, http: http.DefaultClient, attempts: 4, pause: 250 * time.Millisecond}
	for _, option := range options {
		option(c)
	}
	return c
}

// Address is that of the interface of the server: it ends with /api/v1.
func (c *Client) Address() string { return c.base }

// Error is an answer that is not a success (application/problem+json).
type Error struct {
	Status     int          `json:"status"`
	Code       string       `json:"code"`
	Title      string       `json:"title"`
	Detail     string       `json:"detail"`
	Errors     []FieldError `json:"errors"`
	RequestID  string       `json:"request_id"`
	RetryAfter time.Duration
}

// FieldError is one wrong place in a body or definition.
type FieldError struct {
	Pointer   string `json:"pointer"`
	Parameter string `json:"parameter"` // of the query or header; Pointer is empty then
	Code      string `json:"code"`
	Detail    string `json:"detail"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
}

func (e *Error) Error() string {
	text := e.Detail
	if text == "" {
		text = e.Title
	}
	if len(e.Errors) > 1 { // the sentence may end with the first of them: they follow in full
		if begin := strings.Index(text, e.Errors[0].String()); begin > 0 {
			text = strings.TrimRight(text[:begin], " ")
		}
	}
	for _, field := range e.Errors {
		// A single problem is often told in the sentence itself.
		if len(e.Errors) > 1 || !strings.Contains(text, strings.TrimSuffix(field.Detail, ".")) {
			text += "\n  " + field.String()
		}
	}
	return fmt.Sprintf("%s (%d %s)", text, e.Status, e.Code)
}

func (f FieldError) String() string {
	where := f.Pointer
	if f.Line > 0 {
		where = fmt.Sprintf("%d:%d %s", f.Line, f.Column, f.Pointer)
	}
	if where = strings.TrimSpace(where); where == "" {
		return f.Detail // that of a parameter names it
	}
	return where + ": " + f.Detail
}

// ErrUnreachable is wrapped by the error of a request that got no answer, or only a part of one.
var ErrUnreachable = errors.New("server not reachable")

// call is one request. body is sent as JSON unless raw is set.
type call struct {
	method      string
	path        string // relative to the base, escaped
	query       url.Values
	body        any
	raw         func() io.Reader // a new reader for each attempt; nil: none
	contentType string
	accept      string
	match       string // If-Match
	idempotent  bool   // POST that carries an Idempotency-Key
	once        bool   // the body cannot be sent again
	into        any    // where the JSON answer goes; nil: dropped
	status      *int   // where the status of the answer goes; nil: nowhere
}

func (c *Client) do(ctx context.Context, r call) error {
	resp, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if r.status != nil {
		*r.status = resp.StatusCode
	}
	body := &partBody{from: resp.Body}
	if r.into == nil {
		_, err = io.Copy(io.Discard, io.LimitReader(body, 1<<20))
	} else {
		err = json.NewDecoder(body).Decode(r.into)
	}
	switch {
	case body.err != nil && ctx.Err() != nil:
		return ctx.Err()
	case body.err != nil:
		return fmt.Errorf("%w: the answer of %s %s is not complete: %w", ErrUnreachable, r.method, r.path, body.err)
	case err != nil:
		return fmt.Errorf("read the answer of %s %s: %w", r.method, r.path, err)
	}
	return nil
}

// partBody remembers that an answer could not be read to its end: its JSON is not to blame then.
type partBody struct {
	from io.Reader
	err  error
}

func (b *partBody) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// send repeats a request that is safe to repeat and returns the first success.
func (c *Client) send(ctx context.Context, r call) (*http.Response, error) {
	if r.body != nil {
		data, err := json.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("write the body of %s %s: %w", r.method, r.path, err)
		}
		r.raw, r.contentType = func() io.Reader { return bytes.NewReader(data) }, "application/json"
	}
	idempotencyKey := ""
	if r.idempotent {
		idempotencyKey = uuid.NewString()
	}
	pause := c.pause
	for attempt := 1; ; attempt++ {
		resp, err := c.sendOnce(ctx, r, idempotencyKey)
		if err == nil {
			return resp, nil
		}
		last := attempt >= c.attempts || r.once || (r.method == http.MethodPost && !r.idempotent)
		delay, again := retryDelay(err, pause)
		if last || !again {
			return nil, err
		}
		select {
		case <-ctx.Done():
			if errors.Is(err, ctx.Err()) {
				return nil, err
			}
			return nil, fmt.Errorf("%w, and before that: %w", ctx.Err(), err)
		case <-time.After(delay):
		}
		pause *= 2
	}
}

// maxRetryAfter is the longest Retry-After that is waited for; a longer one is left to the caller.
const maxRetryAfter = time.Minute

func retryDelay(err error, pause time.Duration) (time.Duration, bool) {
	var answer *Error
	if !errors.As(err, &answer) {
		return pause, errors.Is(err, ErrUnreachable)
	}
	switch answer.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
		return max(pause, answer.RetryAfter), answer.RetryAfter <= maxRetryAfter
	case http.StatusConflict:
		// The connection of the attempt before broke, and the server is still at work on it.
		return max(pause, answer.RetryAfter), answer.Code == "idempotency_in_progress"
	}
	return 0, false
}

func (c *Client) sendOnce(ctx context.Context, r call, idempotencyKey string) (*http.Response, error) {
	address := c.base + r.path
	if strings.HasPrefix(r.path, "http://") || strings.HasPrefix(r.path, "https://") {
		address = r.path
	}
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	var body io.Reader
	if r.raw != nil {
		body = r.raw()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	if strings.HasPrefix(address, c.base) && c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	if r.match != "" {
		req.Header.Set("If-Match", r.match)
	}
	if idempotencyKey != "" {
		req.Header.Set("Idempotency-Key", idempotencyKey)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if at := (*url.Error)(nil); errors.As(err, &at) {
			err = at.Err // without the method and the whole address
		}
		return nil, fmt.Errorf("%w at %s: %w", ErrUnreachable, req.URL.Host, err)
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, problem(resp)
}

func problem(resp *http.Response) error {
	e := &Error{}
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if json.Unmarshal(data, e) != nil || e.Code == "" {
		e.Code, e.Title = "unexpected_answer", http.StatusText(resp.StatusCode)
		e.Detail = "the server answered " + resp.Status + " without a problem document"
	}
	e.Status = resp.StatusCode
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

// Page is a page of a list. Cursor asks for the page behind it; empty: this is the last one.
type Page[T any] struct {
	Data   []T    `json:"data"`
	Cursor string `json:"cursor"`
}

// list reads a page.
func list[T any](ctx context.Context, c *Client, path string, query url.Values) (*Page[T], error) {
	var p Page[T]
	return &p, c.do(ctx, call{method: http.MethodGet, path: path, query: query, into: &p})
}

// page is the query of a page.
func page(limit int, cursor string) url.Values {
	q := url.Values{}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	return q
}

// set adds the parameters that are not empty.
func set(q url.Values, values map[string]string) {
	for name, value := range values {
		if value != "" {
			q.Set(name, value)
		}
	}
}

func addAll(q url.Values, name string, values []string) {
	for _, value := range values {
		q.Add(name, value)
	}
}

func waitQuery(q url.Values, wait time.Duration) url.Values {
	if q == nil {
		q = url.Values{}
	}
	if wait > 0 {
		q.Set("wait", strconv.FormatFloat(wait.Seconds(), 'f', -1, 64)+"s")
	}
	return q
}
