package eventstream

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

const (
	// readPage bounds the events that are read in one View.
	readPage = 100
	// readBytes ends a page early.
	readBytes = 4 << 20
	// nearEnd is the length of the end of a stream that is read completely, because other subscriptions read it too. Of
	// a longer part only the events of the wanted types are read.
	nearEnd = 1_000
	// maxTypes bounds the types of a stream that are compared one by one.
	maxTypes = 1_000
	// maxWanted bounds the types that one statement asks for.
	maxWanted = 20
	// Recent events are kept in memory for the next subscriptions that read them.
	keptEvents = 16_384
	keptBytes  = 16 << 20
)

// Event is an event as it was read. It is immutable and shared.
type Event struct {
	Number     int64
	Type       string
	ReceivedMs int64
	Envelope   value.Value
	Bytes      int   // of the envelope
	Starter    int64 // of the executions that it starts (store.Event)

	mu   sync.Mutex
	keys map[string]*keyed

	// Guarded by the lock of the reader.
	remembered bool
	keysBytes  int
}

// Reader reads the events of streams for subscriptions. It keeps recent events in memory, so that an event for many is
// read and parsed once. It is safe for concurrent use.
type Reader struct {
	store *store.Store
	blobs engine.Blobs

	mu    sync.Mutex
	known map[eventKey]*list.Element
	order list.List // *kept, the one used last in front
	bytes int
	// latest belongs to the Matcher: its next step mostly continues it.
	latest *handout
	// evaluating bounds the reads that evaluate filters at the same time, which takes a core each.
	evaluating *fair.Gate

	compiled sync.Map // "t"+type → machine.TypeFilter; "p"+path → machine.PathFilter or error
	count    int      // of compiled, about
}

type eventKey struct {
	ID
	number int64
}

type kept struct {
	key   eventKey
	event *Event
}

// NewReader makes a reader.
func NewReader(st *store.Store, blobs engine.Blobs) *Reader {
	return &Reader{
		store: st, blobs: blobs, known: make(map[eventKey]*list.Element),
		evaluating: fair.NewGate(fair.Limits{Permits: max(1, runtime.GOMAXPROCS(0)-1)}),
	}
}

// Selection is what a subscription may want of a stream.
type Selection struct {
	ID
	Filters []machine.Filter

	throttle func() (leave func(), more bool, err error) // see throttle.enter; nil: none
}

// Select calls visit for the events behind after and up to last that a filter of s lets through, in order, until visit
// returns false or limit events were scanned. through is the number of the last event that was scanned, or last if
// there are no more. Errors: store.ErrUnavailable, the error of visit.
func (r *Reader) Select(ctx context.Context, s Selection, after, last int64, limit int, visit func(*Event) (more bool, err error)) (through int64, err error) {
	through = after
	scanned, ended := 0, false
	t := throttle{enter: s.throttle}
	defer t.end()
	scan := func(e *Event) (bool, error) {
		if more, err := t.next(); err != nil || !more {
			ended = true
			return false, err
		}
		through = e.Number
		scanned++
		if r.lets(s.Filters, e) {
			more, err := visit(e)
			if err != nil || !more {
				ended = true
				return false, err
			}
		}
		return scanned < limit, nil
	}
	for through < last && !ended && scanned < limit {
		begin := through
		if last-through <= nearEnd || r.recent(eventKey{s.ID, through + 1}) != nil {
			err = r.read(ctx, s.ID, through, last, t.end, scan)
		} else {
			err = r.readTypes(ctx, s, through, last, t.end, scan)
		}
		if err != nil {
			return through, err
		}
		if through == begin && !ended { // no event is left
			return last, nil
		}
	}
	return through, nil
}

// read calls scan for the events behind after and up to last, until it returns false or a page was read from the
// store. reading is called before the store is read.
func (r *Reader) read(ctx context.Context, stream ID, after, last int64, reading func(), scan func(*Event) (bool, error)) error {
	for ; after < last; after++ {
		e := r.recent(eventKey{stream, after + 1})
		if e == nil {
			break
		}
		if more, err := scan(e); err != nil || !more {
			return err
		}
	}
	if after >= last {
		return nil
	}
	return r.page(ctx, stream, reading, scan, func(rd *store.Reader, row func(*store.Event) (bool, error)) error {
		return rd.Events(stream.Account, stream.Environment, after, last, readPage, row)
	})
}

