// Package nats speaks AsyncAPI over NATS (core NATS; subjects that a JetStream stream takes in
// are published to in the same way).
//
// Each call has a connection of its own, to the server of the document alone: servers that the
// cluster tells of are not gone to, because credentials belong to one address. A server that
// demands TLS gets it; tls:// demands it of the server. What a server sends is checked before
// the library sees it: sizes and lines over the limit end the call with a fault. Basic authentication is user and
// password, and any other that has a value for an Authorization header is a token; digest means
// nothing here.
//
// The address of the channel is the subject: it may hold wildcards for a subscription. The
// queue of the operation's nats binding makes the subscription one of a queue group. Headers go
// and come as NATS headers, Content-Type among them.
package nats
