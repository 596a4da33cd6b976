// Package markdown turns Markdown that users wrote into HTML that is safe to show. Raw HTML in it is shown as text,
// links lead to http, https and mailto addresses only and carry rel="noopener nofollow", and images are shown as their
// description, so that no text makes a reader's browser send a request.
//
// The time for a hostile text grows with the square of its length: 8 KiB take up to a fifth of a second. A text that is
// longer than MaxBytes is shown as it is written.
package markdown
