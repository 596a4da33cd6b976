package page

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the pages of human tasks anew")

const taskGoldens = "testdata/tasks.txtar"

// filledTask has every part of a form.
func filledTask(lang string) Task {
	file := File{Name: "scan.png", Size: "12 kB", URL: "/api/v1/files/1/content?signature=x", Image: true}
	choice := func(id string, chosen bool) Choice {
		return Choice{ID: id, Value: id, Title: "Option " + id, Help: "<p>help</p>", Chosen: chosen}
	}
	return Task{
		Lang: lang, State: TaskOpen, Name: "Eve", Title: "Approve the invoice", Due: "1 January 2026, 09:30 UTC", Overdue: true,
		Ends: "31 January 2026, 09:30 UTC", Instructions: "<p>Check the <em>totals</em>.</p>",
		Shown: &Shown{Kind: ShownObject, List: []Shown{
			{Name: "supplier", Kind: ShownText, Text: "Acme"}, {Name: "lines", Kind: ShownList, List: []Shown{{Kind: ShownText, Text: "1"}}},
			{Name: "scan", Kind: ShownFile, File: &file},
		}},
		Files: []File{file, {Name: "terms.pdf", Size: "1 MB", URL: "/api/v1/files/2/content"}, {Name: "gone.pdf"}},
		Wrong: []Wrong{{ID: "f0", Title: "Total", Text: "This is not a number."}, {Text: "Something else."}},
		Fields: []Control{
			{ID: "f0", Name: "in/total", Draw: DrawInput, Type: "text", Mode: "decimal", Title: "Total", Required: true, Value: "x", Hint: "At least 1.", Error: "This is not a number.", Help: "<p>of all</p>"},
			{ID: "f1", Name: "in/note", Draw: DrawLong, Title: "Note", Value: "\na\nb"},
			{ID: "f2", Name: "in/any", Draw: DrawCode, Title: "Any", Value: "{}", Required: true},
			{ID: "f3", Name: "in/agree", Draw: DrawCheck, Title: "Agree", Value: "true", Required: true},
			{ID: "f4", Name: "in/kind", Draw: DrawRadios, Title: "Kind", Mark: true, Options: []Choice{choice("f4-0", true), choice("f4-1", false)}},
			{ID: "f5", Name: "in/country", Draw: DrawSelect, Title: "Country", Options: []Choice{choice("f5-0", false), choice("f5-1", true)}},
			{ID: "f6", Name: "in/days", Draw: DrawBoxes, Title: "Days", Mark: true, Error: "Too few.", Options: []Choice{choice("f6-0", true)}},
			{ID: "f7", Name: "in/scans", Draw: DrawFiles, Title: "Scans", Mark: true, Required: true, Upload: &Upload{
				ID: "f7-files", Name: "upload:in/scans", Kept: "in/scans", Accept: "image/*", Many: true, Help: "Accepted: image/*.", Error: "Too large.",
				Files: []Kept{{ID: "f7-files-0", Name: "a.png", Size: "1 kB", Value: `{"uri":"/a"}`}},
			}},
			{ID: "f8", Draw: DrawReadOnly, Title: "Number", Shown: &Shown{Kind: ShownText, Text: "17"}},
			{ID: "f9", Name: "in/lines", Draw: DrawGroup, Title: "Lines", Mark: true, Add: "/lines", Inside: []Control{
				{ID: "f10", Name: "in/lines/~e0", Draw: DrawEntry, Title: "Lines 1", Mark: true, Required: true, Remove: "/lines/~e0", Focus: true,
					EntryName: &Pair{"in/lines/~e0/~name", "first"}, Inside: []Control{{ID: "f11", Name: "in/lines/~e0/sku", Draw: DrawInput, Type: "date", Title: "SKU"}}},
			}},
			{ID: "f12", Name: "in/pay", Draw: DrawVariant, Title: "Pay", Options: []Choice{{Value: "0", Title: "Card", Chosen: true}, {Value: "1", Title: "Bill"}},
				Inside: []Control{{ID: "f13", Name: "in/pay/~o0/number", Draw: DrawInput, Type: "text", Title: "Number"}}},
		},
		Hidden:   []Pair{{"in/hidden", "kept"}},
		Upload:   &Upload{ID: TaskFilesID, Name: "upload:files", Kept: "files", Required: true, Files: []Kept{{ID: "your-files-0", Name: "b.pdf", Size: "2 kB", Value: "id.1.s"}}},
		Comment:  Remark{Text: "soon", Error: "The comment is too long."},
		Outcomes: []Outcome{{"approve", "Approve", "primary"}, {"reject", "Reject", "danger"}, {"ask", "Ask again", ""}},
	}
}

