package expr

// URITemplate is a compiled URI template of RFC 6570 level 1 (language.md 1.11, T42).
type URITemplate struct{}

// CompileURITemplate compiles text. Errors are *CompileError.
func CompileURITemplate(text string) (*URITemplate, error) { panic("unfinished") }

// Expand replaces each {name} by the top-level property of dot, percent-encoded. Errors are *EvalError.
func (t *URITemplate) Expand(dot Value) (string, error) { panic("unfinished") }
