package embedded

import (
	"sync"

	"github.com/chargehand/chargehand/internal/store"
)

const tableShards = 64

// table holds the runs in memory, by number.
type table [tableShards]struct {
	mu        sync.Mutex
	instances map[int64]*instance
}

// lookup returns the run of that number, made if it is not there.
func (t *table) lookup(no int64) *instance {
	shard := &t[uint64(no)%tableShards]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	inst := shard.instances[no]
	if inst == nil {
		if shard.instances == nil {
			shard.instances = make(map[int64]*instance)
		}
		inst = &instance{no: no}
		shard.instances[no] = inst
	}
	return inst
}

// insert puts in a run that is driven already. A run of the same number can only be one
// whose insertion was undone: numbers of undone rows are used again.
func (t *table) insert(inst *instance) {
	shard := &t[uint64(inst.no)%tableShards]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if shard.instances == nil {
		shard.instances = make(map[int64]*instance)
	}
	shard.instances[inst.no] = inst
}

// remove needs r.mu.
func (t *table) remove(inst *instance) {
	inst.removed = true
	t.takeOut(inst)
}

// takeOut undoes an insert.
func (t *table) takeOut(inst *instance) {
	shard := &t[uint64(inst.no)%tableShards]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if shard.instances[inst.no] == inst {
		delete(shard.instances, inst.no)
	}
}

// put leaves a message for an execution. drive: the caller is now the driver.
func (t *table) put(no int64, msg message) (inst *instance, drive bool) {
	for {
		inst = t.lookup(no)
		inst.mu.Lock()
		if inst.removed {
			inst.mu.Unlock()
			continue
		}
		inst.mailbox = append(inst.mailbox, msg)
		drive = !inst.driven
		inst.driven = true
		inst.mu.Unlock()
		return inst, drive
	}
}

// tryDrive makes the caller the driver of an execution, unless another goroutine is. That one
// then says that the execution was passed over, if it leaves it queued.
func (t *table) tryDrive(no int64) (inst *instance, ok bool) {
	for {
		inst = t.lookup(no)
		inst.mu.Lock()
		if inst.removed {
			inst.mu.Unlock()
			continue
		}
		ok = !inst.driven
		inst.driven = true
		inst.skipped = inst.skipped || !ok
		inst.mu.Unlock()
		return inst, ok
	}
}

// take empties the mailbox. With nothing in it, the caller is no longer the driver, and a
// run that is not active leaves the table. passed: a scheduler has passed over it.
func (t *table) drainMailbox(inst *instance) (messages []message, passed bool) {
	inst.mu.Lock()
	defer inst.mu.Unlock()
	if len(inst.mailbox) == 0 {
		inst.driven = false
		passed, inst.skipped = inst.skipped, false
		if !inst.loaded || inst.row.State != store.StateActive {
			t.remove(inst)
		}
		return nil, passed
	}
	messages = inst.mailbox
	inst.mailbox = inst.spareMailbox[:0]
	inst.spareMailbox = nil
	return messages, false
}

// abandon removes a run whose insertion was undone, or seems to be, and returns the messages
// that have come in for its number: that may be another execution's by now.
func (t *table) abandon(inst *instance) (messages []message, passed bool) {
	inst.mu.Lock()
	defer inst.mu.Unlock()
	t.remove(inst)
	messages, inst.mailbox = inst.mailbox, nil
	return messages, inst.skipped
}

// each calls visit for every run.
func (t *table) each(visit func(*instance)) {
	for i := range t {
		shard := &t[i]
		shard.mu.Lock()
		all := make([]*instance, 0, len(shard.instances))
		for _, inst := range shard.instances {
			all = append(all, inst)
		}
		shard.mu.Unlock()
		for _, inst := range all {
			visit(inst)
		}
	}
}

func (t *table) size() int {
	n := 0
	for i := range t {
		t[i].mu.Lock()
		n += len(t[i].instances)
		t[i].mu.Unlock()
	}
	return n
}
