package dsl

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand/internal/jsonpointer"
)

// shape is the JSON type of a node.
type shape uint8

const (
	shapeNull shape = iota
	shapeBoolean
	shapeNumber
	shapeText
	shapeList
	shapeObject
)

var shapeNames = [...]string{"null", "a boolean", "a number", "a text", "a list", "an object"}

func (s shape) String() string { return shapeNames[s] }

// node is a value of the definition with its position. Where the definition uses an alias,
// its nodes are shared, never copied.
type node struct {
	shape   shape
	isTorn  bool // keys that are no texts were left out
	line    int32
	column  int32
	height  int32 // levels of nesting below and including this one: 0 for a scalar
	size    int64 // bytes of text with all aliases expanded, roughly
	value   any
	raw     string // a scalar as written, where that differs from its value
	items   []*node
	members []member
}

// member is one property of an object, with the position of its key.
type member struct {
	key    string
	line   int32
	column int32
	value  *node
}

// put adds a property, also to the values of the object.
func (n *node) put(values map[string]any, m member) {
	values[m.key] = m.value.value
	n.members = append(n.members, m)
	n.include(m.value)
	n.size += int64(len(m.key)) + 1
}

// include counts a part of a list or an object.
func (n *node) include(part *node) {
	n.height = max(n.height, part.height)
	n.size += part.size
}

// child finds a direct child by one token of a JSON pointer, and its position: that of the
// key for a property, that of the value for an item.
func (n *node) child(token string) (child *node, line, column int32) {
	switch n.shape {
	case shapeObject:
		for i := range n.members {
			if m := &n.members[i]; m.key == token {
				return m.value, m.line, m.column
			}
		}
	case shapeList:
		at, err := strconv.Atoi(token)
		if err == nil && at >= 0 && at < len(n.items) && token == strconv.Itoa(at) {
			item := n.items[at]
			return item, item.line, item.column
		}
	}
	return nil, 0, 0
}

// isEmpty reports whether an object was written without properties.
func (n *node) isEmpty() bool {
	return n.shape == shapeObject && len(n.members) == 0 && !n.isTorn
}

// find is the position of the place that a JSON pointer names or, if there is none, of the
// nearest place above it.
func (n *node) find(pointer string) (line, column int) {
	atLine, atColumn := n.line, n.column
	for pointer != "" && pointer[0] == '/' {
		token := pointer[1:]
		if end := strings.IndexByte(token, '/'); end >= 0 {
			token = token[:end]
		}
		pointer = pointer[1+len(token):]
		child, line, column := n.child(jsonpointer.Unescape(token))
		if child == nil {
			break
		}
		n, atLine, atColumn = child, line, column
	}
	return int(atLine), int(atColumn)
}

// maxIntegerDigits bounds integers to 4,096 bits, like the values of expressions (T76).
const maxIntegerDigits = 1233

// parseInteger reads decimal digits with an optional sign. It returns nil if the number has
// too many digits.
func parseInteger(text string) any {
	if small, err := strconv.Atoi(text); err == nil {
		return small
	}
	if len(strings.TrimLeft(text, "+-")) > maxIntegerDigits {
		return nil
	}
	large, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil
	}
	return large
}
