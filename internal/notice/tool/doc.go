// Command tool makes what goes along with a release: the licences of all modules (tool notices), the same with those of
// the web UI in a folder (tool text UI), and a list of what a binary is made of (tool sbom BINARY VERSION UI).
package main
