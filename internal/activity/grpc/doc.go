// Package grpc carries out `call: grpc` (docs/language/call-grpc.md, T38) with messages that are made of
// the proto file at run time.
//
// Args is an object: proto ({content, digest}, pinned at deployment, or {endpoint,
// authentication}, read at the call), service (full name, or its last parts), host, and if
// the task has them port, method, arguments, authentication.
//
// # Streaming (T38)
//
// A call with one request takes its message from arguments. A client or bidirectional stream
// takes an array of messages; anything else is an array of one, and no arguments are none.
// The output is the response, or for server and bidirectional streams the array of all
// responses. Requests and responses of a bidirectional stream flow independently: all
// requests are sent as fast as the server takes them.
//
// # Data
//
// Messages are the JSON mapping of protobuf (package protojson): names in lowerCamelCase,
// names as written in the proto file are accepted too; bytes as base64; enumerations by name;
// Timestamp, Duration, wrappers, Struct and Any in their special forms; fields that have
// their default and no presence are left out of the output. 64-bit integers are texts in the
// output, as that mapping wants it, so that nothing that reads the data rounds them; on the
// way in a number is as good as a text, and exact. A field that the message does not have
// is a validation error that names it.
//
// # Where it connects to
//
// host may carry a scheme and a port. TLS is used with the schemes https and grpcs, without
// a scheme on port 443, which is also the port where none is given; http and grpc, and all
// other ports without a scheme, are plaintext. metadata.grpc.tls (true or false) of the task
// overrides that. Certificates are checked against the system's authorities and those that
// the operator trusts. Every connection is dialled by the egress policy.
//
// # Errors
//
// Every failed call is a communication error. Its status is the HTTP status that belongs to
// the gRPC code (google/rpc/code.proto), its detail has code and message. A call takes at
// most Config.Timeout, a message Config.MessageBytes, a stream Config.Messages and
// Config.StreamBytes, all answers together Config.Values; beyond that it ends with an error that
// names the limit. Values are counted on the wire, before memory is taken for them.
//
// A token that is refused (UNAUTHENTICATED) is not fetched anew within the call.
package grpc
