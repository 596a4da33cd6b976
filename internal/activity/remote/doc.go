// Package remote is what activities that speak a protocol over HTTP share beside packages
// http and failure: clients with the egress rules and credentials (New), and the reader of
// server-sent events (Stream).
//
// Clients follow redirects within one origin only: credentials and arguments never go to
// another server than the one that the author named.
package remote
