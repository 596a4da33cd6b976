// Package draft is what a person has entered into a form before it is a value: texts, choices, entries of lists. It
// turns a JSON value into what a person would have entered to get it (Open, Of), and what was entered into a JSON value
// with everything that is wrong with it, by pointer (Read). The terminal and the page without script draw the same list
// of controls (Controls), so that they show the same form; the page sends its texts back by the keys of the controls
// (Decode).
//
// What holds:
//
//   - What Read makes of Of is the value again, as far as the form has fields for it. Times change their notation.
//   - What was entered stays, also while it is wrong or hidden. Nothing that is hidden is in the value.
//   - Only what cannot become a value is wrong here: a number that is none, a name that two entries have, what must be
//     filled in and is not. Everything else is decided by the server with the schema.
//   - The package is pure: it reads no clock. Nothing a definition or a person has written makes it take more than time
//     and memory in proportion to the outline and the texts; MaxControls and MaxTexts bound both.
//
// Drafts are not safe for concurrent use.
package draft
