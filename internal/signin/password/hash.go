package password

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync/atomic"

	"golang.org/x/crypto/argon2"
)

// The parameters of new hashes.
const (
	memoryKiB = 64 << 10
	passes    = 3
	lanes     = 1
	saltBytes = 16
	keyBytes  = 32
)

// Bounds of the parameters of a stored hash: a row that was changed by hand must not take all memory.
const (
	maxMemoryKiB = 256 << 10
	maxPasses    = 16
	maxLanes     = 8
)

const (
	atOnce  = 2
	waiting = 64
)

// garbageShare is the part of the heap that the blocks of argon2 may be before they are collected: a quarter.
const garbageShare = 4

// ErrBusy says that as many passwords wait to be hashed as may wait.
var ErrBusy = errors.New("too many sign-ins at once")

// errHash says that a stored hash cannot be read.
var errHash = errors.New("the stored password hash cannot be read")

// Hasher hashes and checks passwords. It is safe for concurrent use; a process has one, because it bounds the memory.
type Hasher struct {
	memory uint32 // of new hashes, in KiB
	slots  chan struct{}
	queue  atomic.Int64 // callers that wait or hash
	decoy  hash         // stands for the hash of a person who has none
	// garbage is what argon2 has left behind since the collector was run for it.
	garbage atomic.Uint64
	// derive is argon2.IDKey, another function in tests.
	derive func(password, salt []byte, time, memory uint32, threads uint8, keyLen uint32) []byte
}

// New returns a Hasher.
func New() *Hasher { return NewWeak(memoryKiB) }

// NewWeak returns a Hasher whose new hashes take less memory, for tests.
func NewWeak(memory uint32) *Hasher {
	h := &Hasher{
		memory: memory, slots: make(chan struct{}, atOnce), derive: argon2.IDKey,
		decoy: hash{memory: memory, passes: passes, lanes: lanes, salt: make([]byte, saltBytes), key: make([]byte, keyBytes)},
	}
	rand.Read(h.decoy.salt)
	rand.Read(h.decoy.key)
	return h
}

// NewWith returns a Hasher with another function in place of argon2, for tests.
func NewWith(derive func(password, salt []byte, time, memory uint32, threads uint8, keyLen uint32) []byte) *Hasher {
	h := NewWeak(memoryKiB)
	h.derive = derive
	return h
}

// Hash returns the PHC string of a new hash. Errors: ErrBusy, or that of ctx.
func (h *Hasher) Hash(ctx context.Context, text string) (string, error) {
	n := hash{memory: h.memory, passes: passes, lanes: lanes, salt: make([]byte, saltBytes)}
	rand.Read(n.salt)
	var err error
	if n.key, err = h.key(ctx, text, n, keyBytes); err != nil {
		return "", err
	}
	return n.String(), nil
}

// Check reports whether text is the password of a stored hash. Of an empty one none is, after the same time.
// Errors: ErrBusy, that of ctx, or a stored hash that cannot be read.
func (h *Hasher) Check(ctx context.Context, stored, text string) (bool, error) {
	known, wrong := h.decoy, error(nil)
	if stored != "" {
		if known, wrong = parse(stored); wrong != nil {
			known = h.decoy
		}
	}
	key, err := h.key(ctx, text, known, uint32(len(known.key)))
	if err == nil {
		err = wrong
	}
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(key, known.key) == 1 && stored != "", nil
}

// key hashes text when it is its turn.
func (h *Hasher) key(ctx context.Context, text string, n hash, length uint32) ([]byte, error) {
	defer h.queue.Add(-1)
	if h.queue.Add(1) > atOnce+waiting {
		return nil, ErrBusy
	}
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-h.slots }()
	key := h.derive([]byte(text), n.salt, n.passes, n.memory, n.lanes, length)
	h.collect(uint64(n.memory) << 10)
	return key, nil
}

// collect runs the garbage collector when the blocks that argon2 has left behind are much beside the heap. With a small
// heap they would otherwise pile up to a multiple of two hashes, and running it costs little; with a large heap running
// it after each hash would let strangers keep the processor busy with marking.
func (h *Hasher) collect(garbage uint64) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if h.garbage.Add(garbage) >= live[0].Value.Uint64()/garbageShare {
		h.garbage.Store(0)
		runtime.GC()
	}
}

// hash is a stored hash and its parameters.
type hash struct {
	memory, passes uint32
	lanes          uint8
	salt, key      []byte
}

func (n hash) String() string {
	text := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, n.memory, n.passes, n.lanes, text(n.salt), text(n.key))
}

func parse(text string) (n hash, err error) {
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return hash{}, errHash
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &n.memory, &n.passes, &n.lanes); err != nil {
		return hash{}, errHash
	}
	var wrongSalt, wrongKey error
	n.salt, wrongSalt = base64.RawStdEncoding.DecodeString(parts[4])
	n.key, wrongKey = base64.RawStdEncoding.DecodeString(parts[5])
	switch {
	case wrongSalt != nil, wrongKey != nil, len(n.salt) < 8, len(n.salt) > 64, len(n.key) < 16, len(n.key) > 64,
		n.memory < 8, n.memory > maxMemoryKiB, n.passes < 1, n.passes > maxPasses, n.lanes < 1, n.lanes > maxLanes:
		return hash{}, errHash
	}
	return n, nil
}
