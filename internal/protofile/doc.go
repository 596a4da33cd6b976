// Package protofile compiles protobuf sources (.proto) into descriptors (T38).
// It is used at deployment, to refuse what cannot be compiled, and by activities that call
// gRPC services. It imports nothing of ours.
//
// A source is one file. Imports of google/protobuf/*.proto are built in; any other import is
// an error with its place, because only the one file is pinned to the definition.
//
// Sources come from strangers. Compile is bounded by MaxBytes, MaxDepth, MaxStatements and
// MaxWordBytes, which together bound the memory of the result; a source beyond them is an
// error that names the bound. Nothing panics on input.
package protofile
