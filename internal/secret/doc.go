// Package secret keeps the master key of an installation and derives from it one key per
// purpose, so that no two uses share key material and one key is all there is to back up.
// It seals values under such keys (Sealer, Box), and takes secrets out of what is shown (Redactor).
//
// The file holds exactly 32 random bytes. It is made at the first start, readable by its
// owner only. Losing it makes every API key and every signed link invalid, and every secret
// unreadable.
package secret
