package loglimit

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// The bounds of one window.
const (
	window  = time.Minute
	perKind = 10    // lines of one kind
	inAll   = 600   // lines of all kinds
	kinds   = 1_000 // kinds that are counted apart; all further ones share one
	summary = 10    // lines about what was left out
)

// other is the kind of what comes after the first kinds.
const other = "other"

// Limiter decides which lines are written. Nil allows everything.
type Limiter struct {
	log *slog.Logger

	mu      sync.Mutex
	end     *time.Timer // of the window; nil: none has begun
	written int
	counts  map[string]*count
}

type count struct{ written, left int }

// New returns a Limiter that writes to log what it has left out.
func New(log *slog.Logger) *Limiter {
	return &Limiter{log: log, counts: map[string]*count{}}
}

// Allow reports whether a line of a kind is to be written. A kind names what repeats: who, what and how it ended.
func (l *Limiter) Allow(kind string) bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.counts[kind]
	if c == nil && len(l.counts) >= kinds {
		kind = other
		c = l.counts[other]
	}
	if c == nil {
		c = &count{}
		l.counts[kind] = c
	}
	if l.end == nil {
		l.end = time.AfterFunc(window, l.Flush)
	}
	if c.written >= perKind || l.written >= inAll {
		c.left++
		return false
	}
	c.written++
	l.written++
	return true
}

// Flush logs how many lines were left out and begins a new window.
func (l *Limiter) Flush() {
	if l == nil {
		return
	}
	l.mu.Lock()
	counts := l.counts
	l.counts, l.written = map[string]*count{}, 0
	if l.end != nil {
		l.end.Stop()
		l.end = nil
	}
	l.mu.Unlock()
	maps.DeleteFunc(counts, func(_ string, c *count) bool { return c.left == 0 })
	most := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b].left, counts[a].left), cmp.Compare(a, b))
	})
	rest := 0
	for i, kind := range most {
		if i < summary {
			l.tell(kind, counts[kind].left)
			continue
		}
		rest += counts[kind].left
	}
	if rest > 0 {
		l.tell("all others", rest)
	}
}

func (l *Limiter) tell(kind string, lines int) {
	l.log.LogAttrs(context.Background(), slog.LevelInfo, "lines were left out, as too many said the same within a minute",
		slog.String("of", kind), slog.Int("lines", lines))
}
