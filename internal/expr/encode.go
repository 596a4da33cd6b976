package expr

// Append appends the canonical JSON text of v to dst: keys sorted, integers exact, floats
// as short as possible, 1.0 stays 1.0.
func Append(dst []byte, v Value) []byte { panic("unfinished") }

// Marshal is Append to a new slice.
func Marshal(v Value) []byte { return Append(nil, v) }
