package remote

import (
	"net/http"
	"strings"
	"testing"
)

// TestHeaders: headers that belong to the connection, or to proxies, are refused like those of `call: http`.
func TestHeaders(t *testing.T) {
	for _, name := range []string{
		"Host", "connection", "Content-Length", "Transfer-Encoding", "Upgrade", "TE", "Trailer",
		"Expect", "proxy-authorization", "Proxy-Connection", "Keep-Alive",
	} {
		if _, fault := Header(map[string]any{name: "x"}); fault == nil || !strings.Contains(fault.Detail, http.CanonicalHeaderKey(name)) {
			t.Errorf("%s: %v", name, fault)
		}
	}
	for name, value := range map[string]string{"a b": "x", "X-A": "a\r\nX-B: c"} {
		if _, fault := Header(map[string]any{name: value}); fault == nil {
			t.Errorf("%q: %q is taken", name, value)
		}
	}
	header, fault := Header(map[string]any{"x-a": 1, "Authorization": "Bearer t"})
	if fault != nil || header.Get("X-A") != "1" || header.Get("Authorization") != "Bearer t" {
		t.Errorf("%v, %v", header, fault)
	}
	header, fault = Header(map[string]any{"X-A": []any{1, "b"}, "x-b": nil})
	if fault != nil || len(header) != 1 || len(header.Values("X-A")) != 2 {
		t.Errorf("repeated: %v, %v", header, fault)
	}
	if header, fault := Header(nil); fault != nil || header == nil {
		t.Errorf("without any: %v, %v", header, fault)
	}
	if _, fault := Header(map[string]any{"X-A": map[string]any{}}); fault == nil || !strings.Contains(fault.Detail, "headers") {
		t.Errorf("an object as a value: %v", fault)
	}
}
