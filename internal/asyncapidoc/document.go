package asyncapidoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/value"
)

// The limits of documents.
const (
	MaxBytes  = 4 << 20
	maxValues = 200_000
	maxDepth  = 128
)

// Document is a document that was read.
type Document struct {
	major   int // 2 or 3
	root    map[string]any
	servers []string // in the order of the document
}

// Parse reads a document. The error says what is wrong with it.
func Parse(data []byte) (*Document, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("it has %d bytes; at most %d are read", len(data), MaxBytes)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	root, servers, err := read(data)
	if err != nil {
		return nil, err
	}
	version, _ := root["asyncapi"].(string)
	d := &Document{root: root, servers: servers}
	switch {
	case strings.HasPrefix(version, "2."):
		d.major = 2
	case strings.HasPrefix(version, "3."):
		d.major = 3
	default:
		return nil, fmt.Errorf("its asyncapi version is %q; 2.6 and 3.0 are read", excerpt.Clip(version, clipBytes))
	}
	return d, nil
}

// read reads JSON where the text looks like it, and YAML, which may look like it, too.
func read(data []byte) (root map[string]any, servers []string, err error) {
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return readYAML(data)
	}
	root, servers, err = readJSON(data)
	if err == nil {
		return root, servers, nil
	}
	if root, servers, yamlErr := readYAML(data); yamlErr == nil {
		return root, servers, nil
	}
	return nil, nil, err
}

func readJSON(data []byte) (map[string]any, []string, error) {
	value, err := value.Parse(data, value.Limits{Depth: maxDepth, Values: maxValues})
	if err != nil {
		return nil, nil, fmt.Errorf("it is no JSON: %w", err)
	}
	root, ok := value.(map[string]any)
	if !ok {
		return nil, nil, errors.New("it is no object")
	}
	var outer struct {
		Servers json.RawMessage `json:"servers"`
	}
	if err := json.Unmarshal(data, &outer); err != nil {
		return nil, nil, fmt.Errorf("it is no JSON: %w", err)
	}
	return root, keys(outer.Servers), nil
}

// keys are the keys of a JSON object in their order.
func keys(object json.RawMessage) []string {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	var all []string
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return all
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return all
		}
		if key, ok := token.(string); ok {
			all = append(all, key)
		}
	}
	return all
}

func readYAML(data []byte) (map[string]any, []string, error) {
	var node yaml.Node
	if err := yaml.Unmarshal(data, &node); err != nil {
		return nil, nil, fmt.Errorf("it is neither JSON nor YAML: %w", err)
	}
	var tree any // the reader refuses aliases that grow out of proportion
	if err := node.Decode(&tree); err != nil {
		return nil, nil, fmt.Errorf("it is no usable YAML: %w", err)
	}
	left := maxValues
	value, err := plain(tree, maxDepth, &left)
	if err != nil {
		return nil, nil, err
	}
	root, ok := value.(map[string]any)
	if !ok || len(node.Content) == 0 {
		return nil, nil, errors.New("it is no object")
	}
	return root, yamlServers(node.Content[0]), nil
}

// yamlServers are the keys of `servers` in their order.
func yamlServers(root *yaml.Node) []string {
	var all []string
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value != "servers" {
			continue
		}
		servers := root.Content[i+1]
		if servers.Kind == yaml.AliasNode {
			servers = servers.Alias
		}
		if servers.Kind != yaml.MappingNode {
			continue
		}
		for j := 0; j+1 < len(servers.Content); j += 2 {
			all = append(all, servers.Content[j].Value)
		}
	}
	return all
}

// plain turns what the YAML reader gives into values.
func plain(v any, depth int, left *int) (any, error) {
	if *left--; *left < 0 {
		return nil, fmt.Errorf("it has more than %d values", maxValues)
	}
	if depth == 0 {
		return nil, fmt.Errorf("it is nested deeper than %d levels", maxDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			value, err := plain(item, depth-1, left)
			if err != nil {
				return nil, err
			}
			v[key] = value
		}
		return v, nil
	case map[any]any:
		object := make(map[string]any, len(v))
		for key, item := range v {
			value, err := plain(item, depth-1, left)
			if err != nil {
				return nil, err
			}
			object[fmt.Sprint(key)] = value
		}
		return object, nil
	case []any:
		list := make([]any, len(v)) // an alias may lead to the same list again
		for i, item := range v {
			value, err := plain(item, depth-1, left)
			if err != nil {
				return nil, err
			}
			list[i] = value
		}
		return list, nil
	}
	return plainScalar(v), nil
}

func plainScalar(v any) any {
	switch v := v.(type) {
	case nil, bool, int:
		return v
	case string:
		return strings.ToValidUTF8(v, "\uFFFD")
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return v
	case int64:
		return int(v)
	case uint64:
		return new(big.Int).SetUint64(v)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	}
	return strings.ToValidUTF8(fmt.Sprint(v), "\uFFFD")
}

// maxReferences bounds a chain of references.
const maxReferences = 32

// resolve follows references until there is none.
func (d *Document) resolve(v any) (any, error) {
	for range maxReferences {
		object, _ := v.(map[string]any)
		reference, isReference := object["$ref"].(string)
		if !isReference {
			return v, nil
		}
		pointer, inside := strings.CutPrefix(reference, "#")
		if !inside {
			return nil, fmt.Errorf("the reference %q leads out of the document, which is not followed", excerpt.Clip(reference, clipBytes))
		}
		var err error
		if v, err = d.point(pointer); err != nil {
			return nil, fmt.Errorf("the reference %q leads nowhere", excerpt.Clip(reference, clipBytes))
		}
	}
	return nil, fmt.Errorf("more than %d references follow one another", maxReferences)
}

var errNowhere = errors.New("the pointer leads nowhere")

// point follows a JSON pointer from the root.
func (d *Document) point(pointer string) (any, error) {
	v, ok := follow(any(d.root), pointer)
	if !ok {
		return nil, errNowhere
	}
	return v, nil
}

// follow follows a JSON pointer (RFC 6901).
func follow(v any, pointer string) (any, bool) {
	if pointer == "" {
		return v, true
	}
	if !strings.HasPrefix(pointer, "/") {
		return nil, false
	}
	for step := range strings.SplitSeq(pointer[1:], "/") {
		step = jsonpointer.Unescape(step)
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[step]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// object is the object at key of m, references followed; nil where there is none.
func (d *Document) object(m map[string]any, key string) (map[string]any, error) {
	v, err := d.resolve(m[key])
	if err != nil {
		return nil, err
	}
	object, _ := v.(map[string]any)
	return object, nil
}

// clipBytes bounds what messages show of a document.
const clipBytes = 200
