package human_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/value"
)

func parse(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := value.Parse([]byte(text), value.Limits{Depth: value.MaxDepth})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRequest(t *testing.T) {
	r, problems := human.Parse(parse(t, `{"title": "Approve", "assignees": {"users": ["a@example.com", {"id": "b", "name": "B"}], "groups": ["g"], "exclude": []},
		"outcomes": ["yes", {"name": "no", "title": "No, thanks", "style": "danger"}], "due": "PT1H", "remind": [{"minutes": 5, "seconds": 1}],
		"priority": 7, "form": {"type": "object"}, "data": {"a": 1}, "files": [{"uri": "/api/v1/files/x"}, null], "upload": {"max": 3}}`), nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if len(r.Assignees.Users) != 2 || r.Assignees.Users[1] != "b" || len(r.Assignees.Groups) != 1 || !r.Assignees.Assigned() {
		t.Errorf("assignees %+v", r.Assignees)
	}
	if o, ok := r.Outcome("no"); !ok || o.Title != "No, thanks" || o.Style != "danger" || len(r.Outcomes) != 2 {
		t.Errorf("outcomes %+v", r.Outcomes)
	}
	if r.Due.Milliseconds != 3_600_000 || len(r.Remind) != 1 || r.Remind[0].Milliseconds != 301_000 {
		t.Errorf("due %+v, remind %+v", r.Due, r.Remind)
	}
	if r.Priority != 7 || r.Form == nil || r.Data == nil || len(r.Files) != 1 || r.Upload.Max != 3 {
		t.Errorf("%+v", r)
	}
	r, problems = human.Parse(parse(t, `{"title": "Approve", "due": null, "form": null, "outcomes": null}`), nil)
	if len(problems) > 0 || r.Assignees.Restricted() || r.Priority != human.DefaultPriority || len(r.Outcomes) != 1 || r.Outcomes[0].Name != human.DefaultOutcome {
		t.Errorf("%+v, %v", r, problems)
	}
}

// The answer by a link stands for the person who was asked, and for the one who has made the link.
func TestExcludedByALink(t *testing.T) {
	by := `{"id": "eve@example.com", "name": "Eve", "via": {"kind": "link", "id": "l", "made_by": "ada", "behind": ["carl", "dora"]}}`
	r, problems := human.Parse(parse(t, `{"title": "t", "assignees": {"users": [`+by+`], "exclude": ["bob", `+by+`]}}`), nil)
	if len(problems) > 0 || !slices.Equal(r.Assignees.Exclude, []string{"bob", "eve@example.com", "ada", "carl", "dora"}) || !slices.Equal(r.Assignees.Users, []string{"eve@example.com"}) {
		t.Errorf("%+v, %v", r.Assignees, problems)
	}
	// Links of one key, of tasks that one manager has handed on, are answered by more people than may be named with all
	// that stand behind them.
	var many []string
	for i := range 60 {
		many = append(many, fmt.Sprintf(`{"id": "user-%d", "via": {"kind": "link", "id": "l", "made_by": "ada", "behind": ["carl"]}}`, i))
	}
	of, problems := human.Parse(parse(t, `{"title": "t", "assignees": {"exclude": [`+strings.Join(many, ", ")+`]}}`), nil)
	if len(problems) != 0 || len(of.Assignees.Exclude) != 62 {
		t.Errorf("60 people, with the two behind them: %d are excluded, %v", len(of.Assignees.Exclude), problems)
	}
	_, problems = human.Parse(parse(t, `{"title": "t", "assignees": {"exclude": [{"id": "a", "via": {"made_by": 1}}]}}`), nil)
	if len(problems) != 1 {
		t.Errorf("a maker that is no text: %v", problems)
	}
	for _, behind := range []string{`"ada"`, `[1]`, `["ada", ""]`, `{}`} {
		if _, problems := human.Parse(parse(t, `{"title": "t", "assignees": {"exclude": [{"id": "a", "via": {"behind": `+behind+`}}]}}`), nil); len(problems) != 1 {
			t.Errorf("others behind it are %s: %v", behind, problems)
		}
	}
}

// What is wrong is named with its place. Above all, what restricts who may answer never gets lost.
func TestRequestRefused(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	for with, pointer := range map[string]string{
		`{}`:                                                                      "",
		`{"title": " "}`:                                                          "/title",
		`{"title": "a\nb"}`:                                                       "/title",
		`{"title": "` + long(301) + `"}`:                                          "/title",
		`{"title": 1}`:                                                            "/title",
		`{"title": "t", "titel": "x"}`:                                            "/titel",
		`{"title": "t", "assignees": null}`:                                       "/assignees",
		`{"title": "t", "assignees": "a"}`:                                        "/assignees",
		`{"title": "t", "assignees": {"users": null}}`:                            "/assignees/users",
		`{"title": "t", "assignees": {"groups": null}}`:                           "/assignees/groups",
		`{"title": "t", "assignees": {"exclude": null}}`:                          "/assignees/exclude",
		`{"title": "t", "assignees": {"exclude": {"id": "a"}}}`:                   "/assignees/exclude",
		`{"title": "t", "assignees": {"exclude": [null]}}`:                        "/assignees/exclude/0",
		`{"title": "t", "assignees": {"exclude": [{"name": "a"}]}}`:               "/assignees/exclude/0",
		`{"title": "t", "assignees": {"exclude": [{"id": 1}]}}`:                   "/assignees/exclude/0",
		`{"title": "t", "assignees": {"users": [""]}}`:                            "/assignees/users/0",
		`{"title": "t", "assignees": {"user": ["a"]}}`:                            "/assignees/user",
		`{"title": "t", "data": 1}`:                                               "/data",
		`{"title": "t", "form": "x"}`:                                             "/form",
		`{"title": "t", "outcomes": []}`:                                          "/outcomes",
		`{"title": "t", "outcomes": ["a", "a"]}`:                                  "/outcomes/1",
		`{"title": "t", "outcomes": [{"title": "a"}]}`:                            "/outcomes/0",
		`{"title": "t", "outcomes": [{"name": "a", "style": "red"}]}`:             "/outcomes/0/style",
		`{"title": "t", "outcomes": ["1","2","3","4","5","6","7","8","9","10"]}`:  "/outcomes",
		`{"title": "t", "due": "soon"}`:                                           "/due",
		`{"title": "t", "due": {"years": 1}}`:                                     "/due/years",
		`{"title": "t", "due": {"days": 999999999999}}`:                           "/due",
		`{"title": "t", "priority": 101}`:                                         "/priority",
		`{"title": "t", "priority": 1.5}`:                                         "/priority",
		`{"title": "t", "files": [{}]}`:                                           "/files/0",
		`{"title": "t", "upload": {"max": 0}}`:                                    "/upload/max",
		`{"title": "t", "answer_by_event": 1}`:                                    "/answer_by_event",
		`{"title": "t", "answer_by_event": true, "assignees": {"users": ["a"]}}`:  "/answer_by_event",
		`{"title": "t", "answer_by_event": true, "assignees": {}}`:                "/answer_by_event",
		`{"title": "t", "instructions": "` + long(human.MaxInstructions+1) + `"}`: "/instructions",
		`{"title": "t", "assignees": {"users": [` + strings.TrimSuffix(strings.Repeat(`"a",`, 60), ",") + `], "exclude": [` +
			strings.TrimSuffix(strings.Repeat(`"b",`, 60), ",") + `]}}`: "/assignees",
	} {
		_, problems := human.Parse(parse(t, with), nil)
		if len(problems) == 0 || problems[0].Pointer != pointer || problems[0].Detail == "" {
			t.Errorf("%.100s: %+v, want a problem at %q", with, problems, pointer)
		}
	}
}

// What an expression will yield is not known yet, and is no problem.
func TestRequestWithExpressions(t *testing.T) {
	dynamic := func(text string) bool { return strings.HasPrefix(text, "${") }
	_, problems := human.Parse(parse(t, `{"title": "${ .t }", "assignees": {"users": "${ .u }", "exclude": ["${ .e }", {"id": "${ .i }"}]}, "form": "${ .f }",
		"data": 1, "outcomes": "${ .o }", "due": "${ .d }", "priority": "${ .p }", "files": ["${ .x }"], "upload": "${ .y }"}`), dynamic)
	if len(problems) > 0 {
		t.Error(problems)
	}
}

func TestAnswer(t *testing.T) {
	a := human.Answer{
		Outcome: "yes", Data: parse(t, `{"a": 1}`), Comment: "fine", At: "2026-03-01T12:00:00.000Z",
		By: human.By{ID: "1", Name: "Ada", Via: human.Via{Kind: human.ViaKey, ID: "2"}}, Files: []value.Value{parse(t, `{"uri": "x"}`)},
	}
	if got := human.AnswerOf(a.Output()); !value.Equal(got.Output(), a.Output()) || got.By != a.By || got.Comment != "fine" {
		t.Errorf("%+v", got)
	}
	a.By.Via = human.Via{Kind: human.ViaLink, ID: "3", MadeBy: "4", Behind: "5 6"}
	if got := human.AnswerOf(a.Output()); got.By != a.By {
		t.Errorf("by a link: %+v", got.By)
	}
	a.Comment = ""
	if out := a.Output().(map[string]any); out["comment"] != nil {
		t.Errorf("%v", out)
	}
}
