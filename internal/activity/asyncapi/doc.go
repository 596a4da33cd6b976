// Package asyncapi carries out `call: asyncapi` (docs/language/call-asyncapi.md, T40, T69): it publishes
// one message, or listens to a channel, as an AsyncAPI document describes it. Package
// internal/asyncapidoc reads the document; a Protocol, one subpackage each, does the talking.
//
// Args is an object: document ({endpoint, authentication} or {content, digest}), channel or
// operation, message {payload, headers} or subscription {}, and if the task has them server
// {name, variables}, protocol and authentication.
//
// Publishing has the output null. It succeeds when the other side has the message as far as
// its protocol tells: http: an answer 200–299; ws: the closing handshake after the message;
// nats: the server has answered a ping that followed the message. An activity may run twice, and
// so may a message be published twice; metadata.idempotencyKey: true adds a key that is the
// same each time (http: Idempotency-Key, nats: Nats-Msg-Id).
//
// A subscription hands each message over by Call.Progress, in order, as
//
//	{payload, headers, correlationId}
//
// until its context is cancelled; its own output means nothing. headers is an object of texts
// (a list where a name comes several times): those of NATS, {event, id} of server-sent events,
// {} for WebSocket. correlationId is what the document's location points to, else null.
//
// Payloads follow the content type: that of the message's own header, else that of the document,
// else JSON. JSON is parsed, text stays text, and anything else is base64. What should be JSON and
// is not arrives as text (or base64): a stream that stops for one bad message would stop for good.
// To publish, JSON takes any value; other types take a text. Payloads are not checked against the
// schemas of the document.
//
// Lost connections. A connection that cannot be made at first is a fault at once. One that was
// there and is lost is made again, with growing pauses, for Reconnect.GiveUp; then it is a fault.
// What was published meanwhile is lost on ws and core NATS by their nature; server-sent events
// resume where the server keeps them (Last-Event-ID). After a crash of this server a subscription
// begins anew in the same way.
//
// A slow workflow holds up its subscription: http and ws stop reading, so the other side
// waits; NATS cannot wait, so messages are kept up to a limit, and past it the subscription
// faults rather than drops one silently.
//
// Every message is bounded by Config.MessageBytes: a larger one is a fault, in both directions.
// For NATS the size counts that the server announces, before any of it is taken in.
package asyncapi
