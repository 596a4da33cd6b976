package blackbox_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
)

// linked is a server whose human tasks are answered by links too, with its admin Ada and the operator Ben.
type linked struct {
	*testing.T
	server   *servertest.Server
	ada, ben *visitor
	clients  int // whose addresses were used: each may ask ten times a second for pages
}

const fourEyes = `document: {dsl: '1.0.3', namespace: eyes, name: four, version: '1.0.0'}
do:
- first: {call: 'human:1.0.0@default', with: {title: first}, export: {as: '{first: .by}'}}
- second: {call: 'human:1.0.0@default', with: {title: second, assignees: {exclude: ['${ $context.first }']}}}
`

func startLinked(t *testing.T, args ...string) *linked {
	t.Helper()
	s := servertest.Start(t, servertest.Options{Args: append(args, "--trusted-proxy", "127.0.0.1")})
	token, err := os.ReadFile(filepath.Join(s.DataDir, "setup-token"))
	if err != nil {
		t.Fatal(err)
	}
	l := &linked{T: t, server: s, ada: &visitor{server: s}}
	l.ada.made(t, "/setup", `{"token":"`+strings.TrimSpace(string(token))+`","name":"Ada","email":"ada@example.com","password":"four words in a row"}`, "")
	a := l.ada.do(t, "POST", "/users", `{"email":"ben@example.com","name":"Ben","grants":[{"role":"operator","environments":["live"]}]}`)
	l.ben = accept(t, s, a.Body, "ben")
	s.Apply(t, fourEyes)
	return l
}

// key is an API key in place of a session.
func (l *linked) key(text string) *visitor { return &visitor{server: l.server, cookie: "key " + text} }

// as sends a request as a visitor, which may be a key.
func (l *linked) as(v *visitor, method, path, body string) servertest.Answer {
	l.Helper()
	if key, ok := strings.CutPrefix(v.cookie, "key "); ok {
		return l.server.Do(l.T, method, path, body, "X-Api-Key", key)
	}
	return v.do(l.T, method, path, body)
}

// page opens the address of a link, as a browser of its own does; do is the button that is pressed, empty: none.
func (l *linked) page(address, do string) servertest.Answer { return l.send(address, do, "") }

// send is page with a file for the answer; empty: none.
func (l *linked) send(address, do, file string) servertest.Answer {
	l.Helper()
	method, body := "GET", ""
	headers := []string{"X-Api-Key", "", "X-Forwarded-For", fmt.Sprintf("192.0.2.%d", l.clients), "X-Forwarded-Proto", "https"}
	l.clients++
	if do != "" {
		method = "POST"
		if file != "" {
			body = "--part\r\nContent-Disposition: form-data; name=\"upload:files\"; filename=\"scan.txt\"\r\n\r\n" + file + "\r\n"
		}
		body += "--part\r\nContent-Disposition: form-data; name=\"do\"\r\n\r\n" + do + "\r\n--part--\r\n"
		headers = append(headers, "Content-Type", "multipart/form-data; boundary=part")
	}
	return l.server.Do(l.T, method, address, body, headers...)
}

// link asks for a link; its address is empty if it is refused.
func (l *linked) link(v *visitor, task, email string) (address string, a servertest.Answer) {
	l.Helper()
	a = l.as(v, "POST", "/human-tasks/"+task+"/links", `{"name":"A person","email":"`+email+`"}`)
	address, _ = a.Object()["url"].(string)
	return address, a
}

func (l *linked) linked(v *visitor, task, email string) (address string) {
	l.Helper()
	address, a := l.link(v, task, email)
	if a.Status != http.StatusCreated || !strings.Contains(address, "/t/") {
		l.Fatalf("link: %d %s", a.Status, a.Body)
	}
	return address
}

// open waits for the open task of an execution with a title.
func (l *linked) open(execution, title string) string {
	l.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		// A task has no other signal from outside.
		for _, item := range list(l.server.Do(l.T, "GET", "/human-tasks?execution_id="+execution, "").Object()["data"]) {
			if task := fields(item); task["title"] == title {
				return text(task["id"])
			}
		}
	}
	l.Fatalf("no task %q", title)
	return ""
}

