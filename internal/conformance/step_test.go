package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/chargehand/chargehand/internal/value"
)

// scenario is the state between the steps of one scenario.
type scenario struct {
	t         *testing.T
	host      host
	outside   *standIn
	workflow  string
	scheduled []string // workflows that start by themselves
	warnings  []any
	refusal   map[string]any // of the last deployment
	input     string
	id        string // of the execution
	from      string // the task that it begins with; "": the first
	execution map[string]any
	timeline  []map[string]any // entries in the order in which the tasks started
}

func newScenario(t *testing.T, h host, outside *standIn) *scenario {
	return &scenario{t: t, host: h, outside: outside, input: "{}"}
}

// definitions are the steps: first those of the kit, then our own.
var definitions = []definition{
	on(`(?:a|another) workflow with definition:`, func(s *scenario, a []string) error { return s.deploy(a[0]) }),
	on(`a draft with definition:`, func(s *scenario, a []string) error { return s.deployDraft(a[0]) }),
	on(`no execution of the workflow should have ended with output:`, func(s *scenario, a []string) error { return s.noneEnded(a[0]) }),
	on(`(?:given )?the workflow input is:`, func(s *scenario, a []string) error { return s.giveInput(a[0]) }),
	on(`the workflow is executed`, func(s *scenario, _ []string) error { return s.execute() }),
	on(`the workflow should (complete|fault|cancel)`, func(s *scenario, a []string) error { return s.ends(a[0]) }),
	on(`the workflow should complete with output:`, func(s *scenario, a []string) error { return s.completesWith(a[0]) }),
	on(`the workflow should fault with error:`, func(s *scenario, a []string) error { return s.faultsWith(a[0], true) }),
	on(`the workflow output should have properties (.+)`, func(s *scenario, a []string) error { return s.hasProperties(a[0]) }),
	on(`the workflow output should have a '([^']+)' property with value:`, func(s *scenario, a []string) error { return s.hasProperty(a[0], a[1]) }),
	on(`the workflow output should have a '([^']+)' property containing (\d+) items`, func(s *scenario, a []string) error { return s.hasItems(a[0], a[1]) }),
	on(`(\S+) should run (first|last)`, func(s *scenario, a []string) error { return s.runsAtEdge(a[0], a[1]) }),
	on(`(\S+) should run (before|after) (\S+)`, func(s *scenario, a []string) error { return s.runsBeside(a[0], a[1], a[2]) }),
	on(`(\S+) should (complete|fault|cancel)`, func(s *scenario, a []string) error { return s.taskEnds(a[0], a[1]) }),
	on(`(\S+) should complete with output:`, func(s *scenario, a []string) error { return s.taskOutput(a[0], a[1]) }),
	on(`(\S+) should fault with error:`, func(s *scenario, a []string) error { return s.taskError(a[0], a[1]) }),

	on(`the workflow should fault with an error like:`, func(s *scenario, a []string) error { return s.faultsWith(a[0], false) }),
	on(`(\S+) should not run`, func(s *scenario, a []string) error { return s.runs(a[0], 0) }),
	on(`(\S+) should run (\d+) times?`, func(s *scenario, a []string) error { return s.runsTimes(a[0], a[1]) }),
	on(`a definition that is refused:`, func(s *scenario, a []string) error { return s.refuse(a[0]) }),
	on(`the definition should be refused with '([a-z_]+)' at '([^']*)'`, func(s *scenario, a []string) error { return s.refused(a[0], a[1]) }),
	on(`the deployment should warn with '([a-z_]+)' at '([^']*)'`, func(s *scenario, a []string) error { return s.warned(a[0], a[1]) }),
	on(`the refusal should say '(.+)'`, func(s *scenario, a []string) error { return s.refusalSays(a[0]) }),
	on(`the deployment should not warn`, func(s *scenario, _ []string) error { return s.notWarned() }),
	on(`the secret '([^']+)' is:`, func(s *scenario, a []string) error { return s.giveSecret(a[0], a[1]) }),
	on(`the workflow input has (the private key of the client|an authorization code|a refresh token)`, func(s *scenario, a []string) error { return s.giveCredential(a[0]) }),
	on(`(\d+) containers? should be named '([^']+)'`, func(s *scenario, a []string) error { return s.outside.peers.named(a[0], a[1]) }),
	on(`the workflow is started`, func(s *scenario, _ []string) error { return s.start() }),
	on(`the workflow is waiting`, func(s *scenario, _ []string) error { return s.awaitPhase("waiting") }),
	on(`the event is published:`, func(s *scenario, a []string) error { return s.publish(a[0]) }),
	on(`the clock has moved on`, func(s *scenario, _ []string) error { return s.passMoment() }),
	on(`the workflow has ended`, func(s *scenario, _ []string) error { return s.await() }),
	on(`the execution is cancelled`, func(s *scenario, _ []string) error { return s.cancel() }),
	on(`the execution is suspended`, func(s *scenario, _ []string) error { return s.suspend() }),
	on(`the execution is resumed`, func(s *scenario, _ []string) error { return s.resume() }),
	on(`the execution is retried from '([^']+)'`, func(s *scenario, a []string) error { return s.retryFrom(a[0]) }),
	on(`another execution of the workflow ends with output:`, func(s *scenario, a []string) error { return s.otherEnds(a[0]) }),
	on(`the link '([^']+)' of the output should lead to the (execution|task) with output:`, func(s *scenario, a []string) error { return s.follow(a[0], a[1], a[2]) }),
	on(`the world should have received (\d+) requests? for '([^']+)'`, func(s *scenario, a []string) error { return s.received(a[0], a[1]) }),
}

