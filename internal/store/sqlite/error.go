package sqlite

import (
	"errors"
	"fmt"

	driver "zombiezen.com/go/sqlite"

	"github.com/chargehand/chargehand/internal/store"
)

// mapError turns an error of the driver into one of the store's sentinels, where there is
// one, and keeps its text. Other errors pass through.
func mapError(err error) error {
	if err == nil {
		return nil
	}
	code := driver.ErrCode(err)
	switch code {
	case driver.ResultConstraintUnique, driver.ResultConstraintPrimaryKey, driver.ResultConstraintRowID:
		return fmt.Errorf("%w: %v", store.ErrConflict, err)
	}
	switch code.ToPrimary() {
	case driver.ResultInterrupt:
		return fmt.Errorf("%w: the read was interrupted, because it took long while much was written: ask again", store.ErrUnavailable)
	case driver.ResultCorrupt, driver.ResultNotADB:
		return fmt.Errorf("%w: the file is %w: %v", store.ErrUnavailable, errCorrupt, err)
	case driver.ResultFull, driver.ResultIOErr, driver.ResultReadOnly, driver.ResultCantOpen, driver.ResultBusy,
		driver.ResultLocked, driver.ResultPerm, driver.ResultNoMem, driver.ResultProtocol:
		return unavailable(err)
	}
	return err
}

// errCorrupt marks errors of a damaged file.
var errCorrupt = errors.New("damaged")

func corrupt(err error) bool { return errors.Is(err, errCorrupt) }

func unavailable(err error) error {
	return fmt.Errorf("%w: %v", store.ErrUnavailable, err)
}

// commitError is the error of Updates whose COMMIT has failed. Writing the last page of a transaction into the log
// makes it one that is found there after a crash. A full disk or a lock comes before that; what fails to
// sync the log, or to note its pages in the index, comes behind it.
func commitError(err error) error {
	switch driver.ErrCode(err).ToPrimary() {
	case driver.ResultFull, driver.ResultBusy, driver.ResultLocked, driver.ResultReadOnly:
		return unavailable(err)
	}
	return store.InDoubt(err)
}

// broken reports whether a connection should be opened anew after err: what it knows of
// the file may be stale.
func broken(err error) bool {
	switch driver.ErrCode(err).ToPrimary() {
	case driver.ResultIOErr, driver.ResultReadOnly, driver.ResultCantOpen, driver.ResultPerm, driver.ResultNoMem,
		driver.ResultProtocol, driver.ResultCorrupt, driver.ResultNotADB, driver.ResultMisuse, driver.ResultInternal:
		return true
	}
	return false
}
