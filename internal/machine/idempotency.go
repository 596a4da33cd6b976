package machine

import (
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
)

// The idempotency key of a call stays the same until a response to it has come: however often a
// crash makes it run, and for further attempts of a `try` after a call whose connection broke,
// that timed out or that was interrupted. After any response the next attempt has a new one.
//
// Each running try knows what ran in its attempt and which keys are still without a response.
// When its fault passes to the next try above, the keys go with it, and come back when that one
// runs this one again. So a key never leaves the attempts of one list of tasks. A task that a jump
// has run more than once within an attempt has a new key each time: it is unknown which of its
// runs an attempt repeats.

// callKeys is what a try knows of the calls below it, by the way from the try to the task.
type callKeys struct {
	runs map[string]int    // how often a task ran in this attempt
	open map[string]string // keys without a response
}

// keyOf is the idempotency key of an activity. The number of its command is part of a key of its
// own, because a jump back may run the same task again.
func (m *Machine) keyOf(p *pending) string {
	if p.key != "" {
		return p.key
	}
	sum := m.derive(p.node, "key", int(p.id))
	return hex.EncodeToString(sum[:16])
}

// guard is the nearest try whose guarded list the node belongs to, and the way to the node.
// It is nil where no try could run the node again.
func (n *node) guard() (*node, string) {
	var way []byte
	for at := n; at.parent != nil; at = at.parent {
		if at.task != nil {
			way = strconv.AppendInt(way, int64(at.task.Number), 10)
		}
		way = append(way, '.')
		way = strconv.AppendInt(way, int64(at.index), 10)
		way = append(way, '.')
		way = strconv.AppendInt(way, int64(at.iteration()), 10)
		way = append(way, '/')
		if p := at.parent; p.try != nil && !p.try.handling && !p.around.isRunning() {
			return p, string(way)
		}
	}
	return nil, ""
}

// run notes that a task runs below a try, and reports whether it is the first time in its attempt.
func (c *callKeys) run(way string) bool {
	if c.runs == nil {
		c.runs = map[string]int{}
	}
	c.runs[way]++
	return c.runs[way] == 1
}

// formerKey is the key of an attempt of the same call that got no response, "" if there was none.
func (n *node) formerKey() string {
	if !n.isRetried() {
		return ""
	}
	try, way := n.guard()
	if try == nil || !try.try.calls.run(way) {
		return ""
	}
	key := try.try.calls.open[way]
	delete(try.try.calls.open, way)
	return key
}

// isRetried reports whether a try above the node has a retry policy.
func (n *node) isRetried() bool {
	for at := n.parent; at != nil; at = at.parent {
		if at.try != nil && at.task.Catch.Retry != nil {
			return true
		}
	}
	return false
}

// keepKey keeps the key of a call to which no response came for the next attempt.
func (m *Machine) keepKey(p *pending) {
	if !p.node.isRetried() {
		return
	}
	try, way := p.node.guard()
	if try == nil || try.try.calls.runs[way] != 1 {
		return
	}
	if try.try.calls.open == nil {
		try.try.calls.open = map[string]string{}
	}
	try.try.calls.open[way] = m.keyOf(p)
}

// inheritKeys begins a try with the keys that its former run left to the try above.
func (m *Machine) inheritKeys(n *node) {
	if !n.isRetried() {
		return
	}
	above, way := n.guard()
	if above == nil || !above.try.calls.run(way) {
		return
	}
	//workflowcheck:ignore copies into a map
	for key, value := range above.try.calls.open {
		if len(key) > len(way) && key[len(key)-len(way):] == way {
			if n.try.calls.open == nil {
				n.try.calls.open = map[string]string{}
			}
			n.try.calls.open[key[:len(key)-len(way)]] = value
			delete(above.try.calls.open, key)
		}
	}
}

// handKeysOn leaves the keys of a try that ends with a fault to the try above.
func (n *node) handKeysOn() {
	if len(n.try.calls.open) == 0 || !n.isRetried() {
		return
	}
	above, way := n.guard()
	if above == nil || above.try.calls.runs[way] != 1 {
		return
	}
	if above.try.calls.open == nil {
		above.try.calls.open = map[string]string{}
	}
	//workflowcheck:ignore copies into a map
	for key, value := range n.try.calls.open {
		above.try.calls.open[key+way] = value
	}
}

// callKeys writes what a try knows of calls, in the order of their ways.
func (w *checkpointWriter) callKeys(c *callKeys) {
	runs := slices.Sorted(maps.Keys(c.runs))
	w.list("runs", len(runs), func(i int) {
		w.open('{')
		w.text("way", runs[i])
		w.integer("times", c.runs[runs[i]])
		w.close('}')
	})
	open := slices.Sorted(maps.Keys(c.open))
	w.list("open_keys", len(open), func(i int) {
		w.open('{')
		w.text("way", open[i])
		w.text("key", c.open[open[i]])
		w.close('}')
	})
}

func (r *restorer) callKeys(o object) callKeys {
	var c callKeys
	for _, v := range o.list("runs") {
		if c.runs == nil {
			c.runs = map[string]int{}
		}
		run := o.item(v)
		c.runs[run.text("way")] = run.integer("times")
	}
	for _, v := range o.list("open_keys") {
		if c.open == nil {
			c.open = map[string]string{}
		}
		key := o.item(v)
		c.open[key.text("way")] = key.text("key")
	}
	return c
}