// deploy applies a definition.
func (s *scenario) deploy(definition string) error {
	a, err := s.host.Try(http.MethodPost, "/workflows", definition, "Content-Type", "application/yaml")
	if err != nil {
		return err
	}
	if a.Status != http.StatusCreated && a.Status != http.StatusOK {
		return fmt.Errorf("deploy: %d %s", a.Status, a.Body)
	}
	s.workflow, _ = a.Object()["id"].(string)
	s.warnings, _ = a.Object()["warnings"].([]any)
	if strings.Contains(definition, "schedule:") {
		s.scheduled = append(s.scheduled, s.workflow)
	}
	return nil
}

// unschedule deletes the workflows of the scenario that start by themselves. They would run beside all
// scenarios that follow, some of them ten times a second.
func (s *scenario) unschedule() error {
	for _, id := range s.scheduled {
		a, err := s.host.Try(http.MethodDelete, "/workflows/"+id, "")
		if err != nil {
			return err
		}
		if a.Status != http.StatusNoContent && a.Status != http.StatusNotFound {
			return fmt.Errorf("delete the workflow: %d %s", a.Status, a.Body)
		}
	}
	return nil
}

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

func (s *scenario) readTimeline() error {
	s.timeline = nil
	for after := ""; ; {
		a, err := s.host.Try(http.MethodGet, s.path()+"/timeline?limit=100"+after, "")
		if err != nil {
			return err
		}
		entries, _ := a.Object()["data"].([]any)
		for _, e := range entries {
			entry, _ := e.(map[string]any)
			s.timeline = append(s.timeline, entry)
		}
		cursor, more := a.Object()["cursor"].(string)
		if !more {
			break
		}
		after = "&cursor=" + cursor
	}
	seq := func(entry map[string]any) int { n, _ := entry["seq"].(int); return n }
	sort.SliceStable(s.timeline, func(i, j int) bool { return seq(s.timeline[i]) < seq(s.timeline[j]) })
	return nil
}

// decode reads the YAML of a step as a value.
func decode(text string) (value.Value, error) {
	var tree any
	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		return nil, err
	}
	data, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	return value.Parse(data, value.Limits{})
}

func (s *scenario) giveInput(text string) error {
	v, err := decode(text)
	s.input = string(value.Marshal(v))
	return err
}

var phases = map[string]string{"complete": "completed", "fault": "faulted", "cancel": "cancelled"}

func (s *scenario) ends(how string) error {
	if s.execution["phase"] != phases[how] {
		return fmt.Errorf("the phase is %v: %s", s.execution["phase"], value.Marshal(s.execution))
	}
	return nil
}

func (s *scenario) completesWith(text string) error {
	if err := s.ends("complete"); err != nil {
		return err
	}
	return equals(s.execution["output"], text)
}

// faultsWith compares the error of the execution, all of it or only what the text names.
func (s *scenario) faultsWith(text string, whole bool) error {
	if err := s.ends("fault"); err != nil {
		return err
	}
	got, _ := s.execution["error"].(map[string]any)
	return sameError(got, text, whole)
}

