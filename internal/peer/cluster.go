package peer

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	// memory is where Linux has a file system in memory.
	memory     = "/dev/shm"
	tmpfsMagic = 0x01021994
	// roomInMemory is what must be free there, and of the machine's memory, before clusters are put there.
	roomInMemory = 4 << 30
)

// clusterFolder makes the folder of a cluster. One whose contents no crash has to outlive is in memory where there is
// room: a database is hundreds of files, and a file system on a disk takes ten times as long to make and to drop them.
func clusterFolder(careless bool) (string, error) {
	if careless && hasRoomInMemory() {
		sweepMemory()
		if folder, err := os.MkdirTemp(memory, fmt.Sprintf("chargehand-pg-%d-", os.Getpid())); err == nil {
			return folder, nil
		}
	}
	return os.MkdirTemp("", "chargehand-pg-")
}

func hasRoomInMemory() bool {
	var s syscall.Statfs_t
	if syscall.Statfs(memory, &s) != nil || s.Type != tmpfsMagic || s.Bavail*uint64(s.Bsize) < roomInMemory {
		return false
	}
	return availableMemory() >= 2*roomInMemory
}

// availableMemory is what programs can still have of the machine's memory, in bytes; 0: not known.
func availableMemory() uint64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && fields[0] == "MemAvailable:" {
			kib, _ := strconv.ParseUint(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// sweepMemory removes what test processes that were killed have left in memory.
func sweepMemory() {
	left, _ := filepath.Glob(filepath.Join(memory, "chargehand-pg-*-*"))
	for _, folder := range left {
		pid, err := strconv.Atoi(strings.Split(filepath.Base(folder), "-")[2])
		if err == nil && !alive(pid) {
			os.RemoveAll(folder)
		}
	}
}

// makeCluster makes a cluster in data, a folder that is not there yet, whose parent belongs to the user of the server.
// The user's cache keeps the first one of each version of PostgreSQL: a copy takes a tenth of the time of initdb.
func makeCluster(bin, data string, as *syscall.Credential) error {
	args := []string{"-U", postgresUser, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"}
	kept, err := keptCluster(bin, args, as)
	if err == nil && exec.Command("cp", "-a", kept, data).Run() == nil {
		return nil
	}
	os.RemoveAll(data)
	initdb := exec.Command(filepath.Join(bin, "initdb"), append(args, "-D", data)...)
	initdb.Dir, initdb.SysProcAttr = filepath.Dir(data), &syscall.SysProcAttr{Credential: as}
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if err == nil {
		keepCluster(data, kept)
	}
	return nil
}

// keptCluster is where the cache has a cluster that was made like this, or will have it.
func keptCluster(bin string, args []string, as *syscall.Credential) (string, error) {
	cache := os.Getenv("CHARGEHAND_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(user, "chargehand")
	}
	version, err := exec.Command(filepath.Join(bin, "postgres"), "--version").Output()
	if err != nil {
		return "", err
	}
	uid := os.Getuid()
	if as != nil {
		uid = int(as.Uid)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %q %d", bin, version, args, uid))
	return filepath.Join(cache, fmt.Sprintf("cluster-%x", sum[:6])), nil
}

// keepCluster copies a new cluster into the cache. It appears there whole: others may do the same at the same time.
// Without a copy the next cluster is made by initdb again.
func keepCluster(data, kept string) {
	if os.MkdirAll(filepath.Dir(kept), 0o755) != nil {
		return
	}
	work, err := os.MkdirTemp(filepath.Dir(kept), "cluster.")
	if err != nil {
		return
	}
	defer os.RemoveAll(work)
	if exec.Command("cp", "-a", data, filepath.Join(work, "data")).Run() == nil {
		_ = os.Rename(filepath.Join(work, "data"), kept) // fails where another process was faster
	}
}
