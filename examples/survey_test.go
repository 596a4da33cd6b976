package examples

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
)

// pageOf opens the page of a link as a browser without script does, and reads it.
func pageOf(t *testing.T, address string) (status int, text string) {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// field is the name of the control with a label on a page.
func field(t *testing.T, page, label string) string {
	t.Helper()
	id := regexp.MustCompile(`<label for="([^"]+)">` + regexp.QuoteMeta(label)).FindStringSubmatch(page)
	if id == nil {
		t.Fatalf("there is no label %q:\n%s", label, page)
	}
	name := regexp.MustCompile(`<(?:input|textarea) id="` + regexp.QuoteMeta(id[1]) + `"[^>]* name="([^"]+)"`).FindStringSubmatch(page)
	if name == nil {
		t.Fatalf("there is no control %s:\n%s", id[1], page)
	}
	return name[1]
}

// press sends the form of a page with what was entered, and a button.
func press(t *testing.T, address, do string, entered map[string]string) (status int, text string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range entered {
		if err := form.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := form.WriteField("do", do); err != nil {
		t.Fatal(err)
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(address, form.FormDataContentType(), &body)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(page)
}

// Three of five people have an opinion, and say so by links. Then the others are not asked any more.
func TestTeamSurvey(t *testing.T) {
	s := people(t, "team-survey.yaml")
	names := []string{"ada", "bo", "cy", "di", "ed"}
	survey := started(t, s, "team-survey", `{"question": "Shall we meet on Fridays?", "people": ["`+strings.Join(names, `@example.com", "`)+`@example.com"]}`)
	links := map[string]string{}
	for _, name := range names {
		links[name] = strings.TrimSpace(cli(t, s, "tasks", "link", surveyTask(t, s, survey, name), "--name", name, "--email", name+"@example.com", "--expires", "1d"))
	}
	status, page := pageOf(t, links["cy"])
	if status != http.StatusOK || !strings.Contains(page, "Shall we meet on Fridays?") {
		t.Fatalf("%d:\n%s", status, page)
	}
	reason := field(t, page, "Why")
	if status, page := press(t, links["cy"], "answer:agree", map[string]string{reason: strings.Repeat("x", 2001)}); status != http.StatusUnprocessableEntity || !strings.Contains(page, "aria-invalid") {
		t.Errorf("a reason that is too long: %d\n%s", status, page)
	}
	for _, answer := range []struct{ name, outcome, reason string }{{"cy", "agree", ""}, {"di", "abstain", ""}, {"ada", "disagree", "I am away."}, {"ed", "agree", ""}} {
		if status, page := press(t, links[answer.name], "answer:"+answer.outcome, map[string]string{reason: answer.reason}); status != http.StatusOK {
			t.Errorf("the answer of %s: %d\n%s", answer.name, status, page)
		}
	}
	got := output(t, s, survey)
	var who []string
	for _, opinion := range got["opinions"].([]any) {
		who = append(who, fmt.Sprint(opinion.(map[string]any)["person"]))
	}
	if slices.Sort(who); !slices.Equal(who, []string{"ada@example.com", "cy@example.com", "ed@example.com"}) || fmt.Sprint(got["agree"]) != "2" {
		t.Errorf("output: %v", got)
	}
	recorded(t, s, 3, 1)
	if status, page := pageOf(t, links["bo"]); status != http.StatusGone {
		t.Errorf("the link of a person who is not asked any more: %d\n%s", status, page)
	}
}

// surveyTask is the id of the open task of a person.
func surveyTask(t *testing.T, s *servertest.Server, execution, name string) string {
	t.Helper()
	task := openTaskOf(t, s, execution, func(task map[string]any) bool {
		assignees, _ := task["assignees"].(map[string]any)
		users, _ := assignees["users"].([]any)
		return len(users) == 1 && users[0] == name+"@example.com"
	})
	return fmt.Sprint(task["id"])
}
