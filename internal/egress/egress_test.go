package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestPrivateAddressesAreRefusedInEveryForm(t *testing.T) {
	p, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"127.0.0.1", "127.9.9.9", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
		"0.0.0.0", "0.1.2.3", "100.64.0.1", "224.0.0.1", "255.255.255.255",
		"::", "::1", "fe80::1", "fc00::1", "fd12::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
		"::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "2002:7f00:1::1", "2002:a00:1::",
		"2001:0:1234::80ff:fffe", "fe80::1%eth0", "::ffff:0:127.0.0.1",
		"168.63.129.16", "::ffff:168.63.129.16", "64:ff9b::a83f:8110", "192.0.2.2", "198.51.100.7", "203.0.113.255", "192.88.99.1",
		"2001:db8::1", "3fff::1", "100::1", "2001:2::1", "2001:20::1", "192.175.48.1", "2620:4f:8000::1",
	} {
		if p.Allowed(netip.MustParseAddr(text)) {
			t.Errorf("%s is allowed", text)
		}
	}
	for _, text := range []string{"1.1.1.1", "93.184.216.34", "172.32.0.1", "2606:4700::1111", "64:ff9b::101:101", "::ffff:8.8.8.8", "168.63.129.17", "192.0.1.1", "2001:4860:4860::8888"} {
		if !p.Allowed(netip.MustParseAddr(text)) {
			t.Errorf("%s is refused", text)
		}
	}
}

// TestOwnPublicAddressesAreRefused: a public address of this machine leads to what listens on all its interfaces.
func TestOwnPublicAddressesAreRefused(t *testing.T) {
	p, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	own := map[netip.Addr]bool{}
	p.own = func() (map[netip.Addr]bool, error) { return own, nil }
	for _, text := range []string{"8.8.8.8", "2606:4700::1111"} {
		addr := netip.MustParseAddr(text)
		if !p.Allowed(addr) {
			t.Errorf("%s is refused before it is ours", text)
		}
		own[addr] = true // an interface that came up meanwhile
		if p.Allowed(addr) {
			t.Errorf("%s of our own is allowed", text)
		}
	}
	for _, carried := range []string{"::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"} {
		if p.Allowed(netip.MustParseAddr(carried)) {
			t.Errorf("%s, which leads to our own address, is allowed", carried)
		}
	}
	p.ranges = append(p.ranges, netip.MustParsePrefix("8.8.8.8/32"))
	if !p.Allowed(netip.MustParseAddr("8.8.8.8")) {
		t.Error("an own address that the operator allows is refused")
	}
	p.own = func() (map[netip.Addr]bool, error) { return nil, errors.New("cannot tell") }
	if p.Allowed(netip.MustParseAddr("1.1.1.1")) {
		t.Error("an address is allowed although it is unknown whether it is our own")
	}
	// The real list holds what this machine has.
	real, err := interfaceAddresses()
	if err != nil || !real[netip.MustParseAddr("127.0.0.1")] {
		t.Errorf("own addresses %v, %v", real, err)
	}
}

func TestAllowListOpensAddressesRangesAndNames(t *testing.T) {
	p, err := New(Config{Allow: []string{"10.1.0.0/16", "127.0.0.1", "fd00::/8", "localhost"}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"10.1.2.3": true, "10.2.0.1": false, "127.0.0.1": true, "::ffff:127.0.0.1": true, "127.0.0.2": false,
		"fd00::1": true, "64:ff9b::a01:203": true, "64:ff9b::a02:1": false,
	} {
		if got := p.Allowed(netip.MustParseAddr(text)); got != want {
			t.Errorf("Allowed(%s) = %v, want %v", text, got, want)
		}
	}
	for _, bad := range []string{"10.0.0.0/99", "http://x", "a b", "*.example.com"} {
		if _, err := New(Config{Allow: []string{bad}}); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("Allow %q: error %v does not name the entry", bad, err)
		}
	}
}

func TestDialAppliesTheRuleToTheResolvedAddress(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	get := func(cfg Config, url string) error {
		p, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		transport := p.Transport()
		defer transport.CloseIdleConnections()
		req, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
		resp, err := transport.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	if err := get(Config{}, "http://localhost:"+port); !errors.Is(err, ErrRefused) {
		t.Errorf("a name that resolves to loopback: %v, want ErrRefused", err)
	}
	if err := get(Config{Allow: []string{"localhost"}}, "http://LOCALHOST:"+port); err != nil {
		t.Errorf("an allowed name: %v", err)
	}
	if err := get(Config{Allow: []string{"127.0.0.1"}}, "http://127.0.0.1:"+port); err != nil {
		t.Errorf("an allowed address: %v", err)
	}
	mapped := Config{ConnectTo: []string{"api.example.com:80:127.0.0.1:" + port}}
	if err := get(mapped, "http://api.example.com/"); err != nil {
		t.Errorf("a mapped host: %v", err)
	}
	if err := get(mapped, "http://127.0.0.1:"+port); !errors.Is(err, ErrRefused) {
		t.Errorf("the target of a mapping under its own name: %v, want ErrRefused", err)
	}
}

func TestConnectToReadsWhatCurlReads(t *testing.T) {
	for text, want := range map[string]mapping{
		"a.example:443:127.0.0.1:8443": {"a.example", "443", "127.0.0.1", "8443"},
		"::b.example:80":               {"", "", "b.example", "80"},
		"[2001:db8::1]:443:[::1]:99":   {"2001:db8::1", "443", "::1", "99"},
	} {
		got, err := parseMapping(text)
		if err != nil || got != want {
			t.Errorf("parseMapping(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "a:1:b", "a:1:b:2:3", "[::1:443:a:1"} {
		if _, err := parseMapping(bad); err == nil {
			t.Errorf("parseMapping(%q) succeeds", bad)
		}
	}
}

func TestTrustedCANamesTheFileThatIsWrong(t *testing.T) {
	if _, err := New(Config{TrustedCA: []string{"absent.pem"}}); err == nil || !strings.Contains(err.Error(), "absent.pem") {
		t.Errorf("absent file: %v", err)
	}
	if _, err := New(Config{TrustedCA: []string{"egress.go"}}); err == nil || !strings.Contains(err.Error(), "no PEM certificate") {
		t.Errorf("not PEM: %v", err)
	}
}
