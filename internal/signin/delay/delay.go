package delay

import (
	"net/netip"
	"time"
)

// Longest is the longest delay.
const Longest = 30 * time.Second

// Kind is what failures are counted of.
type Kind int

const (
	// Source: one browser, one session, or one network, that tries the password of one person.
	Source Kind = iota
	// Person: the networks that have failed so often with one person that they wait. Those are few, unless an attacker
	// guesses from many networks.
	Person
	// Address: where the tries come from, for whichever person. Many persons may share one, so that more failures are
	// free.
	Address
)

// Free are the failures without a delay.
func (k Kind) Free() int {
	switch k {
	case Address:
		return 20
	case Person:
		return 10
	}
	return 3
}

// Memory is how long after the last failure the failures count. It is long for what one person is tried with, because
// it bounds how many passwords an attacker with many addresses can test in a day.
func (k Kind) Memory() time.Duration {
	if k == Address {
		return 15 * time.Minute
	}
	return 24 * time.Hour
}

// After is the delay after that many failures in a row: 0, then 1 s, twice as long with each further one, at most
// Longest.
func (k Kind) After(failures int) time.Duration {
	over := failures - k.Free()
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
func Subject(address netip.Addr) string { return network(address, 64) }

// Site is what failures from an address with one person are counted under: an IPv4 address, or the network of 48 bits
// of an IPv6 address, which is the most that one subscriber gets.
func Site(address netip.Addr) string { return network(address, 48) }

func network(address netip.Addr, bits int) string {
	address = address.Unmap().WithZone("")
	switch {
	case !address.IsValid():
		return "unknown"
	case address.Is4():
		return address.String()
	}
	return netip.PrefixFrom(address, bits).Masked().String()
}
