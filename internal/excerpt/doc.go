// Package excerpt shortens texts of any length for messages.
package excerpt
