// Package docs holds the documentation of this version, so that the server can show it where there is no Internet: the
// pages of this folder, which are embedded, as HTML.
//
// Invariants:
//   - What a page shows is the text of this folder. Raw HTML in it is left out, and images are shown as their
//     description, so that a browser loads nothing for it.
//   - A link leads to a page that exists, or out of the server. A link to what the server does not have is shown as
//     text.
package docs
