package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// contexts is the file of saved contexts: servers by name, with the keys for them.
type contexts struct {
	Current string                  `json:"current,omitempty"`
	Named   map[string]savedContext `json:"contexts"`
}

// savedContext is a server, with a key for each environment.
type savedContext struct {
	URL string `json:"url"`
	// Environment is the one that commands work in; empty: live, if there is a key of it.
	Environment string `json:"environment,omitempty"`
	// User is the e-mail of the person who has signed in; empty: not known.
	User    string              `json:"user,omitempty"`
	Account string              `json:"account,omitempty"` // name; empty: not known
	Keys    map[string]savedKey `json:"keys,omitempty"`    // by environment
}

// savedKey is an API key. ID is empty if it is not known.
type savedKey struct {
	ID        string     `json:"id,omitempty"`
	Key       string     `json:"key"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"` // nil: it does not end, or that is not known
}

// shown is a key as it may be shown.
func (k savedKey) shown() string {
	if len(k.Key) < 16 {
		return "…"
	}
	return k.Key[:8] + "…" + k.Key[len(k.Key)-4:]
}

// environment is the one that commands work in, unless they say otherwise.
func (s *savedContext) environment() string {
	if s.Environment != "" {
		return s.Environment
	}
	for _, name := range environmentNames {
		if _, has := s.Keys[name]; has {
			return name
		}
	}
	return environmentNames[0]
}

// maxContextBytes bounds the file, which people may edit.
const maxContextBytes = 1 << 20

func contextPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the folder of contexts: %w", err)
	}
	return filepath.Join(dir, "chargehand", "contexts.json"), nil
}

// readContexts reads the file of contexts; one that does not exist is empty.
func readContexts() (contexts, error) {
	saved := contexts{Named: map[string]savedContext{}}
	path, err := contextPath()
	if err != nil {
		return saved, nil // without a home there is no file
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return saved, nil
	}
	if err != nil {
		return saved, fmt.Errorf("read the contexts: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxContextBytes+1))
	if err == nil && len(data) > maxContextBytes {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxContextBytes)
	}
	if err != nil {
		return saved, fmt.Errorf("read the contexts: %w", err)
	}
	if err := json.Unmarshal(data, &saved); err != nil {
		return saved, fmt.Errorf("the contexts in %s cannot be read: %w; mend or remove the file, then chargehand login", path, err)
	}
	if saved.Named == nil {
		saved.Named = map[string]savedContext{}
	}
	return saved, nil
}

// write replaces the file of contexts at once. Only its owner can read it.
func (s *contexts) write() error {
	path, err := contextPath()
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // with the mode 0600
	if err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("write the contexts: %w", err)
	}
	return nil
}

// find is the context with that name.
func (s *contexts) find(name string) (savedContext, error) {
	if one, ok := s.Named[name]; ok {
		return one, nil
	}
	if len(s.Named) == 0 {
		return savedContext{}, usage("there is no context %q: chargehand login makes one", name)
	}
	return savedContext{}, usage("there is no context %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(s.Named)), ", "))
}

// current is the context that commands use, and its name; both are empty if there is none.
func (s *contexts) current() (string, savedContext, error) {
	if name := os.Getenv("CHARGEHAND_CONTEXT"); name != "" {
		one, err := s.find(name)
		if err != nil {
			err = usage("CHARGEHAND_CONTEXT: %w", err)
		}
		return name, one, err
	}
	return s.Current, s.Named[s.Current], nil
}

var contextName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$`)

func checkContextName(name string) error {
	if !contextName.MatchString(name) {
		return usage("%q is not the name of a context: 1 to 100 letters, digits, '.', '_', ':' and '-'", name)
	}
	return nil
}

// serverAddress is the address of a server in one form.
func serverAddress(address string) string {
	return strings.TrimSuffix(strings.TrimSuffix(address, "/"), "/api/v1")
}

// hostName is the name that login gives the context of a server: its host.
func hostName(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "default"
	}
	name := strings.Trim(u.Host, "[]")
	if !contextName.MatchString(name) {
		return "default"
	}
	return name
}
