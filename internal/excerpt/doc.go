// Package excerpt shortens texts of any length for messages. Texts of peers and authors may be long, no UTF-8, or hold
// control characters; what the functions return is short and harmless to show.
package excerpt
