package process

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// systemFolders hold what programs need to run: binaries, libraries, settings, kernel facts.
var systemFolders = []string{
	"/bin", "/sbin", "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc", "/proc",
	"/nix/store", "/gnu/store", "/run/current-system", "/snap",
	"/sys/fs/cgroup", "/sys/devices/system", "/sys/kernel/mm", "/var/cache/fontconfig",
}

// devices may be read and written.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// secretPatterns name what only root can read: kept from the commands of a root server.
var secretPatterns = []string{
	"/etc/shadow*", "/etc/gshadow*", "/etc/sudoers*", "/etc/ssl/private", "/etc/ssh/ssh_host_*_key",
	"/etc/security/opasswd",
}

func secretPaths() []string {
	var paths []string
	for _, pattern := range secretPatterns {
		found, _ := filepath.Glob(pattern) // the patterns are well formed
		paths = append(paths, found...)
	}
	return paths
}

// systemPaths is what every command may read and execute: the system folders, our own binary,
// what /etc links to, and the folders of PATH with the libraries beside them.
func systemPaths(searchPath string) []string {
	paths := slices.Clone(systemFolders)
	if self, err := os.Executable(); err == nil {
		paths = append(paths, self)
	}
	for _, link := range []string{"/etc/resolv.conf", "/etc/localtime"} {
		if target, err := filepath.EvalSymlinks(link); err == nil {
			paths = append(paths, target)
		}
	}
	for _, dir := range filepath.SplitList(searchPath) {
		if filepath.IsAbs(dir) {
			paths = append(paths, toolFolders(dir)...)
		}
	}
	return paths
}

// toolFolders is a folder of PATH with those beside it that its programs load from: a prefix
// such as ~/.local keeps bin and lib side by side, and version managers keep shims beside the
// versions. The prefix itself is not opened: it may be a home folder.
func toolFolders(dir string) []string {
	folders := []string{dir}
	switch filepath.Base(dir) {
	case "bin", "sbin", "shims":
		for _, beside := range []string{"bin", "lib", "lib64", "libexec", "versions", "version", "plugins", "pyvenv.cfg"} {
			folders = append(folders, filepath.Join(filepath.Dir(dir), beside))
		}
	}
	return folders
}

// realPaths resolves links and leaves out what does not exist.
func realPaths(paths []string) []string {
	var found []string
	for _, path := range paths {
		if real, err := filepath.EvalSymlinks(path); err == nil && filepath.IsAbs(real) {
			found = append(found, real)
		}
	}
	return found
}

// hiddenPaths are the places that hidden paths stand for: where each of them leads to, and the
// path itself, in case a file takes the place of a link. What does not exist yet is hidden, too.
func hiddenPaths(paths []string) []string {
	hidden := realPaths(paths)
	for _, path := range paths {
		if filepath.IsAbs(path) {
			hidden = append(hidden, linkPath(filepath.Clean(path)))
		}
	}
	slices.Sort(hidden)
	return slices.Compact(hidden)
}

// linkPath is a path with the links in its folders resolved, as far as these exist, but not its
// own.
func linkPath(path string) string {
	rest := filepath.Base(path)
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == "/" {
			return path
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// ReadRules turns paths into rules for Command.ReadPaths: real paths, nothing twice, and
// where a folder holds a hidden path, its other entries instead of the folder. Paths that do
// not exist are left out.
func (c *Confiner) ReadRules(paths []string) []string {
	paths = realPaths(paths)
	slices.Sort(paths)
	var rules []string
	for _, path := range paths {
		if len(rules) > 0 && within(path, rules[len(rules)-1]) {
			continue
		}
		rules = append(rules, path)
	}
	var open []string
	for _, path := range rules {
		open = c.openExcept(open, path)
	}
	return open
}

// openExcept appends path or, if something below it is hidden, what is beside that.
func (c *Confiner) openExcept(rules []string, path string) []string {
	inside := false
	for _, hidden := range c.hidden {
		if within(path, hidden) {
			return rules
		}
		inside = inside || within(hidden, path)
	}
	if !inside {
		return append(rules, path)
	}
	entries, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, os.ErrPermission) {
		return rules
	}
	for _, entry := range entries {
		// A link opens nothing by itself; its target is within a rule, or it is not.
		if entry.Type()&os.ModeSymlink == 0 {
			rules = c.openExcept(rules, filepath.Join(path, entry.Name()))
		}
	}
	return rules
}

// within reports whether path is folder or lies below it.
func within(path, folder string) bool {
	return path == folder || folder == "/" || strings.HasPrefix(path, folder+"/")
}
