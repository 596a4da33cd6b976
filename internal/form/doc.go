// Package form turns a JSON Schema (2020-12) into the outline of a form: fields in order, each with its kind, title,
// help and bounds. The web interface, the page without script and the terminal draw the same outline, so that they
// cannot disagree; the server alone decides whether a value is valid, by the schema.
//
// What holds:
//
//   - Whatever the schema says, a valid value can be entered: what has no form of its own is a field of the kind json,
//     and so is what goes beyond a limit (MaxFields, MaxDepth, MaxOptions). Nothing is left out but what the schema
//     forbids (a property with the schema false).
//   - The same schema and order always give the same outline. Nothing is fetched: a reference out of the schema is
//     json.
//   - Texts of the schema are data. Descriptions become safe HTML by package markdown, 32 KiB of them in one outline;
//     what is beyond is shown as it is written.
//
// The keyword x-order, a list of names in the schema of an object, puts its properties into an order. Without it they
// have the order of the definition where that is known, and the alphabetical one where it is not.
package form
