package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/value"
)

// conversion is a scenario as a test file of `chargehand test`: what it deploys becomes definitions, what it does
// becomes steps of the script, and what it looks at becomes expectations. The answers of servers are put into mocks
// later (rehearsal.record).
type conversion struct {
	definitions []string // the last one is tested
	test        map[string]any
	expect      map[string]any
	mocks       map[string]any
	secrets     map[string]any
	script      []any
	answers     []titled    // of people, by the titles of their tasks
	verdicts    []titled    // what became of human tasks
	refused     bool        // the definition must not be accepted
	problems    []problemAt // which the refusal must have
	says        []string    // what a refusal says
	paths       []string    // whose requests are counted
	started     bool
	awaited     string // the task that has started before the next step of the script
	ended       bool
}

// titled is something about a human task.
type titled struct {
	title string
	value any
}

// problemAt is a problem of a definition.
type problemAt struct{ code, pointer string }

// unconvertible is why a scenario is no test: what it looks at, a test does not have.
type unconvertible string

func (u unconvertible) Error() string { return string(u) }

// The reasons.
const (
	needsPeer     = unconvertible("it calls a server of another kind than HTTP, a container engine or an authorization server")
	needsSchedule = unconvertible("it is about executions that start by themselves")
	needsServer   = unconvertible("it looks at what a server keeps or shows beside the execution")
	needsMoment   = unconvertible("it acts at a moment that only a running execution has")
)

// peerHosts are those that are more than a server that answers requests.
var peerHosts = []string{"mcp.example.com", "agent.example.com", "ws.example.com", "tokens.example.com", "grpc.example.com", "auth.example.com"}

// convert makes a test of a scenario. An error that is unconvertible says why there is none.
func convert(f *feature) (*conversion, error) {
	c := &conversion{test: map[string]any{"name": f.name}, expect: map[string]any{}, mocks: map[string]any{}, secrets: map[string]any{}}
	if f.settings() != (settings{}) || f.mentions("$runtime.metadata") {
		return nil, needsServer
	}
	if f.has("@binary") {
		return nil, needsPeer
	}
	if f.mentions("[redacted]") {
		return nil, needsServer
	}
	for _, host := range peerHosts {
		if f.mentions(host) {
			return nil, needsPeer
		}
	}
	for i := range f.steps {
		if err := c.step(&f.steps[i]); err != nil {
			return nil, err
		}
	}
	for _, path := range c.paths {
		if !f.mentions("example.com" + path) {
			return nil, needsServer // it was led there by a redirect
		}
	}
	if len(c.definitions) == 0 {
		return nil, needsServer
	}
	return c, c.finish()
}

func (c *conversion) step(s *featureStep) error {
	for _, one := range conversions {
		if match := one.text.FindStringSubmatch(s.text); match != nil {
			return one.do(c, append(match[1:], s.docString))
		}
	}
	return fmt.Errorf("no conversion of the step %q", s.text)
}

func (c *conversion) define(definition string) error {
	if c.started {
		return needsServer // it is deployed anew between executions
	}
	c.definitions = append(c.definitions, definition)
	return nil
}

func (c *conversion) start(ends bool) error {
	if c.started {
		return needsServer // the second of several executions
	}
	c.started, c.ended = true, ends
	return nil
}

// decode puts the value of a step into an object.
func (c *conversion) decode(text string, object map[string]any, name string) error {
	v, err := decode(text)
	object[name] = v
	return err
}

// at adds a step of the script: as soon as the task waits that has started before or, without one, the first as soon as
// nothing else happens, and each of the others a millisecond later.
func (c *conversion) at(what string, v any) error {
	if !c.started || c.ended {
		return needsServer
	}
	one := map[string]any{"at": fmt.Sprintf("PT0.%03dS", len(c.script)), what: v}
	if c.awaited != "" {
		one = map[string]any{"waiting": c.awaited, what: v}
		c.awaited = ""
	}
	c.script = append(c.script, one)
	return nil
}

func (c *conversion) publish(a []string) error {
	v, err := decode(a[0])
	if err != nil || c.started {
		return cmpErr(err, func() error { return c.at("event", v) })
	}
	before, _ := c.test["before"].([]any)
	c.test["before"] = append(before, v)
	return nil
}

func cmpErr(err error, or func() error) error {
	if err != nil {
		return err
	}
	return or()
}

func (c *conversion) phase(phase string) error {
	c.expect["phase"] = phase
	return nil
}

// fault expects an error: all of it or, of details, a part.
func (c *conversion) fault(text string, whole bool) error {
	v, err := decode(text)
	if err != nil {
		return err
	}
	want, _ := v.(map[string]any)
	if want["line"] != nil {
		return needsServer // it adds the place in the text
	}
	c.expect["phase"] = "faulted"
	fields := map[string]any{}
	for name, one := range want {
		if part, isText := one.(string); isText && !whole && name == "detail" {
			c.check(".error.detail | contains(%s)", value.Marshal(part))
			continue
		}
		fields[name] = one
	}
	if len(fields) > 0 {
		c.expect["error"] = fields
	}
	if whole {
		c.check("(.error | with_entries(select(.value != null)) | keys) == %s", value.Marshal(anyOf(value.SortedKeys(want))))
	}
	return nil
}

