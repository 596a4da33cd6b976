//go:build !linux

package process

import "os"

// Everything that confines is Linux's. Elsewhere, for those who develop there, commands are
// refused and workers run as they are.

const landlockScopeVersion = 6

func landlockVersion() int { return 0 }

func (c *Confiner) threadLimit() int { return 0 }

func selfPath() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

func superviseMain() int {
	_ = writeJSON(os.NewFile(statusFD, "status"), status{StartError: "processes of workflows need Linux"})
	return 0
}

func confineWorker(int64) error { return nil }
