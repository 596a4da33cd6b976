package human

import (
	"path"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/value"
)

// The bounds of a request.
const (
	MaxBytes        = 256 << 10 // all of `with`, as JSON
	MaxTitle        = 300       // characters
	MaxInstructions = 64 << 10  // bytes
	MaxAssignees    = 100       // users, groups and exclude together
	MaxOutcomes     = 9
	MaxRemind       = 10
	MaxFiles        = 100
	MaxPriority     = 100
)

// DefaultOutcome is the only outcome of a request that names none. DefaultPriority is that of a request without one.
const (
	DefaultOutcome  = "done"
	DefaultPriority = 50
)

// Request is what a workflow asks a person. The zero value of a field says that the request has none.
type Request struct {
	Title        string
	Instructions string // Markdown
	Assignees    Assignees
	Form         value.Value // a JSON Schema; nil: only an outcome is asked for
	Data         value.Value // what the form is filled with
	Outcomes     []Outcome   // at least one
	Due          *dsl.Span   // after the task was opened
	Remind       []dsl.Span  // after the task was opened
	Priority     int
	Show         value.Value // data to be looked at
	Files        []value.Value
	Upload       *Upload // nil: no files may be given back
	// AnswerByEvent: an event may answer. Then there are no assignees.
	AnswerByEvent bool
}

// Assignees says who may answer. Users are e-mail addresses or ids, groups are names. Exclude wins over both.
type Assignees struct {
	Users, Groups, Exclude []string
}

// Restricted reports whether only some may answer of those who may answer tasks at all.
func (a Assignees) Restricted() bool { return a.Assigned() || len(a.Exclude) > 0 }

// Assigned reports whether the task is assigned to a person or group.
func (a Assignees) Assigned() bool { return len(a.Users)+len(a.Groups) > 0 }

// Outcome is one of the decisions that a person chooses from.
type Outcome struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Style string `json:"style,omitempty"` // of the button: one of Styles; empty: ordinary
}

// Styles are how the button of an outcome may look.
var Styles = []string{"primary", "danger"}

// Upload says which files a person may give back.
type Upload struct {
	Accept   []string `json:"accept,omitempty"` // media types, such as image/*, or endings, such as .pdf; none: any
	Max      int      `json:"max"`              // how many
	Required bool     `json:"required"`
}

// Accepts reports whether a file may be given back, by its name and its media type. An ending and a pattern of media
// types that cannot be understood accept nothing.
func (u *Upload) Accepts(name, mediaType string) bool {
	media, _, _ := strings.Cut(strings.ToLower(mediaType), ";")
	media = strings.TrimSpace(media)
	return len(u.Accept) == 0 || slices.ContainsFunc(u.Accept, func(a string) bool {
		a = strings.ToLower(strings.TrimSpace(a))
		if strings.HasPrefix(a, ".") {
			return strings.ToLower(path.Ext(name)) == a
		}
		matched, err := path.Match(a, media)
		return err == nil && matched
	})
}

// Outcome finds an outcome by its name.
func (r *Request) Outcome(name string) (Outcome, bool) {
	for _, o := range r.Outcomes {
		if o.Name == name {
			return o, true
		}
	}
	return Outcome{}, false
}
