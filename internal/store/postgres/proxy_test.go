package postgres_test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/chargehand/chargehand/internal/peer"
)

// proxy stands between a client and the server. It can stop passing anything on, as a
// network does that has fallen apart, cut connections, and be a pooler.
type proxy struct {
	listener net.Listener
	server   string

	mu     sync.Mutex
	change *sync.Cond
	frozen bool
	onSent func(data []byte) (drop bool) // sees what the client sends
	noWord func() bool                   // whether answers are lost, with their connection
	pools  bool
	conns  map[net.Conn]bool
}

func newProxy(tb testing.TB, pg *peer.Postgres) *proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &proxy{listener: l, server: pg.Address(), conns: map[net.Conn]bool{}}
	p.change = sync.NewCond(&p.mu)
	tb.Cleanup(func() {
		l.Close()
		p.freeze(false)
		p.cut()
	})
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", p.server)
			if err != nil {
				client.Close()
				continue
			}
			p.mu.Lock()
			p.conns[client], p.conns[server] = true, true
			p.mu.Unlock()
			go p.pass(server, client, true)
			go p.pass(client, server, false)
		}
	}()
	return p
}

// at turns the URL of a database into one through the proxy.
func (p *proxy) at(tb testing.TB, address string) string {
	tb.Helper()
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatal(err)
	}
	u.Host = p.listener.Addr().String()
	return u.String()
}

func (p *proxy) pass(to, from net.Conn, sending bool) {
	p.mu.Lock()
	pools := p.pools
	p.mu.Unlock()
	if !pools || !sending { // a pooler keeps its sessions of the server
		defer to.Close()
	}
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			p.mu.Lock()
			for p.frozen {
				p.change.Wait()
			}
			seen, noWord := p.onSent, p.noWord
			p.mu.Unlock()
			if sending && seen != nil && seen(buf[:n]) {
				return
			}
			if !sending && noWord != nil && noWord() {
				return
			}
			if pools && pooled(buf[:n], sending) {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err == io.EOF || err != nil {
			return
		}
	}
}

// pooled makes of a message what a pooler makes of it, and reports whether it is the end of the client.
func pooled(message []byte, sending bool) (end bool) {
	if sending {
		return bytes.Equal(message, []byte{'X', 0, 0, 0, 4})
	}
	if i := bytes.Index(message, []byte{'K', 0, 0, 0, 12}); i >= 0 { // the number of the server's process, and a key
		message[i+8] ^= 1
	}
	return false
}

// pool makes the proxy one that keeps the sessions of clients that have gone, and numbers them by itself.
func (p *proxy) pool() {
	p.mu.Lock()
	p.pools = true
	p.mu.Unlock()
}

func (p *proxy) freeze(frozen bool) {
	p.mu.Lock()
	p.frozen = frozen
	p.mu.Unlock()
	p.change.Broadcast()
}

// watch lets fn see everything that clients send; what it drops is lost with the connection.
func (p *proxy) watch(fn func([]byte) bool) {
	p.mu.Lock()
	p.onSent = fn
	p.mu.Unlock()
}

// cutAnswers ends connections whose server answers while fn says so.
func (p *proxy) cutAnswers(fn func() bool) {
	p.mu.Lock()
	p.noWord = fn
	p.mu.Unlock()
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
		delete(p.conns, c)
	}
}
