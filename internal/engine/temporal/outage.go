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
	// reportTimeout is how long a worker tries to report the outcome of an attempt. The SDK alone would give up after
	// 10 s, and an attempt whose outcome is lost runs again.
	reportTimeout = time.Minute
	// reportAttempt bounds one request that reports an outcome.
	reportAttempt = 5 * time.Second
)

// retryUnavailable lets attempts of activities outlive an outage of Temporal that is shorter than their heartbeat
// timeout: it repeats reports of outcomes, and hides failed heartbeats from the SDK. It is a
// grpc.UnaryClientInterceptor.
func retryUnavailable(
	ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption,
) error {
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
	return retryWhile(ctx, isOutage, func() error {
		attempt, done := context.WithTimeout(ctx, reportAttempt)
		defer done()
		return request(attempt)
	})
}

// retryWhile repeats an operation while its error may pass, until ctx ends. It returns the last error.
func retryWhile(ctx context.Context, passes func(error) bool, try func() error) (err error) {
	_ = pause.Retry(ctx, minBackoff, time.Second, func() bool {
		err = try()
		return !passes(err)
	})
	return err
}

// isOutage reports whether an error says that Temporal or its database is away, so that a repetition may succeed.
func isOutage(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Aborted, codes.Unknown, codes.Internal:
		return true
	}
	return false
}
