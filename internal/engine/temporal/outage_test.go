package temporal

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestRetryUnavailable: an outcome is sent again until Temporal takes it, a heartbeat that does not arrive fails
// nothing, and a request that Temporal refuses is not repeated.
func TestRetryUnavailable(t *testing.T) {
	t.Parallel()
	const (
		outcome   = workflowservice.WorkflowService_RespondActivityTaskCompleted_FullMethodName
		heartbeat = workflowservice.WorkflowService_RecordActivityTaskHeartbeat_FullMethodName
		start     = workflowservice.WorkflowService_StartWorkflowExecution_FullMethodName
	)
	for name, test := range map[string]struct {
		method  string
		answers []codes.Code
		want    codes.Code
	}{
		"outcome during an outage":   {outcome, []codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.Unavailable, codes.OK}, codes.OK},
		"outcome of a lost attempt":  {outcome, []codes.Code{codes.Unavailable, codes.NotFound}, codes.NotFound},
		"outcome that is too large":  {outcome, []codes.Code{codes.ResourceExhausted}, codes.ResourceExhausted},
		"heartbeat during an outage": {heartbeat, []codes.Code{codes.Unavailable}, codes.OK},
		"heartbeat without answer":   {heartbeat, []codes.Code{codes.DeadlineExceeded}, codes.OK},
		"heartbeat of what is lost":  {heartbeat, []codes.Code{codes.NotFound}, codes.NotFound},
		"anything else":              {start, []codes.Code{codes.Unavailable}, codes.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // less than the pauses take
			defer cancel()
			asked := 0
			err := retryUnavailable(ctx, test.method, nil, nil, nil, func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
				asked++
				if asked > 1 && ctx.Err() != nil {
					t.Errorf("request %d: %v", asked, ctx.Err())
				}
				return status.Error(test.answers[asked-1], "told by the test")
			})
			if status.Code(err) != test.want || asked != len(test.answers) {
				t.Errorf("%v after %d requests, want %s after %d", err, asked, test.want, len(test.answers))
			}
		})
	}
}
