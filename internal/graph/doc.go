// Package graph turns a definition into a picture without coordinates: what there is to draw (nodes), which lists hold
// it (scopes), and where control flows (edges). The command line, the API and the web interface draw the same one.
//
// A graph follows from the definition alone: the same definition always gives the same graph, and nothing is evaluated.
// The id of a node is the JSON pointer of its task (T2), as in the timeline of an execution and in the problems of a
// definition; the id of a scope is the pointer of its list. An edge stays within one scope, because no jump leaves a
// list (T28). Texts that an author wrote (names, addresses, expressions) are cut to 120 bytes and are data: the writers
// of Mermaid and DOT encode them.
//
// The size is linear in the size of the definition, which package dsl bounds. Everything returned is immutable.
package graph