func sameError(got map[string]any, text string, whole bool) error {
	v, err := decode(text)
	if err != nil {
		return err
	}
	want, _ := v.(map[string]any)
	for name, wanted := range want {
		if part, ok := wanted.(string); ok && !whole && name == "detail" {
			if detail, _ := got[name].(string); strings.Contains(detail, part) {
				continue
			}
		}
		if !value.Equal(got[name], wanted) {
			return fmt.Errorf("error.%s is %s, want %s", name, value.Marshal(got[name]), value.Marshal(wanted))
		}
	}
	for _, name := range []string{"type", "status", "title", "detail", "instance"} {
		if _, wanted := want[name]; whole && !wanted && got[name] != nil {
			return fmt.Errorf("error.%s is %s, want none", name, value.Marshal(got[name]))
		}
	}
	return nil
}

func equals(got value.Value, text string) error {
	want, err := decode(text)
	if err == nil && !value.Equal(got, want) {
		err = fmt.Errorf("got %s, want %s", value.Marshal(got), value.Marshal(want))
	}
	return err
}

func lookup(v value.Value, path string) (value.Value, error) {
	for _, name := range strings.Split(path, ".") {
		object, _ := v.(map[string]any)
		inner, found := object[name]
		if !found {
			return nil, fmt.Errorf("the output has no %s: %s", path, value.Marshal(v))
		}
		v = inner
	}
	return v, nil
}

var quoted = regexp.MustCompile(`'([^']+)'`)

func (s *scenario) hasProperties(list string) error {
	for _, match := range quoted.FindAllStringSubmatch(list, -1) {
		if _, err := lookup(s.execution["output"], match[1]); err != nil {
			return err
		}
	}
	return nil
}

func (s *scenario) hasProperty(path, text string) error {
	v, err := lookup(s.execution["output"], path)
	if err != nil {
		return err
	}
	return equals(v, text)
}

func (s *scenario) hasItems(path, count string) error {
	v, err := lookup(s.execution["output"], path)
	if err != nil {
		return err
	}
	items, _ := v.([]any)
	if strconv.Itoa(len(items)) != count {
		return fmt.Errorf("%s holds %d items, want %s", path, len(items), count)
	}
	return nil
}

// started lists the names of the tasks in the order in which they started.
func (s *scenario) started() []string {
	names := make([]string, len(s.timeline))
	for i, entry := range s.timeline {
		names[i], _ = entry["name"].(string)
	}
	return names
}

func (s *scenario) index(task string) (int, error) {
	at := slices.Index(s.started(), task)
	if at < 0 {
		return 0, fmt.Errorf("%s did not run; started: %v", task, s.started())
	}
	return at, nil
}

func (s *scenario) runsAtEdge(task, edge string) error {
	if _, err := s.index(task); err != nil {
		return err
	}
	started := s.started()
	at := 0
	if edge == "last" {
		at = len(started) - 1
	}
	if started[at] != task {
		return fmt.Errorf("%s ran %s; started: %v", started[at], edge, started)
	}
	return nil
}

func (s *scenario) runsBeside(task, side, other string) error {
	at, err := s.index(task)
	if err != nil {
		return err
	}
	otherAt, err := s.index(other)
	if err != nil {
		return err
	}
	if (side == "before") != (at < otherAt) || at == otherAt {
		return fmt.Errorf("%s did not run %s %s; started: %v", task, side, other, s.started())
	}
	return nil
}

func (s *scenario) runs(task string, times int) error {
	n := 0
	for _, name := range s.started() {
		if name == task {
			n++
		}
	}
	if n != times {
		return fmt.Errorf("%s ran %d times; started: %v", task, n, s.started())
	}
	return nil
}

func (s *scenario) runsTimes(task, times string) error {
	n, err := strconv.Atoi(times)
	if err != nil {
		return err
	}
	// On Temporal a workflow completes the timeline after a cancellation, which is shown before.
	for deadline := time.Now().Add(stepTimeout / 3); ; {
		err := s.runs(task, n)
		if err == nil || s.execution["phase"] != "cancelled" || time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond) // it has no other signal from outside
		if err := s.readTimeline(); err != nil {
			return err
		}
	}
}

// entry is the last entry of a task.
func (s *scenario) entry(task string) (map[string]any, error) {
	for _, entry := range slices.Backward(s.timeline) {
		if entry["name"] == task {
			return entry, nil
		}
	}
	return nil, fmt.Errorf("%s did not run; started: %v", task, s.started())
}

