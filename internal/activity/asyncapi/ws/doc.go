// Package ws speaks AsyncAPI over WebSocket (ws, wss).
//
// Each call has a connection of its own, to the server's address with the channel's appended.
// The headers of a message to publish, which WebSocket itself has not, go with the opening
// handshake, as the ws binding of AsyncAPI describes them; fixed values (const or default) of
// the binding's query are added to the address. JSON and text are sent as text messages, other
// content as binary ones.
//
// Publishing ends with the closing handshake: a peer that answers it has read the message. One
// that only ends the connection counts as having done so; one that closes with a status that
// tells of a problem has refused the message.
package ws
