package lru

import (
	"container/list"
	"sync"
)

// Bounds limits a cache. A zero field is no limit.
type Bounds struct {
	Entries int
	Size    int // sum of the sizes of all entries, in whatever unit Add and Put are given
}

// Cache keeps values by key. When it is over its bounds, it forgets the entries that were used least recently;
// the newest stays, however large it is. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	bounds Bounds
	forgot func(K, V)

	mu    sync.Mutex
	byKey map[K]*list.Element
	order list.List // of *entry[K, V], the one used last in front
	size  int
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int
}

// New makes an empty cache. forgot, if it is not nil, is called for each entry that the cache forgets to keep its
// bounds, while the cache is locked.
func New[K comparable, V any](bounds Bounds, forgot func(K, V)) *Cache[K, V] {
	return &Cache[K, V]{bounds: bounds, forgot: forgot, byKey: make(map[K]*list.Element)}
}

// Get returns the value of key and counts as a use of it.
func (c *Cache[K, V]) Get(key K) (value V, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.get(key)
}

func (c *Cache[K, V]) get(key K) (value V, found bool) {
	element, found := c.byKey[key]
	if !found {
		return value, false
	}
	c.order.MoveToFront(element)
	return element.Value.(*entry[K, V]).value, true
}

// Add keeps a value, unless key has one, and returns the one that is kept.
func (c *Cache[K, V]) Add(key K, value V, size int) V {
	return c.GetOrAdd(key, size, func() V { return value })
}

// GetOrAdd returns the value of key. Where there is none, it keeps and returns what makes one; the cache
// is locked meanwhile.
func (c *Cache[K, V]) GetOrAdd(key K, size int, makes func() V) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept, found := c.get(key); found {
		return kept
	}
	value := makes()
	c.insert(key, value, size)
	return value
}

// Put keeps a value in place of any that key has.
func (c *Cache[K, V]) Put(key K, value V, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, found := c.byKey[key]
	if !found {
		c.insert(key, value, size)
		return
	}
	e := element.Value.(*entry[K, V])
	c.size += size - e.size
	e.value, e.size = value, size
	c.order.MoveToFront(element)
	c.shrink()
}

// Len is the number of entries.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order.Len()
}

// Size is the sum of the sizes of all entries.
func (c *Cache[K, V]) Size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}

func (c *Cache[K, V]) insert(key K, value V, size int) {
	c.byKey[key] = c.order.PushFront(&entry[K, V]{key, value, size})
	c.size += size
	c.shrink()
}

func (c *Cache[K, V]) shrink() {
	for c.order.Len() > 1 && (c.bounds.Entries > 0 && c.order.Len() > c.bounds.Entries || c.bounds.Size > 0 && c.size > c.bounds.Size) {
		e := c.order.Remove(c.order.Back()).(*entry[K, V])
		delete(c.byKey, e.key)
		c.size -= e.size
		if c.forgot != nil {
			c.forgot(e.key, e.value)
		}
	}
}
