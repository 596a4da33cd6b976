package blackbox_test

import (
	"net/http"
	"testing"

	"github.com/chargehand/chargehand/internal/peer"
)

// TestFilesOutage: a step that made a file waits for a store that is away; it has had its
// effect, so that a fault would be wrong.
func TestFilesOutage(t *testing.T) {
	t.Parallel()
	server := peer.StartS3(t)
	proxy := peer.NewFaulty(t, server.Endpoint)
	s := startOn(t, server.NewBucket(t).Through(proxy), "--allow-run", "shell")
	flow := deploy(t, s, "do:\n- make: {run: {shell: {command: 'printf made > \"$OUT_DIR/made.txt\"'}}}\n")
	proxy.Break(peer.Fault{Status: http.StatusServiceUnavailable, Times: 12}) // more than S3's own client asks for
	e := ends(t, s, flow, `{}`)
	results := list(e["results"])
	if e["status"] != "finished" || len(results) != 1 {
		t.Fatalf("it ended as %v, with %v: %v", e["status"], results, e["error"])
	}
	if got := download(t, s, fields(results[0])); string(got) != "made" {
		t.Errorf("the file has %q", got)
	}
	if n := proxy.Count("PutObject"); n < 13 {
		t.Errorf("the store was asked %d times", n)
	}
}
