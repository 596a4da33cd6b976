package service

import (
	"bytes"
	"errors"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/store"
)

// A file reference is an object in the data whose `uri` is /api/v1/files/{id}, relative or
// with scheme and host in front (docs/language/files.md). It counts only if it names a file of
// the same account and environment; otherwise it is plain data. It is stored relative and
// shown absolute.

const filesPath = chargehand.FilesPath

var filesPathBytes = []byte(filesPath)

// mayRefer tells whether JSON text can hold a reference at all.
func mayRefer(data []byte) bool { return bytes.Contains(data, filesPathBytes) }

// eachReference calls visit with the id of everything that looks like a reference.
func eachReference(v expr.Value, visit func(chargehand.FileID)) {
	switch v := v.(type) {
	case map[string]any:
		if uri, ok := v["uri"].(string); ok {
			if id, ok := chargehand.ParseFileURI(uri); ok {
				visit(id)
			}
		}
		for _, child := range v {
			eachReference(child, visit)
		}
	case []any:
		for _, child := range v {
			eachReference(child, visit)
		}
	}
}

// withBase returns v with the address of each known file below base; an empty base makes
// them relative. v itself is not changed.
func withBase(v expr.Value, base string, known map[chargehand.FileID]int64) expr.Value {
	switch v := v.(type) {
	case map[string]any:
		changed := make(map[string]any, len(v))
		for key, child := range v {
			changed[key] = withBase(child, base, known)
		}
		if uri, ok := v["uri"].(string); ok {
			if id, ok := chargehand.ParseFileURI(uri); ok && known[id] != 0 {
				changed["uri"] = base + filesPath + id.String()
			}
		}
		return changed
	case []any:
		changed := make([]any, len(v))
		for i, child := range v {
			changed[i] = withBase(child, base, known)
		}
		return changed
	}
	return v
}

// knownFiles finds the files that a value refers to: their numbers by id.
func knownFiles(r *store.Reader, account int64, env chargehand.Environment, v expr.Value) (map[chargehand.FileID]int64, error) {
	known := make(map[chargehand.FileID]int64)
	eachReference(v, func(id chargehand.FileID) { known[id] = 0 })
	for id := range known {
		file, err := r.FileByID(account, env, id)
		switch {
		case errors.Is(err, store.ErrNotFound):
			delete(known, id)
		case err != nil:
			return nil, err
		default:
			known[id] = file.No
		}
	}
	return known, nil
}

// parseStored reads JSON text that this service has written.
func parseStored(data []byte) (expr.Value, error) {
	return expr.Parse(data, expr.Limits{Depth: expr.MaxDepth, Bytes: max(len(data), 1)})
}

// showReferences makes the references in stored JSON text absolute.
func showReferences(r *store.Reader, account int64, env chargehand.Environment, base string, data []byte) ([]byte, error) {
	if !mayRefer(data) {
		return data, nil
	}
	v, err := parseStored(data)
	if err != nil {
		return nil, err
	}
	known, err := knownFiles(r, account, env, v)
	if err != nil || len(known) == 0 {
		return data, err
	}
	return expr.Marshal(withBase(v, base, known)), nil
}
