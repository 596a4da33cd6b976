package service

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// A file reference is an object in the data whose `uri` is /api/v1/files/{id}, relative or
// with scheme and host in front (docs/language/files.md). It counts only if it names a file of
// the same account and environment; otherwise it is plain data. It is stored relative and
// shown absolute.

const filesPath = chargehand.FilesPath

var filesPathBytes = []byte(filesPath)

// mayRefer tells whether JSON text can hold a reference at all.
func mayRefer(data []byte) bool { return bytes.Contains(data, filesPathBytes) }

// referenceID is the file that a value refers to.
func referenceID(v value.Value) (id chargehand.FileID, ok bool) {
	object, _ := v.(map[string]any)
	uri, _ := object["uri"].(string)
	return chargehand.ParseFileURI(uri)
}

// eachReference calls visit with the id of everything that looks like a reference.
func eachReference(v value.Value, visit func(chargehand.FileID)) {
	switch v := v.(type) {
	case map[string]any:
		if id, ok := referenceID(v); ok {
			visit(id)
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
func withBase(v value.Value, base string, known map[chargehand.FileID]int64) value.Value {
	switch v := v.(type) {
	case map[string]any:
		changed := make(map[string]any, len(v))
		for key, child := range v {
			changed[key] = withBase(child, base, known)
		}
		if id, ok := referenceID(v); ok && known[id] != 0 {
			changed["uri"] = base + filesPath + id.String()
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
func knownFiles(r *store.Reader, account int64, env chargehand.Environment, v value.Value) (map[chargehand.FileID]int64, error) {
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

// inputFiles is knownFiles for an input that the principal sends at path in the body. A limited key may name only
// files that it may read, because the workflow would read them for it; the answer for any other file is that there
// is none.
// Codes: input_invalid.
func (s *Service) inputFiles(r *store.Reader, p *Principal, v value.Value, path ...string) (map[chargehand.FileID]int64, error) {
	known, err := knownFiles(r, p.AccountNo, p.Environment, v)
	if p = p.reader(); err != nil || p.Workflows == nil && p.partial == nil {
		return known, err
	}
	var wrong []chargehand.FieldError
	readable := map[chargehand.FileID]bool{}
	eachReferenceAt(v, path, func(id chargehand.FileID, at []string) {
		may, seen := readable[id]
		if !seen && err == nil {
			if known[id] != 0 {
				may, err = s.mayRead(r, p, id)
			}
			readable[id] = may
		}
		if !may && len(wrong) < maxFields {
			wrong = append(wrong, chargehand.FieldError{
				Pointer: pointer(append(at, "uri")...), Code: string(chargehand.CodeFileNotFound),
				Detail: "There is no file " + id.String() + " that this key may read: it reads files that it has uploaded, and those of executions that it sees",
			})
		}
	})
	if err != nil || len(wrong) == 0 {
		return known, err
	}
	return nil, chargehand.NewError(chargehand.CodeInputInvalid, wrong[0].Detail+".", wrong...)
}

// mayRead tells whether the principal may read a file.
func (s *Service) mayRead(r *store.Reader, p *Principal, id chargehand.FileID) (bool, error) {
	row, err := r.FileByID(p.AccountNo, p.Environment, id)
	if p.Kind == KindLink {
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		return err == nil && row.No != 0 && slices.Contains(p.files, id), err
	}
	if err == nil {
		err = s.checkFile(r, p, &row)
	}
	var hidden *chargehand.Error
	if errors.Is(err, store.ErrNotFound) || errors.As(err, &hidden) {
		return false, nil
	}
	return err == nil, err
}

// eachReferenceAt is eachReference with the path to the object. The path is valid during the call.
func eachReferenceAt(v value.Value, path []string, visit func(id chargehand.FileID, at []string)) {
	switch v := v.(type) {
	case map[string]any:
		if id, ok := referenceID(v); ok {
			visit(id, path)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			eachReferenceAt(v[name], append(path, name), visit)
		}
	case []any:
		for i, child := range v {
			eachReferenceAt(child, append(path, strconv.Itoa(i)), visit)
		}
	}
}

// parseStored reads JSON text that this service has written.
func parseStored(data []byte) (value.Value, error) {
	return value.Parse(data, value.Limits{Depth: value.MaxDepth, Bytes: max(len(data), 1)})
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
	return value.Marshal(withBase(v, base, known)), nil
}
