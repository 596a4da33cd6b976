package service

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"hash"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// PrincipalKind says who makes a request.
type PrincipalKind uint8

// The kinds.
const (
	KindKey    PrincipalKind = iota // an API key that stands for no person
	KindUser                        // a person, by a session or a personal key
	KindSystem                      // this server itself
	KindLink                        // who holds a link to a human task
)

// Principal is who makes a request, a person or an API key, and what it may do in one environment. It is shared by all
// requests of the session or key and never changed.
type Principal struct {
	Kind        PrincipalKind
	Account     chargehand.AccountID
	AccountNo   int64 // internal number of the account
	Environment chargehand.Environment
	Key         chargehand.KeyID
	KeyNo       int64  // internal number of the key
	Name        string // of the person or API key
	// Of a person: who it is, and the session, unless a personal key is used.
	User       chargehand.UserID
	PersonNo   int64 // internal number of the person
	Session    chargehand.SessionID
	SessionNo  int64 // internal number of the session
	FreshUntil time.Time
	// Outdated tells that the token of the session was made before the rights were changed: it is to be renewed.
	Outdated bool
	Scopes   Scopes
	// Workflows are the only workflows that the key may see, those of its namespaces included; nil: all.
	Workflows []chargehand.WorkflowID
	// Limits is the same as it was set: what the key applies is held to it.
	Limits store.Limits
	// RatePerSecond is the key's own rate; 0: the installation's, negative: no limit.
	RatePerSecond float64
	ExpiresAt     time.Time // zero: never

	link     chargehand.TaskLinkID // of KindLink
	files    []chargehand.FileID   // of KindLink: the only files that it reads
	charged  storageOwner          // of KindLink: whose room it takes
	digest   [sha256.Size]byte     // of the key; zero: a session
	networks []netip.Prefix        // that the key may be used from; none: any
	rights   []right               // of a person, not narrowed; nil: Scopes over Workflows are the only right
	partial  *partial              // nil: everything that it sees is shown as a whole
}

// Sees reports whether the key's list of workflows admits id.
func (p *Principal) Sees(id chargehand.WorkflowID) bool {
	return p.Workflows == nil || slices.Contains(p.Workflows, id)
}

// A principal is taken from the cache for at most hardAge after its row was read, so that a
// key that another process revoked stops working within a second. After softAge one of the
// requests reads the row again while the others use the old one.
const (
	softAge       = 500 * time.Millisecond
	hardAge       = 900 * time.Millisecond
	maxCachedKeys = 10_000
)

// keyCache holds principals by the digest of their key.
type keyCache struct {
	mu      sync.RWMutex
	entries map[[sha256.Size]byte]*keyEntry
	age     uint64 // counts the times that keys were changed here
}

type keyEntry struct {
	principal *Principal // of a session: in live
	test      *Principal // of a session: in test
	expiresMs int64      // 0: never
	loaded    time.Time
	reading   atomic.Bool // a request reads the row again
	use       *keyUse
}

func (c *keyCache) find(digest *[sha256.Size]byte) (*keyEntry, uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.entries[*digest], c.age
}

// put keeps an entry whose row was read when the cache had that age.
func (c *keyCache) put(digest *[sha256.Size]byte, e *keyEntry, age uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.age != age {
		return
	}
	if c.entries == nil || len(c.entries) >= maxCachedKeys {
		c.entries = make(map[[sha256.Size]byte]*keyEntry)
	}
	c.entries[*digest] = e
}

// clear forgets all entries, also those that are being read: some key was changed.
func (c *keyCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = nil
	c.age++
}

