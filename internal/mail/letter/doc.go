// Package letter writes mails to persons: a text, and the same as a page of HTML, in English or German.
//
// Invariants:
//   - What comes from people (names of persons, accounts and keys) is one line of visible characters of bounded length,
//     whatever way it came in.
//   - HTML shows it as text only (html/template), and loads nothing.
package letter
