package egress

import "net/netip"

// refused are the ranges of the registries of special addresses (RFC 6890 and what came after) that
// lead to this machine or its network, or nowhere.
var refused = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4",
	// the agent of Azure on the host: public by its number, private by what it tells
	"168.63.129.16/32",
	"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", // documentation
	"192.88.99.0/24",                                        // relays of 6to4, withdrawn
	"192.31.196.0/24", "192.52.193.0/24", "192.175.48.0/24", // AS112 and AMT: answered by the nearest server
	"::/128", "::1/128", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
	"64:ff9b:1::/48",                              // local-use NAT64: which IPv4 address is meant depends on the network
	"100::/64",                                    // discards
	"2001:2::/48", "2001:10::/28", "2001:20::/28", // benchmarks, ORCHID
	"2001:db8::/32", "3fff::/20", // documentation
	"2620:4f:8000::/48", "5f00::/16", // AS112, segment routing
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

func public(addr netip.Addr) bool {
	for _, r := range refused {
		if r.Contains(addr) {
			return false
		}
	}
	return true
}

// carriers are IPv6 ranges whose addresses hold an IPv4 address at a byte offset.
var carriers = []struct {
	prefix netip.Prefix
	offset int
	invert bool
}{
	{netip.MustParsePrefix("::/96"), 12, false},           // IPv4-compatible
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12, false}, // IPv4-translated (SIIT)
	{netip.MustParsePrefix("64:ff9b::/96"), 12, false},    // NAT64
	{netip.MustParsePrefix("2002::/16"), 2, false},        // 6to4
	{netip.MustParsePrefix("2001::/32"), 12, true},        // Teredo: the client's address, inverted
}

// embedded is the IPv4 address that an IPv6 transition address leads to.
func embedded(addr netip.Addr) (netip.Addr, bool) {
	if !addr.Is6() {
		return netip.Addr{}, false
	}
	raw := addr.As16()
	for _, c := range carriers {
		if !c.prefix.Contains(addr) {
			continue
		}
		var v4 [4]byte
		copy(v4[:], raw[c.offset:])
		if c.invert {
			for i := range v4 {
				v4[i] = ^v4[i]
			}
		}
		return netip.AddrFrom4(v4), true
	}
	return netip.Addr{}, false
}
