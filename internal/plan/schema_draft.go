package plan

import (
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var allDrafts = []*jsonschema.Draft{
	jsonschema.Draft4, jsonschema.Draft6, jsonschema.Draft7, jsonschema.Draft2019, jsonschema.Draft2020,
}

// draftsOf collects the drafts that a document names. A metaschema that is none of theirs may be of any.
func draftsOf(v any, isRoot bool, drafts map[*jsonschema.Draft]bool) map[*jsonschema.Draft]bool {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			draftsOf(item, false, drafts)
		}
	case map[string]any:
		name, ok := v["$schema"].(string)
		switch {
		case ok:
			for _, draft := range draftsNamed(name) {
				drafts[draft] = true
			}
		case isRoot:
			drafts[jsonschema.Draft2020] = true
		}
		for _, item := range v {
			draftsOf(item, false, drafts)
		}
	}
	return drafts
}

// draftsNamed is the draft of an address of a metaschema as the validator reads it, or all.
func draftsNamed(address string) []*jsonschema.Draft {
	_, name, _ := strings.Cut(strings.TrimSuffix(address, "#"), "://")
	for _, draft := range allDrafts {
		if _, known, _ := strings.Cut(draft.String(), "://"); known == name {
			return []*jsonschema.Draft{draft}
		}
	}
	if name == "json-schema.org/schema" {
		return []*jsonschema.Draft{jsonschema.Draft2020}
	}
	return allDrafts
}
