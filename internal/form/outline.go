package form

import "github.com/chargehand/chargehand/internal/value"

// The bounds of an outline.
const (
	MaxFields  = 1000 // in all
	MaxDepth   = 8    // fields inside each other
	MaxOptions = 500  // of one choice
)

// Kind says how a field is drawn.
type Kind string

// The kinds of fields.
const (
	Text     Kind = "text"
	LongText Kind = "longtext"
	Integer  Kind = "integer"
	Number   Kind = "number"
	Boolean  Kind = "boolean"
	Choice   Kind = "choice"  // one of Options
	Choices  Kind = "choices" // a list of different Options
	Date     Kind = "date"
	Time     Kind = "time"
	DateTime Kind = "datetime"
	Email    Kind = "email"
	URI      Kind = "uri"
	File     Kind = "file"   // a reference to a stored file
	Files    Kind = "files"  // a list of them
	Object   Kind = "object" // Fields are its properties; Items, if there is one, is what further properties are
	List     Kind = "list"   // each entry is Items
	Tuple    Kind = "tuple"  // Fields are its entries; Items, if there is one, is what further entries are
	Map      Kind = "map"    // an object of any names, each value is Items
	OneOf    Kind = "oneof"  // the value is one of Fields
	JSON     Kind = "json"   // any value, written as JSON
)

// Field is one field of a form.
type Field struct {
	// Pointer is the JSON pointer of the value: from the whole, or from the entry of the list or map that the field is in.
	Pointer  string `json:"pointer"`
	Title    string `json:"title"`
	HelpHTML string `json:"help_html,omitempty"`
	Kind     Kind   `json:"kind" enum:"text,longtext,integer,number,boolean,choice,choices,date,time,datetime,email,uri,file,files,object,list,tuple,map,oneof,json"`
	Required bool   `json:"required"`
	Nullable bool   `json:"nullable,omitempty"`  // null is a value of its own
	ReadOnly bool   `json:"read_only,omitempty"` // shown, not entered

	Options     []Option     `json:"options,omitempty"`
	Constraints *Constraints `json:"constraints,omitempty"`
	Default     *any         `json:"default,omitempty"`
	Example     *any         `json:"example,omitempty"`

	When         *Condition `json:"when,omitempty"`          // the field is there only then
	RequiredWhen *Condition `json:"required_when,omitempty"` // it must be filled in then
	Fields       []Field    `json:"fields,omitempty"`
	Items        *Field     `json:"items,omitempty"`
}

// Option is a value to choose.
type Option struct {
	Value    value.Value `json:"value"`
	Title    string      `json:"title"`
	HelpHTML string      `json:"help_html,omitempty"`
}

// Constraints are the bounds that a field can check by itself; absent ones do not apply. The schema may ask for more.
type Constraints struct {
	Min          *any   `json:"min,omitempty"`
	Max          *any   `json:"max,omitempty"`
	ExclusiveMin *any   `json:"exclusive_min,omitempty"`
	ExclusiveMax *any   `json:"exclusive_max,omitempty"`
	MultipleOf   *any   `json:"multiple_of,omitempty"`
	MinLength    *any   `json:"min_length,omitempty"`
	MaxLength    *any   `json:"max_length,omitempty"`
	Pattern      string `json:"pattern,omitempty"`
	MinItems     *any   `json:"min_items,omitempty"` // of lists; of maps: names
	MaxItems     *any   `json:"max_items,omitempty"`
	Unique       bool   `json:"unique,omitempty"`
	MediaType    string `json:"media_type,omitempty"` // of files and texts
}

// Condition looks at another field of the same object.
type Condition struct {
	Pointer string        `json:"pointer"`
	Values  []value.Value `json:"values,omitempty"` // it has one of these; none: it is filled in
	Absent  bool          `json:"absent,omitempty"` // or it is not filled in
	Not     bool          `json:"not,omitempty"`    // the opposite
}
