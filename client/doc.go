// Package client talks to a Chargehand server. Every method takes a context, is safe for
// concurrent use and returns *Error for an answer that is not a success.
//
// Requests that create something carry an Idempotency-Key of their own, so that they are
// repeated safely when the connection breaks or the server is busy (429, 502, 503, 504), at
// most three times and not after a Retry-After of more than a minute.
package client
