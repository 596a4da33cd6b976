package delay

import (
	"net/netip"
	"time"
)

const (
	// Longest is the longest delay.
	Longest = 30 * time.Second
	// Memory is how long after the last failure the failures count.
	Memory = 15 * time.Minute
)

// Kind is what failures are counted of.
type Kind int

const (
	// Person: the one whose e-mail is tried.
	Person Kind = iota
	// Address: where the tries come from. Many persons may share one, so that more failures are free.
	Address
)

// free are the failures without a delay.
func (k Kind) free() int {
	if k == Address {
		return 20
	}
	return 3
}

// After is the delay after that many failures in a row: 0, then 1 s, twice as long with each further one, at most
// Longest.
func (k Kind) After(failures int) time.Duration {
	over := failures - k.free()
	switch {
	case over < 0:
		return 0
	case over >= 5:
		return Longest
	}
	return time.Second << over
}

// Subject is what failures from an address are counted under: an IPv4 address, or the network of 64 bits of an IPv6
// address, because one subscriber has at least that many.
func Subject(address netip.Addr) string {
	address = address.Unmap().WithZone("")
	switch {
	case !address.IsValid():
		return "unknown"
	case address.Is4():
		return address.String()
	}
	return netip.PrefixFrom(address, 64).Masked().String()
}
