//go:build linux || darwin

package disk

import "syscall"

// Free is the space that is left for this process where path is, and the size of that disk.
func Free(path string) (free, total uint64, err error) {
	var state syscall.Statfs_t
	if err := syscall.Statfs(path, &state); err != nil {
		return 0, 0, err
	}
	return state.Bavail * uint64(state.Bsize), state.Blocks * uint64(state.Bsize), nil
}
