package api

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chargehand/chargehand/internal/service"
)

// discard is a ResponseWriter that costs nothing.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

var createBody = []byte(`{"input":{"name":"Ada Lovelace","count":3,"tags":["a","b","c"]}}`)

// benchmark calls a handler without a network.
func benchmark(b *testing.B, h http.Handler, method, path string, body []byte) {
	r := httptest.NewRequest(method, path, nil)
	r.Header.Set("x-api-key", goodKey)
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = int64(len(body))
	reader := bytes.NewReader(body)
	b.ReportAllocs()
	for b.Loop() {
		reader.Reset(body)
		r.Body = io.NopCloser(reader)
		h.ServeHTTP(discard{make(http.Header, 8)}, r)
	}
}

// emptyHandler answers the same POSTs with a JSON text and does nothing else.
var emptyHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	w.Write([]byte(`{}`))
})

func BenchmarkEmptyHandler(b *testing.B) {
	benchmark(b, emptyHandler, "POST", pathW+"/executions", createBody)
}

func fastFake() *fake {
	e := fixtureInitial()
	return &fake{
		createExecution: func(context.Context, service.CreateExecution) (*service.Execution, bool, error) { return e, false, nil },
		getExecution:    func(context.Context, service.View) (*service.Execution, error) { return e, nil },
	}
}

func BenchmarkCreateExecution(b *testing.B) {
	benchmark(b, New(Config{Service: fastFake()}), "POST", pathW+"/executions", createBody)
}

func BenchmarkGetExecution(b *testing.B) {
	benchmark(b, New(Config{Service: fastFake()}), "GET", pathE, nil)
}

// BenchmarkBatch reads 10,000 items and writes the answer about them.
func BenchmarkBatch(b *testing.B) {
	body := []byte(`{"concurrency":50,"items":[{"name":"Ada","n":0}`)
	for range 9_999 {
		body = append(body, `,{"name":"Ada","n":123}`...)
	}
	body = append(body, "]}"...)
	benchmark(b, New(Config{Service: &fake{entries: manyEntries(10_000, nil)}}), "POST", pathW+"/batch", body)
}

// BenchmarkOverNetwork compares both handlers with a connection in between: what clients see.
func BenchmarkOverNetwork(b *testing.B) {
	for name, h := range map[string]http.Handler{"empty": emptyHandler, "create": New(Config{Service: fastFake()})} {
		b.Run(name, func(b *testing.B) {
			s := New(Config{Service: fastFake()})
			s.http.Handler = h
			addr := start(b, s)
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r, err := http.NewRequestWithContext(b.Context(), "POST", "http://"+addr+pathW+"/executions", bytes.NewReader(createBody))
					if err != nil {
						b.Error(err)
						return
					}
					r.Header.Set("x-api-key", goodKey)
					r.Header.Set("Content-Type", "application/json")
					resp, err := client.Do(r)
					if err != nil {
						b.Error(err)
						return
					}
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			})
		})
	}
}
