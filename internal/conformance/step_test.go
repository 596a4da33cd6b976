package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

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
