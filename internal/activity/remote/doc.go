// Package remote is what activities that speak a protocol over HTTP share beside package
// http: clients with the egress rules and credentials (New), the faults of connections and
// answers, and the reader of server-sent events (Stream).
//
// Clients follow redirects within one origin only: credentials and arguments never go to
// another server than the one that the author named.
package remote
