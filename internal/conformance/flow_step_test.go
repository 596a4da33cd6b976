package conformance

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/value"
)

// flowDefinitions are the steps of the scenarios about data, flow, errors and processes.
var flowDefinitions = []definition{
	on(`the workflow is executed without input`, func(s *scenario, _ []string) error { return s.executeWithoutInput() }),
	on(`a start should be refused with '([a-z_]+)' at '([^']*)'`, func(s *scenario, a []string) error { return s.startRefused(a[0], a[1]) }),
	on(`(\S+) has run (\d+) times?`, func(s *scenario, a []string) error { return s.awaitRuns(a[0], a[1]) }),
	on(`attempt (\d+) of '([^']+)' waits in 'PT(\d+)M'`, func(s *scenario, a []string) error { return s.awaitAttempt(a[0], a[1], a[2]) }),
	on(`(\S+) should stand at '([^']+)'`, func(s *scenario, a []string) error { return s.standsAt(a[0], a[1]) }),
	on(`nothing that is shown should contain '([^']+)'`, func(s *scenario, a []string) error { return s.hides(a[0]) }),
	on(`an execution of '([^']+)' should (complete|fault|cancel)`, func(s *scenario, a []string) error { return s.executionOf(a[0], a[1], "") }),
	on(`an execution of '([^']+)' has started`, func(s *scenario, a []string) error { return s.startedOf(a[0]) }),
	on(`an execution of '([^']+)' should complete with output:`, func(s *scenario, a []string) error { return s.executionOf(a[0], "complete", a[1]) }),
	on(`a workflow with (\d+) tasks inside of each other`, func(s *scenario, a []string) error { return s.deploy(nested(a[0])) }),
	on(`a definition with (\d+) tasks inside of each other that is refused`, func(s *scenario, a []string) error { return s.refuse(nested(a[0])) }),
	on(`the definition should be refused with '([a-z_]+)'`, func(s *scenario, a []string) error { return s.refusedSomewhere(a[0]) }),
	on(`the world should have received at most (\d+) requests? for '([^']+)'`, func(s *scenario, a []string) error { return s.receivedAtMost(a[0], a[1]) }),
}

// executeWithoutInput starts the workflow by a body that has no input (T16).
func (s *scenario) executeWithoutInput() error {
	s.host.Arm()
	a, err := s.host.Try(http.MethodPost, "/workflows/"+s.workflow+"/executions", "{}")
	if err != nil {
		return err
	}
	if a.Status != http.StatusCreated {
		return fmt.Errorf("start: %d %s", a.Status, a.Body)
	}
	s.id, _ = a.Object()["execution_id"].(string)
	return s.await()
}

// startRefused starts the workflow, which must not be possible.
func (s *scenario) startRefused(code, pointer string) error {
	a, err := s.host.Try(http.MethodPost, "/workflows/"+s.workflow+"/executions", `{"input":`+s.input+`}`)
	if err != nil {
		return err
	}
	list, _ := a.Object()["errors"].([]any)
	for _, p := range list {
		if one, _ := p.(map[string]any); one["pointer"] == pointer && a.Object()["code"] == code {
			return nil
		}
	}
	return fmt.Errorf("start: %d %s", a.Status, a.Body)
}

// awaitAttempt waits until the execution shows that an attempt of a task is delayed.
func (s *scenario) awaitAttempt(number, reference, minutes string) error {
	for deadline := time.Now().Add(stepTimeout); ; {
		a, err := s.host.Try(http.MethodGet, s.path(), "")
		if err != nil {
			return err
		}
		e := a.Object()
		attempting, _ := e["attempting"].(map[string]any)
		waiting, _ := e["waiting_for"].(map[string]any)
		next, _ := attempting["next_at"].(string)
		at, _ := time.Parse(time.RFC3339, next)
		delay, _ := strconv.Atoi(minutes)
		left := time.Until(at)
		if fmt.Sprint(attempting["attempt"]) == number && attempting["reference"] == reference && waiting["kind"] == "retry" &&
			waiting["until"] == next && left > 0 && left <= time.Duration(delay)*time.Minute {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("attempt %s of %s does not show: %s", number, reference, a.Body)
		}
		time.Sleep(5 * time.Millisecond) // the row has no other signal from outside
	}
}

