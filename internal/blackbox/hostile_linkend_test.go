package blackbox_test

import (
	"net/http"
	"strings"
	"testing"
)

// first starts an execution and returns its first task.
func (l *linked) first() (execution, task string) {
	l.Helper()
	execution = text(l.server.Do(l.T, "POST", "/workflows/eyes.four/executions", `{"input":{}}`).Object()["execution_id"])
	return execution, l.open(execution, "first")
}

// signsIn is another session of Ben.
func (l *linked) signsIn(password string) *visitor {
	l.Helper()
	v := &visitor{server: l.server}
	v.made(l.T, "/session", `{"email":"ben@example.com","password":"`+password+`"}`, "")
	return v
}

// gone wants that a link counts no more, whatever is tried.
func (l *linked) gone(what, address string) {
	l.Helper()
	for _, do := range []string{"", "answer:done"} {
		if a := l.page(address, do); a.Status != http.StatusGone {
			l.Errorf("%s: %q: %d %s", what, do, a.Status, a.Body)
		}
	}
}

func (l *linked) counts(what, address string) {
	l.Helper()
	if a := l.page(address, ""); a.Status != http.StatusOK {
		l.Errorf("%s: %d %s", what, a.Status, a.Body)
	}
}

// TestLinksOfAThief: who was in a session of another person, or had a key of theirs, has no use of the links that were
// made with it once the person has thrown the thief out, even if the thief has signed out before.
func TestLinksOfAThief(t *testing.T) {
	t.Parallel()
	l := startLinked(t)
	const password = "four words of ben"
	l.ben = l.signsIn(password)
	_, task := l.first()
	own := l.linked(l.ben, task, "eve@example.org")
	thief, quiet, key := l.signsIn(password), l.signsIn(password), l.key(l.ben.made(t, "/me/api-keys", `{"name":"k","scopes":["tasks:read","tasks:respond"]}`, "key"))
	fromThief, fromQuiet, fromKey := l.linked(thief, task, "a@example.org"), l.linked(quiet, task, "b@example.org"), l.linked(key, task, "c@example.org")
	if a := quiet.do(t, "DELETE", "/session", ""); a.Status != http.StatusNoContent {
		t.Fatalf("sign out: %d %s", a.Status, a.Body)
	}
	l.counts("signed out", fromQuiet)
	for _, item := range list(l.ben.do(t, "GET", "/me/sessions", "").Object()["data"]) {
		if session := fields(item); session["current"] != true {
			if a := l.ben.do(t, "DELETE", "/me/sessions/"+text(session["id"]), ""); a.Status != http.StatusNoContent {
				t.Fatalf("end a session: %d %s", a.Status, a.Body)
			}
			break // the newest comes first: that of the thief
		}
	}
	l.gone("another session was ended", fromThief)
	if _, a := l.link(thief, task, "d@example.org"); a.Status != http.StatusUnauthorized {
		t.Errorf("a link by a session that was ended: %d %s", a.Status, a.Body)
	}
	if a := l.ben.do(t, "DELETE", "/me/sessions", ""); a.Status != http.StatusNoContent {
		t.Fatalf("end all other sessions: %d %s", a.Status, a.Body)
	}
	l.gone("all other sessions were ended", fromQuiet)
	l.counts("made in the session that has ended the others", own)
	l.counts("made with a key", fromKey)
	for _, item := range list(l.ben.do(t, "GET", "/me/api-keys", "").Object()["data"]) {
		if a := l.ben.do(t, "DELETE", "/me/api-keys/"+text(fields(item)["id"]), ""); a.Status != http.StatusNoContent {
			t.Fatalf("revoke a key: %d %s", a.Status, a.Body)
		}
	}
	l.gone("the key was revoked", fromKey)

	thief = l.signsIn(password)
	fromThief = l.linked(thief, task, "e@example.org")
	wantStatus(t, l.ben.do(t, "PUT", "/me/password", `{"old_password":"`+password+`","password":"another four words of mine"}`), 200)
	l.gone("another password", fromThief)
	l.counts("made in the session that has changed the password", own)
	ben := text(fields(l.ben.do(t, "GET", "/me", "").Object()["user"])["id"])
	for _, status := range []string{"disabled", "active"} {
		wantStatus(t, l.ada.do(t, "PATCH", "/users/"+ben, `{"status":"`+status+`"}`), 200)
		l.gone("the user is "+status, own)
	}
}

