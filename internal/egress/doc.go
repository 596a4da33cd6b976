// Package egress decides which addresses workflows may reach. Every outgoing connection of
// an activity is dialled here, so that the rule is applied to the address that is really
// connected to: after name resolution and on every redirect.
//
// Refused unless allowed: loopback, private, link-local, multicast and unspecified
// addresses, 0.0.0.0/8, 100.64.0.0/10 and 240.0.0.0/4, ranges for documentation and other special
// uses, and IPv6 forms that carry one of them (mapped, compatible, NAT64, 6to4, Teredo); also the
// addresses of this machine's own interfaces, public ones too, because what listens on all of them
// was often meant for loopback alone. Proxy variables are ignored, because a
// proxy would connect on our behalf to addresses that were not checked.
package egress
