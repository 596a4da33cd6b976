package store

import "testing"

// BenchmarkColumnsInClear is what it takes to write and read a column while encryption is switched off. The simplest
// execution has three of them.
func BenchmarkColumnsInClear(b *testing.B) {
	r, data := &Reader{}, []byte(`{"name":"Ada"}`)
	for b.Loop() {
		column := r.seal(kindInput, rowKey{1}, data).([]byte)
		if got, err := r.open(kindInput, rowKey{1}, column); err != nil || len(got) != len(data) {
			b.Fatal(got, err)
		}
	}
}
