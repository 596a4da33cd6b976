// Package smtp hands mails to a mail server.
//
// Invariants:
//   - A password goes over an encrypted connection, to the machine itself, or where the settings say otherwise.
//   - Nothing of a mail reaches the server as a line of its own: addresses are checked, texts are encoded.
//   - A call ends with its context, whatever the server does.
package smtp
