package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/client"
)

// TestWorkflowWithExecutions: an id of no workflow is that of a deleted one if it has executions. Where the server does
// not say, its reason counts, and not that the workflow is gone.
func TestWorkflowWithExecutions(t *testing.T) {
	for _, tt := range []struct {
		status int // of the question for executions
		want   string
	}{
		{http.StatusOK, ""},
		{http.StatusNotFound, "no such workflow"},
		{http.StatusForbidden, "answered 403"},
		{http.StatusServiceUnavailable, "answered 503"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			status, text := http.StatusNotFound, `{"status": 404, "code": "workflow_not_found", "detail": "There is no such workflow."}`
			if strings.HasSuffix(r.URL.Path, "/executions") {
				status, text = tt.status, fmt.Sprintf(`{"status": %d, "code": "a_code", "detail": "It answered %[1]d.", "data": []}`, tt.status)
			}
			w.WriteHeader(status)
			fmt.Fprint(w, text)
		}))
		api := client.New(server.URL, "a-key", client.WithoutRetries())
		const id = "01a202f3-b4d4-74c2-b014-b80b7042ca9a"
		switch got, err := workflowWithExecutions(context.Background(), api, id); {
		case tt.want == "" && (err != nil || got != id):
			t.Errorf("%d: %q, %v", tt.status, got, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%d: %v, not %q", tt.status, err, tt.want)
		}
		server.Close()
	}
}
