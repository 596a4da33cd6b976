package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// pool keeps one client per target. The library closes the connections of a client that is
// idle and opens them again when it is used.
type pool struct {
	cfg Config

	mu     sync.Mutex
	known  map[target]*conn
	closed bool
}

// conn is a client that is used by uses calls.
type conn struct {
	to     target
	client *grpc.ClientConn

	// Guarded by pool.mu.
	uses int
	used time.Time
	kept bool // in the pool: others may get it

	mu       sync.Mutex
	dialFail error // of the last attempt to connect
}

func newPool(cfg Config) *pool {
	return &pool{cfg: cfg, known: map[target]*conn{}}
}

// get is a client for a target. The caller puts it back.
func (p *pool) get(to target) (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	if c := p.known[to]; c != nil {
		if c.failed() == nil {
			c.uses++
			return c, nil
		}
		p.drop(c) // the library would wait longer and longer before it tries again
	}
	c, err := p.open(to)
	if err != nil {
		return nil, err
	}
	c.uses = 1
	if len(p.known) >= p.cfg.Connections {
		p.evict()
	}
	if len(p.known) < p.cfg.Connections {
		p.known[to], c.kept = c, true
	}
	return c, nil
}

func (p *pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.uses--
	c.used = time.Now()
	if !c.kept && c.uses == 0 {
		_ = c.client.Close()
	}
}

// drop takes a client out of the pool; the last call that uses it closes it.
func (p *pool) drop(c *conn) {
	delete(p.known, c.to)
	c.kept = false
	if c.uses == 0 {
		_ = c.client.Close()
	}
}

// evict drops the client that has been unused for longest.
func (p *pool) evict() {
	var oldest *conn
	for _, c := range p.known {
		if c.uses == 0 && (oldest == nil || c.used.Before(oldest.used)) {
			oldest = c
		}
	}
	if oldest != nil {
		p.drop(oldest)
	}
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.known {
		c.kept = false
		_ = c.client.Close()
	}
	clear(p.known)
}

const (
	connectTimeout = 10 * time.Second
	maxHeaderBytes = 256 << 10
)

func (p *pool) open(to target) (*conn, error) {
	c := &conn{to: to}
	transport := insecure.NewCredentials()
	if to.tls {
		config := p.cfg.TLS.Clone()
		config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
		transport = credentials.NewTLS(config)
	}
	delays := backoff.DefaultConfig
	delays.MaxDelay = time.Second
	// passthrough: names are looked up by the dialer, which checks the addresses.
	client, err := grpc.NewClient("passthrough:///"+to.address(),
		grpc.WithTransportCredentials(transport),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			connection, err := p.cfg.Dial(ctx, "tcp", address)
			c.note(err)
			return connection, err
		}),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithUserAgent(p.cfg.UserAgent),
		grpc.WithIdleTimeout(p.cfg.Idle),
		grpc.WithMaxHeaderListSize(maxHeaderBytes),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: delays, MinConnectTimeout: connectTimeout}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(p.cfg.MessageBytes)),
	)
	if err != nil {
		return nil, err
	}
	c.client = client
	return c, nil
}

func (c *conn) note(err error) {
	if errors.Is(err, context.Canceled) {
		return // the client was closed or went idle
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dialFail = err
}

func (c *conn) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dialFail
}

// refused is the error of a connection that the egress rules forbid; nil: they do not.
func (c *conn) refused() error {
	if err := c.failed(); isRefused(err) {
		return err
	}
	return nil
}