func anyOf(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// check adds an expression over the result.
func (c *conversion) check(format string, args ...any) {
	list, _ := c.expect["check"].([]any)
	c.expect["check"] = append(list, fmt.Sprintf(format, args...))
}

// runsOf are the tasks of a name wherever they stand, as an expression.
func runsOf(task string) string {
	name := value.Marshal(task)
	return fmt.Sprintf("[.tasks | to_entries[] | select(.key == %s or (.key | endswith(\"/\" + %s))) | .value]", name, name)
}

func (c *conversion) times(task string, n int) error {
	c.check("(%s | map(.times) | add // 0) == %d", runsOf(task), n)
	return nil
}

// run expects something of the last run of a task.
func (c *conversion) run(task, format string, args ...any) {
	c.check("%s | last | "+format, append([]any{runsOf(task)}, args...)...)
}

// path makes a path of names one of jq.
func path(text string) string {
	var out strings.Builder
	for name := range strings.SplitSeq(text, ".") {
		fmt.Fprintf(&out, "[%s]", value.Marshal(name))
	}
	return out.String()
}

// finish finds the human tasks by their titles, and lets processes that sleep do so on the virtual clock.
func (c *conversion) finish() error {
	if c.refused {
		return nil
	}
	tasks := map[string]string{}
	for _, text := range c.definitions {
		v, err := decode(text)
		if err != nil { // it is deeper than other data may be, or refused
			continue
		}
		titles(v, "", tasks)
		c.sleepers(v, "")
	}
	if len(c.answers)+len(c.verdicts) == 0 {
		return nil
	}
	for _, title := range value.SortedKeys(anyMap(tasks)) {
		c.mocks[tasks[title]] = map[string]any{"hangs": true}
	}
	for _, a := range c.answers {
		name, known := tasks[a.title]
		if !known && len(tasks) == 1 { // an expression makes the title
			name = slices.Collect(maps.Values(tasks))[0]
		}
		list, _ := c.mocks[name].([]any)
		c.mocks[name] = append(list, a.value)
	}
	for _, v := range c.verdicts {
		c.run(tasks[v.title], ".phase == %s", value.Marshal(v.value))
	}
	return nil
}

// sleepers makes mocks of the processes that sleep.
func (c *conversion) sleepers(v value.Value, name string) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			c.sleepers(one, name)
		}
	case map[string]any:
		run, _ := v["run"].(map[string]any)
		shell, _ := run["shell"].(map[string]any)
		command, _ := shell["command"].(string)
		script, _ := run["script"].(map[string]any)
		if code, _ := script["code"].(string); strings.HasPrefix(code, "for (;;)") {
			c.mocks[name] = map[string]any{"hangs": true}
		}
		if seconds, sleeps := strings.CutPrefix(command, "sleep "); sleeps && run["await"] != false {
			c.mocks[name] = map[string]any{"process": map[string]any{}, "after": "PT" + seconds + "S"}
		}
		for key, one := range v {
			c.sleepers(one, key)
		}
	}
}

func anyMap(m map[string]string) map[string]any {
	all := map[string]any{}
	for k, v := range m {
		all[k] = v
	}
	return all
}

// titles collects the names of human tasks by their titles.
func titles(v value.Value, name string, found map[string]string) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			titles(one, name, found)
		}
	case map[string]any:
		if call, _ := v["call"].(string); strings.HasPrefix(call, "human:") {
			with, _ := v["with"].(map[string]any)
			title, _ := with["title"].(string)
			found[title] = name
		}
		for key, one := range v {
			titles(one, key, found)
		}
	}
}

// files are those of the conversion: main.yaml, what it may start, and main.test.yaml.
func (c *conversion) files() (map[string][]byte, error) {
	files := map[string][]byte{}
	children := map[string]any{}
	last := len(c.definitions) - 1
	for i, text := range c.definitions {
		if i == last {
			files["main.yaml"] = []byte(text)
			break
		}
		v, err := decode(text)
		if err != nil {
			return nil, err
		}
		root, _ := v.(map[string]any)
		document, _ := root["document"].(map[string]any)
		name := fmt.Sprintf("child%d.yaml", i)
		files[name] = []byte(text)
		children[fmt.Sprintf("%v/%v", document["namespace"], document["name"])] = name
	}
	for name, part := range map[string]map[string]any{"secrets": c.secrets, "children": children, "mocks": c.mocks, "expect": c.expect} {
		if len(part) > 0 {
			c.test[name] = part
		}
	}
	if len(c.script) > 0 {
		c.test["script"] = c.script
	}
	text, err := json.MarshalIndent(json.RawMessage(value.Marshal(map[string]any{"tests": []any{c.test}})), "", " ")
	files["main.test.yaml"] = text
	return files, err
}
