package conformance

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/value"
)

// conversions are the steps that can be converted, and what they become.
var conversions = []struct {
	text *regexp.Regexp
	do   func(c *conversion, a []string) error
}{
	{step(`(?:a|another) workflow with definition:`), func(c *conversion, a []string) error { return c.define(a[0]) }},
	{step(`(?:given )?the workflow input is:`), func(c *conversion, a []string) error { return c.decode(a[0], c.test, "input") }},
	{step(`the secret '([^']+)' is:`), func(c *conversion, a []string) error {
		if c.started {
			return needsServer // which keeps its versions
		}
		return c.decode(a[1], c.secrets, a[0])
	}},
	{step(`the workflow is executed(?: without input)?`), func(c *conversion, _ []string) error { return c.start(true) }},
	{step(`the workflow is started`), func(c *conversion, _ []string) error { return c.start(false) }},
	// What follows happens when nothing more can happen at that moment: then it has come to this.
	{step(`the workflow is waiting|the clock has moved on|the execution needs a person|.* has run [2-9] times`),
		func(c *conversion, _ []string) error { return nil }},
	{step(`attempt .* waits .*`), func(c *conversion, _ []string) error { c.awaited = ""; return nil }}, // no task does
	{step(`(\S+) has run 1 time`), func(c *conversion, a []string) error { c.awaited = a[0]; return nil }},
	{step(`the workflow has ended`), func(c *conversion, _ []string) error { c.ended = true; return nil }},
	{step(`the event is published:`), (*conversion).publish},
	{step(`the execution is cancelled`), func(c *conversion, _ []string) error { return c.at("cancel", true) }},
	{step(`the execution is suspended`), func(c *conversion, _ []string) error { return c.at("suspend", true) }},
	{step(`the execution is resumed`), func(c *conversion, _ []string) error { return c.at("resume", true) }},
	{step(`the human task '([^']+)' is answered:`), func(c *conversion, a []string) error {
		v, err := decode(a[1])
		c.answers = append(c.answers, titled{a[0], map[string]any{"answers": v}})
		return err
	}},
	{step(`the human task '([^']+)' should be answered`), func(c *conversion, a []string) error {
		c.verdicts = append(c.verdicts, titled{a[0], "completed"})
		return nil
	}},
	{step(`the human task '([^']+)' should be withdrawn by '(lost_branch|cancelled)'`), func(c *conversion, a []string) error {
		c.verdicts = append(c.verdicts, titled{a[0], "cancelled"})
		return nil
	}},
	{step(`the human task '([^']+)' should be withdrawn by 'timeout'`), func(c *conversion, a []string) error {
		c.verdicts = append(c.verdicts, titled{a[0], "faulted"})
		return nil
	}},
	{step(`the workflow should (complete|fault|cancel)`), func(c *conversion, a []string) error { return c.phase(phases[a[0]]) }},
	{step(`the workflow should complete with output:`), func(c *conversion, a []string) error {
		c.expect["phase"] = "completed"
		return c.decode(a[0], c.expect, "output_equals")
	}},
	{step(`the workflow should fault with error:`), func(c *conversion, a []string) error { return c.fault(a[0], true) }},
	{step(`the workflow should fault with an error like:`), func(c *conversion, a []string) error { return c.fault(a[0], false) }},
	{step(`the workflow output should have properties (.+)`), func(c *conversion, a []string) error {
		for _, match := range quoted.FindAllStringSubmatch(a[0], -1) {
			c.check(".output%s != null", path(match[1]))
		}
		return nil
	}},
	{step(`the workflow output should have a '([^']+)' property with value:`), func(c *conversion, a []string) error {
		v, err := decode(a[1])
		c.check(".output%s == %s", path(a[0]), value.Marshal(v))
		return err
	}},
	{step(`the workflow output should have a '([^']+)' property containing (\d+) items`), func(c *conversion, a []string) error {
		c.check("(.output%s | length) == %s", path(a[0]), a[1])
		return nil
	}},
	{step(`(\S+) should run (first|last)`), func(c *conversion, a []string) error {
		name := value.Marshal(a[0])
		c.check(".order[%d] | . == %s or endswith(\"/\" + %s)", map[string]int{"first": 0, "last": -1}[a[1]], name, name)
		return nil
	}},
	{step(`(\S+) should run (before|after) (\S+)`), func(c *conversion, a []string) error {
		order := []any{a[0], a[2]}
		if a[1] == "after" {
			slices.Reverse(order)
		}
		if c.expect["order"] != nil {
			order = append(c.expect["order"].([]any), order[1])
		}
		c.expect["order"] = order
		return nil
	}},
	{step(`the world should have received (\d+) requests? for '([^']+)'`), func(c *conversion, a []string) error {
		c.paths = append(c.paths, a[1])
		c.check("([.calls[] | select(.kind == \"http\" and (.args.endpoint | tostring | endswith(%s)))] | length) == %s", value.Marshal(a[1]), a[0])
		return nil
	}},
	{step(`the deployment should warn with '([a-z_]+)' at '[^']*'`), func(c *conversion, a []string) error {
		codes, _ := c.expect["warnings"].([]any)
		c.expect["warnings"] = append(codes, a[0])
		return nil
	}},
	{step(`the deployment should not warn`), func(c *conversion, _ []string) error { c.expect["warnings"] = []any{}; return nil }},
	{step(`a definition that is refused:`), func(c *conversion, a []string) error { c.refused = true; return c.define(a[0]) }},
	{step(`a definition with (\d+) tasks inside of each other that is refused`), func(c *conversion, a []string) error {
		c.refused = true
		return c.define(nested(a[0]))
	}},
	{step(`a workflow with (\d+) tasks inside of each other`), func(c *conversion, a []string) error { return c.define(nested(a[0])) }},
	{step(`the definition should be refused with '([a-z_]+)' at '([^']*)'`), func(c *conversion, a []string) error {
		c.problems = append(c.problems, problemAt{a[0], a[1]})
		return nil
	}},
	{step(`the refusal should say '(.+)'`), func(c *conversion, a []string) error { c.says = append(c.says, a[0]); return nil }},
	{step(`(\S+) should not run`), func(c *conversion, a []string) error { return c.times(a[0], 0) }},
	{step(`(\S+) should run (\d+) times?`), func(c *conversion, a []string) error {
		n, err := strconv.Atoi(a[1])
		if err != nil {
			return err
		}
		return c.times(a[0], n)
	}},
	{step(`(\S+) should stand at '([^']+)'`), func(c *conversion, a []string) error {
		if !strings.HasSuffix(a[1], "/"+a[0]) {
			return fmt.Errorf("%s cannot stand at %s", a[0], a[1])
		}
		tasks, _ := c.expect["tasks"].(map[string]any)
		if tasks == nil {
			tasks = map[string]any{}
		}
		tasks[a[1]] = map[string]any{} // the file is wrong if there is no such task
		c.expect["tasks"] = tasks
		c.check("(%s | map(.times) | add // 0) > 0", runsOf(a[0]))
		return nil
	}},
	{step(`(\S+) should (complete|fault|cancel)`), func(c *conversion, a []string) error {
		c.run(a[0], ".phase == %s", value.Marshal(phases[a[1]]))
		return nil
	}},
	{step(`(\S+) should complete with output:`), func(c *conversion, a []string) error {
		v, err := decode(a[1])
		c.run(a[0], ".phase == \"completed\" and .output == %s", value.Marshal(v))
		return err
	}},
	{step(`(\S+) should fault with error:`), func(c *conversion, a []string) error {
		v, err := decode(a[1])
		want, _ := v.(map[string]any)
		for _, name := range value.SortedKeys(want) {
			c.run(a[0], ".error.%s == %s", name, value.Marshal(want[name]))
		}
		return err
	}},
	{step(`another execution of the workflow ends with output:|no execution of the workflow should .*`), func(c *conversion, _ []string) error { return needsSchedule }},
	{step(`an execution of '.*|a start should .*|a draft .*|the link .*|nothing that is shown .*|.* should have received:|the execution is retried .*`),
		func(c *conversion, _ []string) error { return needsServer }},
	{step(`the world should have received at most .*|an answer to .* is refused .*|the definition should be refused with '[a-z_]+'`),
		func(c *conversion, _ []string) error { return needsMoment }},
	{step(`\d+ containers? should .*|the workflow input has .*`), func(c *conversion, _ []string) error { return needsPeer }},
}

