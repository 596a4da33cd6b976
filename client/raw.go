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

// MarshalJSON repeats the text that an execution was read from.
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

// MarshalJSON repeats the text that a batch was read from.
func (b Batch) MarshalJSON() ([]byte, error) {
	type plain Batch
	if b.text != nil {
		return b.text, nil
	}
	return json.Marshal(plain(b))
}

// UnmarshalJSON reads a workflow and keeps its text.
func (w *Workflow) UnmarshalJSON(text []byte) error {
	type plain Workflow
	w.keep(text)
	return json.Unmarshal(text, (*plain)(w))
}

// MarshalJSON repeats the text that a workflow was read from.
func (w Workflow) MarshalJSON() ([]byte, error) {
	type plain Workflow
	if w.text != nil {
		return w.text, nil
	}
	return json.Marshal(plain(w))
}

// UnmarshalJSON reads a version and keeps its text.
func (v *WorkflowVersion) UnmarshalJSON(text []byte) error {
	type plain WorkflowVersion
	v.keep(text)
	return json.Unmarshal(text, (*plain)(v))
}

// MarshalJSON repeats the text that a version was read from.
func (v WorkflowVersion) MarshalJSON() ([]byte, error) {
	type plain WorkflowVersion
	if v.text != nil {
		return v.text, nil
	}
	return json.Marshal(plain(v))
}

// UnmarshalJSON reads an entry and keeps its text.
func (t *TimelineEntry) UnmarshalJSON(text []byte) error {
	type plain TimelineEntry
	t.keep(text)
	return json.Unmarshal(text, (*plain)(t))
}

// MarshalJSON repeats the text that an entry was read from.
func (t TimelineEntry) MarshalJSON() ([]byte, error) {
	type plain TimelineEntry
	if t.text != nil {
		return t.text, nil
	}
	return json.Marshal(plain(t))
}

// UnmarshalJSON reads an item and keeps its text.
func (b *BatchExecution) UnmarshalJSON(text []byte) error {
	type plain BatchExecution
	b.keep(text)
	return json.Unmarshal(text, (*plain)(b))
}

// MarshalJSON repeats the text that an item was read from.
func (b BatchExecution) MarshalJSON() ([]byte, error) {
	type plain BatchExecution
	if b.text != nil {
		return b.text, nil
	}
	return json.Marshal(plain(b))
}

// UnmarshalJSON reads a key and keeps its text.
func (k *Key) UnmarshalJSON(text []byte) error {
	type plain Key
	k.keep(text)
	return json.Unmarshal(text, (*plain)(k))
}

// MarshalJSON repeats the text that a key was read from.
func (k Key) MarshalJSON() ([]byte, error) {
	type plain Key
	if k.text != nil {
		return k.text, nil
	}
	return json.Marshal(plain(k))
}

// UnmarshalJSON reads a user and keeps its text.
func (u *User) UnmarshalJSON(text []byte) error {
	type plain User
	u.keep(text)
	return json.Unmarshal(text, (*plain)(u))
}

// MarshalJSON repeats the text that a user was read from.
func (u User) MarshalJSON() ([]byte, error) {
	type plain User
	if u.text != nil {
		return u.text, nil
	}
	return json.Marshal(plain(u))
}

// UnmarshalJSON reads a group and keeps its text.
func (g *Group) UnmarshalJSON(text []byte) error {
	type plain Group
	g.keep(text)
	return json.Unmarshal(text, (*plain)(g))
}

// MarshalJSON repeats the text that a group was read from.
func (g Group) MarshalJSON() ([]byte, error) {
	type plain Group
	if g.text != nil {
		return g.text, nil
	}
	return json.Marshal(plain(g))
}

// UnmarshalJSON reads a grant and keeps its text.
func (g *Grant) UnmarshalJSON(text []byte) error {
	type plain Grant
	g.keep(text)
	return json.Unmarshal(text, (*plain)(g))
}

// MarshalJSON repeats the text that a grant was read from.
func (g Grant) MarshalJSON() ([]byte, error) {
	type plain Grant
	if g.text != nil {
		return g.text, nil
	}
	return json.Marshal(plain(g))
}
