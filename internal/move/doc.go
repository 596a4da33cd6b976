// Package move takes an installation from a data directory into an empty PostgreSQL database, and its files to another
// place: `chargehand store move`.
//
// What the package promises:
//   - Nothing is written before everything was looked at.
//   - A move that is cut off at any moment continues from there when it is run again.
//   - Of the two databases at most one can be served, at any moment. The source is changed last, after every row and
//     every file was compared.
package move
