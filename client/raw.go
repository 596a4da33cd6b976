package client

import (
	"bytes"
	"encoding/json"
)

// raw is the JSON text that a value was read from. Writing the value as JSON repeats it, so
// that fields, numbers and times come out as the server wrote them, also those that this
// version of the client does not know.
type raw struct{ text json.RawMessage }

// read keeps text and reads it into a value of a type without UnmarshalJSON.
func (r *raw) read(text []byte, plain any) error {
	r.text = bytes.Clone(text)
	return json.Unmarshal(text, plain)
}

// write repeats the text that was kept; without one it writes a value of a type without MarshalJSON.
func (r *raw) write(plain any) ([]byte, error) {
	if r.text != nil {
		return r.text, nil
	}
	return json.Marshal(plain)
}

// UnmarshalJSON reads an execution and keeps its text.
func (e *Execution) UnmarshalJSON(text []byte) error {
	type plain Execution
	return e.read(text, (*plain)(e))
}

// MarshalJSON repeats the text that an execution was read from.
func (e Execution) MarshalJSON() ([]byte, error) {
	type plain Execution
	return e.write(plain(e))
}

// UnmarshalJSON reads a batch and keeps its text.
func (b *Batch) UnmarshalJSON(text []byte) error {
	type plain Batch
	return b.read(text, (*plain)(b))
}

// MarshalJSON repeats the text that a batch was read from.
func (b Batch) MarshalJSON() ([]byte, error) {
	type plain Batch
	return b.write(plain(b))
}

// UnmarshalJSON reads a workflow and keeps its text.
func (w *Workflow) UnmarshalJSON(text []byte) error {
	type plain Workflow
	return w.read(text, (*plain)(w))
}

// MarshalJSON repeats the text that a workflow was read from.
func (w Workflow) MarshalJSON() ([]byte, error) {
	type plain Workflow
	return w.write(plain(w))
}

// UnmarshalJSON reads a version and keeps its text.
func (v *WorkflowVersion) UnmarshalJSON(text []byte) error {
	type plain WorkflowVersion
	return v.read(text, (*plain)(v))
}

// MarshalJSON repeats the text that a version was read from.
func (v WorkflowVersion) MarshalJSON() ([]byte, error) {
	type plain WorkflowVersion
	return v.write(plain(v))
}

// UnmarshalJSON reads an entry and keeps its text.
func (t *TimelineEntry) UnmarshalJSON(text []byte) error {
	type plain TimelineEntry
	return t.read(text, (*plain)(t))
}

// MarshalJSON repeats the text that an entry was read from.
func (t TimelineEntry) MarshalJSON() ([]byte, error) {
	type plain TimelineEntry
	return t.write(plain(t))
}

// UnmarshalJSON reads an item and keeps its text.
func (b *BatchExecution) UnmarshalJSON(text []byte) error {
	type plain BatchExecution
	return b.read(text, (*plain)(b))
}

// MarshalJSON repeats the text that an item was read from.
func (b BatchExecution) MarshalJSON() ([]byte, error) {
	type plain BatchExecution
	return b.write(plain(b))
}

// UnmarshalJSON reads a key and keeps its text.
func (k *Key) UnmarshalJSON(text []byte) error {
	type plain Key
	return k.read(text, (*plain)(k))
}

// MarshalJSON repeats the text that a key was read from.
func (k Key) MarshalJSON() ([]byte, error) {
	type plain Key
	return k.write(plain(k))
}

// UnmarshalJSON reads a user and keeps its text.
func (u *User) UnmarshalJSON(text []byte) error {
	type plain User
	return u.read(text, (*plain)(u))
}

// MarshalJSON repeats the text that a user was read from.
func (u User) MarshalJSON() ([]byte, error) {
	type plain User
	return u.write(plain(u))
}

// UnmarshalJSON reads a group and keeps its text.
func (g *Group) UnmarshalJSON(text []byte) error {
	type plain Group
	return g.read(text, (*plain)(g))
}

// MarshalJSON repeats the text that a group was read from.
func (g Group) MarshalJSON() ([]byte, error) {
	type plain Group
	return g.write(plain(g))
}

// UnmarshalJSON reads a grant and keeps its text.
func (g *Grant) UnmarshalJSON(text []byte) error {
	type plain Grant
	return g.read(text, (*plain)(g))
}

// MarshalJSON repeats the text that a grant was read from.
func (g Grant) MarshalJSON() ([]byte, error) {
	type plain Grant
	return g.write(plain(g))
}

// UnmarshalJSON reads a human task and keeps its text.
func (t *HumanTask) UnmarshalJSON(text []byte) error {
	type plain HumanTask
	return t.read(text, (*plain)(t))
}

// MarshalJSON repeats the text that a human task was read from.
func (t HumanTask) MarshalJSON() ([]byte, error) {
	type plain HumanTask
	return t.write(plain(t))
}

// UnmarshalJSON reads a recording and keeps its text.
func (r *Recording) UnmarshalJSON(text []byte) error {
	type plain Recording
	return r.read(text, (*plain)(r))
}

// MarshalJSON repeats the text that a recording was read from.
func (r Recording) MarshalJSON() ([]byte, error) {
	type plain Recording
	return r.write(plain(r))
}