// TestFourEyesAndReassignment: who gives a task to an address of their own does not answer again, although another
// person has made the link in good faith.
func TestFourEyesAndReassignment(t *testing.T) {
	t.Parallel()
	l := startLinked(t)
	a := l.ada.do(t, "POST", "/users", `{"email":"cleo@example.com","name":"Cleo","grants":[{"role":"operator","environments":["live"]}]}`)
	cleo := accept(t, l.server, a.Body, "cleo")
	bot := l.key(l.ada.made(t, "/api-keys", `{"name":"bot","scopes":["tasks:read","tasks:respond","executions:read","executions:manage"]}`, "key"))
	const private = "ada.private@example.net"
	for name, v := range map[string]*visitor{"in a session": l.ada, "by a bot": bot} {
		execution, first := l.first()
		wantStatus(t, l.as(v, "POST", "/human-tasks/"+first+"/reassign", `{"users":["`+private+`"]}`), 200)
		wantStatus(t, l.as(cleo, "POST", "/human-tasks/"+first+"/reassign", `{"users":["`+private+`","ben@example.com"]}`), 200)
		if a := l.page(l.linked(cleo, first, private), "answer:done"); a.Status != http.StatusOK {
			t.Fatalf("%s: the first answer: %d %s", name, a.Status, a.Body)
		}
		second := l.open(execution, "second")
		for who, v := range map[string]*visitor{"Ada": l.ada, "the bot": bot, "Cleo": cleo} {
			if a := l.as(v, "POST", "/human-tasks/"+second+"/answer", `{"outcome":"done"}`); a.Status != http.StatusForbidden {
				t.Errorf("%s: %s answers second: %d %s", name, who, a.Status, a.Body)
			}
			if _, a := l.link(v, second, "third@example.org"); a.Status != http.StatusForbidden {
				t.Errorf("%s: %s makes a link: %d %s", name, who, a.Status, a.Body)
			}
		}
		wantStatus(t, l.as(l.ben, "POST", "/human-tasks/"+second+"/answer", `{"outcome":"done"}`), 200)
	}
}

// TestUploadsByLinksAreBounded: who makes links does not get more room for files by them, and the page says so.
func TestUploadsByLinksAreBounded(t *testing.T) {
	t.Parallel()
	l := startLinked(t, "--quota-key-storage", "64KiB")
	l.server.Apply(t, `document: {dsl: '1.0.3', namespace: eyes, name: scan, version: '1.0.0'}
do: [{first: {call: 'human:1.0.0@default', with: {title: first, upload: {max: 9}}}}]
`)
	execution := text(l.server.Do(t, "POST", "/workflows/eyes.scan/executions", `{"input":{}}`).Object()["execution_id"])
	task := l.open(execution, "first")
	one, two := l.linked(l.ben, task, "a@example.org"), l.linked(l.ben, task, "b@example.org")
	file := strings.Repeat("x", 40<<10)
	if a := l.send(one, "check", file); a.Status != http.StatusOK || !strings.Contains(string(a.Body), "scan.txt") {
		t.Fatalf("a file for which there is room: %d %s", a.Status, a.Body)
	}
	for name, address := range map[string]string{"the same link": one, "another link": two} {
		if a := l.send(address, "check", file); a.Status != http.StatusUnprocessableEntity || !strings.Contains(string(a.Body), "no room left") {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	for name, want := range map[string]int{"ben": http.StatusInsufficientStorage, "ada": http.StatusCreated} {
		person := map[string]*visitor{"ben": l.signsIn("four words of ben"), "ada": l.ada}[name]
		key := l.key(person.made(t, "/me/api-keys", `{"name":"k","scopes":["files:write"]}`, "key"))
		if a := l.as(key, "POST", "/files?filename=x", file); a.Status != want {
			t.Errorf("an upload of %s: %d %s", name, a.Status, a.Body)
		}
	}
}
