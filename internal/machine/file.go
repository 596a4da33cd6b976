package machine

import (
	"fmt"
	"sort"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/value"
)

// MaxFiles bounds the files that the output of an execution refers to: its result files. The
// engine looks each of them up when it writes the end. More of them end the execution with a
// fault that no try catches.
const MaxFiles = 1_000

// checkFiles looks at the files in the output of the workflow.
func checkFiles(output value.Value) *Fault {
	n := len(References(output))
	if n <= MaxFiles {
		return nil
	}
	f := newFault(ErrRuntime, 500, fmt.Sprintf("The output of the workflow refers to %d files; at most %d are allowed. "+
		"Let `output.as` leave out what is no result, or put the files into one.", n, MaxFiles), "/output")
	f.Code = CodeFileLimit
	return f
}

// References returns the ids of all file references in v, each once, in document order:
// the order of the canonical text, in which the keys of an object are sorted.
func References(v value.Value) []chargehand.FileID {
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
func mayHoldReference(v value.Value) bool {
	switch v := v.(type) {
	case map[string]any:
		if uri, ok := v["uri"].(string); ok && strings.Contains(uri, chargehand.FilesPath) {
			return true
		}
		//workflowcheck:ignore the answer is the same in any order
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

func collectReferences(v value.Value, found func(chargehand.FileID)) {
	switch v := v.(type) {
	case map[string]any:
		if uri, ok := v["uri"].(string); ok {
			if id, ok := chargehand.ParseFileURI(uri); ok {
				found(id)
				return
			}
		}
		keys := make([]string, 0, len(v))
		//workflowcheck:ignore the keys are sorted
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
