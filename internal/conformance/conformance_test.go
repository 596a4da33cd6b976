package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/cucumber/godog"
	"go.yaml.in/yaml/v3"

	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/servertest"
)

// scenarios is how many the kit holds; fewer means that some were not run.
const scenarios = 21

func TestConformanceKit(t *testing.T) {
	kit := filepath.Join(servertest.Shared(t), "openworkflow", "ctk")
	world := newStandIn(t)
	server := servertest.Start(t, servertest.Options{Args: append(world.flags(), "--allow-run", "shell,python")})
	ran := 0
	suite := godog.TestSuite{
		Name: "conformance kit",
		ScenarioInitializer: func(ctx *godog.ScenarioContext) {
			ran++
			(&scenario{t: t, server: server}).register(ctx)
		},
		Options: &godog.Options{Format: "pretty", Paths: []string{kit}, TestingT: t, Strict: true, NoColors: true},
	}
	if suite.Run() != 0 {
		t.Error("the conformance kit does not pass")
	}
	if ran != scenarios {
		t.Errorf("%d scenarios ran, the kit has %d", ran, scenarios)
	}
	if world.requests.Load() == 0 {
		t.Error("no scenario reached the stand-in")
	}
}

// scenario is the state between the steps of one scenario.
type scenario struct {
	t         *testing.T
	server    *servertest.Server
	workflow  string
	input     string
	execution map[string]any
	started   []string // names of tasks in the order in which they started
}

func (s *scenario) register(ctx *godog.ScenarioContext) {
	s.input = "{}"
	ctx.Step(`^a workflow with definition:$`, s.deploy)
	ctx.Step(`^given the workflow input is:$`, s.giveInput)
	ctx.Step(`^the workflow is executed$`, s.execute)
	ctx.Step(`^the workflow should (complete|fault|cancel)$`, s.ends)
	ctx.Step(`^the workflow should complete with output:$`, s.completesWith)
	ctx.Step(`^the workflow should fault with error:$`, s.faultsWith)
	ctx.Step(`^the workflow output should have properties (.+)$`, s.hasProperties)
	ctx.Step(`^the workflow output should have a '([^']+)' property with value:$`, s.hasProperty)
	ctx.Step(`^the workflow output should have a '([^']+)' property containing (\d+) items$`, s.hasItems)
	ctx.Step(`^(\S+) should run (first|last)$`, s.runsAtEdge)
	ctx.Step(`^(\S+) should run (before|after) (\S+)$`, s.runsBeside)
}

func (s *scenario) deploy(_ context.Context, definition *godog.DocString) error {
	a, err := s.server.Try(http.MethodPost, "/workflows", definition.Content, "Content-Type", "application/yaml")
	if err != nil {
		return err
	}
	if a.Status != http.StatusCreated && a.Status != http.StatusOK {
		return fmt.Errorf("deploy: %d %s", a.Status, a.Body)
	}
	s.workflow, _ = a.Object()["id"].(string)
	return nil
}

// decode reads the YAML of a step as a value.
func decode(text string) (expr.Value, error) {
	var tree any
	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		return nil, err
	}
	data, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	return expr.Parse(data, expr.Limits{})
}

func (s *scenario) giveInput(text *godog.DocString) error {
	v, err := decode(text.Content)
	s.input = string(expr.Marshal(v))
	return err
}

func (s *scenario) execute() error {
	s.execution = s.server.Run(s.t, s.workflow, s.input)
	id, _ := s.execution["id"].(string)
	a, err := s.server.Try(http.MethodGet, "/workflows/"+s.workflow+"/executions/"+id+"/timeline", "")
	if err != nil {
		return err
	}
	entries, _ := a.Object()["data"].([]any)
	sort.SliceStable(entries, func(i, j int) bool {
		return entries[i].(map[string]any)["seq"].(int) < entries[j].(map[string]any)["seq"].(int)
	})
	for _, e := range entries {
		name, _ := e.(map[string]any)["name"].(string)
		s.started = append(s.started, name)
	}
	return nil
}

var phases = map[string]string{"complete": "completed", "fault": "faulted", "cancel": "cancelled"}

func (s *scenario) ends(how string) error {
	if s.execution["phase"] != phases[how] {
		return fmt.Errorf("the phase is %v: %s", s.execution["phase"], expr.Marshal(s.execution))
	}
	return nil
}

func (s *scenario) completesWith(text *godog.DocString) error {
	if err := s.ends("complete"); err != nil {
		return err
	}
	return equals(s.execution["output"], text.Content)
}

func (s *scenario) faultsWith(text *godog.DocString) error {
	if err := s.ends("fault"); err != nil {
		return err
	}
	want, err := decode(text.Content)
	if err != nil {
		return err
	}
	got, _ := s.execution["error"].(map[string]any)
	for name, value := range want.(map[string]any) {
		if !expr.Equal(got[name], value) {
			return fmt.Errorf("error.%s is %s, want %s", name, expr.Marshal(got[name]), expr.Marshal(value))
		}
	}
	for _, name := range []string{"type", "status", "title", "detail", "instance"} {
		if _, wanted := want.(map[string]any)[name]; !wanted && got[name] != nil {
			return fmt.Errorf("error.%s is %s, want none", name, expr.Marshal(got[name]))
		}
	}
	return nil
}

func equals(got expr.Value, text string) error {
	want, err := decode(text)
	if err == nil && !expr.Equal(got, want) {
		err = fmt.Errorf("got %s, want %s", expr.Marshal(got), expr.Marshal(want))
	}
	return err
}

func lookup(v expr.Value, path string) (expr.Value, error) {
	for _, name := range strings.Split(path, ".") {
		object, _ := v.(map[string]any)
		inner, found := object[name]
		if !found {
			return nil, fmt.Errorf("the output has no %s: %s", path, expr.Marshal(v))
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

func (s *scenario) hasProperty(path string, text *godog.DocString) error {
	v, err := lookup(s.execution["output"], path)
	if err != nil {
		return err
	}
	return equals(v, text.Content)
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

func (s *scenario) index(task string) (int, error) {
	for i, name := range s.started {
		if name == task {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%s did not run; started: %v", task, s.started)
}

func (s *scenario) runsAtEdge(task, edge string) error {
	if _, err := s.index(task); err != nil {
		return err
	}
	at := 0
	if edge == "last" {
		at = len(s.started) - 1
	}
	if s.started[at] != task {
		return fmt.Errorf("%s ran %s; started: %v", s.started[at], edge, s.started)
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
		return fmt.Errorf("%s did not run %s %s; started: %v", task, side, other, s.started)
	}
	return nil
}