func (s *scenario) taskEnds(task, how string) error {
	entry, err := s.entry(task)
	if err == nil && entry["phase"] != phases[how] {
		err = fmt.Errorf("the phase of %s is %v", task, entry["phase"])
	}
	return err
}

func (s *scenario) taskOutput(task, text string) error {
	if err := s.taskEnds(task, "complete"); err != nil {
		return err
	}
	entry, err := s.entry(task)
	if err != nil {
		return err
	}
	return equals(entry["output"], text)
}

func (s *scenario) taskError(task, text string) error {
	if err := s.taskEnds(task, "fault"); err != nil {
		return err
	}
	entry, err := s.entry(task)
	if err != nil {
		return err
	}
	got, _ := entry["error"].(map[string]any)
	return sameError(got, text, false)
}

// refuse applies a definition that must not be accepted.
func (s *scenario) refuse(definition string) error {
	a, err := s.host.Try(http.MethodPost, "/workflows", definition, "Content-Type", "application/yaml")
	if err != nil {
		return err
	}
	if a.Status != http.StatusUnprocessableEntity {
		return fmt.Errorf("deploy: %d %s", a.Status, a.Body)
	}
	s.refusal = a.Object()
	return nil
}

// problem looks for a problem of a definition, which must have its place in the text.
func problem(list []any, code, pointer string) error {
	for _, p := range list {
		one, _ := p.(map[string]any)
		line, _ := one["line"].(int)
		column, _ := one["column"].(int)
		if one["code"] == code && one["pointer"] == pointer && line > 0 && column > 0 {
			return nil
		}
	}
	return fmt.Errorf("there is no %s at %q with its place: %s", code, pointer, value.Marshal(list))
}

func (s *scenario) refused(code, pointer string) error {
	list, _ := s.refusal["errors"].([]any)
	return problem(list, code, pointer)
}

// refusalSays looks for a part of what a problem says.
func (s *scenario) refusalSays(part string) error {
	list, _ := s.refusal["errors"].([]any)
	for _, p := range list {
		one, _ := p.(map[string]any)
		if detail, _ := one["detail"].(string); strings.Contains(detail, part) {
			return nil
		}
	}
	return fmt.Errorf("no problem says %q: %s", part, value.Marshal(list))
}

func (s *scenario) warned(code, pointer string) error { return problem(s.warnings, code, pointer) }

func (s *scenario) notWarned() error {
	if len(s.warnings) > 0 {
		return fmt.Errorf("the deployment warns: %s", value.Marshal(s.warnings))
	}
	return nil
}

func (s *scenario) giveSecret(name, text string) error {
	v, err := decode(text)
	if err != nil {
		return err
	}
	a, err := s.host.Try(http.MethodPut, "/secrets/"+name, `{"value":`+string(value.Marshal(v))+`}`)
	if err == nil && a.Status >= 300 {
		err = fmt.Errorf("set the secret: %d %s", a.Status, a.Body)
	}
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

// follow reads what a link in the output leads to, the outputUri of an event (T64).
func (s *scenario) follow(path, kind, text string) error {
	v, err := lookup(s.execution["output"], path)
	if err != nil {
		return err
	}
	uri, _ := v.(string)
	_, relative, found := strings.Cut(uri, "/api/v1")
	if !found {
		return fmt.Errorf("%s is no link: %s", path, value.Marshal(v))
	}
	a, err := s.host.Try(http.MethodGet, relative, "")
	if err != nil {
		return err
	}
	one := a.Object()
	if kind == "task" {
		entries, _ := one["data"].([]any)
		if len(entries) != 1 {
			return fmt.Errorf("%s leads to: %d %s", uri, a.Status, a.Body)
		}
		one, _ = entries[0].(map[string]any)
	}
	return equals(one["output"], text)
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

// deployDraft applies a definition without publishing it.
func (s *scenario) deployDraft(definition string) error {
	a, err := s.host.Try(http.MethodPost, "/workflows?draft=true", definition, "Content-Type", "application/yaml")
	if err == nil && a.Status != http.StatusCreated && a.Status != http.StatusOK {
		err = fmt.Errorf("deploy: %d %s", a.Status, a.Body)
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

func (s *scenario) received(count, path string) error {
	if got := strconv.Itoa(s.outside.count(path)); got != count {
		return fmt.Errorf("%s requests for %s, want %s", got, path, count)
	}
	return nil
}
