package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"
)

// ErrRefused is wrapped by the error of a connection that the policy forbids.
var ErrRefused = errors.New("address refused by the egress rules")

// Config is what an operator sets. The zero value allows public addresses only.
type Config struct {
	// Allow holds addresses, CIDR ranges and host names that may be reached although
	// their addresses are private. A name allows whatever it resolves to.
	Allow []string
	// ConnectTo holds HOST:PORT:HOST2:PORT2 entries as curl's option of that name; an empty
	// HOST or PORT matches any, an empty HOST2 or PORT2 keeps the original. Targets are allowed.
	ConnectTo []string
	// TrustedCA holds paths of PEM files with more certificate authorities.
	TrustedCA []string
	// Resolver looks names up; nil: the system's.
	Resolver *net.Resolver
}

// Policy is a compiled Config. It is immutable and safe for concurrent use.
type Policy struct {
	ranges   []netip.Prefix
	names    map[string]bool
	mappings []mapping
	roots    *x509.CertPool
	resolver *net.Resolver
	dialer   net.Dialer
	own      func() (map[netip.Addr]bool, error) // addresses of this machine
}

type mapping struct{ host, port, toHost, toPort string }

const (
	dialTimeout      = 10 * time.Second
	tlsTimeout       = 10 * time.Second
	idleTimeout      = 60 * time.Second
	maxIdlePerHost   = 256
	maxHeaderBytes   = 256 << 10
	maxResolvedAddrs = 8
)

// New compiles cfg. The error names the entry that cannot be read.
func New(cfg Config) (*Policy, error) {
	p := &Policy{names: map[string]bool{}, resolver: cfg.Resolver, dialer: net.Dialer{Timeout: dialTimeout}, own: interfaceAddresses}
	if p.resolver == nil {
		p.resolver = net.DefaultResolver
	}
	for _, entry := range cfg.Allow {
		if err := p.allow(strings.TrimSpace(entry)); err != nil {
			return nil, err
		}
	}
	for _, entry := range cfg.ConnectTo {
		m, err := parseMapping(entry)
		if err != nil {
			return nil, err
		}
		p.mappings = append(p.mappings, m)
	}
	if len(cfg.TrustedCA) > 0 {
		if err := p.trust(cfg.TrustedCA); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *Policy) allow(entry string) error {
	if entry == "" {
		return nil
	}
	if prefix, err := netip.ParsePrefix(entry); err == nil {
		p.ranges = append(p.ranges, prefix.Masked())
		return nil
	}
	if addr, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
		addr = addr.Unmap()
		p.ranges = append(p.ranges, netip.PrefixFrom(addr, addr.BitLen()))
		return nil
	}
	if strings.ContainsAny(entry, "/:* ") {
		return fmt.Errorf("egress: %q is not an address, a range or a host name", entry)
	}
	p.names[canonicalHost(entry)] = true
	return nil
}

func (p *Policy) trust(files []string) error {
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	for _, file := range files {
		pem, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("egress: read certificate authorities: %w", err)
		}
		if !roots.AppendCertsFromPEM(pem) {
			return fmt.Errorf("egress: %s holds no PEM certificate", file)
		}
	}
	p.roots = roots
	return nil
}

// parseMapping reads HOST:PORT:HOST2:PORT2, where hosts may be bracketed IPv6 addresses.
func parseMapping(entry string) (mapping, error) {
	var parts []string
	rest := entry
	for len(parts) < 3 {
		if strings.HasPrefix(rest, "[") {
			end := strings.Index(rest, "]:")
			if end < 0 {
				break
			}
			parts, rest = append(parts, rest[1:end]), rest[end+2:]
			continue
		}
		part, tail, found := strings.Cut(rest, ":")
		if !found {
			break
		}
		parts, rest = append(parts, part), tail
	}
	if len(parts) != 3 || strings.Contains(rest, ":") {
		return mapping{}, fmt.Errorf("egress: %q is not HOST:PORT:HOST2:PORT2", entry)
	}
	return mapping{canonicalHost(parts[0]), parts[1], parts[2], rest}, nil
}

func canonicalHost(host string) string {
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// Dial connects to address (host:port) if the policy allows it.
func (p *Policy) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("egress: %w", err)
	}
	name := canonicalHost(host)
	for _, m := range p.mappings {
		if (m.host == "" || m.host == name) && (m.port == "" || m.port == port) {
			if m.toHost != "" {
				host = m.toHost
			}
			if m.toPort != "" {
				port = m.toPort
			}
			return p.dialer.DialContext(ctx, network, net.JoinHostPort(host, port))
		}
	}
	addrs, err := p.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, addr := range addrs {
		if !p.names[name] && !p.Allowed(addr) {
			err = fmt.Errorf("%w: %s", ErrRefused, address)
			continue
		}
		var conn net.Conn
		if conn, err = p.dialer.DialContext(ctx, network, net.JoinHostPort(addr.String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func (p *Policy) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	addrs, err := p.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("egress: %s has no address", host)
	}
	return addrs[:min(len(addrs), maxResolvedAddrs)], nil
}

// Allowed reports whether addr may be connected to.
func (p *Policy) Allowed(addr netip.Addr) bool {
	plain := addr.Unmap().WithZone("")
	for _, r := range p.ranges {
		if r.Contains(plain) {
			return true
		}
	}
	if !public(plain) {
		return false
	}
	if own, err := p.own(); err != nil || own[plain] {
		return false
	}
	inner, carries := embedded(plain)
	return !carries || p.Allowed(inner)
}

// interfaceAddresses are the addresses of this machine now: interfaces come and go.
func interfaceAddresses() (map[netip.Addr]bool, error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("egress: read the addresses of this machine: %w", err)
	}
	own := make(map[netip.Addr]bool, len(list))
	for _, a := range list {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			own[prefix.Addr().Unmap().WithZone("")] = true
		}
	}
	return own, nil
}

// Transport is a new HTTP transport over the policy; share it, so that connections are reused.
func (p *Policy) Transport() *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            p.Dial,
		TLSClientConfig:        &tls.Config{RootCAs: p.roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    tlsTimeout,
		MaxIdleConns:           4 * maxIdlePerHost,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ForceAttemptHTTP2:      true,
	}
}
