package blackbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
)

// eyes is an attempt of a person to answer a task from which the person is excluded.
type eyes struct {
	name string
	code string // of the refusal; empty: it is no problem, and the task stays open
	try  func(t *testing.T, task string) answer
}

// TestContractFourEyes: who has answered the first task answers the second one in no way: not by session, another key,
// a rotated key, a key that the person has made, an alias, an answer to many tasks, a claim,
// a reassignment or an event. Another person does.
func TestContractFourEyes(t *testing.T) {
	t.Parallel()
	s := start(t)
	ada, ben, eve := invite(t, s, "ada", "admin"), invite(t, s, "ben", "participant"), invite(t, s, "eve", "admin")
	newGroup(t, s, "controllers", ada, ben)
	honest := newKeeper(t, s)
	for i, exclude := range []string{
		"['${ $context.first }']", "['${ $context.first.id }']", "[ada@example.org]", "[' ADA@EXAMPLE.org ']", "['${ $context.first.id | ascii_upcase }']",
	} {
		for _, assignees := range []string{"", "groups: [controllers], ", "users: [ada@example.org, ben@example.org], "} {
			if i > 1 && assignees == "" {
				continue
			}
			t.Run(exclude+" "+assignees, func(t *testing.T) {
				flow := deploy(t, s, "do:\n- first: {call: 'human:1.0.0@default', with: {title: First}, export: {as: '{first: .by}'}}\n- second: "+
					human("title: Second, assignees: {"+assignees+"exclude: "+exclude+"}, outcomes: [approve, reject]")+"\n")
				path, first := asked(t, s, flow, "{}")
				wantStatus(t, ada.do(t, "POST", "/human-tasks/"+first+"/answer", `{"outcome":"done"}`), 200)
				var second string
				eventually(t, "the second task is open", func() bool {
					list := tasksOf(t, s, path)
					if len(list) == 1 {
						second = text(list[0]["id"])
					}
					return second != "" && second != first
				})
				for _, e := range ownEyes(t, s, ada, eve, honest) {
					a := e.try(t, second)
					if e.code != "" && (a.Status/100 != 4 || text(a.Object()["code"]) != e.code) {
						t.Errorf("%s: %d %s, want %s", e.name, a.Status, a.Body, e.code)
					}
					task := s.Do(t, "GET", "/human-tasks/"+second, "").Object()
					if !oneOf("open")(task["status"]) {
						t.Fatalf("%s: the task is %v by %v", e.name, task["status"], task["answer"])
					}
				}
				// What was tried did not lock out the other person, either.
				wantStatus(t, s.Do(t, "POST", "/human-tasks/"+second+"/reassign", `{"users":["ben@example.org"],"groups":[]}`), 200)
				wantStatus(t, as(t, s, ben.key, "POST", "/human-tasks/"+second+"/answer", `{"outcome":"approve"}`), 200)
				if by := fields(fields(finish(t, s, path)["output"])["by"]); by["id"] != ben.id {
					t.Errorf("answered by %v", by)
				}
			})
		}
	}
}

// keeper is a bot of the installation that answers for people.
type keeper struct{ id, key string }

func newKeeper(t *testing.T, s *server) *keeper {
	t.Helper()
	k := &keeper{key: servertest.CreateKey(t, s.DataDir, "--scopes", "tasks:read,tasks:respond,tasks:impersonate,executions:read")}
	for _, item := range list(s.Do(t, "GET", "/api-keys", "").Object()["data"]) {
		if slices.Contains(list(fields(item)["scopes"]), any("tasks:impersonate")) {
			k.id = text(fields(item)["id"])
		}
	}
	if k.id == "" {
		t.Fatal("the bot is not in the list of keys")
	}
	return k
}

