package postgres_test

import (
	"context"
	"errors"
	"testing"

	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/dialect"
	"github.com/chargehand/chargehand/internal/store/postgres"
)

// Several processes drive executions together, but not beside an owner, and no owner beside them.
func TestDriversAndOwner(t *testing.T) {
	t.Parallel()
	address := server(t).NewSchema(t)
	driving := postgres.Options{URL: address, Mode: postgres.Shared, Drives: true, Writers: 1}
	one, two := open(t, driving), open(t, driving)
	for _, db := range []*postgres.DB{one, two} {
		if err := setMeta(db, "driven"); err != nil {
			t.Fatal(err)
		}
	}
	owner := standby(t, postgres.Options{URL: address})
	if ok, err := owner.TryOwn(t.Context()); ok || err != nil {
		t.Fatalf("beside those who drive: %t, %v", ok, err)
	}
	one.Close()
	if ok, err := owner.TryOwn(t.Context()); ok || err != nil {
		t.Fatalf("beside the other one: %t, %v", ok, err)
	}
	two.Close()
	until(t, "own the database", func() error {
		if ok, err := owner.TryOwn(t.Context()); !ok {
			return errors.Join(errors.New("not yet"), err)
		}
		return nil
	})
	if _, err := postgres.Open(t.Context(), driving); !errors.Is(err, postgres.ErrOwned) || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("beside an owner: %v, want ErrOwned", err)
	}
	beside := open(t, postgres.Options{URL: address, Mode: postgres.Shared})
	if err := setMeta(beside, "a key"); err != nil {
		t.Errorf("who does not drive executions: %v", err)
	}
}

// An owner that has lost its session does not continue when others have driven executions meanwhile.
func TestOwnerAfterDrivers(t *testing.T) {
	t.Parallel()
	address := server(t).NewSchema(t)
	owner := open(t, postgres.Options{URL: address})
	beside := open(t, postgres.Options{URL: address, Mode: postgres.Shared})
	driving := postgres.Options{URL: address, Mode: postgres.Shared, Drives: true, Writers: 1}
	until(t, "drive in place of the owner", func() error {
		if err := endOwner(beside); err != nil {
			return err
		}
		db, err := postgres.Open(t.Context(), driving)
		if err != nil {
			return err
		}
		return db.Close()
	})
	until(t, "give the database up", func() error {
		_ = setMeta(owner, "late")
		select {
		case <-owner.Lost():
			return nil
		default:
			return errors.New("not yet")
		}
	})
	if metaNames(t, beside)["late"] {
		t.Error("the deposed owner has written")
	}
}

// endOwner ends the session that holds the lock of the owner, as a network may.
func endOwner(db *postgres.DB) error {
	return db.Update(context.Background(), func(c store.Conn) error {
		return c.Query(`SELECT COUNT(pg_terminate_backend(l.pid)) FROM pg_locks l WHERE l.locktype = 'advisory'
 AND l.classid = 1667785074 AND l.objid = hashtext(current_schema())::bigint & 4294967295 AND l.mode = 'ExclusiveLock'`, func(store.Row) error { return nil })
	})
}

// Who makes a key with a newer binary does not change the schema under a running owner.
func TestSchemaStaysUnderAnOwner(t *testing.T) {
	t.Parallel()
	address := server(t).NewSchema(t)
	owner := open(t, postgres.Options{URL: address})
	last := func(text string) {
		t.Helper()
		err := owner.Update(t.Context(), func(c store.Conn) error {
			_, err := c.Exec(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	last(`DELETE FROM goose_db_version WHERE version_id = (SELECT MAX(version_id) FROM goose_db_version)`)
	_, err := postgres.Open(t.Context(), postgres.Options{URL: address, Mode: postgres.Shared})
	if !errors.Is(err, dialect.ErrOlder) {
		t.Errorf("beside an owner of an older schema: %v, want ErrOlder", err)
	}
}
