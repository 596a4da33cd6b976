package lru

import (
	"slices"
	"sync"
	"testing"
)

func TestTheLeastRecentlyUsedEntryIsForgotten(t *testing.T) {
	var forgotten []int
	c := New(Bounds{Entries: 3}, func(key int, _ string) { forgotten = append(forgotten, key) })
	c.Put(1, "one", 0)
	c.Add(2, "two", 0)
	c.Add(3, "three", 0)
	if v, ok := c.Get(1); !ok || v != "one" {
		t.Fatalf("1 is %q, %v", v, ok)
	}
	c.Add(4, "four", 0)
	c.Put(3, "THREE", 0)
	c.Add(5, "five", 0)
	if want := []int{2, 1}; !slices.Equal(forgotten, want) {
		t.Errorf("forgot %v, want %v", forgotten, want)
	}
	if _, ok := c.Get(2); ok || c.Len() != 3 {
		t.Errorf("2 is kept: %v; %d entries", ok, c.Len())
	}
	if v, _ := c.Get(3); v != "THREE" {
		t.Errorf("3 is %q after Put", v)
	}
}

func TestAddKeepsWhatIsThere(t *testing.T) {
	c := New[string, int](Bounds{Entries: 2}, nil)
	if got := c.Add("a", 1, 0); got != 1 {
		t.Errorf("the first Add gives %d", got)
	}
	if got := c.Add("a", 2, 0); got != 1 {
		t.Errorf("the second Add gives %d", got)
	}
	if got := c.GetOrAdd("a", 0, func() int { t.Error("a value was made for a key that has one"); return 3 }); got != 1 {
		t.Errorf("GetOrAdd gives %d", got)
	}
}

func TestSizesAreBounded(t *testing.T) {
	c := New[int, int](Bounds{Size: 10}, nil)
	for i := range 5 {
		c.Add(i, i, 4)
	}
	if c.Len() != 2 || c.Size() != 8 {
		t.Fatalf("%d entries of size %d, want 2 of 8", c.Len(), c.Size())
	}
	c.Put(4, 4, 7) // 3 does not fit any more
	if _, ok := c.Get(3); ok || c.Size() != 7 {
		t.Errorf("after an entry has grown, the size is %d", c.Size())
	}
	c.Add(9, 9, 100)
	if _, ok := c.Get(9); !ok || c.Len() != 1 || c.Size() != 100 {
		t.Errorf("the newest entry does not stay: %d entries of size %d", c.Len(), c.Size())
	}
}

// TestConcurrentUse: goroutines share a cache; each key has the value that was made for it, and the bounds hold.
func TestConcurrentUse(t *testing.T) {
	c := New[int, int](Bounds{Entries: 8, Size: 64}, nil)
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 2_000 {
				key := (i*7 + worker) % 32
				if got := c.GetOrAdd(key, 8, func() int { return -key }); got != -key {
					t.Errorf("%d has the value %d", key, got)
				}
				if got, ok := c.Get(key); ok && got != -key {
					t.Errorf("%d has the value %d", key, got)
				}
				c.Put(key, -key, 8)
			}
		})
	}
	group.Wait()
	if c.Len() > 8 || c.Size() > 64 {
		t.Errorf("%d entries of size %d", c.Len(), c.Size())
	}
}
