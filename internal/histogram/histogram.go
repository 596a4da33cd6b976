package histogram

import (
	"encoding/binary"
	"errors"
	"maps"
	"math/bits"
	"slices"
)

// Histogram counts durations in milliseconds by bin. The zero value is empty and can be added to.
type Histogram struct{ bins map[int]int64 }

// subBits is the number of bits below the highest one that tell bins apart.
const subBits = 4

// bin is the number of the bin of a duration: itself up to 31, then sixteen bins for each power of two.
func bin(ms int64) int {
	ms = max(0, ms)
	exponent := bits.Len64(uint64(ms)) - 1 - subBits
	if exponent <= 0 {
		return int(ms)
	}
	return exponent<<subBits + int(ms>>exponent)
}

// bounds are the least duration of a bin and the least one above it.
func bounds(bin int) (low, above int64) {
	if bin < 2<<subBits {
		return int64(bin), int64(bin) + 1
	}
	exponent := bin>>subBits - 1
	low = int64(bin-exponent<<subBits) << exponent
	return low, low + 1<<exponent
}

// Add counts a duration. A negative one counts as 0.
func (h *Histogram) Add(ms int64) { h.add(bin(ms), 1) }

func (h *Histogram) add(bin int, n int64) {
	if h.bins == nil {
		h.bins = make(map[int]int64)
	}
	if h.bins[bin] += n; h.bins[bin] == 0 {
		delete(h.bins, bin)
	}
}

// Merge adds the durations of o.
func (h *Histogram) Merge(o Histogram) {
	for bin, n := range o.bins {
		h.add(bin, n)
	}
}

// Remove takes away the durations of o, which must be a part of h.
func (h *Histogram) Remove(o Histogram) {
	for bin, n := range o.bins {
		h.add(bin, -n)
	}
}

// Count is the number of durations.
func (h Histogram) Count() (n int64) {
	for _, count := range h.bins {
		n += count
	}
	return n
}

// Quantile is the longest duration of the bin that holds the one below which a share q of all durations is, with q from
// 0 to 1: at least that share takes no longer. false: there are no durations.
func (h Histogram) Quantile(q float64) (ms int64, ok bool) {
	total := h.Count()
	if total <= 0 {
		return 0, false
	}
	left := min(total-1, int64(q*float64(total)))
	for _, bin := range slices.Sorted(maps.Keys(h.bins)) {
		if left -= h.bins[bin]; left < 0 {
			_, above := bounds(bin)
			return above - 1, true
		}
	}
	return 0, false
}

// Bytes encodes h: pairs of the distance to the bin before and the count, as varints. It is nil for an empty histogram.
func (h Histogram) Bytes() []byte {
	var b []byte
	last := 0
	for _, bin := range slices.Sorted(maps.Keys(h.bins)) {
		b = binary.AppendUvarint(b, uint64(bin-last))
		b = binary.AppendVarint(b, h.bins[bin])
		last = bin
	}
	return b
}

// ErrDamaged is returned by MergeBytes.
var ErrDamaged = errors.New("not a histogram")

// lastBin is that of the longest duration.
const lastBin = (64 - subBits) << subBits

// MergeBytes adds the durations of an encoded histogram. Errors: ErrDamaged; some durations may have been added then.
func (h *Histogram) MergeBytes(b []byte) error {
	for at := 0; len(b) > 0; {
		distance, n := binary.Uvarint(b)
		if n <= 0 || distance > lastBin {
			return ErrDamaged
		}
		count, m := binary.Varint(b[n:])
		if at += int(distance); m <= 0 || at > lastBin {
			return ErrDamaged
		}
		h.add(at, count)
		b = b[n+m:]
	}
	return nil
}
