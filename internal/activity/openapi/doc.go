// Package openapi carries out `call: openapi` (docs/language/call-openapi.md, T43, T82): it reads the
// description of an operation, distributes the parameters over path, query, header, cookie
// and body, and makes the HTTP call.
//
// A document in YAML is written as JSON before it is read, node by node and within bounds
// (yaml.go): what its aliases make of it may be thousands of times its text. Package dsl does
// the same for definitions, but keeps nodes with their positions, which are not needed here.
package openapi
