package temporal

import (
	"context"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/chargehand/chargehand/internal/pause"
)

const (
	// reportPatience is how long a worker tells the outcome of an attempt before it gives up.
	// The SDK would for 10 s, and an outcome that is lost means that the attempt comes again.
	reportTimeout = time.Minute
	// reportAttempt bounds one such request.
	reportAttempt = 5 * time.Second
)

// retryUnavailable has attempts of activities retryUnavailable an outage of Temporal, as long as Temporal waits
// for their heartbeats. It is a grpc.UnaryClientInterceptor.
func retryUnavailable(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	switch method {
	case workflowservice.WorkflowService_RespondActivityTaskCompleted_FullMethodName,
		workflowservice.WorkflowService_RespondActivityTaskFailed_FullMethodName,
		workflowservice.WorkflowService_RespondActivityTaskCanceled_FullMethodName:
		return report(ctx, func(ctx context.Context) error { return invoke(ctx, method, request, reply, cc, options...) })
	case workflowservice.WorkflowService_RecordActivityTaskHeartbeat_FullMethodName:
		err := invoke(ctx, method, request, reply, cc, options...)
		if isOutage(err) {
			return nil // the SDK would cancel the attempt; Temporal itself says when it is lost
		}
		return err
	}
	return invoke(ctx, method, request, reply, cc, options...)
}

// report repeats a request beyond the deadline of ctx.
func report(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	for wait := minBackoff; ; wait = min(2*wait, time.Second) {
		attempt, done := context.WithTimeout(ctx, reportAttempt)
		err := request(attempt)
		done()
		if !isOutage(err) || pause.For(ctx, wait) != nil {
			return err
		}
	}
}

// isOutage tells an answer that may be another one soon: Temporal, or its database, is away.
func isOutage(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Aborted, codes.Unknown, codes.Internal:
		return true
	}
	return false
}
