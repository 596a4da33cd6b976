package keyring

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

// State describes the keys of an installation: which it has, and which it still needs.
type State struct {
	Keys    int      // random keys
	Current string   // id of the current master key of the file
	Older   []string // ids of other master keys, which something is wrapped by or which the file holds
	Lacks   []string // ids of master keys that something is wrapped by and that the file has not got
	Needs   []string // why an older one must stay, one sentence each
}

// Inspect reads the state of the keys of an installation and changes nothing. file is the file that ring was read
// from; folder is as in Watch. Errors: those of Read.
func Inspect(ctx context.Context, rows *store.Store, ring *secret.Keyring, file, folder string, now time.Time) (state State, err error) {
	err = rows.View(ctx, func(r *store.Reader) error {
		state, err = inspect(r, ring, file, folder, now)
		return err
	})
	return state, wrap(err)
}

func inspect(r *store.Reader, ring *secret.Keyring, file, folder string, now time.Time) (State, error) {
	current := ring.Current()
	state := State{Current: current.ID()}
	wrapped, err := r.WrappedKeys()
	if err != nil {
		return state, err
	}
	if _, err := unwrap(wrapped, ring); err != nil && !errors.Is(err, store.ErrNotFound) {
		return state, err
	}
	state.Keys, state.Lacks = count(wrapped), lacking(wrapped, ring)
	for _, id := range append(masters(wrapped), ring.IDs()...) {
		if id != state.Current && !slices.Contains(state.Older, id) {
			state.Older = append(state.Older, id)
		}
	}
	if len(state.Older) == 0 {
		return state, nil
	}
	if lacks := state.Keys - isWrappedBy(wrapped, current); lacks > 0 {
		state.Needs = append(state.Needs, fmt.Sprintf("%d of %d keys are not wrapped by %s yet: run `chargehand secrets rotate-master-key` again", lacks, state.Keys, state.Current))
	}
	if len(state.Lacks) > 0 {
		state.Needs = append(state.Needs, fmt.Sprintf("keys are wrapped by %s, which this file has not got: copy the file from the server where the master key was exchanged", strings.Join(state.Lacks, ", ")))
	}
	if file, err = filepath.Abs(file); err != nil {
		return state, err
	}
	nodes, err := r.Nodes()
	if err != nil {
		return state, err
	}
	for _, n := range nodes {
		if slices.Contains(n.Masters, state.Current) || folder != "" && (n.File == file || n.Name != folderName(folder)) ||
			folder == "" && n.SeenMs < now.Add(-AliveTime).UnixMilli() {
			continue
		}
		state.Needs = append(state.Needs, fmt.Sprintf("the server %s has not read %s from its file %s: copy this file there; within %s it says so", n.Name, state.Current, n.File, watchTime))
	}
	return state, nil
}
