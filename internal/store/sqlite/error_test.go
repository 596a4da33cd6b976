package sqlite

import (
	"errors"
	"testing"

	driver "zombiezen.com/go/sqlite"

	"github.com/chargehand/chargehand/internal/store"
)

// A COMMIT that failed behind the write to the log may be found there after a crash.
func TestCommitError(t *testing.T) {
	t.Parallel()
	for code, unknown := range map[driver.ResultCode]bool{
		driver.ResultFull: false, driver.ResultBusy: false, driver.ResultBusySnapshot: false, driver.ResultReadOnly: false,
		driver.ResultIOErrFsync: true, driver.ResultIOErrSHMSize: true, driver.ResultIOErrWrite: true, driver.ResultNoMem: true, driver.ResultCorrupt: true,
	} {
		err := commitError(code.ToError())
		if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrInDoubt) != unknown {
			t.Errorf("%v: %v, in doubt %t", code, err, unknown)
		}
	}
}
