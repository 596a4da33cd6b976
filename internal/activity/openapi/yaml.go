package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/chargehand/chargehand/internal/excerpt"
)

// The bounds of a document in YAML, which its aliases can make very much larger than its text.
const (
	// maxNodes bounds the values that are read, and those that are visited while aliases and
	// merge keys are written out: a node of the reader takes about 200 bytes.
	maxNodes = 1_000_000
	// maxJSONBytes bounds the document as JSON. It is the bound of one that comes as JSON.
	maxJSONBytes = MaxDocumentBytes
	maxDepth     = 256
)

// asJSON makes JSON of a document, which may be YAML. Time and memory are bounded by the
// constants above, whatever the aliases of the document make of it. Errors: that of ctx, and
// texts that say which bound is passed or what is no JSON value.
func asJSON(ctx context.Context, data []byte) ([]byte, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if json.Valid(data) {
		return data, nil
	}
	if mayHoldMoreThan(data, maxNodes/2) {
		return nil, fmt.Errorf("as YAML it may have at most %d values; write it as JSON, or leave out what is not called", maxNodes)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, fmt.Errorf("it is neither JSON nor YAML: %w", err)
	}
	if len(root.Content) == 0 {
		return []byte("null"), nil
	}
	w := &yamlWriter{ctx: ctx, within: map[*yaml.Node]bool{}}
	if err := w.value(root.Content[0], 0); err != nil {
		return nil, err
	}
	if len(w.json) > maxJSONBytes {
		return nil, tooLong(&root)
	}
	return w.json, nil
}

func tooLong(at *yaml.Node) error {
	return fmt.Errorf("line %d: it has more than %d bytes when its aliases are written out; use $ref instead of aliases", at.Line, maxJSONBytes)
}

// mayHoldMoreThan counts what stands before a value in YAML, in prose too: each of them makes
// two nodes of the reader at most.
func mayHoldMoreThan(data []byte, most int) bool {
	count := 0
	for at, c := range data {
		switch c {
		case ',', '[', '{':
			count++
		case ':', '-', '?':
			next := byte(' ')
			if at+1 < len(data) {
				next = data[at+1]
			}
			switch next {
			case ' ', '\t', '\r', '\n', ',', '[', ']', '{', '}':
				count++
			default:
				if c == ':' && at > 0 && (data[at-1] == '"' || data[at-1] == '\'' || data[at-1] == ']' || data[at-1] == '}') {
					count++
				}
			}
		}
	}
	return count > most
}

// yamlWriter writes the nodes of the YAML reader as JSON, with aliases and merge keys resolved.
type yamlWriter struct {
	ctx     context.Context
	json    []byte
	visited int
	within  map[*yaml.Node]bool // the anchored values that are being written
}

// visit counts what is looked at.
func (w *yamlWriter) visit(y *yaml.Node, depth int) error {
	if w.visited++; w.visited%4096 == 0 {
		if err := w.ctx.Err(); err != nil {
			return err
		}
	}
	switch {
	case w.visited > maxNodes:
		return fmt.Errorf("line %d: it has more than %d values when its aliases are written out; use $ref instead of aliases", y.Line, maxNodes)
	case len(w.json) > maxJSONBytes:
		return tooLong(y)
	case depth > maxDepth:
		return fmt.Errorf("line %d: it is nested more than %d levels deep", y.Line, maxDepth)
	}
	return nil
}

func (w *yamlWriter) value(y *yaml.Node, depth int) error {
	if err := w.visit(y, depth); err != nil {
		return err
	}
	switch y.Kind {
	case yaml.AliasNode:
		return w.value(y.Alias, depth+1)
	case yaml.ScalarNode:
		return w.scalar(y)
	}
	if y.Anchor != "" {
		if w.within[y] {
			return fmt.Errorf("line %d: the anchor %q is used in its own value", y.Line, excerpt.Clip(y.Anchor, clipBytes))
		}
		w.within[y] = true
		defer delete(w.within, y)
	}
	if y.Kind == yaml.MappingNode {
		return w.object(y, depth)
	}
	w.json = append(w.json, '[')
	for i, item := range y.Content {
		if i > 0 {
			w.json = append(w.json, ',')
		}
		if err := w.value(item, depth+1); err != nil {
			return err
		}
	}
	w.json = append(w.json, ']')
	return nil
}

