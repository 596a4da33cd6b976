package credential

import (
	"container/list"
	"sync"
)

// recent is a map that forgets what was not used for longest when it is full.
type recent[V any] struct {
	most int

	mu    sync.Mutex
	order *list.List // of pair[V], the last used in front
	byKey map[string]*list.Element
}

type pair[V any] struct {
	key   string
	value V
}

func newRecent[V any](most int) *recent[V] {
	return &recent[V]{most: most, order: list.New(), byKey: map[string]*list.Element{}}
}

func (r *recent[V]) get(key string) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.find(key)
}

func (r *recent[V]) find(key string) (value V, found bool) {
	element, found := r.byKey[key]
	if !found {
		return value, false
	}
	r.order.MoveToFront(element)
	return element.Value.(pair[V]).value, true
}

// getOrAdd returns the value of key, made first where there is none.
func (r *recent[V]) getOrAdd(key string, make func() V) V {
	r.mu.Lock()
	defer r.mu.Unlock()
	if value, found := r.find(key); found {
		return value
	}
	value := make()
	r.add(key, value)
	return value
}

func (r *recent[V]) put(key string, value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if element, found := r.byKey[key]; found {
		element.Value = pair[V]{key, value}
		r.order.MoveToFront(element)
		return
	}
	r.add(key, value)
}

func (r *recent[V]) add(key string, value V) {
	r.byKey[key] = r.order.PushFront(pair[V]{key, value})
	if r.order.Len() > r.most {
		oldest := r.order.Back()
		delete(r.byKey, r.order.Remove(oldest).(pair[V]).key)
	}
}
