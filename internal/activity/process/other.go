//go:build !linux

package process

import (
	"errors"
	"os"
	"syscall"
)

// Everything that confines is Linux's. Elsewhere, for those who develop there, commands are
// refused and workers run as they are.

const landlockScopeVersion = 6

func landlockVersion() int { return 0 }

var errNotLinux = errors.New("processes of workflows need Linux")

func namespaceSupport() error { return errNotLinux }

func namespaceAttr() (*syscall.SysProcAttr, error) { return nil, errNotLinux }

func filterSupport() error { return errNotLinux }

// trialMode is the helper mode that only tries to arrange namespaces.
const trialMode = "namespaces"

func trialMain() int { return helperFailed }

const launcherMode = "launch"

func launcherMain() int { return helperFailed }

func startLaunched(helperFiles) (*supervisorProcess, error) { return nil, errNotLinux }

type cgroupTree struct{}

func findCgroup() (*cgroupTree, error) { return nil, errNotLinux }

func (*cgroupTree) prepare() error { return errNotLinux }

func (*cgroupTree) newStep(Limits) (string, error) { return "", errNotLinux }

func (*cgroupTree) removeStep(string) error { return errNotLinux }

func enlargePipe(*os.File, int) {}

func (c *Confiner) threadLimit() int { return 0 }

func selfPath() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

func superviseMain() int {
	_ = writeJSON(os.NewFile(statusFD, "status"), status{StartError: errNotLinux.Error()})
	return 0
}

func confineWorker(int64) error { return nil }
