package process

import (
	"errors"
	"fmt"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// landlockScopeVersion is the first ABI (Linux 6.12) that confines signals.
const landlockScopeVersion = 6

// landlockVersion is the ABI version of this kernel; 0: no Landlock.
func landlockVersion() int {
	version, err := ll.LandlockGetABIVersion()
	if err != nil || version < 0 {
		return 0
	}
	return version
}

// The rights of the rules.
const (
	readRights = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	fileRights = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
	// No command makes devices: a device node is a way around every rule.
	writeRights = fileRights | ll.AccessFSReadDir | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile |
		ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo |
		ll.AccessFSMakeSym | ll.AccessFSRefer | ll.AccessFSResolveUnix
)

// handledRights are the file rights that an ABI version knows.
func handledRights(version int) uint64 {
	switch {
	case version >= 9:
		return 1<<17 - 1
	case version >= 5:
		return 1<<16 - 1
	case version >= 3:
		return 1<<15 - 1
	case version == 2:
		return 1<<14 - 1
	}
	return 1<<13 - 1
}

// restrictThread confines the calling thread, and every process that it forks. The rest of
// the supervisor stays outside: landlock.Config of go-landlock would confine all its threads,
// and then a command could kill it.
func restrictThread(readPaths, writePaths []string) error {
	version := landlockVersion()
	attr := ll.RulesetAttr{HandledAccessFS: handledRights(version)}
	if version >= landlockScopeVersion {
		attr.Scoped = ll.ScopeSignal | ll.ScopeAbstractUnixSocket
	}
	ruleset, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return fmt.Errorf("landlock ruleset: %w", err)
	}
	defer func() { _ = unix.Close(ruleset) }()
	add := func(path string, rights uint64) error {
		return addRule(ruleset, path, rights&attr.HandledAccessFS)
	}
	for _, path := range readPaths {
		if err := add(path, readRights); err != nil {
			return err
		}
	}
	for _, path := range devices {
		if err := add(path, ll.AccessFSReadFile|ll.AccessFSWriteFile|ll.AccessFSTruncate); err != nil {
			return err
		}
	}
	for _, path := range writePaths {
		if err := add(path, writeRights); err != nil {
			return err
		}
	}
	if err := ll.LandlockRestrictSelf(ruleset, 0); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return nil
}

// addRule opens path, a folder or a file. What has gone since the rules were made, or cannot
// be opened, needs no rule.
func addRule(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(fd) }()
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("stat %s: %w", path, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	err = ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{AllowedAccess: rights, ParentFd: fd}, 0)
	if err != nil && !errors.Is(err, unix.EBADFD) { // files of pseudo file systems need no rule
		return fmt.Errorf("landlock rule for %s: %w", path, err)
	}
	return nil
}
