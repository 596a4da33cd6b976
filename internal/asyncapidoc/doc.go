// Package asyncapidoc reads AsyncAPI documents, version 2 (written for 2.6) and 3.0, as JSON or
// YAML, and finds in them where a call goes: server, address of the channel, bindings, content
// type and correlation id (docs/language/call-asyncapi.md, `call: asyncapi`). It opens no connection: package
// activity/asyncapi does. It is a leaf, so that deployment can ask which protocols are spoken.
//
// What is decided here:
//
//   - Whether a task sends or receives is said by the task (message or subscription). In
//     version 2 that chooses the channel's publish or subscribe operation; in version 3 the
//     operation is named; its action, which the document gives from its author's point of view,
//     is not used.
//   - A task names a channel (2) or an operation (3). An operationId of version 2 and a channel
//     of version 3 are understood too.
//   - Without a named server, the first one counts, in the order of the document, that belongs
//     to the channel, has the wanted protocol, and whose protocol is spoken here.
//   - Parameters of an address take their value from the server variables of the task, from the
//     location that the document names in the message to send, or from their default.
//   - Values are data, and do not lead elsewhere: one in the host of a server cannot end the host,
//     one in the address of a channel cannot make a segment "." or ".." (http, ws), and is one
//     part of a subject, no wildcard (nats). What the document itself gives, as a default or in
//     an enumeration, is not held to that.
//   - References lead inside the document. Others are errors: they would be fetched without the
//     rules that hold for documents.
//
// A Document is immutable and may be used by many goroutines. Errors are texts for authors.
package asyncapidoc
