package blackbox_test

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
)

// colleague is a person with a session and a personal key of the environment live.
type colleague struct {
	*visitor
	name, email, id string
	key             string
}

// invite makes a person of a server, with a role in live.
func invite(t *testing.T, s *servertest.Server, name, role string) *colleague {
	t.Helper()
	c := &colleague{name: name, email: name + "@example.org"}
	args := append([]string{"users", "create", "--data-dir", s.DataDir, "--email", c.email, "--name", name, "--role", role}, servertest.Location(t, s.DataDir)...)
	out, err := servertest.Command(t, args...).Output()
	if err != nil {
		t.Fatalf("users create: %v", err)
	}
	c.visitor = accept(t, s, out, name)
	c.id = text(fields(c.do(t, "GET", "/me", "").Object()["user"])["id"])
	c.key = c.newKey(t, "first")
	return c
}

// newKey makes another personal key.
func (c *colleague) newKey(t *testing.T, name string) string {
	t.Helper()
	return c.made(t, "/me/api-keys", `{"name":"`+name+`","scopes":["tasks:read","tasks:respond"]}`, "key")
}

// as sends a request with a key.
func as(t *testing.T, s *servertest.Server, key, method, path, body string) servertest.Answer {
	t.Helper()
	return s.Do(t, method, path, body, "X-Api-Key", key)
}

// newGroup makes a group of people, by an admin's key.
func newGroup(t *testing.T, s *servertest.Server, name string, members ...*colleague) string {
	t.Helper()
	a := s.Do(t, "POST", "/groups", `{"name":"`+name+`"}`)
	wantStatus(t, a, 201)
	id := text(a.Object()["id"])
	for _, m := range members {
		if a := s.Do(t, "PUT", "/groups/"+id+"/members/"+m.id, ""); a.Status/100 != 2 {
			t.Fatalf("join: %d %s", a.Status, a.Body)
		}
	}
	return id
}

// human is a task that asks people, with these keys of `with`.
func human(with string) string { return "{call: 'human:1.0.0@default', with: {" + with + "}}" }

// tasksOf lists the open human tasks of an execution, named by its path.
func tasksOf(t *testing.T, s *servertest.Server, execution string) (list []object) {
	t.Helper()
	id := execution[strings.LastIndex(execution, "/")+1:]
	a := s.Do(t, "GET", "/human-tasks?sort=created&execution_id="+id, "")
	wantStatus(t, a, 200)
	for _, item := range a.Object()["data"].([]any) {
		list = append(list, fields(item))
	}
	return list
}

// asked starts an execution and returns its path and the id of the first task that it opens.
func asked(t *testing.T, s *servertest.Server, workflow, input string) (path, task string) {
	t.Helper()
	path = begin(t, s, workflow, input)
	eventually(t, "a task is open", func() bool {
		list := tasksOf(t, s, path)
		if len(list) > 0 {
			task = text(list[0]["id"])
		}
		return len(list) > 0
	})
	return path, task
}
