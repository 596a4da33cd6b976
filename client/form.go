package client

import "encoding/json"

// FormField is one field of a form that the server has made of a JSON Schema (docs/reference/forms.md).
type FormField struct {
	// Pointer is the JSON pointer of the value: from the whole, or from the entry of the list or map that the field is in.
	Pointer  string `json:"pointer"`
	Title    string `json:"title"`
	HelpHTML string `json:"help_html,omitempty"`
	// Kind is text, longtext, integer, number, boolean, choice, choices, date, time, datetime, email, uri, file, files,
	// object, list, tuple, map, oneof or json.
	Kind         string           `json:"kind"`
	Required     bool             `json:"required"`
	Nullable     bool             `json:"nullable,omitempty"`
	ReadOnly     bool             `json:"read_only,omitempty"`
	Options      []FormOption     `json:"options,omitempty"`
	Constraints  *FormConstraints `json:"constraints,omitempty"`
	Default      json.RawMessage  `json:"default,omitempty"`
	Example      json.RawMessage  `json:"example,omitempty"`
	When         *FormCondition   `json:"when,omitempty"`          // the field is there only then
	RequiredWhen *FormCondition   `json:"required_when,omitempty"` // it must be filled in then
	Fields       []FormField      `json:"fields,omitempty"`        // properties, entries of a tuple, or alternatives
	Items        *FormField       `json:"items,omitempty"`         // an entry of a list or map, or a further one
}

// FormOption is a value to choose.
type FormOption struct {
	Value    json.RawMessage `json:"value"`
	Title    string          `json:"title"`
	HelpHTML string          `json:"help_html,omitempty"`
}

// FormConstraints are bounds that a field can check by itself; absent ones do not apply. Those of numbers and lengths
// are numbers.
type FormConstraints struct {
	Min          json.RawMessage `json:"min,omitempty"`
	Max          json.RawMessage `json:"max,omitempty"`
	ExclusiveMin json.RawMessage `json:"exclusive_min,omitempty"`
	ExclusiveMax json.RawMessage `json:"exclusive_max,omitempty"`
	MultipleOf   json.RawMessage `json:"multiple_of,omitempty"`
	MinLength    json.RawMessage `json:"min_length,omitempty"`
	MaxLength    json.RawMessage `json:"max_length,omitempty"`
	Pattern      string          `json:"pattern,omitempty"`
	MinItems     json.RawMessage `json:"min_items,omitempty"`
	MaxItems     json.RawMessage `json:"max_items,omitempty"`
	Unique       bool            `json:"unique,omitempty"`
	MediaType    string          `json:"media_type,omitempty"`
}

// FormCondition looks at another field of the same object.
type FormCondition struct {
	Pointer string            `json:"pointer"`
	Values  []json.RawMessage `json:"values,omitempty"` // it has one of these; none: it is filled in
	Absent  bool              `json:"absent,omitempty"` // or it is not filled in
	Not     bool              `json:"not,omitempty"`    // the opposite
}
