package embedded

import "testing"

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func TestWatch(t *testing.T) {
	var h watchers
	id, other := [16]byte{1}, [16]byte{2}
	h.notify(id) // without watchers
	first, stopFirst := h.watch(id)
	second, stopSecond := h.watch(id)
	third, stopThird := h.watch(other)
	stopSecond()
	stopSecond()
	h.notify(id)
	if !closed(first) || !closed(second) { // one channel for all
		t.Fatal("a change was not reported")
	}
	if closed(third) {
		t.Fatal("the change of another was reported")
	}
	again, stopAgain := h.watch(id)
	if closed(again) {
		t.Fatal("an old change was reported")
	}
	stopFirst() // after a newer watch has begun
	h.notify(id)
	if !closed(again) {
		t.Fatal("the second change was not reported")
	}
	stopAgain()
	stopThird()
	if h.watching.Load() != 0 {
		t.Fatalf("%d watch still", h.watching.Load())
	}
	for i := range h.shards {
		if n := len(h.shards[i].watches); n != 0 {
			t.Fatalf("%d watches are kept", n)
		}
	}
}
