package service

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/chargehand/chargehand"
)

// maxKeyAddresses bounds the networks that a key may be used from.
const maxKeyAddresses = 100

// addresses reads networks in the stored form, separated by spaces; empty: any. null takes the list away.
func (f *fields) addresses(name string) string {
	list := f.limited(name, maxKeyAddresses, func(text string) string {
		_, complaint := parseNetwork(text)
		return complaint
	})
	var texts []string
	for _, text := range list {
		network, _ := parseNetwork(text) // what is wrong is known by now
		if shown := network.String(); !slices.Contains(texts, shown) {
			texts = append(texts, shown)
		}
	}
	return strings.Join(texts, " ")
}

// parseNetwork reads an address, or a range of them. Its complaint completes a sentence that starts with text.
func parseNetwork(text string) (network netip.Prefix, complaint string) {
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), ""
	}
	network, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return network, "is neither an address nor a range of them, such as 192.0.2.7 or 192.0.2.0/24."
	case network.Addr().Is4In6() && network.Bits() >= 96:
		network = netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-96)
	}
	if network != network.Masked() {
		return network, "is an address within a range. The range is " + network.Masked().String() + "."
	}
	return network, ""
}

// storedNetworks reads the stored form.
func storedNetworks(text string) (list []netip.Prefix, err error) {
	for one := range strings.FieldsSeq(text) {
		network, complaint := parseNetwork(one)
		if complaint != "" {
			return nil, fmt.Errorf("stored address %q %s", one, complaint)
		}
		list = append(list, network)
	}
	return list, nil
}

// networksWithin reports whether all addresses of the networks in text are within those in other, both in the stored
// form. No networks are all addresses.
func networksWithin(text, other string) bool {
	outer, err := storedNetworks(other)
	if err != nil || len(outer) == 0 {
		return err == nil
	}
	inner, err := storedNetworks(text)
	if err != nil || len(inner) == 0 {
		return false
	}
	return !slices.ContainsFunc(inner, func(n netip.Prefix) bool {
		return !slices.ContainsFunc(outer, func(o netip.Prefix) bool { return o.Bits() <= n.Bits() && o.Contains(n.Addr()) })
	})
}

// addresses are the networks that the key may be used from, in the stored form.
func (p *Principal) addresses() string {
	var texts []string
	for _, n := range p.networks {
		texts = append(texts, n.String())
	}
	return strings.Join(texts, " ")
}

// admits refuses an address that a key may not be used from. Codes: address_not_allowed.
func (p *Principal) admits(from netip.Addr) error {
	from = from.Unmap().WithZone("")
	if len(p.networks) == 0 || slices.ContainsFunc(p.networks, func(n netip.Prefix) bool { return n.Contains(from) }) {
		return nil
	}
	shown := "an unknown address"
	if from.IsValid() {
		shown = from.String()
	}
	return chargehand.NewError(chargehand.CodeAddressNotAllowed, "The API key may not be used from "+shown+
		", where the request comes from. Its allowed_addresses say from where. Behind a proxy, the server needs --trusted-proxy to see the client.")
}
