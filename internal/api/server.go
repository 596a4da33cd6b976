package api

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/chargehand/chargehand/internal/loglimit"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/web"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// Config is what a Server is made of.
type Config struct {
	// Service answers the requests. Nil: the process is a standby, which only says that it is
	// alive; every request that needs a key or a signature is answered with 503.
	Service Service
	// SignIn is needed where Service is set.
	SignIn SignIn
	// TrustedProxies are those whose forwarding headers count.
	TrustedProxies []netip.Prefix
	// ProbesOnly leaves out everything but the routes about the server itself, such as /readyz and
	// /metrics: for a process that runs executions and takes no requests for them.
	ProbesOnly bool
	Log        *slog.Logger // default: discards
	// PublicURL is the part of the server's own addresses before /api/v1, without a slash at the
	// end; empty: scheme and host of the request.
	PublicURL string
	// Ready reports whether requests can be served (/readyz); nil: always.
	Ready func() bool
	// Metrics has the metrics that /metrics shows; the server adds its own. Default: an empty registry.
	Metrics *prometheus.Registry
	// System tells the state of the installation (/system); nil: this process does not know it.
	System func(ctx context.Context) (*service.System, error)
	// MaxConnections bounds the connections that are open at once; 0: no bound. Above it, one that waits for a request
	// makes room, or the new one is turned away.
	MaxConnections int
	// Tracer makes a span for each request below /api/v1; nil: none.
	Tracer trace.Tracer
	// Version of the product, for the OpenAPI document and GET /me.
	Version string
	// UI is the web UI; nil: the product was built without.
	UI *web.UI
}

// Server is the HTTP interface: an http.Handler, and an http.Server around it.
type Server struct {
	service   Service
	signIn    SignIn
	entrance  *entrance
	limits    service.Limits
	log       *slog.Logger
	lines     *loglimit.Limiter // of what repeats in the log
	publicURL string
	version   string
	ui        *web.UI // nil: there is none
	uiRoute   *route
	ready     func() bool
	registry  *prometheus.Registry
	system    systemOf // nil: not known
	metrics   *metrics
	tracer    trace.Tracer // nil: no spans
	tree      node
	document  func() document // made when it is first asked for
	http      *http.Server
	idle      time.Duration // longest pause of a long body, in either direction
	slowest   int64         // bytes per second of a long body
	linger    time.Duration // for a body that nothing reads, of a client that has shown no key
	open      *openConns

	stopping context.Context // ends when Shutdown begins
	stop     context.CancelFunc
}

// Time limits of connections. Routes that read or write much, or wait, set their own.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 90 * time.Second // above the longest wait
	keepAliveTimeout  = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// New returns a server that serves nothing yet.
func New(c Config) *Server {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Ready == nil {
		c.Ready = func() bool { return true }
	}
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	if c.Service == nil {
		c.Ready = func() bool { return false }
	}
	s := &Server{
		service: c.Service, signIn: c.SignIn, entrance: newEntrance(c.PublicURL, c.TrustedProxies), log: c.Log, lines: loglimit.New(c.Log), ready: c.Ready,
		publicURL: strings.TrimRight(c.PublicURL, "/"), version: c.Version, ui: c.UI, registry: c.Metrics, system: c.System,
		metrics: newMetrics(c.Metrics), tracer: c.Tracer, document: sync.OnceValue(func() document { return newDocument(c.Version) }), idle: idleTimeout,
		slowest: slowestBytesPerSecond, linger: lingerTime, open: newOpenConns(c.MaxConnections),
	}
	table := append(endpoints(), pageEndpoints()...)
	if c.ProbesOnly {
		table, s.ui = serverEndpoints(), nil
	}
	s.uiRoute = newRoute(uiEndpoint, uiEndpoint.path, s.metrics)
	if c.Service != nil {
		s.limits = c.Service.Limits()
	}
	for _, e := range table {
		for _, rt := range newRoutes(e, s.metrics) {
			s.tree.add(rt)
		}
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler: s, ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: keepAliveTimeout, MaxHeaderBytes: maxHeaderBytes,
		ConnContext: withConn, ConnState: connState,
	}
	return s
}

// Serve answers requests on l until Shutdown, and then returns nil.
func (s *Server) Serve(l net.Listener) error {
	err := s.http.Serve(listener{l, s})
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Shutdown stops accepting, lets waiting requests answer at once and waits for the rest
// until ctx ends; what is still open then is cut off.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	defer s.lines.Flush()
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(err, s.http.Close())
	}
	return nil
}

// calls keeps the memory of answered requests for the next ones.
var calls = sync.Pool{New: func() any { return new(call) }}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !handling(r.Context()) {
		panic(http.ErrAbortHandler)
	}
	c := calls.Get().(*call)
	*c = call{server: s, w: w, r: r, arriving: r.Body, requestID: requestID(r.Header), began: time.Now()}
	h := w.Header()
	h["X-Request-Id"] = []string{c.requestID}
	h["X-Content-Type-Options"] = nosniffValue
	h["Cache-Control"] = cacheValue
	if s.tracer != nil {
		c.beginSpan()
	}
	defer c.finish()
	if err := c.run(); err != nil {
		c.fail(err)
	}
}

// finish turns a panic into an answer, counts the request and logs it.
func (c *call) finish() {
	if c.span != nil {
		defer c.span.End()
	}
	if p := recover(); p != nil {
		c.recovered(p)
	}
	took := time.Since(c.began)
	c.server.metrics.observe(c.route, c.status, took)
	if c.span != nil {
		c.describeSpan()
	}
	c.tell(took)
	c.drain()
	*c = call{}
	calls.Put(c)
}
