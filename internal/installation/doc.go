// Package installation is what an installation keeps, and where: the data directory, the database, the store of files,
// the master key, and what the database remembers of the installation itself. A server (package app), a move (package
// move) and an operator's commands (package operate) all begin here.
//
// What the package promises:
//   - An installation whose database was lost is never taken for a new one (CheckLoss).
//   - A database that was left by a move, or that a move has not finished, is not served (CheckMoved).
//   - Several processes that start at once for the first time agree on one name, one engine and one store of files.
//   - A mistake in a setting is a *SettingError, whose text begins with the flag.
package installation
