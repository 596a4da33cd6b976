// Package jsonpointer escapes and unescapes the reference tokens of JSON pointers (RFC 6901).
package jsonpointer
