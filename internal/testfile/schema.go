package testfile

import _ "embed"

//go:embed schema.json
var schema []byte

// Schema is the JSON Schema (2020-12) of test files. It must not be changed.
func Schema() []byte { return schema }
