package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/mail"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/reminder"
	"github.com/chargehand/chargehand/internal/store"
)

// Retention is how long things are kept after their end. Zero fields stand for the defaults.
type Retention struct {
	Live time.Duration // default 30 days
	Test time.Duration // default 7 days
	// Events counts from when they were stored; default 7 days. It is not prolonged for those who
	// have not read them.
	Events time.Duration
	Audit  time.Duration // of the audit log; default 400 days
}

func (r Retention) withDefaults() Retention {
	const day = 24 * time.Hour
	if r.Live == 0 {
		r.Live = 30 * day
	}
	if r.Test == 0 {
		r.Test = 7 * day
	}
	if r.Events == 0 {
		r.Events = 7 * day
	}
	if r.Audit == 0 {
		r.Audit = 400 * day
	}
	return r
}

const (
	// looseLife is how long content stays that nothing refers to.
	looseLife = time.Hour
	// sweepRows bounds the rows that one step of the sweep deletes, so that no step keeps the
	// writer for long.
	sweepRows = 100
	// sweepPause lies between two steps, so that the sweep takes a small part of the writer.
	sweepPause = 20 * time.Millisecond
	// sweepBehind is how long a sweep takes that is behind, because more comes than it deletes. From then on it takes
	// half of the time.
	sweepBehind = 10 * time.Second
	// sweepPart bounds the rows of one kind that are deleted before those of other kinds are. So a kind of
	// which more comes than is deleted, or of which there are millions, keeps no other one waiting for long.
	sweepPart = 10_000
	// sweepEvery and useEvery are how often the work in the background is looked at.
	sweepEvery = time.Minute
	useEvery   = 10 * time.Second
	// sweepLease is how long the right to sweep lasts after it was last prolonged. It is much
	// longer than contentTime and than what the clocks of nodes may differ, because a node that
	// deletes content behind its lease could delete what was stored again in between.
	sweepLease = 3 * time.Minute
	// contentTime bounds the deletion of the content of one step.
	contentTime = 30 * time.Second
)

// Run does the work in the background (schedules, retention, last use of keys, forgetting idle
// rate buckets) until ctx ends. It writes what is pending before it returns.
func (s *Service) Run(ctx context.Context) {
	uses, sweeps := time.NewTicker(useEvery), time.NewTicker(sweepEvery)
	defer uses.Stop()
	defer sweeps.Stop()
	var beside sync.WaitGroup
	beside.Go(func() { s.schedules.Run(ctx) })
	beside.Go(func() { s.reserve.Run(ctx) })
	beside.Go(func() { s.sweepOften(ctx) })
	defer beside.Wait()
	for {
		select {
		case <-uses.C:
			s.report("write the last use of API keys", s.writeUses(ctx))
			s.report("write when sessions were last seen", s.writeSessionUses(ctx))
		case <-sweeps.C:
			s.limiter.sweep(s.now())
			s.quotas.events.sweep(s.now())
			s.report("warn of API keys that end", s.WarnOfKeys(ctx))
		case <-ctx.Done():
			s.report("write the last use of API keys", s.writeUses(context.WithoutCancel(ctx)))
			s.report("write when sessions were last seen", s.writeSessionUses(context.WithoutCancel(ctx)))
			return
		}
	}
}

// sweepOften sweeps until ctx ends. A sweep may take many minutes, which no other work waits for.
func (s *Service) sweepOften(ctx context.Context) {
	ticks := time.NewTicker(sweepEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			s.report("delete what is past its retention", s.Sweep(ctx))
		case <-ctx.Done():
			return
		}
	}
}

// report logs an error of background work, for which no request waits.
func (s *Service) report(what string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		s.log.Warn(what, "error", err)
	}
}

// Sweep deletes everything that is past its time: executions with all that belongs to them,
// batches when their items are gone, idempotency keys, uploads that nothing refers to, and
// content an hour after its last reference. It works in small steps, in which the kinds of rows
// take turns, until nothing is left, and then gives space back if it has deleted anything. Of the
// nodes on a shared database one sweeps at a time; the others only look after what Puts of their
// own left behind.
func (s *Service) Sweep(ctx context.Context) error {
	if err := s.sweepRows(ctx); err != nil {
		return err
	}
	return blobError(s.blobs.DropUnfinished(ctx, s.now().Add(-unfinishedLife)))
}