// readTypes is read for the types that are wanted only.
func (r *Reader) readTypes(ctx context.Context, s Selection, after, last int64, reading func(), scan func(*Event) (bool, error)) error {
	return r.page(ctx, s.ID, reading, scan, func(rd *store.Reader, row func(*store.Event) (bool, error)) error {
		types, few, err := r.wantedTypes(rd, s)
		if err != nil {
			return err
		}
		if !few {
			return rd.Events(s.Account, s.Environment, after, last, readPage, row)
		}
		return rd.EventsOfTypes(s.Account, s.Environment, types, after, last, readPage, row)
	})
}

// wantedTypes lists the types of events that filters let through; few is false if there are too many for a statement. A
// stream may have as many types as executions: a pattern is compared only with those that begin as it does.
func (r *Reader) wantedTypes(rd *store.Reader, s Selection) (types []string, few bool, err error) {
	wanted, asked := make(map[string]bool), make(map[string]bool)
	for i := range s.Filters {
		f := &s.Filters[i]
		if f.Type == "" || len(asked) > maxWanted {
			return nil, false, nil
		}
		if storable(f.Type) {
			wanted[f.Type] = true
		}
		if f.Exact || asked[f.Type] {
			continue
		}
		filter := r.typeFilter(f.Type)
		prefix, is := filter.Pattern()
		if !is {
			continue
		}
		asked[f.Type] = true
		prefix, _, _ = strings.Cut(prefix, "\x00")
		types, err := rd.EventTypes(s.Account, s.Environment, prefix, maxTypes+1)
		if err != nil || len(types) > maxTypes {
			return nil, false, err
		}
		for _, name := range types {
			if filter.Lets(name) {
				wanted[name] = true
			}
		}
	}
	if len(wanted) > maxWanted {
		return nil, false, nil
	}
	return slices.Sorted(maps.Keys(wanted)), true, nil
}

// page reads rows in one View, and then calls scan for each of them.
func (r *Reader) page(ctx context.Context, stream ID, reading func(), scan func(*Event) (bool, error),
	query func(*store.Reader, func(*store.Event) (bool, error)) error) error {
	reading()
	var rows []store.Event
	err := r.store.View(ctx, func(rd *store.Reader) error {
		rows = rows[:0]
		bytes := 0
		return query(rd, func(e *store.Event) (bool, error) {
			rows = append(rows, *e)
			bytes += len(e.Data.Inline)
			return bytes < readBytes, nil
		})
	})
	if err != nil {
		return err
	}
	for i := range rows {
		if rows[i].Data.Blob != nil {
			reading()
		}
		e, err := r.parse(ctx, &rows[i])
		if err != nil {
			return err
		}
		r.remember(eventKey{stream, e.Number}, e)
		if more, err := scan(e); err != nil || !more {
			return err
		}
	}
	return nil
}

func (r *Reader) parse(ctx context.Context, row *store.Event) (*Event, error) {
	e := &Event{Number: row.Number, Type: row.Type, ReceivedMs: row.ReceivedMs, Bytes: int(row.Data.Size), Starter: row.Starter}
	if known := r.recent(eventKey{ID{row.Account, row.Environment}, row.Number}); known != nil {
		return known, nil
	}
	data, err := engine.ReadPayload(ctx, r.blobs, row.Data)
	if err == nil {
		// A damaged event matches no subscription. It must not keep them from other events.
		e.Envelope, _ = value.Parse(data, value.Limits{Depth: value.MaxDepth})
	} else if unrecoverable := (*engine.Unrecoverable)(nil); !errors.Is(err, store.ErrNotFound) && !errors.As(err, &unrecoverable) {
		return nil, fmt.Errorf("read event: %w", err)
	}
	return e, nil
}

// recent finds an event in memory.
func (r *Reader) recent(key eventKey) *Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	element := r.known[key]
	if element == nil {
		return nil
	}
	r.order.MoveToFront(element)
	return element.Value.(*kept).event
}

func (r *Reader) remember(key eventKey, e *Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[key] != nil {
		return
	}
	r.known[key] = r.order.PushFront(&kept{key, e})
	e.remembered = true
	r.bytes += e.Bytes + e.keysBytes
	r.forget()
}

// forget makes room. It needs r.mu.
func (r *Reader) forget() {
	for r.order.Len() > keptEvents || r.bytes > keptBytes {
		oldest := r.order.Back()
		k := r.order.Remove(oldest).(*kept)
		delete(r.known, k.key)
		k.event.remembered = false
		r.bytes -= k.event.Bytes + k.event.keysBytes
	}
}
