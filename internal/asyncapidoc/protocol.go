package asyncapidoc

import (
	"maps"
	"slices"
	"strings"
)

// families are the protocols that are spoken: the family by the name that documents use.
var families = map[string]string{"http": "http", "https": "http", "nats": "nats", "ws": "ws", "wss": "ws"}

// Protocols are the names of the protocols that are spoken, sorted.
func Protocols() []string { return slices.Sorted(maps.Keys(families)) }

// Family is the protocol without its security: "ws" for "wss". It is empty for a protocol that
// is not spoken.
func Family(protocol string) string { return families[strings.ToLower(protocol)] }
