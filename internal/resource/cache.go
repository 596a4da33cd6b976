package resource

import (
	"context"
	"crypto/sha256"
	"net/url"
	"sync"
	"time"

	"github.com/chargehand/chargehand/internal/lru"
	"github.com/chargehand/chargehand/internal/value"
)

// CacheConfig wires a Cache. Fetcher is required.
type CacheConfig struct {
	Fetcher   *Fetcher
	Documents int              // default 64
	Bytes     int64            // of all documents together; default 64 MiB
	Now       func() time.Time // nil: time.Now
}

// Cache keeps resources of http and https as long as their servers allow, at most an hour,
// and then asks whether they have changed. Files are always read. When it is full, it forgets
// what was not used for longest.
type Cache struct {
	cfg CacheConfig

	mu        sync.Mutex // for what documents hold
	documents *lru.Cache[[sha256.Size]byte, *document]
}

// document is an entry of the cache. fetching has a capacity of one: one fetch of a document runs at a
// time, and those who wait take what it brings.
type document struct {
	key      [sha256.Size]byte
	fetching chan struct{}

	// Guarded by Cache.mu.
	content Content
	until   time.Time
	held    bool
}

// NewCache fills in the defaults of cfg.
func NewCache(cfg CacheConfig) *Cache {
	if cfg.Documents == 0 {
		cfg.Documents = 64
	}
	if cfg.Bytes == 0 {
		cfg.Bytes = 64 << 20
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Cache{
		cfg:       cfg,
		documents: lru.New[[sha256.Size]byte, *document](lru.Bounds{Entries: cfg.Documents, Size: int(cfg.Bytes)}, nil),
	}
}

// Fetch is Fetcher.Fetch with the cache in between. Scope keeps apart callers that must not
// share what they fetch: account and environment. The content's data must not be changed.
func (c *Cache) Fetch(ctx context.Context, scope string, r Request) (Content, error) {
	if u, err := url.Parse(r.URI); err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return c.cfg.Fetcher.Fetch(ctx, r)
	}
	// The key is a digest, because credentials are part of it.
	key := sha256.Sum256(value.Marshal([]any{scope, r.URI, r.Authentication}))
	entry := c.entry(key)
	if content, fresh := c.cached(entry); fresh {
		return content, nil
	}
	select {
	case entry.fetching <- struct{}{}:
	case <-ctx.Done():
		u, _ := url.Parse(r.URI)
		return Content{}, c.cfg.Fetcher.noAnswer(ctx, shown(u), context.Cause(ctx))
	}
	defer func() { <-entry.fetching }()
	known, fresh := c.cached(entry)
	if fresh {
		return known, nil
	}
	got, same, err := c.cfg.Fetcher.fetch(ctx, r, known.fresh)
	if err != nil {
		return Content{}, err
	}
	if same {
		validated := known
		validated.fresh.lifetime, validated.fresh.keep = got.fresh.lifetime, got.fresh.keep
		got = validated
	}
	c.put(entry, got)
	return got, nil
}

func (c *Cache) entry(key [sha256.Size]byte) *document {
	c.mu.Lock() // put must find what it looks for
	defer c.mu.Unlock()
	return c.documents.GetOrAdd(key, 0, func() *document { return &document{key: key, fetching: make(chan struct{}, 1)} })
}

func (c *Cache) cached(entry *document) (content Content, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return entry.content, entry.held && c.cfg.Now().Before(entry.until)
}

// put keeps a content, unless its place was forgotten meanwhile.
func (c *Cache) put(entry *document, content Content) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, found := c.documents.Get(entry.key); !found || known != entry {
		return
	}
	entry.content, entry.held = Content{}, false
	if content.fresh.keep {
		entry.content, entry.held = content, true
		entry.until = c.cfg.Now().Add(content.fresh.lifetime)
	}
	c.documents.Put(entry.key, entry, len(entry.content.Data))
}
