package keyring

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// activeAfter lies between the making of a data key and its first use: longer than Watch needs to find it.
	activeAfter = time.Minute
	// AliveTime is how long a process counts after it was last seen.
	AliveTime = 3 * time.Minute
	// leaseTime bounds an exchange; another one waits for its end.
	leaseTime = 20 * time.Second
	leasePoll = 250 * time.Millisecond
	leaseName = "master key"
)

// ErrNeeded says that an older master key is needed.
var ErrNeeded = errors.New("an older master key is needed")

// Exchange is the exchange of the master key of an installation.
type Exchange struct {
	Store  *store.Store
	File   string // the master key file, which is replaced
	Folder string // as in Watch
	Now    func() time.Time
	// Record is called in the transaction of each change of the database; nil: nothing.
	Record func(*store.Tx, Report) error

	done func(step string) error // after each step that is durable; tests end there
}

// Report says what was done.
type Report struct {
	Current  string   // id of the current master key
	Made     bool     // it was made now
	Older    []string // ids of the others in the file
	Wrapped  int      // keys that were wrapped by the current one now
	Removed  []string // ids of the older ones that were removed
	DataKey  uint32   // number of the data key that was made; 0: none
	ActiveAt time.Time
}

// Rotate adds a new master key to the file and wraps every key of the installation by it, too. It may be cut off
// anywhere, and is completed by repeating it; with dataKey it makes a new data key as well. Servers may run beside it.
func (x *Exchange) Rotate(ctx context.Context, dataKey bool) (Report, error) {
	return x.alone(ctx, func(ring *secret.Keyring, wrapped []store.WrappedKey) (report Report, err error) {
		now := x.Now()
		// Otherwise a Rotate that was cut off has added it.
		if isWrappedBy(wrapped, ring.Current()) == count(wrapped) {
			ring = ring.Add(now)
			if err := secret.Save(x.File, ring); err != nil {
				return report, fmt.Errorf("%w: where the file cannot be written, as a mounted one, run this with a copy of it, and give the copy to every server", err)
			}
			report.Made = true
			if err := x.step("file"); err != nil {
				return report, err
			}
		}
		current := ring.Current()
		report.Current, report.Older = current.ID(), ring.IDs()[:len(ring.IDs())-1]
		err = x.Store.Update(ctx, func(tx *store.Tx) error {
			report.Wrapped, report.DataKey = 0, 0
			if err := tx.LockInstallation(); err != nil {
				return err
			}
			wrapped, err := tx.WrappedKeys()
			if err != nil {
				return err
			}
			keys, err := unwrap(wrapped, ring)
			if err != nil {
				return err
			}
			for _, key := range keys.List() {
				if isWrapped(wrapped, key, current) {
					continue
				}
				if err := insert(tx, []*secret.Master{current}, key); err != nil {
					return err
				}
				report.Wrapped++
			}
			if !dataKey {
				return x.record(tx, report)
			}
			report.ActiveAt = now.Add(activeAfter)
			key := secret.NewKey(next(keys.List()), secret.Data, now.UnixMilli(), report.ActiveAt.UnixMilli())
			report.DataKey = key.Number
			by := wrappers(wrapped, ring)
			if !slices.Contains(by, current) {
				by = append(by, current)
			}
			return errors.Join(insert(tx, by, key), x.record(tx, report))
		})
		if err == nil {
			err = x.step("wrapped")
		}
		return report, err
	})
}