// ownEyes are the ways in which ada may try. Keys are made anew for each task.
func ownEyes(t *testing.T, s *server, ada, eve *colleague, honest *keeper) (list []eyes) {
	t.Helper()
	add := func(name, code string, try func(t *testing.T, task string) answer) {
		list = append(list, eyes{name, code, try})
	}
	const yes = `{"outcome":"approve"}`
	by := func(key, body string) func(t *testing.T, task string) answer {
		return func(t *testing.T, task string) answer {
			return as(t, s, key, "POST", "/human-tasks/"+task+"/answer", body)
		}
	}
	behalf := func(who string) string { return `{"outcome":"approve","on_behalf_of":"` + who + `"}` }

	add("in a session", "excluded", func(t *testing.T, task string) answer { return ada.do(t, "POST", "/human-tasks/"+task+"/answer", yes) })
	add("with a personal key", "excluded", by(ada.key, yes))
	add("with another personal key", "excluded", by(ada.newKey(t, unique("another")), yes))
	old := ada.do(t, "POST", "/me/api-keys", `{"name":"`+unique("rotated")+`","scopes":["tasks:read","tasks:respond"]}`)
	wantStatus(t, old, 201)
	rotated := ada.do(t, "POST", "/me/api-keys/"+text(old.Object()["id"])+"/rotate", "{}")
	wantStatus(t, rotated, 200)
	add("with a rotated personal key", "excluded", by(text(rotated.Object()["key"]), yes))
	add("with the secret that a personal key had before", "excluded", by(text(old.Object()["key"]), yes))

	// Only at the machine of the server a key is made that acts for others; in no other way its secret is learned.
	const bot = `{"name":"%s","scopes":["admin","tasks:read","tasks:respond","executions:read","executions:manage"%s]}`
	add("with a key of the command line that stands for no person", "not_assigned", by(s.Key, yes))
	own := ada.do(t, "POST", "/api-keys", fmt.Sprintf(bot, unique("bot"), ""))
	wantStatus(t, own, 201)
	mine := text(own.Object()["key"])
	add("with a bot of her own", "not_assigned", by(mine, yes))
	add("with a bot of her own, for another", "insufficient_scope", by(mine, behalf("ben@example.org")))
	add("with a bot of her own that acts for others", "insufficient_scope", func(t *testing.T, _ string) answer {
		return ada.do(t, "POST", "/api-keys", fmt.Sprintf(bot, unique("bot"), `,"tasks:impersonate"`))
	})
	add("with a personal key that acts for others", "insufficient_scope", func(t *testing.T, _ string) answer {
		return ada.do(t, "POST", "/me/api-keys", `{"name":"`+unique("me")+`","scopes":["tasks:read","tasks:respond","tasks:impersonate"]}`)
	})
	for who, do := range map[string]func(t *testing.T, method, path, body string) answer{
		"in her session": func(t *testing.T, method, path, body string) answer { return ada.do(t, method, path, body) },
		"by her bot":     func(t *testing.T, method, path, body string) answer { return as(t, s, mine, method, path, body) },
	} {
		add("with a bot that is made to act for others "+who, "insufficient_scope", func(t *testing.T, _ string) answer {
			return do(t, "PATCH", "/api-keys/"+text(own.Object()["id"]), `{"scopes":["tasks:read","tasks:respond","tasks:impersonate"]}`)
		})
		add("with a bot of the installation whose secret is changed "+who, "insufficient_scope", func(t *testing.T, _ string) answer {
			return do(t, "POST", "/api-keys/"+honest.id+"/rotate", `{"grace":"0s"}`)
		})
	}
	for _, alias := range []string{"ada@example.org", "ADA@example.org", " ada@example.org ", "Ada@EXAMPLE.ORG"} {
		add("by a bot of the installation for "+alias, "excluded", by(honest.key, behalf(alias)))
	}
	add("by a bot of the installation for her id", "invalid_body", by(honest.key, behalf(ada.id)))
	add("in her own name and for another", "insufficient_scope", func(t *testing.T, task string) answer {
		return ada.do(t, "POST", "/human-tasks/"+task+"/answer", behalf("ben@example.org"))
	})

	add("among many, by ids", "", func(t *testing.T, task string) answer {
		a := ada.do(t, "POST", "/human-tasks/answer", `{"ids":["`+task+`"],"outcome":"approve"}`)
		if !strings.Contains(string(a.Body), `"code":"excluded"`) {
			t.Errorf("among many: %d %s", a.Status, a.Body)
		}
		return a
	})
	add("among many, by a filter", "", func(t *testing.T, task string) answer {
		execution := text(s.Do(t, "GET", "/human-tasks/"+task, "").Object()["execution_id"])
		a := ada.do(t, "POST", "/human-tasks/answer", `{"filter":{"execution_id":"`+execution+`"},"outcome":"approve"}`)
		if a.Object()["answered"] != 0 {
			t.Errorf("among many: %d %s", a.Status, a.Body)
		}
		return a
	})
	add("by a claim", "excluded", func(t *testing.T, task string) answer { return ada.do(t, "POST", "/human-tasks/"+task+"/claim", "{}") })
	add("by a forced claim", "excluded", func(t *testing.T, task string) answer {
		return ada.do(t, "POST", "/human-tasks/"+task+"/claim", `{"force":true}`)
	})
	add("by a draft", "excluded", func(t *testing.T, task string) answer { return ada.do(t, "PUT", "/human-tasks/"+task+"/draft", yes) })
	for to, body := range map[string]string{"her": `{"users":["ada@example.org"]}`, "all": `{"users":[],"groups":[]}`} {
		add("by a reassignment of her own to "+to, "excluded", func(t *testing.T, task string) answer {
			return ada.do(t, "POST", "/human-tasks/"+task+"/reassign", body)
		})
		add("after a reassignment of an admin to "+to, "excluded", func(t *testing.T, task string) answer {
			wantStatus(t, eve.do(t, "POST", "/human-tasks/"+task+"/reassign", body), 200)
			return ada.do(t, "POST", "/human-tasks/"+task+"/answer", yes)
		})
	}
	add("with an exclusion that is to be taken back", "unknown_field", func(t *testing.T, task string) answer {
		return ada.do(t, "POST", "/human-tasks/"+task+"/reassign", `{"users":["ada@example.org"],"exclude":[]}`)
	})
	add("as another, in the body", "unknown_field", func(t *testing.T, task string) answer {
		return ada.do(t, "POST", "/human-tasks/"+task+"/answer", `{"outcome":"approve","by":{"id":"`+eve.id+`"}}`)
	})
	add("by an event", "", func(t *testing.T, task string) answer {
		read := s.Do(t, "GET", "/human-tasks/"+task, "").Object()
		event := `{"specversion":"1.0","id":"` + unique("answer") + `","source":"/eyes","type":"io.chargehand.human.completed.v1","subject":"` +
			text(read["execution_id"]) + text(read["reference"]) + `","data":{"outcome":"approve"}}`
		return s.Do(t, "POST", "/events", event, "Content-Type", "application/cloudevents+json")
	})
	return list
}

