package machine

import (
	"fmt"
	"math"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// Restore makes a machine from a checkpoint of an execution of plan p. It reports an error
// if the checkpoint is damaged, of another revision, or of another plan.
func Restore(p *plan.Plan, id Identity, state []byte) (*Machine, error) {
	v, err := value.Parse(state, storedLimits)
	if err != nil {
		return nil, fmt.Errorf("read checkpoint: %w", err)
	}
	top := object{at: v}
	r := &restorer{plan: p, bad: new(bool), entries: map[int]*Entry{}}
	top.bad = r.bad
	if version, revision := top.integer("version"), top.integer("revision"); version != checkpointVersion || !Knows(revision) {
		return nil, fmt.Errorf("read checkpoint: version %d of revision %d is unknown to this binary", version, revision)
	}
	m := r.machine(id, top)
	if *r.bad {
		return nil, fmt.Errorf("read checkpoint: %w", errCorrupt)
	}
	return m, nil
}

// object gives typed access to the properties of a JSON object. Whatever does not fit sets
// *bad and reads as zero.
type object struct {
	at  any
	bad *bool
}

func (o object) get(name string) any {
	properties, ok := o.at.(map[string]any)
	if !ok {
		*o.bad = true
	}
	return properties[name]
}

func (o object) integer(name string) int {
	switch v := o.get(name).(type) {
	case nil:
		return 0
	case int:
		return v
	default:
		*o.bad = true
		return 0
	}
}

func (o object) text(name string) string {
	switch v := o.get(name).(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		*o.bad = true
		return ""
	}
}

func (o object) flag(name string) bool { return o.get(name) == true }

func (o object) list(name string) []any {
	switch v := o.get(name).(type) {
	case nil:
		return nil
	case []any:
		return v
	default:
		*o.bad = true
		return nil
	}
}

func (o object) item(v any) object { return object{at: v, bad: o.bad} }

// phase reads the name of a phase.
func (o object) phase() chargehand.Phase {
	p, ok := phaseNamed(o.text("phase"))
	if !ok {
		*o.bad = true
	}
	return p
}

// restorer holds the tables that the parts of a checkpoint refer to.
type restorer struct {
	plan    *plan.Plan
	bad     *bool
	values  []any
	scopes  []*scope
	nodes   []*node
	entries map[int]*Entry
}

// element is list[i], or zero and bad if there is none.
func element[T any](bad *bool, list []T, i int) T {
	if i < 0 || i >= len(list) {
		*bad = true
		var none T
		return none
	}
	return list[i]
}

// value follows a reference to the table of values.
func (r *restorer) value(o object, name string) value.Value {
	if o.get(name) == nil {
		return nil
	}
	return element(r.bad, r.values, o.integer(name))
}

func (r *restorer) machine(id Identity, top object) *Machine {
	id.Revision = top.integer("revision")
	m := New(r.plan, id)
	r.values = top.list("values")
	m.phase = top.phase()
	m.nowMs, m.startedMs = int64(top.integer("now_ms")), int64(top.integer("started_ms"))
	if version := top.text("runtime"); version != "" {
		m.id.RuntimeVersion = version
	}
	if metadata := r.value(top, "metadata"); metadata != nil {
		m.id.RuntimeMetadata = metadata
	}
	if lifecycle := r.value(top, "lifecycle"); lifecycle != nil {
		var ok bool
		if m.lifecycle, ok = lifecycleOf(lifecycle); !ok {
			*r.bad = true
		}
	}
	m.input = r.value(top, "input")
	m.lastCommand, m.lastSeq = CommandID(top.integer("command")), top.integer("seq")
	m.happened = top.integer("happened")
	if task := top.text("position"); task != "" {
		m.position = &Position{Task: task, TaskData: *r.taskData(top)}
	}
	m.yield = CommandID(top.integer("yield"))
	m.suspended = top.flag("suspended")
	m.sliceSteps, m.pureSteps = top.integer("slice_steps"), top.integer("pure_steps")
	m.grown, m.measured = top.integer("grown"), top.integer("measured")
	m.trace.bytes = top.integer("trace_bytes")
	r.tally(m, top)
	for _, v := range top.list("entries") {
		r.entry(m, top.item(v))
	}
	for _, v := range top.list("scopes") {
		o := top.item(v)
		r.scopes = append(r.scopes, &scope{context: r.value(o, "context"), changed: o.flag("changed")})
	}
	for _, v := range top.list("nodes") {
		r.node(m, top.item(v))
		if *r.bad {
			return nil
		}
	}
	if len(r.nodes) > 0 {
		m.root = r.nodes[0]
	}
	for _, v := range top.list("ready") {
		at, ok := v.(int)
		if n := element(r.bad, r.nodes, at); ok && n != nil && n.list != nil {
			m.ready = append(m.ready, n)
		} else {
			*r.bad = true
		}
	}
	for _, v := range top.list("consumed") {
		r.consumed(m, top.item(v))
	}
	for _, v := range top.list("pending") {
		r.pending(m, top.item(v))
	}
	r.held(m, top)
	if m.phase == chargehand.Running && m.root == nil {
		*r.bad = true
	}
	return m
}

func (r *restorer) entry(m *Machine, o object) {
	e := &Entry{
		Seq: o.integer("seq"), Phase: o.phase(),
		Parent: o.integer("parent"), Iterations: r.integers(o, "iterations"), Attempt: o.integer("attempt"),
		StartedMs: int64(o.integer("started_ms")), EndedMs: int64(o.integer("ended_ms")),
		StartedNo: o.integer("started_no"), EndedNo: o.integer("ended_no"),
		Input: r.value(o, "input"), Output: r.value(o, "output"),
		Fault: r.fault(o, "fault"), Files: r.files(o, "files"), Document: o.text("document"),
		task: element(r.bad, r.plan.Tasks, o.integer("task")), fresh: !o.flag("taken"),
	}
	if o.flag("begun") {
		e.Data = r.taskData(o)
	}
	if text := o.text("child"); text != "" {
		e.Child = r.childID(text)
	}
	if *r.bad {
		return
	}
	e.Name, e.Reference = e.task.Name, e.task.Reference
	if r.outcomes(e, o); *r.bad {
		return
	}
	r.entries[e.Seq] = e
	if e.fresh {
		m.trace.changed = append(m.trace.changed, e)
	}
}

func (r *restorer) taskData(o object) *TaskData {
	return &TaskData{Input: r.value(o, "raw"), Context: r.value(o, "context")}
}

func (r *restorer) pending(m *Machine, o object) {
	p := &pending{
		id: CommandID(o.integer("id")), node: element(r.bad, r.nodes, o.integer("node")),
		dueMs: int64(o.integer("due_ms")), askedMs: int64(o.integer("asked_ms")), args: r.value(o, "args"),
		interruptions: o.integer("interruptions"), use: math.MaxUint8,
		position: int64(o.integer("position")), key: o.text("idempotency_key"),
	}
	for u, name := range useNames {
		if name == o.text("use") {
			p.use = use(u)
		}
	}
	if *r.bad || len(m.pending.list) > 0 && m.pending.list[len(m.pending.list)-1].id >= p.id {
		*r.bad = true
		return
	}
	n := p.node
	leaf := n.task != nil && n.task.Leaf()
	switch {
	case p.use == useWorkflowTimeout && n == m.root:
		m.timeout = p.id
	case p.use == useTimeout && n.task != nil:
		n.timer = p.id
	case p.use == useActivity && n.task != nil && n.task.Activity != nil && (n.task.Stream != nil) == (n.consumption != nil):
		n.activity = p.id
	case p.use == useChild && leaf && n.task.Child != nil:
		n.subflow = p.id
		p.child = m.childOf(n, r.childID(o.text("child")), p.args)
	case p.use == useHuman && leaf && n.task.Human != nil:
		n.question = p.id
		p.task, p.bytes = r.taskID(o.text("human")), o.integer("bytes")
	case p.use == useDetached && n == m.root:
		p.detached = r.detached(p, o)
	case p.use == useListen && n.consumption != nil && n.task.Listen != nil && !n.consumption.closed:
		n.consumption.subscription = p.id
		p.filters = m.filtersOf(n)
	case p.use == useConsume && n.consumption != nil && n.task.Stream != nil:
		n.consumption.timer = p.id
	case p.use == useWait && leaf, p.use == useRetry && n.try != nil:
		n.delay = p.id
	case p.use == useAttemptTimeout && n.try != nil:
		n.try.attemptTimer = p.id
	case p.use == useRetryTimeout && n.try != nil:
		n.try.limitTimer = p.id
	default:
		*r.bad = true
		return
	}
	m.pending.add(p)
	if o.flag("resting") {
		m.pending.rest(p)
	}
}

// childID reads the id of an execution that a task has started.
func (r *restorer) childID(text string) chargehand.ExecutionID {
	id, err := chargehand.ParseID[childKind](text)
	if err != nil {
		*r.bad = true
	}
	return chargehand.ExecutionID(id)
}

// taskID reads the id of a human task.
func (r *restorer) taskID(text string) chargehand.HumanTaskID {
	id, err := chargehand.ParseID[childKind](text)
	if err != nil {
		*r.bad = true
	}
	return chargehand.HumanTaskID(id)
}

// integers reads a list of integers; nil if it is empty.
func (r *restorer) integers(o object, name string) []int {
	list := o.list(name)
	if len(list) == 0 {
		return nil
	}
	numbers := make([]int, len(list))
	for i, v := range list {
		var ok bool
		if numbers[i], ok = v.(int); !ok || numbers[i] < 0 {
			*r.bad = true
		}
	}
	return numbers
}

// flowOf reads the kind of a flow directive.
func flowOf(o object) dsl.Flow {
	kind := o.integer("then")
	if kind < 0 || kind > int(dsl.FlowJump) {
		*o.bad = true
	}
	return dsl.Flow(kind)
}

func (r *restorer) fault(o object, name string) *Fault {
	v := o.get(name)
	if v == nil {
		return nil
	}
	f := o.item(v)
	return &Fault{
		Type: f.text("type"), Status: f.integer("status"), Title: f.text("title"), Detail: f.text("detail"),
		Instance: f.text("instance"), Code: f.text("code"),
		System: f.flag("system"), Retryable: f.flag("retryable"), NoResponse: f.flag("no_response"),
	}
}

func (r *restorer) files(o object, name string) []File {
	var files []File
	for _, v := range o.list(name) {
		f := o.item(v)
		files = append(files, File{
			ID: f.text("id"), Name: f.text("name"), MediaType: f.text("media_type"),
			Size: int64(f.integer("size")), Digest: f.text("digest"),
		})
	}
	return files
}