// object writes the members in their order, those of merge keys after its own.
func (w *yamlWriter) object(y *yaml.Node, depth int) error {
	written := make(map[string]bool, len(y.Content)/2)
	w.json = append(w.json, '{')
	var merged []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := resolved(y.Content[i])
		switch {
		case isMerge(key):
			merged = append(merged, y.Content[i+1])
			continue
		case key.Kind != yaml.ScalarNode:
			return fmt.Errorf("line %d: a key is a list or an object, not a text", key.Line)
		case written[key.Value]:
			return fmt.Errorf("line %d: the key %q occurs twice", key.Line, excerpt.Clip(key.Value, clipBytes))
		}
		if err := w.member(key, y.Content[i+1], written, depth); err != nil {
			return err
		}
	}
	for _, source := range merged {
		if err := w.merge(source, written, depth); err != nil {
			return err
		}
	}
	w.json = append(w.json, '}')
	return nil
}

// member writes one property. Its key is a text whatever it looks like: the 200 of an answer
// is no number.
func (w *yamlWriter) member(key, value *yaml.Node, written map[string]bool, depth int) error {
	if len(written) > 0 {
		w.json = append(w.json, ',')
	}
	written[key.Value] = true
	w.text(key.Value)
	w.json = append(w.json, ':')
	return w.value(value, depth+1)
}

// merge writes the members of what `<<` names that are not there yet: an object, or a list of
// them of which the first counts most.
func (w *yamlWriter) merge(source *yaml.Node, written map[string]bool, depth int) error {
	if err := w.visit(source, depth); err != nil {
		return err
	}
	source = resolved(source)
	switch source.Kind {
	case yaml.SequenceNode:
		for _, one := range source.Content {
			if resolved(one).Kind != yaml.MappingNode {
				return fmt.Errorf("line %d: the merge key << takes objects only", one.Line)
			}
			if err := w.merge(one, written, depth+1); err != nil {
				return err
			}
		}
		return nil
	case yaml.MappingNode:
	default:
		return fmt.Errorf("line %d: the merge key << takes an object or a list of objects", source.Line)
	}
	var merged []*yaml.Node
	for i := 0; i+1 < len(source.Content); i += 2 {
		key := resolved(source.Content[i])
		if err := w.visit(key, depth); err != nil {
			return err
		}
		switch {
		case isMerge(key):
			merged = append(merged, source.Content[i+1])
		case key.Kind == yaml.ScalarNode && !written[key.Value]:
			if err := w.member(key, source.Content[i+1], written, depth); err != nil {
				return err
			}
		}
	}
	for _, further := range merged {
		if err := w.merge(further, written, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func resolved(y *yaml.Node) *yaml.Node {
	if y.Kind == yaml.AliasNode {
		return y.Alias
	}
	return y
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Tag == "!!merge"
}

// scalar writes null, booleans and numbers as such and all else as text: also a date, which has
// no type of its own in JSON.
func (w *yamlWriter) scalar(y *yaml.Node) error {
	switch y.ShortTag() {
	case "!!null":
		w.json = append(w.json, "null"...)
		return nil
	case "!!bool", "!!int", "!!float":
	default:
		w.text(y.Value)
		return nil
	}
	var value any
	if err := y.Decode(&value); err != nil {
		return fmt.Errorf("line %d: %s is not of its type: %w", y.Line, excerpt.Clip(y.Value, clipBytes), err)
	}
	if number, ok := value.(float64); ok && (math.IsNaN(number) || math.IsInf(number, 0)) {
		return fmt.Errorf("line %d: %s is no value of JSON", y.Line, excerpt.Clip(y.Value, clipBytes))
	}
	encoded, err := json.Marshal(value)
	w.json = append(w.json, encoded...)
	return err
}

// text writes a JSON text.
func (w *yamlWriter) text(text string) {
	encoded, _ := json.Marshal(strings.ToValidUTF8(text, "\uFFFD"))
	w.json = append(w.json, encoded...)
}
