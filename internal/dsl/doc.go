// Package dsl reads workflow definitions, in YAML or JSON, into a syntax tree.
//
// Parse decodes the complete grammar of the Open Workflow Specification DSL 1.0.0 to 1.0.3,
// including what the head of its main branch added (docs/language/document.md). Whether the engine can
// run a construct is not decided here: package plan refuses what it does not support.
//
// What holds:
//
//   - All problems are reported at once, at most 100 errors and 100 warnings, each with JSON
//     pointer, line, column, a stable code, a sentence and, where there is one, a hint.
//   - Everything that needs no compilation is checked here: shapes, types, closed lists of
//     values, duplicate and reserved names, two kinds in one task, two names in one list item,
//     more than one default case, jumps to names that are not in the list (T28, T45, T53).
//     Expressions, schemas and references into `use` are checked by package plan (T36, T74).
//   - Values have the types of JSON only (T17): a date, `on` and `yes` stay text, integers stay
//     integers (int or *big.Int), other numbers are float64.
//   - Objects are closed; an unknown key is an error. Only at the root is it a warning.
//   - Limits: 1 MiB of text with 2,048 levels of nesting, 10,000 tasks and 256 of them inside
//     each other (T90), 256 levels of any value, 1,000 branches of one fork, 1 MiB of text
//     added by aliases and merge keys, names of 255 bytes, paths of tasks of 8,192, integers
//     of 4,096 bits. Time and memory are linear in the size of the text.
//
// YAML is read with go.yaml.in/yaml/v3, because its time and memory stay linear for hostile
// texts and its depth is bounded: goccy/go-yaml takes 7 s for one object with 40,000 keys, and
// minutes for 1 MiB of tabs in quotes. JSON has a reader of its own, since not all JSON is YAML.
//
// Everything returned is immutable. Parse may be called by many goroutines at once.
package dsl
