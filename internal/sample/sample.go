package sample

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
)

var seed = sync.OnceValue(func() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("CHARGEHAND_SAMPLE"), 10, 64); err == nil {
		return n
	}
	return rand.Uint64N(1_000_000)
})

// Full reports whether everything is taken.
func Full() bool { return os.Getenv("CHARGEHAND_FULL") != "" }

// Every takes one in n of a row: of 1, 2, 3 …, those that the loop `for k := first; ; k += step` takes.
// Where it begins is another for each test.
func Every(t testing.TB, n int) (first, step int) {
	t.Helper()
	if Full() || n <= 1 {
		return 1, 1
	}
	tellWhenFailed(t)
	return 1 + position(t.Name(), n), n
}

// position is from 0 to n-1, by the name and the seed.
func position(name string, n int) int {
	h := fnv.New64a()
	h.Write([]byte(name))
	return int(rand.New(rand.NewPCG(h.Sum64(), seed())).Uint64N(uint64(n)))
}

func tellWhenFailed(t testing.TB) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("CHARGEHAND_SAMPLE=%d takes this sample again, CHARGEHAND_FULL=1 takes everything", seed())
		}
	})
}
