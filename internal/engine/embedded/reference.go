package embedded

import (
	"net/url"
	"sort"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/expr"
)

const filesPath = chargehand.APIPath + "/files/"

// parseReference returns the id in the uri of a file reference (language.md 5.2, 1):
// /api/v1/files/{id}, relative or with a scheme and host in front.
func parseReference(uri string) (chargehand.FileID, bool) {
	path := uri
	if !strings.HasPrefix(path, filesPath) {
		u, err := url.Parse(uri)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" || u.Fragment != "" {
			return chargehand.FileID{}, false
		}
		path = u.Path
	}
	text, ok := strings.CutPrefix(path, filesPath)
	if !ok {
		return chargehand.FileID{}, false
	}
	var id chargehand.FileID
	err := id.UnmarshalText([]byte(text))
	return id, err == nil
}

// references returns the ids of all file references in v, each once, in document order:
// the order of the canonical text, in which the keys of an object are sorted.
func references(v expr.Value) []chargehand.FileID {
	if !mayHoldReference(v) {
		return nil
	}
	var found []chargehand.FileID
	seen := make(map[chargehand.FileID]bool)
	collectReferences(v, func(id chargehand.FileID) {
		if !seen[id] {
			seen[id] = true
			found = append(found, id)
		}
	})
	return found
}

// mayHoldReference spares the sorting of keys in data without any reference.
func mayHoldReference(v expr.Value) bool {
	switch v := v.(type) {
	case map[string]any:
		if uri, ok := v["uri"].(string); ok && strings.Contains(uri, filesPath) {
			return true
		}
		for _, child := range v {
			if mayHoldReference(child) {
				return true
			}
		}
	case []any:
		for _, child := range v {
			if mayHoldReference(child) {
				return true
			}
		}
	}
	return false
}

func collectReferences(v expr.Value, found func(chargehand.FileID)) {
	switch v := v.(type) {
	case map[string]any:
		if uri, ok := v["uri"].(string); ok {
			if id, ok := parseReference(uri); ok {
				found(id)
				return
			}
		}
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		sort.Strings(keys)
		for _, key := range keys {
			collectReferences(v[key], found)
		}
	case []any:
		for _, child := range v {
			collectReferences(child, found)
		}
	}
}
