package dsl

// Document is a definition that was read. All of it is immutable and may be shared by
// goroutines. If Parse reported errors, parts may be missing.
type Document struct {
	DSL       string
	Namespace string
	Name      string
	Version   string
	Title     string
	Summary   string
	Tags      map[string]any
	Metadata  map[string]any

	Input    *Input
	Output   *Output
	Use      Use
	Do       []*Task
	Timeout  *Timeout
	Schedule *Schedule
	Evaluate Evaluate
}
