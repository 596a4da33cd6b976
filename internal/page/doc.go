// Package page draws the pages with which persons sign in, the page on which a person answers a human task without
// signing in, and those of the documentation. They work without script, on a phone and with a screen reader; script
// only fills in what the browser keeps from the server, the fragment of an address.
//
// Invariants:
//   - A page shows what came with a request as text only (html/template). The documentation is HTML that was made of
//     our own text.
//   - A page loads nothing from elsewhere and runs no script but page.js: Policy says so to the browser. The page of a
//     human task runs none at all (TaskPolicy), nor does the documentation (ManualPolicy).
//   - The first button of the form of a human task is not one that answers it: the Enter key presses the first one.
//   - Colours are named in page.css and tokens.css only, and every text of people in text.go and tasktext.go.
package page
