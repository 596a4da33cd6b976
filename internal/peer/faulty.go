package peer

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Fault is what a Faulty does to requests.
type Fault struct {
	Kind   string        // of request, such as PutObject (S3Kind); empty: every kind
	Delay  time.Duration // before anything else
	Status int           // answer this instead of asking the server; 0: ask it
	// Cut closes the connection once so many bytes of the request's body, or of the answer's
	// where the request has none, have passed; 0: do not.
	Cut   int64
	Times int // so many requests; 0: until Heal
}

// Faulty is a proxy in front of an S3 server that breaks when a test asks for it.
type Faulty struct {
	URL   string
	mu    sync.Mutex
	fault *Fault
	seen  map[string]int
	ended chan struct{}
}

var errCut = errors.New("cut by the test")

// NewFaulty starts a proxy in front of the server at target; it ends with the test.
func NewFaulty(tb testing.TB, target string) *Faulty {
	tb.Helper()
	to, err := url.Parse(target)
	if err != nil {
		tb.Fatal(err)
	}
	f := &Faulty{seen: map[string]int{}, ended: make(chan struct{})}
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // the signature covers it
		},
		Transport: transport,
		ErrorLog:  log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if errors.Is(err, errCut) {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.serve(proxy, w, r) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	f.URL = server.URL
	tb.Cleanup(func() {
		close(f.ended)
		server.CloseClientConnections()
		server.Close()
		transport.CloseIdleConnections()
	})
	return f
}

// Break replaces what is broken.
func (f *Faulty) Break(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = &fault
}

// Heal ends what is broken.
func (f *Faulty) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = nil
}

// Count is the number of requests of a kind (S3Kind) until now; empty: of all kinds.
func (f *Faulty) Count(kind string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if kind != "" {
		return f.seen[kind]
	}
	all := 0
	for _, n := range f.seen {
		all += n
	}
	return all
}

// next counts a request and tells what to do to it.
func (f *Faulty) next(kind string) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[kind]++
	if f.fault == nil || f.fault.Kind != "" && f.fault.Kind != kind {
		return Fault{}
	}
	now := *f.fault
	if f.fault.Times > 0 {
		if f.fault.Times--; f.fault.Times == 0 {
			f.fault = nil
		}
	}
	return now
}

func (f *Faulty) serve(proxy http.Handler, w http.ResponseWriter, r *http.Request) {
	fault := f.next(S3Kind(r))
	if fault.Delay > 0 {
		delay := time.NewTimer(fault.Delay)
		defer delay.Stop()
		select {
		case <-delay.C:
		case <-r.Context().Done():
			return
		case <-f.ended: // a client that hung up in the middle of its request is not noticed
			return
		}
	}
	if fault.Status != 0 {
		w.WriteHeader(fault.Status)
		return
	}
	switch {
	case fault.Cut == 0:
	case r.ContentLength != 0:
		r.Body = &cutBody{r.Body, fault.Cut}
	default:
		w = &cutAnswer{w, fault.Cut}
	}
	proxy.ServeHTTP(w, r)
}

// cutBody is a request body that ends in an error.
type cutBody struct {
	io.ReadCloser
	left int64
}

func (b *cutBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errCut
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}

// cutAnswer is an answer after whose first bytes the connection is closed.
type cutAnswer struct {
	http.ResponseWriter
	left int64
}

func (a *cutAnswer) Write(p []byte) (int, error) {
	if int64(len(p)) <= a.left {
		a.left -= int64(len(p))
		return a.ResponseWriter.Write(p)
	}
	_, _ = a.ResponseWriter.Write(p[:a.left])
	_ = http.NewResponseController(a.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

// S3Kind is the name of the operation that a request asks S3 for: PutObject, UploadPart,
// CreateMultipartUpload, CompleteMultipartUpload, AbortMultipartUpload, ListMultipartUploads,
// GetObject, HeadObject, DeleteObject, ListObjects; Other for what is none of them.
func S3Kind(r *http.Request) string {
	query := r.URL.Query()
	switch {
	case query.Has("uploads") && r.Method == http.MethodPost:
		return "CreateMultipartUpload"
	case query.Has("uploads"):
		return "ListMultipartUploads"
	case query.Has("uploadId"):
		switch r.Method {
		case http.MethodPut:
			return "UploadPart"
		case http.MethodPost:
			return "CompleteMultipartUpload"
		case http.MethodDelete:
			return "AbortMultipartUpload"
		}
	case query.Has("list-type"):
		return "ListObjects"
	}
	switch r.Method {
	case http.MethodPut:
		return "PutObject"
	case http.MethodGet:
		return "GetObject"
	case http.MethodHead:
		return "HeadObject"
	case http.MethodDelete:
		return "DeleteObject"
	}
	return "Other"
}