func step(text string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + text + `)$`) }

// TestConvert holds the converter to a scenario with a step of most kinds.
func TestConvert(t *testing.T) {
	f := &feature{name: "paid", steps: []featureStep{
		{text: "another workflow with definition:", docString: "document: {dsl: '1.0.3', namespace: n, name: child, version: '1'}"},
		{text: "a workflow with definition:", docString: "document: {namespace: n, name: main}\ndo: [{ask: {call: 'human:1.0.0@default', with: {title: May I}}}]"},
		{text: "given the workflow input is:", docString: "{n: 1}"},
		{text: "the secret 'token' is:", docString: "x"},
		{text: "the event is published:", docString: "{type: early}"},
		{text: "the workflow is started"},
		{text: "the workflow is waiting"},
		{text: "the event is published:", docString: "{type: paid}"},
		{text: "the human task 'May I' is answered:", docString: "{outcome: yes}"},
		{text: "a has run 1 time"},
		{text: "the execution is cancelled"},
		{text: "the workflow has ended"},
		{text: "the workflow should fault with an error like:", docString: "{status: 400, detail: 'a \"part'}"},
		{text: "a should run before b"},
		{text: "c should run 2 times"},
		{text: "d should not run"},
		{text: "c should run last"},
	}}
	c, err := convert(f)
	if err != nil {
		t.Fatal(err)
	}
	written, err := c.files()
	if err != nil {
		t.Fatal(err)
	}
	got, err := value.Parse(written["main.test.yaml"], value.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := decode(`
tests:
  - name: paid
    input: {n: 1}
    secrets: {token: x}
    children: {n/child: child0.yaml}
    before: [{type: early}]
    mocks: {ask: [{answers: {outcome: 'yes'}}]}
    script: [{at: PT0.000S, event: {type: paid}}, {waiting: a, cancel: true}]
    expect:
      phase: faulted
      error: {status: 400}
      order: [a, b]
      check:
        - '.error.detail | contains("a \"part")'
        - '([.tasks | to_entries[] | select(.key == "c" or (.key | endswith("/" + "c"))) | .value] | map(.times) | add // 0) == 2'
        - '([.tasks | to_entries[] | select(.key == "d" or (.key | endswith("/" + "d"))) | .value] | map(.times) | add // 0) == 0'
        - '.order[-1] | . == "c" or endswith("/" + "c")'
`)
	if err != nil || !value.Equal(got, want) {
		t.Errorf("got %s\nwant %s, %v", value.Marshal(got), value.Marshal(want), err)
	}
	for name, step := range map[string]featureStep{
		string(needsSchedule): {text: "another execution of the workflow ends with output:"},
		string(needsServer):   {text: "a draft with definition:"},
		string(needsPeer):     {text: "a workflow with definition:", docString: "https://grpc.example.com"},
	} {
		if _, err := convert(&feature{steps: []featureStep{step}}); err == nil || err.Error() != name {
			t.Errorf("%q: %v", step.text, err)
		}
	}
	if _, err := convert(&feature{steps: []featureStep{{text: "what has no conversion"}}}); err == nil || errors.As(err, new(unconvertible)) {
		t.Errorf("an unknown step: %v", err)
	}
}
