package conformance

import (
	"fmt"
	"net/http"
	"time"

	"github.com/chargehand/chargehand/internal/value"
)

// execute starts the workflow and waits for its end.
func (s *scenario) execute() error {
	if err := s.start(); err != nil {
		return err
	}
	return s.await()
}

func (s *scenario) start() error {
	s.host.Arm()
	a, err := s.host.Try(http.MethodPost, "/workflows/"+s.workflow+"/executions", `{"input":`+s.input+`}`)
	if err != nil {
		return err
	}
	if a.Status != http.StatusCreated {
		return fmt.Errorf("start: %d %s", a.Status, a.Body)
	}
	s.id, _ = a.Object()["execution_id"].(string)
	return nil
}

func (s *scenario) path() string { return "/workflows/" + s.workflow + "/executions/" + s.id }

// stepTimeout is how long a scenario waits for something that must happen.
const stepTimeout = 60 * time.Second

// await waits for the end and reads what has come of the execution.
func (s *scenario) await() error {
	for deadline := time.Now().Add(stepTimeout); ; {
		a, err := s.host.Try(http.MethodGet, s.path()+"?wait=5s", "")
		if err != nil {
			return err
		}
		s.execution = a.Object()
		if status := s.execution["status"]; status == "finished" || status == "error" {
			if err := s.readTimeline(); err != nil {
				return err
			}
			return s.followsGraph()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the execution does not end: %s", a.Body)
		}
	}
}

// awaitPhase waits until the execution is in a phase.
func (s *scenario) awaitPhase(phase string) error {
	for deadline := time.Now().Add(stepTimeout); ; {
		a, err := s.host.Try(http.MethodGet, s.path(), "")
		if err != nil {
			return err
		}
		s.execution = a.Object()
		switch {
		case s.execution["phase"] == phase:
			return nil
		case s.execution["status"] == "finished" || s.execution["status"] == "error" || time.Now().After(deadline):
			return fmt.Errorf("the execution is not %s: %s", phase, a.Body)
		}
		time.Sleep(5 * time.Millisecond) // a phase has no other signal from outside
	}
}

func (s *scenario) giveInput(text string) error {
	v, err := decode(text)
	s.input = string(value.Marshal(v))
	return err
}

func (s *scenario) publish(text string) error {
	v, err := decode(text)
	if err != nil {
		return err
	}
	a, err := s.host.Try(http.MethodPost, "/events", string(value.Marshal(v)), "Content-Type", "application/cloudevents+json")
	if err == nil && a.Status != http.StatusAccepted {
		err = fmt.Errorf("publish: %d %s", a.Status, a.Body)
	}
	return err
}

// passMoment waits for the next millisecond: what starts now starts after what was accepted.
func (s *scenario) passMoment() error {
	for now := time.Now().UnixMilli(); time.Now().UnixMilli() <= now; {
		time.Sleep(time.Millisecond) // it is the clock that is waited for
	}
	return nil
}

func (s *scenario) cancel() error {
	a, err := s.host.Try(http.MethodPost, s.path()+"/cancel", "")
	if err == nil && a.Status != http.StatusAccepted {
		err = fmt.Errorf("cancel: %d %s", a.Status, a.Body)
	}
	return err
}

func (s *scenario) suspend() error {
	if err := s.switchTo("suspend"); err != nil {
		return err
	}
	return s.awaitPhase("suspended")
}

func (s *scenario) resume() error { return s.switchTo("resume") }

// retryFrom starts a new execution that begins with a task of the one that has ended. Later steps are about the new
// one.
func (s *scenario) retryFrom(reference string) error {
	a, err := s.host.Try(http.MethodPost, s.path()+"/retry", fmt.Sprintf(`{"from":%q}`, reference))
	if err != nil {
		return err
	}
	if a.Status != http.StatusCreated || a.Object()["retry_of"] != s.id {
		return fmt.Errorf("retry: %d %s", a.Status, a.Body)
	}
	s.id, _ = a.Object()["execution_id"].(string)
	s.from = reference
	return nil
}

// switchTo suspends or resumes the execution. After a crash the first attempt may have done it.
func (s *scenario) switchTo(what string) error {
	a, err := s.host.Try(http.MethodPost, s.path()+"/"+what, "")
	if err == nil && a.Status != http.StatusAccepted && a.Status != http.StatusConflict {
		err = fmt.Errorf("%s: %d %s", what, a.Status, a.Body)
	}
	return err
}

// noneEnded looks for an execution of the workflow that has finished with that output.
func (s *scenario) noneEnded(text string) error {
	a, err := s.host.Try(http.MethodGet, "/workflows/"+s.workflow+"/executions?status=finished&limit=100", "")
	if err != nil {
		return err
	}
	list, _ := a.Object()["data"].([]any)
	for _, item := range list {
		one, _ := item.(map[string]any)
		id, _ := one["id"].(string)
		read, err := s.host.Try(http.MethodGet, "/workflows/"+s.workflow+"/executions/"+id, "")
		if err != nil {
			return err
		}
		if equals(read.Object()["output"], text) == nil {
			return fmt.Errorf("execution %s has: %s", id, read.Body)
		}
	}
	return nil
}

// otherEnds waits for the newest finished execution of the workflow that was not started by
// the scenario itself: by a schedule, or by another workflow.
func (s *scenario) otherEnds(text string) error {
	for deadline := time.Now().Add(stepTimeout); ; {
		a, err := s.host.Try(http.MethodGet, "/workflows/"+s.workflow+"/executions?status=finished&limit=100", "")
		if err != nil {
			return err
		}
		list, _ := a.Object()["data"].([]any)
		for _, item := range list {
			one, _ := item.(map[string]any)
			id, _ := one["id"].(string)
			if id == s.id {
				continue
			}
			read, err := s.host.Try(http.MethodGet, "/workflows/"+s.workflow+"/executions/"+id, "")
			if err != nil {
				return err
			}
			if err = equals(read.Object()["output"], text); err == nil {
				return nil
			}
			if time.Now().After(deadline) {
				return err
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no other execution has finished: %s", a.Body)
		}
		time.Sleep(10 * time.Millisecond) // a list has no other signal from outside
	}
}
