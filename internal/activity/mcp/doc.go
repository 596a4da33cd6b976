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
package mcp
