package expr

// Mode is document.evaluate.mode.
type Mode uint8

// The two modes of language.md 1.6.
const (
	Strict Mode = iota
	Loose
)

// Unwrap returns the inner text of "${ … }", if the whole of text has that form apart from
// surrounding white space (T5).
func Unwrap(text string) (source string, ok bool) { panic("unfinished") }

// IsEmbedded reports whether text contains a ${ that stays literal (T5).
func IsEmbedded(text string) bool { panic("unfinished") }

// CompileSlot compiles the text of an expression slot, which may be written with or without
// ${ } in both modes (T4).
func CompileSlot(text string, m Mode, s *Scope) (*Expression, error) { panic("unfinished") }

// Template is a compiled value slot.
type Template struct{}

// TemplateProblem is one wrong or doubtful text in a value slot.
type TemplateProblem struct {
	Pointer string // JSON pointer into the value; "" is the whole value
	Warning bool   // the template works nevertheless
	Code    string // stable, snake_case
	Line    int    // from 1, within the text at Pointer
	Column  int    // from 1
	Detail  string
	Hint    string
}

// CompileTemplate compiles a value whose nested texts may be expressions. The template is
// nil if a problem is more than a warning.
func CompileTemplate(v Value, m Mode, s *Scope) (*Template, []TemplateProblem) { panic("unfinished") }

// Eval evaluates every expression in the template and puts the results in their places.
func (t *Template) Eval(dot Value, env Env) (Value, error) { panic("unfinished") }

// Constant returns the value, if it holds no expression.
func (t *Template) Constant() (Value, bool) { panic("unfinished") }

// Uses reports whether an expression in the template refers to $name.
func (t *Template) Uses(name string) bool { panic("unfinished") }