// TestContractAnswersByEvent: a task whose definition says so is answered by an event that is published. A definition
// that wants that together with assignees is refused, because an event does not say who answers.
func TestContractAnswersByEvent(t *testing.T) {
	t.Parallel()
	s := start(t)
	free := "do:\n- ask: " + human("title: Ask, answer_by_event: %t, outcomes: [approve, reject], form: {type: object, required: [total]}") + "\n"
	path, task, err := openedTask(s, deploy(t, s, fmt.Sprintf(free, true)))
	if err != nil {
		t.Fatal(err)
	}
	_, deaf, err := openedTask(s, deploy(t, s, fmt.Sprintf(free, false)))
	if err != nil {
		t.Fatal(err)
	}
	event := func(task, data string) answer {
		t.Helper()
		body := `{"specversion":"1.0","id":"` + unique("answer") + `","source":"/desk","type":"io.chargehand.human.completed.v1","subject":"` + task + `","data":` + data + `}`
		return s.Do(t, "POST", "/events", body, "Content-Type", "application/cloudevents+json")
	}
	const yes = `{"outcome":"approve","data":{"total":5}}`
	answered := ""
	for _, c := range []struct {
		task, data string
		status     int
		code       string
	}{
		{task, `{"outcome":"approve","data":{}}`, 422, "answer_invalid"}, {task, `{"outcome":"approve","by":{"id":"ada"}}`, 400, "unknown_field"},
		{deaf, yes, 403, "not_assigned"}, {task, yes, 202, ""}, {task, yes, 202, ""}, {task, `{"outcome":"reject","data":{"total":5}}`, 409, "answer_conflict"},
	} {
		a := event(c.task, c.data)
		if a.Status != c.status || c.code != "" && a.Object()["code"] != c.code {
			t.Errorf("%s: %d %s, want %d %s", c.data, a.Status, a.Body, c.status, c.code)
		}
		if a.Status == 202 && answered == "" {
			answered = a.Header.Get("X-Request-Id")
		}
	}
	// The answer is on record as any other: once, with the request that gave it.
	entries := list(s.Do(t, "GET", "/audit-log?action=task.answered", "").Object()["data"])
	if len(entries) != 1 || fields(entries[0])["request_id"] != answered {
		t.Errorf("the audit log has %v, answered by the request %s", entries, answered)
	}
	done, err := ended(s, path)
	if output := fields(done["output"]); err != nil || output["outcome"] != "approve" || fields(fields(output["by"])["via"])["kind"] != "event" {
		t.Errorf("it ends as %v, %v", done, err)
	}
	flow := "do:\n- ask: " + human("title: Ask, answer_by_event: %s, assignees: {exclude: [ada@example.org]}") + "\n"
	a := s.Do(t, "POST", "/workflows", definition(unique("event"), "1.0.0", fmt.Sprintf(flow, "true")), "Content-Type", "application/yaml")
	if a.Status != 422 || !strings.Contains(string(a.Body), "answer_by_event") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	deploy(t, s, fmt.Sprintf(flow, "false"))
	e := finish(t, s, begin(t, s, deploy(t, s, fmt.Sprintf(flow, "'${ .by_event }'")), `{"by_event":true}`))
	if e["status"] != "error" || fields(e["error"])["status"] != 400 {
		t.Errorf("by an expression: %v", e)
	}
}
