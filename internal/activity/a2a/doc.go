// Package a2a carries out `call: a2a` (docs/language/call-a2a.md, T54).
//
// Args is an object: method, parameters (object), and agentCard {endpoint, authentication} or
// server {endpoint, authentication}. Where both are given, the server is called, and the card
// is not read. From a card the interface of the binding JSONRPC is taken, in the shapes of
// protocol versions 0.2 to 1.0; cards are cached for as long as their Cache-Control says, a
// minute by default and an hour at most. The credentials of the card go to the agent too where
// both have the same origin, and nowhere else.
//
// The client is our own and small: parameters and results pass through as the JSON that they
// are. (The official module has typed parameters, drops what it does not know, and has no
// tasks/list.) Only messages are completed: a message without messageId gets a UUID that is
// made of Call.Key, the same on every run of this activity, so that an agent can tell a
// repetition; one without role gets "user".
//
// Output is the JSON-RPC result; for message/stream and tasks/resubscribe the array of the
// results, in order, once the stream has ended. An agent that answers those with a single
// result gives an array of one.
//
// Faults (T54): a JSON-RPC error is runtime, with its code and message, also in the middle of
// a stream; no connection and an HTTP status outside 200–299 are communication, with the real
// status; a call over its time is timeout 408. Results of all together more than Config.Bytes
// are refused.
package a2a
