package embedded

import (
	"sync"

	"github.com/chargehand/chargehand/internal/store"
)

const tableShards = 64

// table holds the instances in memory, by the number of their execution.
type table [tableShards]struct {
	mu        sync.Mutex
	instances map[int64]*instance
}

// lookup returns the instance of that number, and makes it if it is not in memory.
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

// insert adds an instance that already has a driver. If there is another instance of the same
// number, its insertion was undone: the database gives the numbers of undone rows again.
func (t *table) insert(inst *instance) {
	shard := &t[uint64(inst.no)%tableShards]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if shard.instances == nil {
		shard.instances = make(map[int64]*instance)
	}
	shard.instances[inst.no] = inst
}

// remove takes an instance out of the table for good. The caller holds inst.mu.
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

// put leaves a message in the mailbox of an execution. drive says that the caller is now the
// driver.
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

// tryDrive makes the caller the driver of an execution, unless the execution has one. In that case
// the present driver notifies the scheduler if it leaves the execution queued.
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

// drainMailbox empties the mailbox. If the mailbox is empty already, the caller is no longer the
// driver, and an instance that is not active leaves the table. passed says that a scheduler has
// gone past the execution while it was driven.
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

// abandon removes an instance whose insertion was undone, or seems to be. It returns the messages
// that were sent to its number, which may be the number of another execution by now.
func (t *table) abandon(inst *instance) (messages []message, passed bool) {
	inst.mu.Lock()
	defer inst.mu.Unlock()
	t.remove(inst)
	messages, inst.mailbox = inst.mailbox, nil
	return messages, inst.skipped
}

// each calls visit for every instance.
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
