package machine

import (
	"math"
	"math/big"

	"github.com/chargehand/chargehand/internal/expr"
)

// FNV-1a with 64 bits, a word at a time: it is compared with itself only, never with an
// adversary's wishes.
const (
	hashSeed  uint64 = 14695981039346656037
	hashPrime uint64 = 1099511628211
)

func hashWord(h, word uint64) uint64 {
	h = (h ^ word) * hashPrime
	return h ^ h>>29
}

func hashText(h uint64, s string) uint64 {
	h = hashWord(h, uint64(len(s)))
	for len(s) >= 8 {
		word := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		h, s = hashWord(h, word), s[8:]
	}
	var word uint64
	for i := 0; i < len(s); i++ {
		word |= uint64(s[i]) << (8 * i)
	}
	return hashWord(h, word)
}

// hashValue hashes a value by its contents. 1 and 1.0 differ; the order of keys does not
// matter, because the hashes of an object's entries are added up.
func hashValue(h uint64, v expr.Value) uint64 {
	switch v := v.(type) {
	case nil:
		return hashWord(h, 1)
	case bool:
		if v {
			return hashWord(h, 2)
		}
		return hashWord(h, 3)
	case int:
		return hashWord(hashWord(h, 4), uint64(v))
	case float64:
		return hashWord(hashWord(h, 5), math.Float64bits(v))
	case *big.Int:
		return hashText(hashWord(hashWord(h, 6), uint64(v.Sign())), string(v.Bytes()))
	case string:
		return hashText(hashWord(h, 7), v)
	case []any:
		h = hashWord(hashWord(h, 8), uint64(len(v)))
		for _, item := range v {
			h = hashValue(h, item)
		}
		return h
	case map[string]any:
		var sum uint64
		for key, value := range v {
			sum += hashValue(hashText(hashSeed, key), value)
		}
		return hashWord(hashWord(hashWord(h, 9), uint64(len(v))), sum)
	default:
		return hashWord(h, 10)
	}
}

// Digest is a number that tells one list of commands from another. It is the same in every
// process of this revision; a replay that gives another digest has gone astray.
func Digest(commands []Command) uint64 {
	h := hashSeed
	for i := range commands {
		c := &commands[i]
		h = hashWord(hashWord(h, uint64(c.Kind)), uint64(c.ID))
		switch c.Kind {
		case RunActivity, Publish:
			h = hashText(hashText(h, c.Activity), c.Reference)
			h = hashWord(hashWord(h, uint64(c.Iteration)), uint64(c.Attempt))
			h = hashText(hashValue(h, c.Args), c.Key)
			if c.Detached {
				h = hashWord(h, 1)
			}
			if c.Stream {
				h = hashWord(h, 2)
			}
		case StartTimer:
			h = hashWord(h, uint64(c.DueMs))
		case Subscribe:
			h = hashWord(h, uint64(c.SinceMs))
			for _, f := range c.Filters {
				h = hashText(hashText(hashText(h, f.Type), f.Path), string(f.Key[:]))
			}
		case StartChild:
			if c.Child.Await {
				h = hashWord(h, 1)
			}
			h = hashText(hashText(h, string(c.Child.ID[:])), c.Child.Namespace)
			h = hashValue(hashText(hashText(h, c.Child.Name), c.Child.Version), c.Child.Input)
		case Finish:
			h = hashValue(hashWord(h, uint64(c.Phase)), c.Output)
			h = hashFault(h, c.Fault)
			for _, f := range c.Files {
				h = hashText(h, f.ID)
			}
		}
	}
	return h
}

func hashFault(h uint64, f *Fault) uint64 {
	if f == nil {
		return hashWord(h, 0)
	}
	h = hashWord(hashText(h, f.Type), uint64(f.Status))
	return hashText(hashText(hashText(h, f.Title), f.Detail), f.Instance)
}