// Finish removes the older master keys, from the database first and then from the file. It may be cut off anywhere, and
// is completed by repeating it. Errors: ErrNeeded, with what needs them; then nothing was changed.
func (x *Exchange) Finish(ctx context.Context) (Report, error) {
	return x.alone(ctx, func(ring *secret.Keyring, _ []store.WrappedKey) (report Report, err error) {
		current := ring.Current()
		report.Current = current.ID()
		err = x.Store.Update(ctx, func(tx *store.Tx) error {
			report.Removed = nil
			if err := tx.LockInstallation(); err != nil {
				return err
			}
			state, err := inspect(&tx.Reader, ring, x.File, x.Folder, x.Now())
			if err != nil {
				return err
			}
			if len(state.Needs) > 0 {
				return fmt.Errorf("%w: %s", ErrNeeded, strings.Join(state.Needs, "; "))
			}
			for _, id := range state.Older {
				if err := tx.DeleteWrappedKeys(id); err != nil {
					return err
				}
			}
			report.Removed = state.Older
			return x.record(tx, report)
		})
		if err == nil {
			err = x.step("unwrapped")
		}
		if err == nil && len(ring.IDs()) > 1 {
			if err = secret.Save(x.File, ring.CurrentOnly()); err == nil {
				err = x.step("file")
			}
		}
		return report, err
	})
}

// record calls Record if the database was changed.
func (x *Exchange) record(tx *store.Tx, report Report) error {
	if x.Record == nil || report.Wrapped == 0 && report.DataKey == 0 && len(report.Removed) == 0 {
		return nil
	}
	return x.Record(tx, report)
}

// alone runs an exchange while no other one runs.
func (x *Exchange) alone(ctx context.Context, run func(*secret.Keyring, []store.WrappedKey) (Report, error)) (Report, error) {
	var holder [16]byte
	rand.Read(holder[:])
	if err := x.lease(ctx, holder); err != nil {
		return Report{}, err
	}
	defer x.release(context.WithoutCancel(ctx), holder)
	ring, err := secret.Load(x.File)
	if err != nil {
		return Report{}, err
	}
	var wrapped []store.WrappedKey
	err = x.Store.View(ctx, func(r *store.Reader) error {
		if wrapped, err = r.WrappedKeys(); err == nil {
			_, err = unwrap(wrapped, ring)
		}
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = errors.New("no server has begun on this database: start one first")
	}
	if err != nil {
		return Report{}, wrap(err)
	}
	if lacks := lacking(wrapped, ring); len(lacks) > 0 {
		return Report{}, fmt.Errorf("the master key was exchanged elsewhere: %s does not hold %s; copy the file from the server where that was done, and repeat this",
			x.File, strings.Join(lacks, ", "))
	}
	return run(ring, wrapped)
}

func (x *Exchange) lease(ctx context.Context, holder [16]byte) error {
	for {
		now := x.Now()
		err := x.Store.Update(ctx, func(tx *store.Tx) error {
			return tx.TakeLease(leaseName, holder, now.UnixMilli(), now.Add(leaseTime).UnixMilli())
		})
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("another exchange of the master key is under way: %w", ctx.Err())
		case <-time.After(leasePoll):
		}
	}
}

// release lets the next one begin at once. Without it, the lease ends by itself.
func (x *Exchange) release(ctx context.Context, holder [16]byte) {
	now := x.Now().UnixMilli()
	_ = x.Store.Update(ctx, func(tx *store.Tx) error { return tx.TakeLease(leaseName, holder, now, now-1) })
}

func (x *Exchange) step(name string) error {
	if x.done == nil {
		return nil
	}
	return x.done(name)
}

// count is how many keys there are.
func count(wrapped []store.WrappedKey) int {
	numbers := map[int64]bool{}
	for _, w := range wrapped {
		numbers[w.Number] = true
	}
	return len(numbers)
}

// isWrappedBy is how many keys are wrapped by a master key.
func isWrappedBy(wrapped []store.WrappedKey, by *secret.Master) (n int) {
	for _, w := range wrapped {
		if w.Master == by.ID() {
			n++
		}
	}
	return n
}

func isWrapped(wrapped []store.WrappedKey, key *secret.Key, by *secret.Master) bool {
	return slices.ContainsFunc(wrapped, func(w store.WrappedKey) bool { return w.Number == int64(key.Number) && w.Master == by.ID() })
}

// lacking are the ids of the master keys that something is wrapped by and that the keyring has not got.
func lacking(wrapped []store.WrappedKey, ring *secret.Keyring) (ids []string) {
	for _, id := range masters(wrapped) {
		if ring.Master(id) == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
