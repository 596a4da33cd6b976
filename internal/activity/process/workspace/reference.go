package workspace

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// filesPath is in the uri of every reference, relative or absolute.
const filesPath = chargehand.APIPath + "/files/"

// referenceOf reports whether v looks like a reference to a file. Whether it is one decides
// the store of files.
func referenceOf(v value.Value) (uri string, ok bool) {
	object, _ := v.(map[string]any)
	uri, _ = object["uri"].(string)
	return uri, strings.Contains(uri, filesPath)
}

// visitReferences visits every reference in v, keys in their order.
func visitReferences(v value.Value, pointer string, visit func(pointer, uri, name string)) {
	switch v := v.(type) {
	case map[string]any:
		if uri, ok := referenceOf(v); ok {
			name, _ := v["name"].(string)
			visit(pointer, uri, name)
			return
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			visitReferences(v[key], pointer+"/"+jsonpointer.Escape(key), visit)
		}
	case []any:
		for i, item := range v {
			visitReferences(item, pointer+"/"+strconv.Itoa(i), visit)
		}
	}
}

// patternsOf reads a list of patterns from metadata.files; named: the metadata has it.
func patternsOf(metadata map[string]any, key string) (patterns []string, named bool, fault *machine.Fault) {
	files, _ := metadata["files"].(map[string]any)
	value, named := files[key]
	if !named {
		return nil, false, nil
	}
	list, ok := value.([]any)
	if text, single := value.(string); single {
		list, ok = []any{text}, true
	}
	if !ok {
		return nil, true, configurationFault(fmt.Sprintf("metadata.files.%s must be a list of patterns", key))
	}
	for _, item := range list {
		pattern, ok := item.(string)
		if !ok {
			return nil, true, configurationFault(fmt.Sprintf("metadata.files.%s must be a list of patterns", key))
		}
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, true, configurationFault(fmt.Sprintf("metadata.files.%s: %q is no pattern", key, pattern))
		}
		patterns = append(patterns, pattern)
	}
	return patterns, true, nil
}

// matchesInput reports whether metadata.files.in names a reference.
func matchesInput(patterns []string, pointer, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if !strings.HasPrefix(pattern, "/") {
			return matches(pattern, name)
		}
		// The pattern names all that is at and below it.
		depth := strings.Count(strings.TrimSuffix(pattern, "/"), "/")
		segments := strings.Split(pointer, "/")
		if len(segments) <= depth {
			return false
		}
		return matches(strings.TrimSuffix(pattern, "/"), strings.Join(segments[:depth+1], "/"))
	})
}

// matches is path.Match for patterns that were checked.
func matches(pattern, name string) bool {
	ok, _ := path.Match(pattern, name)
	return ok
}
