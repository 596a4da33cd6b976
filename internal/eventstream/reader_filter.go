package eventstream

import (
	"sync"

	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/machine"
)

// lets reports whether one of the filters lets an event through.
func (r *Reader) lets(filters []machine.Filter, e *Event) bool {
	for i := range filters {
		f := &filters[i]
		if f.Exact && f.Type != e.Type || !f.Exact && !r.typeFilter(f.Type).Lets(e.Type) {
			continue
		}
		if f.Path == "" {
			return true
		}
		steps := quickSteps
		if key, has, _ := r.keyOf(e, f.Path, &steps); has && key == f.Key {
			return true
		}
	}
	return false
}

// refuses reports whether none of the filters matches an event for what depends on the event alone, however many steps
// that takes. It is computed once for all subscriptions that have the same filter; the others wait for that.
func (r *Reader) refuses(filters []machine.Filter, e *Event) bool {
	for i := range filters {
		f := &filters[i]
		steps := expr.MaxSteps
		if f.Path == "" {
			return false
		}
		if key, has, _ := r.keyOf(e, f.Path, &steps); has && key == f.Key {
			return false
		}
	}
	return true
}

type keyed struct {
	mu     sync.Mutex
	known  bool
	key    [32]byte
	has    bool
	unsure bool // it took more steps than were allowed; the event gets through meanwhile
}

// keyedBytes is about what an entry of Event.keys takes.
const keyedBytes = 110

// quickSteps bounds the steps of an expression where all streams, or other subscriptions, wait for it: some 0.1 ms.
const quickSteps = 1_000

// maxCompiled bounds what is kept of compiled filters. They come from definitions.
const maxCompiled = 10_000

func (r *Reader) typeFilter(text string) machine.TypeFilter {
	if f, ok := r.compiled.Load("t" + text); ok {
		return f.(machine.TypeFilter)
	}
	f := machine.CompileType(text)
	if f.Costly() {
		r.keep("t"+text, f)
	}
	return f
}

// pathFilter compiles the path of a filter.
func (r *Reader) pathFilter(path string) (f machine.PathFilter, ok bool) {
	compiled, ok := r.compiled.Load("p" + path)
	if !ok {
		f, err := machine.CompilePath(path)
		compiled = f
		if err != nil {
			compiled = err
		}
		r.keep("p"+path, compiled)
	}
	f, ok = compiled.(machine.PathFilter)
	return f, ok
}

// keep makes room, if there is none, by forgetting some of them: a reader that uses more of them than are kept finds
// most of them nevertheless.
func (r *Reader) keep(text string, f any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.compiled.Swap(text, f); known {
		return
	}
	if r.count++; r.count <= maxCompiled {
		return
	}
	r.compiled.Range(func(old, _ any) bool {
		r.compiled.Delete(old)
		r.count--
		return r.count > maxCompiled*9/10
	})
}

// keyOf is the hash of what an event has at a path, if so many steps suffice. unsure: they do not, so the event gets
// through. A path that cannot be compiled lets nothing through.
func (r *Reader) keyOf(e *Event, path string, steps *int) (key [32]byte, has, unsure bool) {
	f, ok := r.pathFilter(path)
	if !ok {
		return key, false, false
	}
	k := r.entry(e, path)
	if quick := *steps <= quickSteps; !quick || !f.Constant() {
		k.mu.Lock()
	} else if !k.mu.TryLock() { // another reader computes it
		return machine.ConstantKey, true, true
	}
	defer k.mu.Unlock()
	if !k.known || k.unsure && *steps > quickSteps {
		k.known = true
		k.key, k.has, k.unsure = f.Key(e.Envelope, steps)
	}
	return k.key, k.has, k.unsure
}

// entry is where the hash of what an event has at a path is kept.
func (r *Reader) entry(e *Event, path string) *keyed {
	e.mu.Lock()
	k := e.keys[path]
	added := k == nil && len(e.keys) < maxTypes
	if k == nil {
		k = &keyed{}
	}
	if added {
		if e.keys == nil {
			e.keys = make(map[string]*keyed)
		}
		e.keys[path] = k
	}
	e.mu.Unlock()
	if added {
		r.mu.Lock()
		defer r.mu.Unlock()
		e.keysBytes += keyedBytes
		if e.remembered {
			r.bytes += keyedBytes
			r.forget()
		}
	}
	return k
}
