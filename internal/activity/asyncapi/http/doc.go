// Package http speaks AsyncAPI over HTTP (http, https).
//
// Publishing is one request to the server's address with the channel's appended: POST, or the
// method of the operation's http binding. The headers of the message are those of the request.
//
// A subscription is one GET (or the binding's method) whose answer does not end: server-sent
// events, of which each is a message, or JSON lines (application/x-ndjson, application/jsonl,
// application/json-seq), of which each line is one. Any other answer is a fault: there is nothing
// to wait for. A stream that ends is asked for again, as one that was lost: with the
// Last-Event-ID that came last, after the pause that the server asked for.
package http
