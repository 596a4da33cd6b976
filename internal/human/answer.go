package human

import (
	"strings"

	"github.com/chargehand/chargehand/internal/value"
)

// The bounds of an answer.
const (
	MaxAnswerBytes = 256 << 10 // data, as JSON
	MaxComment     = 16 << 10  // bytes
	MaxDraftBytes  = 64 << 10  // all of it, as JSON
)

// Answer is what a person has answered. It is stored with the task, and its Output is that of the workflow's task.
type Answer struct {
	Outcome string
	Data    value.Value // of the form; nil: there is no form
	Comment string
	By      By
	At      string        // RFC 3339
	Files   []value.Value // references to what was uploaded
}

// By is who has answered. ID is always that of the person: the id of a user, or an e-mail address.
type By struct {
	ID, Name string
	Via      Via
}

// Via is the way on which an answer came: a session, a key, a link or an event. To exclude the answer excludes too who
// may stand behind it, of which MadeBy and Behind are the ids.
type Via struct {
	Kind, ID string
	// MadeBy is the user or API key that has made the link, or the user who has made the key that has answered in the name
	// of the person; empty: there is none.
	MadeBy string
	// Behind are others, separated by spaces: users who have also made the key or rotated it, and users and API keys that
	// have reassigned the task, of an answer by a link or in the name of the person.
	Behind string
}

// The kinds of Via.
const (
	ViaSession = "session"
	ViaKey     = "key"
	ViaLink    = "link"
	ViaEvent   = "event"
)

// Output is the answer as data.
func (a *Answer) Output() value.Value {
	via := map[string]any{"kind": a.By.Via.Kind, "id": a.By.Via.ID}
	if a.By.Via.MadeBy != "" {
		via["made_by"] = a.By.Via.MadeBy
	}
	if behind := strings.Fields(a.By.Via.Behind); len(behind) > 0 {
		list := make([]any, len(behind))
		for i, id := range behind {
			list[i] = id
		}
		via["behind"] = list
	}
	v := map[string]any{
		"outcome": a.Outcome, "data": a.Data, "comment": nil, "at": a.At, "files": append([]any{}, a.Files...),
		"by": map[string]any{"id": a.By.ID, "name": a.By.Name, "via": via},
	}
	if a.Comment != "" {
		v["comment"] = a.Comment
	}
	return v
}

// AnswerOf is the inverse of Output. What does not fit reads as empty.
func AnswerOf(v value.Value) (a Answer) {
	object, _ := v.(map[string]any)
	text := func(o map[string]any, name string) string {
		s, _ := o[name].(string)
		return s
	}
	by, _ := object["by"].(map[string]any)
	via, _ := by["via"].(map[string]any)
	files, _ := object["files"].([]any)
	list, _ := via["behind"].([]any)
	behind := make([]string, 0, len(list))
	for _, id := range list {
		if id, ok := id.(string); ok {
			behind = append(behind, id)
		}
	}
	return Answer{
		Outcome: text(object, "outcome"), Data: object["data"], Comment: text(object, "comment"), At: text(object, "at"), Files: files,
		By: By{ID: text(by, "id"), Name: text(by, "name"), Via: Via{
			Kind: text(via, "kind"), ID: text(via, "id"), MadeBy: text(via, "made_by"), Behind: strings.Join(behind, " "),
		}},
	}
}
