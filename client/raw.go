package client

import (
	"bytes"
	"encoding/json"
)

// raw is the JSON text that a value was read from. Writing the value as JSON repeats it, so
// that fields, numbers and times come out as the server wrote them, also those that this
// version of the client does not know.
type raw struct{ text json.RawMessage }

func (r *raw) keep(text []byte) { r.text = bytes.Clone(text) }

// UnmarshalJSON reads an execution and keeps its text.
func (e *Execution) UnmarshalJSON(text []byte) error {
	type plain Execution
	e.keep(text)
	return json.Unmarshal(text, (*plain)(e))
}

// MarshalJSON repeats the text that the execution was read from.
func (e Execution) MarshalJSON() ([]byte, error) {
	type plain Execution
	if e.text != nil {
		return e.text, nil
	}
	return json.Marshal(plain(e))
}

// UnmarshalJSON reads a batch and keeps its text.
func (b *Batch) UnmarshalJSON(text []byte) error {
	type plain Batch
	b.keep(text)
	return json.Unmarshal(text, (*plain)(b))
}

// MarshalJSON repeats the text that the batch was read from.
func (b Batch) MarshalJSON() ([]byte, error) {
	type plain Batch
	if b.text != nil {
		return b.text, nil
	}
	return json.Marshal(plain(b))
}
