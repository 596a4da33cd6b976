// Package page draws the pages with which persons sign in. They work without script, on a phone and with a screen
// reader; script only fills in what the browser keeps from the server, the fragment of an address.
//
// Invariants:
//   - A page shows what came with a request as text only (html/template).
//   - A page loads nothing from elsewhere and runs no script but page.js: Policy says so to the browser.
//   - Colours are named in page.css only, and every text of people in text.go.
package page
