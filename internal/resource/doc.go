// Package resource fetches the external resources of definitions (docs/language/resources.md, T69):
// schemas, proto files, scripts and functions when a definition is deployed, OpenAPI and
// AsyncAPI documents when they are first used.
//
// Two kinds of addresses are read:
//   - http and https, through the transport of Config, which applies the egress rules, with
//     the credentials of package credential. Redirects are followed up to ten times, never from
//     https to http, and take no credentials to another origin.
//   - file and relative ones, below the folder of Config.Root and nowhere else, also through
//     symbolic links. Without a root they are refused.
//
// Fetcher reads anew each time. Cache keeps what it has read by the rules of HTTP (RFC 9111)
// and is bounded in documents and bytes.
//
// Every error is an *Error, which says what is wrong for the author of a definition and as a
// fault. A Fetcher and a Cache are safe for concurrent use.
package resource
