package process

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// descriptorsPerScan is how many descriptors a scan goes through before it leaves the other processes to the next: a
// tree may hold a million. One process is gone through as a whole, and RLIMIT_NOFILE bounds what it has.
const descriptorsPerScan = 16_384

// unlinked adds up the files that processes hold open although no name is left of them: a walk over names does not
// find these. A round over all descriptors takes as many scans as it needs; a tree that is not huge needs one. The sum
// of a round of several may never have existed at one time. Descriptors that are on their way from one process to
// another are in no process.
type unlinked struct {
	device uint64 // of the private folder
	known  bool
	todo   []int // processes that are left for this round
	total  int64
	seen   map[uint64]bool // inodes of this round: processes share them
}

// scan continues the round and is what it has found so far. A round that is over is followed by the next.
func (u *unlinked) scan(dir string, descendants func() []int) int64 {
	if !u.known {
		var stat unix.Stat_t
		if unix.Lstat(dir, &stat) != nil {
			return 0
		}
		u.device, u.known = stat.Dev, true
	}
	if len(u.todo) == 0 {
		u.todo, u.total, u.seen = descendants(), 0, map[uint64]bool{}
	}
	for count := 0; len(u.todo) > 0 && count < descriptorsPerScan; u.todo = u.todo[1:] {
		count += u.one(u.todo[0])
	}
	return u.total
}

// one scans the descriptors of a process. One that has ended has none.
func (u *unlinked) one(pid int) (count int) {
	path := "/proc/" + strconv.Itoa(pid) + "/fd"
	folder, err := os.Open(path)
	if err != nil {
		return 1
	}
	defer folder.Close()
	for {
		names, err := folder.Readdirnames(512)
		for _, name := range names {
			count++
			var stat unix.Stat_t
			if unix.Stat(path+"/"+name, &stat) != nil || stat.Nlink > 0 || stat.Dev != u.device || stat.Blocks == 0 || u.seen[stat.Ino] {
				continue
			}
			u.seen[stat.Ino] = true
			u.total += stat.Blocks * 512
		}
		if err != nil {
			return count + 1
		}
	}
}
