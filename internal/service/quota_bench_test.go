package service

import "testing"

// BenchmarkAdmission is what the quotas take of each start of an execution: those of the environment and of the one who
// starts it.
func BenchmarkAdmission(b *testing.B) {
	fx := newFixture(b)
	for b.Loop() {
		room := fx.admission(fx.p)
		if err := room.take(b.Context(), amount{executions: 1, bytes: 20}); err != nil {
			b.Fatal(err)
		}
		room.end(true)
	}
}
