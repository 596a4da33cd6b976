package audit

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// ActorKind says who made a change.
type ActorKind string

// The kinds.
const (
	User   ActorKind = "user"   // a person, by a session or a personal key
	Key    ActorKind = "key"    // an API key that stands for no person
	Link   ActorKind = "link"   // who holds a link that was sent to a person
	System ActorKind = "system" // the server itself, or a command on its machine
)

// SystemID is the id of every actor of the kind System; its name is that of the command.
const SystemID = "system"

// Actor is who made a change. The zero Actor is the system.
type Actor struct {
	Kind     ActorKind
	ID, Name string
}

// Target is what was changed.
type Target struct{ Kind, ID, Name string }

// Change is a value before and after; nil: there was, or is, none.
type Change struct {
	Before any `json:"before"`
	After  any `json:"after"`
}

// Changes are by the name of what has changed.
type Changes map[string]Change

// Set adds a change, unless both values are the same. An empty value is none.
func (c Changes) Set(name string, before, after any) Changes {
	before, after = orNil(before), orNil(after)
	if !reflect.DeepEqual(before, after) {
		c[name] = Change{before, after}
	}
	return c
}

func orNil(v any) any {
	if r := reflect.ValueOf(v); !r.IsValid() || r.IsZero() || r.Kind() == reflect.Slice && r.Len() == 0 {
		return nil
	}
	return v
}

// Entry is one change.
type Entry struct {
	Account     int64                  // internal number
	Environment chargehand.Environment // of the request, or of the target; 0: neither has one
	Actor       Actor
	Action      Action
	Target      Target
	Changes     Changes
}

// Write appends an entry in the transaction of its change. Where the change comes from is in ctx (FromRequest,
// FromCommand).
func Write(ctx context.Context, tx *store.Tx, at time.Time, e Entry) error {
	row, err := e.row(ctx, at)
	if err != nil {
		return err
	}
	return tx.InsertAudit(row)
}

// row is the entry as it is stored.
func (e *Entry) row(ctx context.Context, at time.Time) (*store.Audit, error) {
	if !Known(e.Action) {
		return nil, fmt.Errorf("audit: there is no action %q", e.Action)
	}
	o := originOf(ctx)
	if e.Actor.Kind == "" {
		e.Actor = Actor{System, SystemID, o.name()}
	}
	row := &store.Audit{
		ID: newID(at.UnixMilli()), Account: e.Account, Environment: e.Environment,
		ActorKind: string(e.Actor.Kind), ActorID: e.Actor.ID, ActorName: e.Actor.Name, Action: string(e.Action),
		TargetKind: e.Target.Kind, TargetID: e.Target.ID, TargetName: e.Target.Name, RequestID: o.requestID,
	}
	if o.address.IsValid() {
		row.Address = o.address.String()
	}
	if len(e.Changes) == 0 {
		return row, nil
	}
	var err error
	row.Changes, err = json.Marshal(e.Changes)
	return row, err
}

// ids makes the ids of one process ascend, also within a millisecond.
var ids struct {
	sync.Mutex
	milli int64
	next  uint16
}

// newID makes a UUID of version 7 with that time part: after it comes a counter, then what is random.
func newID(milli int64) (id chargehand.AuditID) {
	ids.Lock()
	if milli != ids.milli || ids.next > 0xfff {
		ids.milli, ids.next = milli, 0
	}
	count := ids.next
	ids.next++
	ids.Unlock()
	rand.Read(id[8:]) // never fails: the process ends where there is no randomness
	binary.BigEndian.PutUint64(id[:], uint64(milli)<<16|0x7000|uint64(count))
	id[8] = id[8]&0x3f | 0x80
	return id
}
