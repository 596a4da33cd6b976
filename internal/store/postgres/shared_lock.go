package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/dialect"
)

// Processes in Shared mode that drive executions, or change the schema, hold the lock of the
// owner together: any number of them at once, and none beside an owner.

// bringUpTime is how long a process waits for an owner that brings the schema up to date.
const bringUpTime = 3 * time.Second

// join takes the lock for a session, unless there is an owner.
func join(s *session) (bool, error) { return s.lock("pg_try_advisory_lock_shared") }

func leave(s *session) error {
	_, err := s.ask(fmt.Sprintf("SELECT pg_advisory_unlock_shared(%d, %s)", ownerLock, lockSchema))
	return mapError(err)
}

// bringUp migrates the database for a process in Shared mode. Errors: dialect.ErrOlder, ErrOwned.
func (db *DB) bringUp(ctx context.Context, s *session) error {
	for deadline := time.Now().Add(bringUpTime); ; {
		pending, err := db.schema.pending(s)
		if err != nil || !pending && !db.options.Drives {
			return err
		}
		joined, err := join(s)
		switch {
		case err != nil:
			return err
		case joined:
			err = db.schema.migrate(ctx, db, s)
			if err == nil && db.options.Drives {
				_, err = raiseEpoch(s)
			}
			return errors.Join(err, leave(s))
		case !pending:
			return ErrOwned
		case time.Now().After(deadline):
			return fmt.Errorf("%w: stop that server first", dialect.ErrOlder)
		}
		if err := pause.For(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// connectDriver opens a session that writes for a process that drives executions.
func (db *DB) connectDriver(ctx context.Context) (*session, error) {
	s, err := db.connect(ctx)
	if err != nil {
		return nil, err
	}
	joined, err := join(s)
	if err == nil && !joined {
		err = fmt.Errorf("%w: %w", store.ErrUnavailable, ErrOwned)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}