func (s *Service) sweepRows(ctx context.Context) error {
	if s.shared {
		defer s.releaseSweep(context.WithoutCancel(ctx))
	}
	began, steps := time.Now(), s.sweepSteps()
	for deleted := false; ; {
		n, more, mine, err := s.sweepRound(ctx, steps, began)
		if err != nil || !mine {
			return err
		}
		deleted = deleted || n > 0
		if !more {
			if !deleted {
				return nil
			}
			return storageError(s.store.Compact(ctx))
		}
	}
}

// sweepRound lets each step delete its part in a sweep that began then. It returns how many rows were deleted, whether
// a step has more to delete, and whether this node still has the lease.
func (s *Service) sweepRound(ctx context.Context, steps []sweepStep, began time.Time) (deleted int, more, mine bool, err error) {
	for _, step := range steps {
		for part := 0; ; {
			if mine, err = s.maySweep(ctx); err != nil || !mine {
				return deleted, more, mine, err
			}
			stepped := time.Now()
			var n int
			if n, err = step(ctx); err != nil {
				return deleted, more, mine, err
			}
			deleted, part = deleted+n, part+n
			if n < sweepRows {
				break
			}
			if part >= sweepPart {
				more = true
				break
			}
			if err = pause.For(ctx, sweepRest(time.Since(began), time.Since(stepped))); err != nil {
				return deleted, more, mine, err
			}
		}
	}
	return deleted, more, mine, nil
}

// sweepRest is how long a sweep rests that has run for so long and whose last step took so long.
func sweepRest(running, step time.Duration) time.Duration {
	if running < sweepBehind {
		return sweepPause
	}
	return min(step, sweepPause)
}

// maySweep takes or prolongs the lease of the sweep, and reports whether this node has it.
func (s *Service) maySweep(ctx context.Context) (bool, error) {
	if !s.shared {
		return true, nil
	}
	return s.leaseSweep(ctx, sweepLease)
}

// releaseSweep lets another node sweep at once, if this one has the lease.
func (s *Service) releaseSweep(ctx context.Context) {
	_, err := s.leaseSweep(ctx, -time.Millisecond)
	s.report("release the lease of the sweep", err)
}