// TestFourEyesAndLinks: who has answered first does not answer again, in whatever way the two answers come: not by a
// second key, a bot, a link for oneself or for another address, nor by choosing who is to answer.
func TestFourEyesAndLinks(t *testing.T) {
	t.Parallel()
	l := startLinked(t)
	personal := l.key(l.ada.made(t, "/me/api-keys", `{"name":"of Ada","scopes":["tasks:read","tasks:respond","executions:manage"]}`, "key"))
	const scopes = `"scopes":["tasks:read","tasks:respond","executions:read","executions:manage","admin"]}`
	bot := l.key(l.ada.made(t, "/api-keys", `{"name":"bot of Ada",`+scopes, "key"))
	made := l.as(bot, "POST", "/api-keys", `{"name":"bot of the bot","scopes":["tasks:read","tasks:respond","executions:manage"]}`)
	wantStatus(t, made, 201)
	next := l.key(text(made.Object()["key"]))
	const private = "Ada.Private@example.net"
	answer := func(v *visitor, task string) servertest.Answer {
		return l.as(v, "POST", "/human-tasks/"+task+"/answer", `{"outcome":"done"}`)
	}
	byLink := func(v *visitor) func(string) servertest.Answer {
		return func(task string) servertest.Answer { return l.page(l.linked(v, task, private), "answer:done") }
	}
	ways := map[string]func(task string) servertest.Answer{
		"in a session":             func(task string) servertest.Answer { return answer(l.ada, task) },
		"with a personal key":      func(task string) servertest.Answer { return answer(personal, task) },
		"by a bot":                 func(task string) servertest.Answer { return answer(bot, task) },
		"by a bot of the bot":      func(task string) servertest.Answer { return answer(next, task) },
		"by a link":                byLink(l.ada),
		"by a link of a key":       byLink(personal),
		"by a link of a bot":       byLink(bot),
		"by a link of a later bot": byLink(next),
	}
	for way, first := range ways {
		t.Run("first "+way, func(t *testing.T) {
			l := &linked{t, l.server, l.ada, l.ben, l.clients}
			execution := text(l.server.Do(t, "POST", "/workflows/eyes.four/executions", `{"input":{}}`).Object()["execution_id"])
			if a := first(l.open(execution, "first")); a.Status != http.StatusOK {
				t.Fatalf("the first answer: %d %s", a.Status, a.Body)
			}
			second := l.open(execution, "second")
			for name, v := range map[string]*visitor{"session": l.ada, "personal key": personal, "bot": bot, "bot of the bot": next} {
				if a := answer(v, second); a.Status != http.StatusForbidden {
					t.Errorf("%s answers second: %d %s", name, a.Status, a.Body)
				}
				for _, email := range []string{"other@example.org", "ada@example.com", private} {
					if _, a := l.link(v, second, email); a.Status != http.StatusForbidden || a.Object()["code"] != "excluded" {
						t.Errorf("%s makes a link for %s: %d %s", name, email, a.Status, a.Body)
					}
				}
				if a := l.as(v, "POST", "/human-tasks/"+second+"/reassign", `{"users":["other@example.org"]}`); a.Status != http.StatusForbidden {
					t.Errorf("%s reassigns: %d %s", name, a.Status, a.Body)
				}
			}
			// Another person makes a link, to an address of Ada's that is known by now: case makes no other address.
			known := map[string]bool{"ADA@Example.COM": true, "ada.PRIVATE@example.NET": strings.Contains(way, "link")}
			if strings.Contains(way, "bot") && !strings.Contains(way, "link") {
				known["ADA@Example.COM"] = true // she has made it
			}
			for email, excluded := range known {
				if _, a := l.link(l.ben, second, email); excluded && (a.Status != http.StatusForbidden || a.Object()["code"] != "excluded") {
					t.Errorf("a link for %s: %d %s", email, a.Status, a.Body)
				}
			}
			// What stands before the @ makes another person, also with a plus: addresses are compared, not mailboxes.
			other := l.linked(l.ben, second, "ada.private+other@example.net")
			if a := l.page(other, ""); a.Status != http.StatusOK {
				t.Errorf("the page: %d %s", a.Status, a.Body)
			}
			if a := answer(l.ben, second); a.Status != http.StatusOK {
				t.Errorf("Ben answers second: %d %s", a.Status, a.Body)
			}
			if a := l.page(other, "answer:done"); a.Status != http.StatusConflict || strings.Contains(string(a.Body), "Ben") {
				t.Errorf("an answer that comes late: %d %s", a.Status, a.Body)
			}
		})
	}
}

// TestLinksOfWhoIsGone: a link ends for all when the person who has made it is disabled.
func TestLinksOfWhoIsGone(t *testing.T) {
	t.Parallel()
	l := startLinked(t)
	execution := text(l.server.Do(t, "POST", "/workflows/eyes.four/executions", `{"input":{}}`).Object()["execution_id"])
	task := l.open(execution, "first")
	address := l.linked(l.ben, task, "eve@example.org")
	if a := l.page(address, ""); a.Status != http.StatusOK {
		t.Fatalf("the page: %d %s", a.Status, a.Body)
	}
	ben := text(fields(l.ben.do(t, "GET", "/me", "").Object()["user"])["id"])
	if a := l.ada.do(t, "PATCH", "/users/"+ben, `{"status":"disabled"}`); a.Status != http.StatusOK {
		t.Fatalf("disable: %d %s", a.Status, a.Body)
	}
	for _, do := range []string{"", "answer:done"} {
		if a := l.page(address, do); a.Status != http.StatusGone {
			t.Errorf("%q: %d %s", do, a.Status, a.Body)
		}
	}
	if status := l.server.Do(t, "GET", "/human-tasks/"+task, "").Object()["status"]; status != "open" {
		t.Errorf("the task is %v", status)
	}
}
