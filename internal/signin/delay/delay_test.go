package delay

import (
	"net/netip"
	"testing"
	"time"
)

func TestDelaysGrowAndEnd(t *testing.T) {
	for kind, first := range map[Kind]int{Source: 3, Person: 10, Address: 20} {
		if got := kind.After(first - 1); got != 0 {
			t.Errorf("kind %d: %v before %d failures", kind, got, first)
		}
		for i, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30, 30} {
			if got := kind.After(first + i); got != want*time.Second {
				t.Errorf("kind %d after %d failures: %v, want %v s", kind, first+i, got, want)
			}
		}
		if got := kind.After(1 << 40); got != Longest {
			t.Errorf("kind %d after very many: %v", kind, got)
		}
	}
}

func TestNetworksOfAnAddress(t *testing.T) {
	for address, want := range map[string][2]string{
		"192.0.2.7": {"192.0.2.7", "192.0.2.7"}, "::ffff:192.0.2.7": {"192.0.2.7", "192.0.2.7"},
		"2001:db8:1:2:3:4:5:6": {"2001:db8:1:2::/64", "2001:db8:1::/48"}, "2001:db8:1:2:ffff::1": {"2001:db8:1:2::/64", "2001:db8:1::/48"},
		"fe80::1%eth0": {"fe80::/64", "fe80::/48"},
	} {
		if got := [2]string{Subject(netip.MustParseAddr(address)), Site(netip.MustParseAddr(address))}; got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	if got := Subject(netip.Addr{}); got != "unknown" {
		t.Errorf("no address: %s", got)
	}
}
