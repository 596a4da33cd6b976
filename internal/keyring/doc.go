// Package keyring keeps the random keys of an installation (secret.Keys) in its database, wrapped by the master keys of
// its master key file (secret.Keyring), and exchanges the master key beside running servers.
//
// Invariants, whenever a process or the machine ends:
//   - Every key is wrapped by at least one master key of the file: the file on the disk opens the installation.
//   - A new master key is in the file, durably, before anything is wrapped by it (Rotate).
//   - An old one leaves the file after nothing is wrapped by it any more (Finish).
//   - A data key is known to every process, by Watch, before the first of them seals with it.
//
// Between Rotate and Finish every key is wrapped by the old and by the new master key, so that servers with the old
// file and servers with the new one start.
package keyring
