package api

import (
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/span"
)

// beginSpan makes the span of a request, as a child of what its traceparent names. The server's own
// routes have none: they are asked all the time, by machines.
func (c *call) beginSpan() {
	if !strings.HasPrefix(c.r.URL.Path, chargehand.APIPath+"/") {
		return
	}
	ctx := propagation.TraceContext{}.Extract(c.r.Context(), propagation.HeaderCarrier(c.r.Header))
	ctx, c.span = c.server.tracer.Start(ctx, "http", trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(c.began))
	c.r = c.r.WithContext(ctx)
}

// describeSpan says what became of the request. Paths and methods are those of the table of
// routes, so that there are as many names as routes.
func (c *call) describeSpan() {
	if !c.span.IsRecording() {
		return
	}
	attributes := []attribute.KeyValue{
		attribute.Int("http.response.status_code", c.status), span.RequestKey.String(c.requestID),
	}
	if c.route != nil {
		c.span.SetName("http " + c.route.method + " " + c.route.path)
		attributes = append(attributes,
			attribute.String("http.request.method", c.route.method), attribute.String("http.route", c.route.path))
	}
	if p := c.principal; p != nil {
		attributes = append(attributes, span.AccountKey.String(p.Account.String()), span.EnvironmentKey.String(p.Environment.String()))
	}
	if !c.workflow.IsZero() {
		attributes = append(attributes, span.WorkflowKey.String(c.workflow.String()))
	}
	if !c.execution.IsZero() {
		attributes = append(attributes, span.ExecutionKey.String(c.execution.String()))
	}
	c.span.SetAttributes(attributes...)
	if c.status >= http.StatusInternalServerError {
		c.span.SetStatus(codes.Error, "")
	}
}
