// Package mcp carries out `call: mcp` (docs/language/call-mcp.md, T53, T54).
//
// Args is an object: method, and if the task has them parameters (object), protocolVersion,
// timeoutMs, client {name, version}, and one of
//
//	http:  {endpoint, headers, authentication}   the streamable HTTP transport
//	stdio: {command, arguments, environment}     a process, as run.shell starts one
//
// Every call is a session of its own: initialize, notifications/initialized, the request, the
// end of the session. The framing of messages is that of the official SDK; the parameters and
// the result pass through as they are, so that a field that the SDK does not know, and a number
// that Go would round, stay what they were. The client declares no capabilities: it answers a
// ping of the server, and refuses everything else that a server asks.
//
// Output is the JSON-RPC result. A tool that reports isError has answered: that is a result.
//
// Faults (T54): a JSON-RPC error is runtime, with its code and message; no connection, an HTTP
// status outside 200–299 and a process that ends before it answered are communication, with the
// real status; a call over its time is timeout 408.
//
// The stdio transport needs what run.shell needs: an operator who allows processes, and a slot.
// The process has a private directory, and reads what processes of workflows may read: a
// command that loads programs from elsewhere (npx, uvx) works where its folders are readable.
//
// # Why it is made like this
//
// The SDK's transports, our own session. The official SDK frames messages over stdio and streamable HTTP,
// resumes broken streams and ends sessions. Its client is not used: results would go through typed structs,
// which drop fields that they do not know, filter tools, and turn large integers into floats. All that a
// session needs besides is three messages. A round tripper of ours adds the agreed version as a header, and
// keeps the status that the SDK turns into text.
//
// A session per call. The language has no handle to a session, and a call may run on another server after a
// crash.
//
// A status outside 200–299 is a communication error, also when the body holds a JSON-RPC error, because retry
// policies check the status (T54). The error's text is part of the detail.
//
// An abandoned request is cancelled. A server of the SDK ends a session only when its handlers have returned;
// without the cancellation it would keep the work, and the session, without end.
//
// The stdio transport is run.shell with another protocol: the same confiner, slots, environment and files, and
// the same permission of the operator. The answer's limit is that of the process's output. The server ends
// when its input ends; if it has not ended half a second later, it gets SIGTERM, then SIGKILL.
package mcp
