// Command tool makes what goes along with a release: the licences of all modules (tool notices), and
// a list of what a binary is made of (tool sbom BINARY VERSION).
package main
