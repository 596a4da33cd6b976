package expr

import "fmt"

// Limits bounds what Parse accepts. A zero field stands for the default.
type Limits struct {
	Depth int // levels of nesting; default DefaultDepth
	Bytes int // bytes of text; default DefaultBytes
}

// Limits of JSON texts.
const (
	DefaultDepth     = 64       // levels of nesting of a request body
	DefaultBytes     = 16 << 20 // bytes of text
	MaxDepth         = 256      // levels of nesting of any value (T76)
	MaxIntegerDigits = 1000     // digits of an integer
)

// SyntaxError tells what is wrong with a JSON text and where.
type SyntaxError struct {
	Offset  int    // bytes from the start of the text
	Line    int    // from 1
	Column  int    // from 1, in characters
	Pointer string // JSON pointer (RFC 6901) of the innermost value that is affected
	Code    string // stable, snake_case
	Detail  string // a sentence
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Detail)
}

// Parse reads one JSON text.
func Parse(data []byte, lim Limits) (Value, error) { panic("unfinished") }
