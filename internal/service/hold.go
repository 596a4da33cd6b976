package service

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// holdEvery is how often the keys and sessions of long requests are read again. A key that another
// process revokes so ends them within a second.
const holdEvery = 600 * time.Millisecond

// holdFailures is after how many readings in a row that failed to read a key or session its requests end. heldAtOnce is
// how many keys and sessions are read in one transaction, which has holdEvery.
const (
	holdFailures = 8
	heldAtOnce   = 100
)

// holds knows the keys and sessions of long requests: streams, and those that wait.
type holds struct {
	mu      sync.Mutex
	byKey   map[holdKey]hold
	running bool
}

// holdKey is a key by its digest, or a session in an environment.
type holdKey struct {
	digest      [sha256.Size]byte
	session     int64
	environment chargehand.Environment
}

// hold are the requests of one key or session, each with the rights that it began with (rightsOf).
type hold map[*context.CancelCauseFunc]string

// Hold returns a context that ends when the key or session of p ends, or its rights change; the cause is then a
// *StreamEnd. It does not count as a use of either. The caller calls release at last.
func (s *Service) Hold(ctx context.Context, p *Principal) (held context.Context, release func()) {
	held, cancel := context.WithCancelCause(ctx)
	key := holdKey{digest: p.digest, session: p.SessionNo, environment: p.Environment}
	if p.digest == ([sha256.Size]byte{}) && p.SessionNo == 0 { // this server itself
		return held, func() { cancel(nil) }
	}
	h := &s.holds
	rights := rightsOf(p)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byKey == nil {
		h.byKey = make(map[holdKey]hold)
	}
	if h.byKey[key] == nil {
		h.byKey[key] = make(hold)
	}
	h.byKey[key][&cancel] = rights
	if !h.running {
		h.running = true
		go s.checkHolds()
	}
	return held, func() {
		cancel(nil)
		h.mu.Lock()
		defer h.mu.Unlock()
		if delete(h.byKey[key], &cancel); len(h.byKey[key]) == 0 {
			delete(h.byKey, key)
		}
	}
}

// checkHolds reads keys and sessions again, while there are such requests.
func (s *Service) checkHolds() {
	ticker := time.NewTicker(holdEvery)
	defer ticker.Stop()
	h, unread := &s.holds, unreadHolds{}
	for range ticker.C {
		h.mu.Lock()
		if len(h.byKey) == 0 {
			h.running = false
			h.mu.Unlock()
			return
		}
		keys := slices.Collect(maps.Keys(h.byKey))
		h.mu.Unlock()
		h.end(unread.read(keys, s.heldRights))
	}
}

// unreadHolds counts in how many readings in a row the rights of a key or session were not read.
type unreadHolds map[holdKey]int

// read reads the rights of keys, some at a time, those first that were not read for the longest. An error ends it: the
// storage is away, or has much to do. The answer lacks those that were not read; if they were not for too long, it says
// that their requests end.
func (u unreadHolds) read(keys []holdKey, rights func([]holdKey) (map[holdKey]heldRights, error)) map[holdKey]heldRights {
	slices.SortStableFunc(keys, func(a, b holdKey) int { return u[b] - u[a] })
	known := make(map[holdKey]heldRights, len(keys))
	for part := range slices.Chunk(keys, heldAtOnce) {
		read, err := rights(part)
		if err != nil {
			break
		}
		maps.Copy(known, read)
	}
	before := maps.Clone(u)
	clear(u) // others are not held any more
	for _, key := range keys {
		if _, read := known[key]; read {
			continue
		}
		if u[key] = before[key] + 1; u[key] >= holdFailures {
			known[key] = heldRights{end: &StreamEnd{Reason: EndUnavailable, Detail: "The storage cannot be used at the moment.", Reconnect: true}}
		}
	}
	return known
}

// heldRights is what a key or session may do now; or why all its requests end.
type heldRights struct {
	rights string
	end    *StreamEnd
}

var errRightsChanged = &StreamEnd{Reason: EndRevoked, Detail: "The rights of the API key or session have changed.", Reconnect: true}

// end ends the requests of keys and sessions that have ended, and those that began with other rights.
func (h *holds) end(known map[holdKey]heldRights) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, now := range known {
		requests := h.byKey[key]
		for cancel, rights := range requests {
			switch {
			case now.end != nil:
				(*cancel)(now.end)
			case rights != now.rights:
				(*cancel)(errRightsChanged)
			default:
				continue
			}
			delete(requests, cancel)
		}
		if len(requests) == 0 {
			delete(h.byKey, key)
		}
	}
}

// heldRights reads what keys and sessions may do now.
func (s *Service) heldRights(keys []holdKey) (map[holdKey]heldRights, error) {
	known := make(map[holdKey]heldRights, len(keys))
	ctx, cancel := context.WithTimeout(context.Background(), holdEvery)
	defer cancel()
	err := s.view(ctx, func(r *store.Reader) error {
		clear(known)
		for _, key := range keys {
			now, err := s.principalOf(r, key)
			switch {
			case errors.Is(err, store.ErrNotFound):
				known[key] = heldRights{end: &StreamEnd{Reason: EndRevoked, Detail: "The API key or session has ended."}}
			case err != nil:
				return err
			default:
				known[key] = heldRights{rights: rightsOf(now)}
			}
		}
		return nil
	})
	return known, err
}

// principalOf reads the principal of a key or session that counts now. Errors: store.ErrNotFound.
func (s *Service) principalOf(r *store.Reader, key holdKey) (*Principal, error) {
	nowMs := s.nowMs()
	if key.session == 0 {
		row, p, err := s.principalOfKey(r, &key.digest)
		if err == nil && row.ExpiresMs != 0 && nowMs >= row.ExpiresMs {
			err = store.ErrNotFound
		}
		return p, err
	}
	row, err := r.SessionByNo(key.session)
	if err == nil && row.Ended(nowMs) {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	base, grants, err := s.memberPrincipal(r, row.Account, row.Person)
	if err != nil {
		return nil, err
	}
	return withRights(r, base, grants, key.environment)
}

// rightsOf is a text that changes with what a principal may do. The workflows that are in its namespaces do not count.
func rightsOf(p *Principal) string {
	if p.rights == nil {
		return fmt.Sprint(p.AccountNo, p.Scopes, p.Limits, p.networks)
	}
	text := fmt.Sprint(p.AccountNo, p.networks)
	for _, r := range p.rights {
		text += fmt.Sprint(" ", r.scopes, r.limits)
	}
	return text
}
