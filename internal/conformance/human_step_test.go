package conformance

import (
	"fmt"
	"net/http"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
	"github.com/chargehand/chargehand/internal/value"
)

// humanDefinitions are the steps of the scenarios about people.
var humanDefinitions = []definition{
	on(`the execution needs a person`, func(s *scenario, _ []string) error { return s.awaitPerson() }),
	on(`the human task '([^']+)' is answered:`, func(s *scenario, a []string) error { return s.answerTask(a[0], a[1]) }),
	on(`an answer to the human task '([^']+)' is refused with '([a-z_]+)':`, func(s *scenario, a []string) error { return s.refuseAnswer(a[0], a[1], a[2]) }),
	on(`the human task '([^']+)' should be answered`, func(s *scenario, a []string) error { return s.taskIs(a[0], "answered", "") }),
	on(`the human task '([^']+)' should be withdrawn by '([a-z_]+)'`, func(s *scenario, a []string) error { return s.taskIs(a[0], "withdrawn", a[1]) }),
}

// awaitPerson waits until the status of the execution says that it needs a person.
func (s *scenario) awaitPerson() error {
	for deadline := time.Now().Add(stepTimeout); ; {
		a, err := s.host.Try(http.MethodGet, s.path()+"?wait=5s", "")
		if err != nil {
			return err
		}
		switch status := a.Object()["status"]; {
		case status == "human_in_the_loop":
			return nil
		case status == "finished" || status == "error" || time.Now().After(deadline):
			return fmt.Errorf("the execution does not need a person: %s", a.Body)
		}
	}
}

// humanTask finds the newest task of the execution with a title; nil: there is none.
func (s *scenario) humanTask(title string) (map[string]any, error) {
	a, err := s.host.Try(http.MethodGet, "/human-tasks?status=open&status=claimed&status=answered&status=withdrawn&sort=created&execution_id="+s.id, "")
	if err != nil {
		return nil, err
	}
	list, _ := a.Object()["data"].([]any)
	for _, item := range list {
		if task, _ := item.(map[string]any); task["title"] == title {
			return task, nil
		}
	}
	return nil, nil
}

// openTask waits for a task with a title that is open.
func (s *scenario) openTask(title string) (path string, err error) {
	for deadline := time.Now().Add(stepTimeout); ; {
		task, err := s.humanTask(title)
		if err != nil {
			return "", err
		}
		if task["status"] == "open" {
			return fmt.Sprintf("/human-tasks/%v", task["id"]), nil
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("no task %q is open: %s", title, value.Marshal(task))
		}
		time.Sleep(5 * time.Millisecond) // a task has no other signal from outside
	}
}

func (s *scenario) answerTask(title, body string) error {
	a, err := s.tryAnswer(title, body)
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("answer: %d %s", a.Status, a.Body)
	}
	return err
}

func (s *scenario) refuseAnswer(title, code, body string) error {
	a, err := s.tryAnswer(title, body)
	if err == nil && a.Object()["code"] != code {
		err = fmt.Errorf("answer: %d %s", a.Status, a.Body)
	}
	return err
}

// taskIs checks how a task has ended, which may be a moment after the execution continued.
func (s *scenario) taskIs(title, status, why string) error {
	for deadline := time.Now().Add(stepTimeout); ; {
		task, err := s.humanTask(title)
		if err != nil {
			return err
		}
		reason, _ := task["withdrawn_reason"].(string)
		if task["status"] == status && reason == why {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the task is %s", value.Marshal(task))
		}
		time.Sleep(5 * time.Millisecond) // a task has no other signal from outside
	}
}

// tryAnswer answers a task as soon as it is open. The same answer again is no other one, so a crash may repeat it.
func (s *scenario) tryAnswer(title, text string) (servertest.Answer, error) {
	v, err := decode(text)
	if err != nil {
		return servertest.Answer{}, err
	}
	path, err := s.openTask(title)
	if err != nil {
		return servertest.Answer{}, err
	}
	return s.host.Try(http.MethodPost, path+"/answer", string(value.Marshal(v)))
}
