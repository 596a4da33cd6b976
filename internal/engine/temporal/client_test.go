package temporal

import (
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
)

// TestOnlyEndsAreEnds: a workflow that continues in another run, or is paused, has not ended, and its row must not.
func TestOnlyEndsAreEnds(t *testing.T) {
	for status, want := range map[enumspb.WorkflowExecutionStatus]string{
		enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING: "", enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED: "",
		enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW: "",
		enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED:       "terminated", enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT: "timed out",
		enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED: "canceled", enumspb.WORKFLOW_EXECUTION_STATUS_FAILED: "failed",
		enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED: "completed",
	} {
		if got := closedStatus(status); got != want {
			t.Errorf("%s is %q, want %q", status, got, want)
		}
	}
}

// TestDialEncrypts: the one that says anything about TLS gets it, and never sends in clear text.
func TestDialEncrypts(t *testing.T) {
	for name, d := range map[string]Dial{
		"tls": {TLS: true}, "key": {APIKey: "k"}, "server name": {TLSServerName: "h"}, "no verification": {TLSDisableHostVerification: true},
	} {
		if c, err := d.tls(); err != nil || c == nil {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	if c, err := (Dial{}).tls(); err != nil || c != nil {
		t.Errorf("nothing said: %v, %v", c, err)
	}
}
