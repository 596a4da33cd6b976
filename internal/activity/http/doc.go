// Package http carries out `call: http` (docs/language/call-http.md, T39–T42). All values come
// evaluated; nothing in them is an expression. Calls go through the egress policy's
// transport and no proxy.
package http
