package sink

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Target is a server that events are sent to.
type Target struct {
	types []string // exact, or a prefix before *; empty: all
	url   *url.URL
}

// Parse reads [TYPE,…=]URL. A type is exact or, with a * at its end, a prefix. The error says
// what is wrong without showing credentials in the URL.
func Parse(text string) (Target, error) {
	var t Target
	address := text
	if !isHTTP(text) {
		types, rest, found := strings.Cut(text, "=")
		if !found || !isHTTP(rest) {
			return t, fmt.Errorf("it is not like https://example.org/events or org.example.*=https://example.org/events")
		}
		address = rest
		for kind := range strings.SplitSeq(types, ",") {
			kind = strings.TrimSpace(kind)
			if kind == "" || strings.Contains(strings.TrimSuffix(kind, "*"), "*") {
				return t, fmt.Errorf("the type %q is not like org.example.order or org.example.*", kind)
			}
			t.types = append(t.types, kind)
		}
		slices.Sort(t.types)
		t.types = slices.Compact(t.types)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Fragment != "" {
		return t, fmt.Errorf("the part behind the types is not an http or https address without fragment")
	}
	t.url = u
	return t, nil
}

func isHTTP(text string) bool {
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

// Name is the name of the target in the database: the same for the same types and address. User, password
// and what the query says are no part of it: a secret there may be replaced, and the delivery continues where it was.
func (t Target) Name() string {
	address := url.URL{Scheme: t.url.Scheme, Host: t.url.Host, Path: t.url.Path}
	keys := slices.Sorted(maps.Keys(t.url.Query()))
	sum := sha256.Sum256([]byte(strings.Join(slices.Concat(t.types, []string{address.String()}, keys), "\n")))
	return hex.EncodeToString(sum[:8])
}

// Check refuses targets that have the same name and are not the same. The error shows no credentials.
func Check(targets []Target) error {
	known := map[string]Target{}
	for _, t := range targets {
		if other, found := known[t.Name()]; found && other.url.String() != t.url.String() {
			return fmt.Errorf("two sinks %s differ in nothing but user, password or the values of their query, which does not tell them apart. Give them different paths or types", t)
		}
		known[t.Name()] = t
	}
	return nil
}

// String shows the target without credentials, and without what a query may hold.
func (t Target) String() string {
	shown := url.URL{Scheme: t.url.Scheme, Host: t.url.Host, Path: t.url.Path}
	if len(t.types) == 0 {
		return shown.String()
	}
	return strings.Join(t.types, ",") + "=" + shown.String()
}

// takes reports whether events of a type are for the target.
func (t Target) takes(kind string) bool {
	return len(t.types) == 0 || slices.ContainsFunc(t.types, func(wanted string) bool {
		prefix, open := strings.CutSuffix(wanted, "*")
		return kind == wanted || open && strings.HasPrefix(kind, prefix)
	})
}