// TestTaskPages holds the pages to those that were looked at. Write them with: go test ./internal/page -update.
func TestTaskPages(t *testing.T) {
	pages := []struct {
		name string
		task Task
	}{
		{"filled", filledTask(English)}, {"filled in German", filledTask(German)},
		{"bare", Task{State: TaskOpen, Title: "Pick one", Ends: "soon", Outcomes: []Outcome{{"done", "done", ""}}}},
		{"checked", Task{State: TaskOpen, Title: "Pick one", Ends: "soon", Checked: true, Fields: filledTask(English).Fields[3:4], Outcomes: []Outcome{{"done", "done", ""}}}},
		{"problem", Task{State: TaskProblem, Error: "Too many requests from this address.", Again: true}},
		{"used", Task{State: TaskUsed, At: "1 January 2026, 09:30 UTC", Given: "Approve", Error: "What you have sent now was not taken."}},
	}
	for _, lang := range []string{English, German} {
		for _, state := range []string{TaskTaken, TaskUsed, TaskAnswered, TaskWithdrawn, TaskExpired, TaskRevoked, TaskReplaced, TaskRefused, TaskUnknown} {
			at := "1 January 2026, 09:30 UTC"
			if !strings.Contains(taskStates[lang][state].Lead, "%s") {
				at = ""
			}
			pages = append(pages, struct {
				name string
				task Task
			}{state + " " + lang, Task{Lang: lang, State: state, At: at}})
		}
	}
	var got txtar.Archive
	got.Comment = []byte("Pages of human tasks. Write with: go test ./internal/page -update\n")
	for _, p := range pages {
		text, err := DrawTask(p.task)
		if err != nil {
			t.Fatal(err)
		}
		if bad := regexp.MustCompile(`(?i)<script|\son[a-z]+=|style=|javascript:|ZgotmplZ`).Find(text); bad != nil {
			t.Errorf("%s has %s", p.name, bad)
		}
		ids := map[string]bool{}
		for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(string(text), -1) {
			if ids[id[1]] {
				t.Errorf("%s has the id %s twice", p.name, id[1])
			}
			ids[id[1]] = true
		}
		for _, refer := range regexp.MustCompile(` (?:for|aria-describedby|aria-labelledby|href)="(#[^"]*|[^"/#]*)"`).FindAllStringSubmatch(string(text), -1) {
			for id := range strings.FieldsSeq(strings.TrimPrefix(refer[1], "#")) {
				if !ids[id] && refer[1] != "data:," {
					t.Errorf("%s refers to %s, which is not there", p.name, id)
				}
			}
		}
		if i, j := strings.Index(string(text), "<button"), strings.Index(string(text), `value="check"`); i >= 0 && (j < i || j-i > 60) {
			t.Errorf("%s: the first button is no check", p.name)
		}
		shown := strings.ReplaceAll(string(text), Tag, "TAG")
		got.Files = append(got.Files, txtar.File{Name: p.name, Data: []byte(shown)})
	}
	if *update {
		if err := os.WriteFile(taskGoldens, txtar.Format(&got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := txtar.ParseFile(taskGoldens)
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Files) != len(got.Files) {
		t.Fatalf("%d pages, want %d", len(got.Files), len(want.Files))
	}
	for i, file := range got.Files {
		if want.Files[i].Name != file.Name || string(want.Files[i].Data) != string(file.Data) {
			t.Errorf("%s is not as in %s:\n%s", file.Name, taskGoldens, file.Data)
		}
	}
}

// TestTaskTexts: what is said in one language is said in all, of the same things.
func TestTaskTexts(t *testing.T) {
	verbs := regexp.MustCompile(`%[a-z]`)
	for name, text := range taskWords[English] {
		other := taskWords[German][name]
		if other == "" || len(verbs.FindAllString(text, -1)) != len(verbs.FindAllString(other, -1)) {
			t.Errorf("%s: %q, in German %q", name, text, other)
		}
	}
	for state, text := range taskStates[English] {
		other, known := taskStates[German][state]
		if !known || (text.Title == "") != (other.Title == "") || strings.Contains(text.Lead, "%s") != strings.Contains(other.Lead, "%s") {
			t.Errorf("%s: %+v, in German %+v", state, text, other)
		}
	}
	if len(taskWords[English]) != len(taskWords[German]) || len(taskStates[English]) != len(taskStates[German]) {
		t.Error("one language has more texts than the other")
	}
}

// TestHostileTask: nothing in a task, and nothing that was sent, becomes more than text.
func TestHostileTask(t *testing.T) {
	const hostile = `"'><script>alert(1)</script><img src=x onerror=alert(1)>`
	task := filledTask(English)
	task.Title, task.Name, task.Due, task.Error, task.Given = hostile, hostile, hostile, hostile, hostile
	task.Shown.List[0] = Shown{Name: hostile, Kind: ShownText, Text: hostile}
	task.Files[0] = File{Name: hostile, Size: hostile, URL: "javascript:alert(1)", Image: true}
	task.Wrong[0] = Wrong{ID: hostile, Title: hostile, Text: hostile}
	task.Hidden[0] = Pair{hostile, hostile}
	task.Comment = Remark{hostile + "</textarea>" + hostile, hostile}
	task.Outcomes[0] = Outcome{hostile, hostile, hostile}
	task.Upload.Files[0] = Kept{hostile, hostile, hostile, hostile}
	task.Upload.Help, task.Upload.Error, task.Upload.Accept = hostile, hostile, hostile
	for i := range task.Fields {
		f := &task.Fields[i]
		f.Name, f.Title, f.Hint, f.Error, f.Value, f.Add, f.Remove = hostile, hostile, hostile, hostile, hostile+"</textarea>"+hostile, hostile, hostile
		for j := range f.Options {
			f.Options[j] = Choice{ID: hostile, Value: hostile, Title: hostile}
		}
	}
	text, err := DrawTask(task)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script>alert", "<img src=x", `href="javascript:`, `src="javascript:`} {
		if strings.Contains(string(text), bad) {
			t.Errorf("the page has %s:\n%s", bad, text)
		}
	}
}

func TestMoment(t *testing.T) {
	at := time.Date(2026, time.March, 1, 10, 5, 59, 0, time.FixedZone("", 3600))
	for lang, want := range map[string]string{English: "1 March 2026, 09:05 UTC", German: "1. März 2026, 09:05 Uhr UTC"} {
		if got := Moment(lang, at); got != want {
			t.Errorf("%s: %s, want %s", lang, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1,0 kB", 9940: "9,9 kB", 9950: "10 kB", 999_499: "999 kB", 999_500: "1,0 MB", 1 << 30: "1,1 GB", 1 << 60: "1152922 TB",
	} {
		if got := Size(German, bytes); got != want {
			t.Errorf("%d is %s, want %s", bytes, got, want)
		}
		if got := Size(English, bytes); got != strings.Replace(want, ",", ".", 1) {
			t.Errorf("%d is %s in English", bytes, got)
		}
	}
}