// Authenticate finds the principal of an API key in plain text. A new or revoked key counts
// within one second, also if another process on the same database made or revoked it.
// from is where the request comes from.
// Codes: missing_api_key, invalid_api_key, expired_api_key, address_not_allowed.
func (s *Service) Authenticate(ctx context.Context, key string, from netip.Addr) (*Principal, error) {
	if key == "" {
		return nil, chargehand.NewError(chargehand.CodeMissingAPIKey, "The request has no API key.")
	}
	if !wellFormed(key) {
		return nil, invalidKey()
	}
	digest := s.pepper.digest(key)
	now := s.now()
	entry, age := s.keys.find(&digest)
	if entry == nil || !entry.fresh(now) {
		if entry == nil {
			leave, err := s.admitStranger(ctx)
			if err != nil {
				return nil, err
			}
			defer leave()
		}
		var err error
		if entry, err = s.loadKey(ctx, &digest, age, now); err != nil {
			return nil, err
		}
	}
	nowMs := now.UnixMilli()
	if entry.expiresMs != 0 && nowMs >= entry.expiresMs {
		return nil, chargehand.NewError(chargehand.CodeExpiredAPIKey, "The API key has expired.")
	}
	if err := entry.principal.admits(from); err != nil {
		return nil, err
	}
	entry.use.lastMs.Store(nowMs)
	return entry.principal, nil
}

// fresh tells whether the entry may be used without reading its row again.
func (e *keyEntry) fresh(now time.Time) bool {
	age := now.Sub(e.loaded)
	return age >= 0 && (age < softAge || age < hardAge && !e.reading.CompareAndSwap(false, true))
}

func invalidKey() error {
	return chargehand.NewError(chargehand.CodeInvalidAPIKey, "The API key is not valid.")
}