// awaitRuns waits until a task has started that often.
func (s *scenario) awaitRuns(task, times string) error {
	for deadline := time.Now().Add(stepTimeout); ; {
		if err := s.readTimeline(); err != nil {
			return err
		}
		err := s.runsTimes(task, times)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(5 * time.Millisecond) // a start has no other signal from outside
	}
}

// standsAt checks the place of a task in the definition (T2).
func (s *scenario) standsAt(task, pointer string) error {
	entry, err := s.entry(task)
	if err == nil && entry["reference"] != pointer {
		err = fmt.Errorf("%s stands at %v", task, entry["reference"])
	}
	return err
}

// hides checks that a text is in nothing that is shown of the execution.
func (s *scenario) hides(text string) error {
	if shown := string(value.Marshal(s.execution)); strings.Contains(shown, text) {
		return fmt.Errorf("the execution shows it: %s", shown)
	}
	for _, entry := range s.timeline {
		if shown := string(value.Marshal(entry)); strings.Contains(shown, text) {
			return fmt.Errorf("the timeline shows it: %s", shown)
		}
	}
	return nil
}

// idOf finds a deployed workflow by namespace/name.
func (s *scenario) idOf(workflow string) (string, error) {
	for after := ""; ; {
		a, err := s.host.Try(http.MethodGet, "/workflows?limit=100"+after, "")
		if err != nil {
			return "", err
		}
		list, _ := a.Object()["data"].([]any)
		for _, item := range list {
			one, _ := item.(map[string]any)
			if fmt.Sprintf("%v/%v", one["namespace"], one["name"]) == workflow {
				id, _ := one["id"].(string)
				return id, nil
			}
		}
		cursor, more := a.Object()["cursor"].(string)
		if !more {
			return "", fmt.Errorf("there is no workflow %s", workflow)
		}
		after = "&cursor=" + cursor
	}
}

// startedOf waits for an execution of another workflow, namespace/name.
func (s *scenario) startedOf(workflow string) error {
	id, err := s.idOf(workflow)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(stepTimeout); ; {
		a, err := s.host.Try(http.MethodGet, "/workflows/"+id+"/executions?limit=1", "")
		if err != nil {
			return err
		}
		if list, _ := a.Object()["data"].([]any); len(list) > 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no execution of %s has started: %s", workflow, a.Body)
		}
		time.Sleep(10 * time.Millisecond) // a list has no other signal from outside
	}
}

// executionOf waits for an execution of another workflow, namespace/name, to end like that.
func (s *scenario) executionOf(workflow, how, output string) error {
	id, err := s.idOf(workflow)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(stepTimeout); ; {
		a, err := s.host.Try(http.MethodGet, "/workflows/"+id+"/executions?limit=100", "")
		if err != nil {
			return err
		}
		list, _ := a.Object()["data"].([]any)
		for _, item := range list {
			one, _ := item.(map[string]any)
			child, _ := one["id"].(string)
			read, err := s.host.Try(http.MethodGet, "/workflows/"+id+"/executions/"+child, "")
			if err != nil {
				return err
			}
			if read.Object()["phase"] == phases[how] && (output == "" || equals(read.Object()["output"], output) == nil) {
				return nil
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no execution of %s ended so: %s", workflow, a.Body)
		}
		time.Sleep(10 * time.Millisecond) // a list has no other signal from outside
	}
}

// nested is a definition with that many tasks in one another (T90).
func nested(count string) string {
	n, _ := strconv.Atoi(count)
	text := `{"document":{"dsl":"1.0.3","namespace":"nested","name":"n` + count + `","version":"1.0.0"},"do":`
	text += strings.Repeat(`[{"t":{"do":`, n-1)
	text += `[{"t":{"set":{"depth":` + count + `}}}]`
	return text + strings.Repeat(`}}]`, n-1) + `}`
}

// refusedSomewhere is refused for a problem whose place depends on how deep the text may be.
func (s *scenario) refusedSomewhere(code string) error {
	list, _ := s.refusal["errors"].([]any)
	for _, p := range list {
		if one, _ := p.(map[string]any); one["code"] == code {
			return nil
		}
	}
	return fmt.Errorf("there is no %s: %s", code, value.Marshal(s.refusal))
}

// receivedAtMost is for requests that a crash may have prevented.
func (s *scenario) receivedAtMost(count, path string) error {
	most, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	if got := s.outside.count(path); got > most {
		return fmt.Errorf("%d requests for %s, want at most %d", got, path, most)
	}
	return nil
}
