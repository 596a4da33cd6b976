package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// FuzzRequest sends whatever net/http lets through: there is always an answer, it is never a
// 500, and every refusal is a problem that names its place.
func FuzzRequest(f *testing.F) {
	s := New(Config{Service: &fake{}, System: (&fake{}).System})
	for _, all := range samples {
		for _, q := range all {
			method := q.method
			if method == "" {
				method = "GET"
			}
			header := "Content-Type: application/json"
			for name, value := range q.header {
				header += "\r\n" + name + ": " + value
			}
			f.Add(method, q.path, header, q.body)
		}
	}
	f.Add("POST", pathW+"/executions?wait=60&wait=%zz", "Prefer: wait=1\r\nPrefer: ,=;", `{"input":{"a":[[[[{"b":1e400}]]]]}}`)
	f.Add("POST", pathW+"/batch", "Content-Type: application/json\r\nContent-Encoding: gzip", "\x1f\x8b")
	f.Add("POST", "/api/v1/files?filename=%00", "Content-Type: multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; filename=\"a\"\r\n\r\nb\r\n--x--")
	f.Add("GET", pathF+"/content?signature=%ff", "Range: bytes=9-1,--\r\nIf-Range: x", "")
	f.Add("GET", "/api/v1/workflows/%2e%2e/../%00", "If-None-Match: \"", "")
	f.Fuzz(func(t *testing.T, method, target, header, body string) {
		text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: h\r\nx-api-key: %s\r\n%s\r\nContent-Length: %d\r\n\r\n%s", method, target, goodKey, header, len(body), body)
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		if err != nil {
			return // refused before any handler; see TestHostileBytes
		}
		a := serve(s, r)
		if a.status >= 500 || a.status < 200 {
			t.Fatalf("status %d\n%s", a.status, a.body)
		}
		if a.status < 400 || r.Method == http.MethodHead {
			return
		}
		var p struct {
			Type, Title, Detail, Instance, Code string
			Status                              int
			RequestID                           string `json:"request_id"`
			Errors                              []map[string]any
		}
		if err := json.Unmarshal(a.body, &p); err != nil {
			t.Fatalf("%d is no problem: %v\n%s", a.status, err, a.body)
		}
		if _, err := url.Parse(p.Type); err != nil || p.Status != a.status || p.Title == "" || p.Detail == "" || p.Instance == "" || p.Code == "" || p.RequestID == "" {
			t.Errorf("incomplete problem: %s", a.body)
		}
		if (p.Code == "invalid_json" || p.Code == "invalid_parameter") && len(p.Errors) == 0 {
			t.Errorf("no pointer is named: %s", a.body)
		}
	})
}