// loadKey reads the row of a key and caches its principal.
func (s *Service) loadKey(ctx context.Context, digest *[sha256.Size]byte, age uint64, now time.Time) (*keyEntry, error) {
	var row store.Key
	entry := &keyEntry{loaded: now}
	err := s.view(ctx, func(r *store.Reader) (err error) {
		row, entry.principal, err = s.principalOfKey(r, digest)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, invalidKey()
	}
	if err != nil {
		return nil, err
	}
	entry.expiresMs, entry.use = row.ExpiresMs, s.uses.of(row.No)
	s.keys.put(digest, entry, age)
	s.logFirstUse(ctx, &row, entry.use)
	return entry, nil
}

// principalOfKey reads the row of a key, whose end is that of the digest, and its principal.
// Errors: store.ErrNotFound, also if it was revoked.
func (s *Service) principalOfKey(r *store.Reader, digest *[sha256.Size]byte) (row store.Key, p *Principal, err error) {
	row, err = r.KeyByHash(digest[:])
	switch {
	case err != nil:
	case row.RevokedMs != 0:
		err = store.ErrNotFound
	case row.Person != 0:
		p, err = s.personalPrincipal(r, &row)
	default:
		p, err = keyPrincipal(r, &row)
	}
	if err != nil {
		return row, nil, err
	}
	p.digest = *digest
	if p.networks, err = storedNetworks(row.Addresses); err != nil {
		return row, nil, err
	}
	if !bytes.Equal(row.Hash, digest[:]) { // before its rotation: it ends with the grace, and so does what it makes
		if !livesLonger(row.OldUntilMs, row.ExpiresMs) {
			p.ExpiresAt, row.ExpiresMs = atMs(row.OldUntilMs), row.OldUntilMs
		}
	}
	return row, p, nil
}

// keyPrincipal is the principal of a key that stands for no person. Errors: store.ErrNotFound.
func keyPrincipal(r *store.Reader, row *store.Key) (*Principal, error) {
	account, err := r.AccountByNo(row.Account)
	if err != nil {
		return nil, err
	}
	workflows, err := seenBy(r, row.Account, row.Limits)
	return &Principal{
		Account: account.ID, AccountNo: account.No, Environment: row.Environment, Key: row.ID, KeyNo: row.No, Name: row.Name,
		Scopes: keyScopes(row), Workflows: workflows, Limits: row.Limits, RatePerSecond: rateOf(row.Rate), ExpiresAt: atMs(row.ExpiresMs),
	}, err
}

// keyScopes are the scopes of a key. Keys of an older version may be admins and have limits.
func keyScopes(row *store.Key) Scopes {
	scopes := parseScopes(row.Scopes).In(row.Environment)
	if !row.Limits.All() {
		scopes &^= ScopeAdmin
	}
	return scopes
}

// logFirstUse logs the first request of a key. Keys are also made by the command line, beside the server, which has
// no other line for them.
func (s *Service) logFirstUse(ctx context.Context, row *store.Key, use *keyUse) {
	if row.LastUsedMs != 0 || !use.logged.CompareAndSwap(false, true) {
		return
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "API key used for the first time", slog.String("key", row.ID.String()),
		slog.String("name", row.Name), slog.String("environment", row.Environment.String()),
		slog.String("scopes", row.Scopes), slog.Bool("limited", !row.Limits.All()),
		slog.String("created_by", row.Creator), slog.Time("created_at", row.ID.Time()))
}

// parseScopes reads the stored form. Names that are not known any more grant nothing.
func parseScopes(text string) (scopes Scopes) {
	for name := range strings.FieldsSeq(text) {
		scope, _ := ParseScope(name)
		scopes |= scope
	}
	return scopes
}

// seenBy lists the workflows within limits; nil: all. Those that are deleted are among them, because their
// executions stay readable.
func seenBy(r *store.Reader, account int64, limits store.Limits) ([]chargehand.WorkflowID, error) {
	if limits.All() {
		return nil, nil
	}
	list := append([]chargehand.WorkflowID{}, limits.Workflows...)
	for _, namespace := range limits.Namespaces {
		more, err := r.WorkflowsOf(account, namespace)
		if err != nil {
			return nil, err
		}
		for _, id := range more {
			if !slices.Contains(limits.Workflows, id) {
				list = append(list, id)
			}
		}
	}
	return list, nil
}

// rateOf turns the stored rate (-1: the installation's, 0: none) into the principal's.
func rateOf(stored int64) float64 {
	switch {
	case stored < 0:
		return 0
	case stored == 0:
		return -1
	}
	return float64(stored)
}

// pepper makes keyed digests. It keeps prepared hashes, because preparing one costs more
// than the digest of an API key.
type pepper struct{ hashes sync.Pool }

func newPepper(key []byte) *pepper {
	return &pepper{sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}
}

// digest is the HMAC-SHA-256 of text.
func (p *pepper) digest(text string) (digest [sha256.Size]byte) {
	h := p.hashes.Get().(hash.Hash)
	h.Reset()
	h.Write([]byte(text))
	h.Sum(digest[:0])
	p.hashes.Put(h)
	return digest
}

// keyUse is when a key was used last.
type keyUse struct {
	lastMs, writtenMs atomic.Int64
	logged            atomic.Bool // the first use
}

// useLog remembers the last use of keys until it is written, so that no request has to.
// It holds one small entry per key that was ever used.
type useLog struct {
	mu    sync.Mutex
	byKey map[int64]*keyUse
}

func (l *useLog) of(key int64) *keyUse {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byKey == nil {
		l.byKey = make(map[int64]*keyUse)
	}
	if l.byKey[key] == nil {
		l.byKey[key] = new(keyUse)
	}
	return l.byKey[key]
}

// lastMs is the last use that this process knows of, 0 if none.
func (l *useLog) lastMs(key int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if use := l.byKey[key]; use != nil {
		return use.lastMs.Load()
	}
	return 0
}

// pending lists what is not written yet.
func (l *useLog) pending() map[int64]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	pending := make(map[int64]int64)
	for key, use := range l.byKey {
		if last := use.lastMs.Load(); last > use.writtenMs.Load() {
			pending[key] = last
		}
	}
	return pending
}

// forget drops what was used last before a time.
func (l *useLog) forget(beforeMs int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, use := range l.byKey {
		if use.lastMs.Load() < beforeMs {
			delete(l.byKey, key)
		}
	}
}

func sortedKeys(m map[int64]int64) []int64 { return slices.Sorted(maps.Keys(m)) }

// writeUses writes the last use of all keys in one transaction.
func (s *Service) writeUses(ctx context.Context) error {
	pending := s.uses.pending()
	if len(pending) == 0 {
		return nil
	}
	err := s.update(ctx, func(tx *store.Tx) error {
		// In one order, so that nodes which write at once wait for each other in one direction.
		for _, key := range sortedKeys(pending) {
			if err := tx.TouchKey(key, pending[key]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for key, lastMs := range pending {
		s.uses.of(key).writtenMs.Store(lastMs)
	}
	return nil
}
