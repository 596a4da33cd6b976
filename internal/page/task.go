package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"
)

// TaskPolicy is the Content-Security-Policy of the page of a human task: it runs no script at all.
const TaskPolicy = "default-src 'none'; script-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; " +
	"frame-ancestors 'none'; object-src 'none'"

//go:embed task.html
var taskLayout string

//go:embed task.css
var taskStyle []byte

// The states of the page of a human task. Only with TaskOpen there is a form.
const (
	TaskOpen      = "open"
	TaskTaken     = "taken"
	TaskUsed      = "used"
	TaskAnswered  = "answered"
	TaskWithdrawn = "withdrawn"
	TaskExpired   = "expired"
	TaskRevoked   = "revoked"
	TaskReplaced  = "replaced"
	TaskRefused   = "refused"
	TaskUnknown   = "unknown"
	TaskProblem   = "problem"
)

// The names of what the form of a human task sends.
const (
	TaskField   = "in"      // and the key of a field, which is empty or begins with a slash. Browsers send no empty name
	TaskDo      = "do"      // the button: one of the constants below, followed by what it is about
	TaskComment = "comment" // the remark
	TaskFiles   = "files"   // what was uploaded for the answer, and is to stay
	TaskUploads = "uploads" // everything else that was uploaded
	TaskUpload  = "upload:" // and the name of a field, or TaskFiles: a file to be uploaded

	DoAdd    = "add:"    // and the key of a group
	DoRemove = "remove:" // and the key of an entry
	DoAnswer = "answer:" // and the name of an outcome
)

// The ids of what is in every form.
const (
	TaskCommentID = "comment"
	TaskFilesID   = "your-files"
	TaskAnswerID  = "answer"
)

// Task is what the page of a human task shows.
type Task struct {
	Lang  string // empty: English
	State string
	At    string // when the state began; empty: not said
	Error string // what went wrong; empty: nothing
	Given string // with TaskUsed, the title of the outcome
	Again bool   // with TaskProblem: a form was sent, and may not have arrived

	Name         string // of the addressee
	Title        string
	Due          string // empty: never
	Overdue      bool
	Ends         string // when the link does
	Instructions template.HTML
	Shown        *Shown // nil: nothing
	Files        []File

	Wrong    []Wrong // what is wrong with the form, by field
	Checked  bool    // the form was checked, and nothing is wrong
	Fields   []Control
	Hidden   []Pair // what is entered where no field is shown
	Upload   *Upload
	Comment  Remark
	Outcomes []Outcome
	Tag      string
}

// Remark is what the person adds to the answer.
type Remark struct{ Text, Error string }

// Wrong is a line of the summary of what is wrong. ID is that of the field; empty: it belongs to none.
type Wrong struct{ ID, Title, Text string }

// Pair is a hidden field.
type Pair struct{ Name, Value string }

// File is a file to be looked at.
type File struct {
	Name, Size, URL string
	Image           bool // browsers show it
}

// Outcome is a button that answers.
type Outcome struct{ Name, Title, Style string }

// The kinds of Shown.
const (
	ShownText   = "text"
	ShownObject = "object"
	ShownList   = "list"
	ShownFile   = "file"
)

// Shown is data to be looked at.
type Shown struct {
	Name string // in an object
	Kind string
	Text string
	File *File
	List []Shown
}

// Upload says which files may be added to a field or to the answer.
type Upload struct {
	ID       string
	Name     string // of the input; empty: no more can be added
	Kept     string // name of the inputs of those that are there
	Accept   string
	Many     bool
	Files    []Kept
	Required bool
	Help     string
	Error    string
}

// Kept is a file that was uploaded.
type Kept struct{ ID, Name, Size, Value string }

// The ways in which fields are drawn.
const (
	DrawInput    = "input"
	DrawLong     = "long"
	DrawCode     = "code"
	DrawCheck    = "check"    // one box
	DrawRadios   = "radios"   // one of few options
	DrawSelect   = "select"   // one of many
	DrawBoxes    = "boxes"    // some of the options
	DrawFiles    = "files"    // uploads
	DrawReadOnly = "readonly" // Shown is shown
	DrawGroup    = "group"    // what is in it
	DrawEntry    = "entry"    // one of the entries of a group
	DrawVariant  = "variant"  // options, and what is in the chosen one
)

// Control is a field of the form of a human task.
type Control struct {
	ID, Name, Draw string
	Type, Mode     string // of an input: type and inputmode
	Title          string
	Help           template.HTML
	Hint           string
	Error          string
	Required       bool
	Value          string
	Shown          *Shown
	Options        []Choice
	Upload         *Upload
	EntryName      *Pair  // of an entry with a name: the input of the name
	Remove         string // of an entry: what the button removes; empty: it stays
	Add            string // of a group: what the button adds to; empty: nothing can be added
	Mark           bool   // a hidden input says that the field is there
	Focus          bool   // the page begins here
	Inside         []Control
}

// Choice is an option.
type Choice struct {
	ID, Value, Title string
	Help             template.HTML
	Chosen           bool
}

// DescribedBy are the ids of what describes a field.
func (f Control) DescribedBy() string {
	return described(f.ID, part{f.Help != "", "-help"}, part{f.Hint != "", "-hint"}, part{f.Error != "", "-error"})
}

// DescribedBy are the ids of what describes an upload.
func (u *Upload) DescribedBy() string {
	return described(u.ID, part{u.Help != "", "-may"}, part{u.Error != "", "-wrong"})
}

// part is what describes something; empty: nothing does.
type part struct {
	there bool
	end   string // of its id
}

func described(id string, parts ...part) string {
	var ids []string
	for _, p := range parts {
		if p.there {
			ids = append(ids, id+p.end)
		}
	}
	return strings.Join(ids, " ")
}

// Word is a text of the page.
func (t Task) Word(name string) string { return taskWords[t.Lang][name] }

// Beside reports whether there is something to look at beside the form.
func (t Task) Beside() bool { return t.State == TaskOpen && (t.Shown != nil || len(t.Files) > 0) }

// Few reports whether the buttons of the outcomes fit into a bar at the bottom of a phone.
func (t Task) Few() bool { return len(t.Outcomes) <= maxBar }

const maxBar = 3

// Heading is the title of the page.
func (t Task) Heading() string {
	if t.State == TaskOpen {
		return t.Title
	}
	return taskStates[t.Lang][t.State].Title
}

// Lead is the sentence below the title.
func (t Task) Lead() string {
	if t.At != "" {
		return fmt.Sprintf(taskStates[t.Lang][t.State].Lead, t.At)
	}
	return taskStates[t.Lang][t.State].Lead
}

// taskPart is a part of the page with what it needs of the whole.
type taskPart struct {
	Page *Task
	Control
}

var drawnTask = template.Must(template.New("task").Funcs(template.FuncMap{
	"part": func(t *Task, f Control) taskPart { return taskPart{t, f} },
	// nl keeps a line break at the beginning, which HTML drops behind the start of a textarea.
	"nl": func(text string) string { return "\n" + text },
	"files": func(t *Task, u *Upload) any {
		return struct {
			Page *Task
			*Upload
		}{t, u}
	},
}).Parse(taskLayout))

// DrawTask is the HTML of the page of a human task.
func DrawTask(t Task) ([]byte, error) {
	t.Tag = Tag
	if t.Lang == "" {
		t.Lang = English
	}
	var out bytes.Buffer
	if err := drawnTask.Execute(&out, &t); err != nil {
		return nil, fmt.Errorf("draw the page of a human task: %w", err)
	}
	return out.Bytes(), nil
}