func (s *Service) leaseSweep(ctx context.Context, life time.Duration) (mine bool, err error) {
	err = s.update(ctx, func(tx *store.Tx) error {
		nowMs := s.nowMs()
		return tx.TakeLease("sweep", s.node, nowMs, nowMs+life.Milliseconds())
	})
	if errors.Is(err, store.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// sweepStep deletes up to sweepRows rows and tells how many they were.
type sweepStep func(ctx context.Context) (int, error)

func (s *Service) sweepSteps() []sweepStep {
	// Each step looks at the clock itself: the ones before it may have taken long.
	ago := func(d time.Duration) int64 { return s.now().Add(-d).UnixMilli() }
	var steps []sweepStep
	write := func(do func(tx *store.Tx) (int, error)) {
		steps = append(steps, func(ctx context.Context) (n int, err error) {
			err = s.update(ctx, func(tx *store.Tx) (err error) {
				n, err = do(tx)
				return err
			})
			return n, err
		})
	}
	for env, life := range map[chargehand.Environment]time.Duration{chargehand.Live: s.retention.Live, chargehand.Test: s.retention.Test} {
		write(func(tx *store.Tx) (int, error) { return tx.DeleteEnded(env, ago(life), sweepRows) })
		write(func(tx *store.Tx) (int, error) { return tx.DeleteUploads(env, ago(life), sweepRows) })
	}
	write(func(tx *store.Tx) (int, error) {
		n, err := tx.DeleteIdempotency(ago(idempotencyLife), sweepRows)
		return int(n), err
	})
	write(func(tx *store.Tx) (int, error) {
		n, err := tx.DeleteBulkAnswers(ago(idempotencyLife), sweepRows)
		return int(n), err
	})
	write(func(tx *store.Tx) (int, error) {
		n, err := tx.DeleteSessions(ago(0), sweepRows)
		return int(n), err
	})
	write(func(tx *store.Tx) (int, error) {
		n, err := tx.DeleteTickets(ago(0), sweepRows)
		return int(n), err
	})
	write(func(tx *store.Tx) (int, error) {
		n, err := tx.DeleteSignInDelays(ago(signInDelayLife), sweepRows)
		return int(n), err
	})
	write(func(tx *store.Tx) (int, error) {
		n, err := tx.KeepSignInDelays(maxSignInDelays, sweepRows)
		return int(n), err
	})
	write(func(tx *store.Tx) (int, error) {
		n, err := tx.DeleteAudit(ago(s.retention.Audit), sweepRows)
		return int(n), err
	})
	write(func(tx *store.Tx) (int, error) { return tx.FoldUsage(sweepRows) })
	write(func(tx *store.Tx) (int, error) {
		n, err := tx.DeleteRollups(ago(rollupLife), sweepRows)
		return int(n), err
	})
	write(func(tx *store.Tx) (int, error) {
		n, err := tx.DeleteMail(ago(mail.Keep), sweepRows)
		return int(n), err
	})
	write(func(tx *store.Tx) (int, error) {
		n, err := tx.DeleteFacts(ago(reminder.FactLife), sweepRows)
		return int(n), err
	})
	write(func(tx *store.Tx) (int, error) { return tx.DeleteOperations(ago(OperationLife), sweepRows) })
	// A file whose outcome was never journaled belongs to an activity that has ended long ago.
	write(func(tx *store.Tx) (int, error) {
		return tx.DeleteHiddenFiles(ago(hiddenLife), sweepRows)
	})
	write(func(tx *store.Tx) (int, error) {
		n, err := tx.StampUnusedBlobs(ago(0), sweepRows)
		return int(n), err
	})
	write(func(tx *store.Tx) (int, error) {
		n, err := tx.StartBlobDeletion(ago(looseLife), sweepRows)
		return int(n), err
	})
	return append(steps, s.deleteEvents, s.deleteContent)
}

// signInDelayLife is how long a failed sign-in counts at the most (package delay).
const signInDelayLife = 24 * time.Hour

// maxSignInDelays is how many failed sign-ins are kept, the newest ones: as many as servers can test in the better part
// of an hour, and no more than some ten megabytes.
const maxSignInDelays = 200_000

// unfinishedLife is the maximum of time in which content arrives. A crash has left behind what is older.
const unfinishedLife = 24 * time.Hour

// hiddenLife is the maximum of time for which a file is invisible: until the outcome that names it is stored. An
// outcome waits for the store at most as long as it is kept in memory.
const hiddenLife = 24 * time.Hour

// deleteContent deletes condemned content, and then its rows. It stops well before another
// node may take over. Otherwise that node could delete a row, a request could store the same
// content again, and a late deletion by this node would remove it.
func (s *Service) deleteContent(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, contentTime)
	defer cancel()
	until := s.now().Add(contentTime)
	var digests [][]byte
	err := s.view(ctx, func(r *store.Reader) (err error) {
		digests, err = r.BlobsToDelete(sweepRows)
		return err
	})
	if err != nil || len(digests) == 0 {
		return 0, err
	}
	for _, digest := range digests {
		if s.now().After(until) {
			return 0, nil // the next sweep continues here
		}
		if err := s.blobs.Delete(ctx, blob.DigestOf(digest)); err != nil {
			return 0, blobError(err)
		}
	}
	err = s.update(ctx, func(tx *store.Tx) error {
		for _, digest := range digests {
			if err := tx.RemoveBlob(digest); err != nil && !errors.Is(err, store.ErrConflict) {
				return err
			}
		}
		return nil
	})
	return len(digests), err
}
