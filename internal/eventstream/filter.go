package eventstream

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

// filterKind says which events may be for the subscriptions of an entry of the index, and what their key is made of
// (DESIGN.md "The index"). Its text is the store's store.Filter.Kind:
//
//	"=" path             the type and what there is at the path are in the key
//	length ":" type path what there is at the path is in the key; the type is a pattern or a text
//	"#" and one of them  the key is a mark of it that only the master key makes
//
// A filter may have no path; a type "" is every type.
type filterKind struct {
	exact  bool
	sealed bool
	kind   string // the type, unless it is exact
	path   string
}

func (k filterKind) text() string {
	text := "=" + k.path
	if !k.exact {
		text = strconv.Itoa(len(k.kind)) + ":" + k.kind + k.path
	}
	if k.sealed {
		text = "#" + text
	}
	return text
}

func parseKind(text string) (k filterKind, err error) {
	rest, sealed := strings.CutPrefix(text, "#")
	if k.sealed = sealed; rest == "" {
		return k, fmt.Errorf("read filter: %q is none", text)
	}
	if k.path, k.exact = strings.CutPrefix(rest, "="); k.exact {
		return k, nil
	}
	length, rest, _ := strings.Cut(rest, ":")
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 || n > len(rest) {
		return k, fmt.Errorf("read filter: %q is none", text)
	}
	k.kind, k.path = rest[:n], rest[n:]
	return k, nil
}

// key is that of the events of a type that have the hash found at the path, if there is one, and likewise that of the
// filters that want them. sealer is that of the installation, which sealed kinds need.
func (k filterKind) key(account int64, env chargehand.Environment, kind string, found []byte, sealer *secret.Sealer) []byte {
	if !k.exact && !k.sealed {
		return found
	}
	if !k.exact {
		kind = ""
	}
	data := make([]byte, 0, 128+len(kind))
	data = append(data, "filter"...)
	if k.sealed { // so that no account finds out what others wait for by waiting for the same
		data = append(binary.AppendVarint(data, account), byte(env))
	}
	data = binary.AppendUvarint(data, uint64(len(kind)))
	data = append(append(data, kind...), found...)
	if k.sealed {
		mark := sealer.Mark(data)
		return mark[:]
	}
	hash := sha256.Sum256(data)
	return hash[:]
}

// RowFilters are the filters of the row of a subscription, by which the matcher finds it. They let through all that
// filters do, and may let more. sealer is nil, unless the execution has secrets, of which types and expectations may be
// made: then nothing in the row shows them.
func RowFilters(s *store.Subscription, filters []machine.Filter, sealer *secret.Sealer) []store.Filter {
	rows := make([]store.Filter, len(filters))
	for i := range filters {
		f := &filters[i]
		k := filterKind{exact: f.Exact, kind: f.Type, path: f.Path}
		if k.exact {
			k.kind = ""
		}
		if !storable(k.path) {
			k.path = ""
		}
		if !storable(k.kind) {
			k.kind = ""
		}
		var found []byte
		if k.path != "" {
			found = f.Key[:]
		}
		k.sealed = sealer != nil && (k.exact || k.path != "")
		rows[i] = store.Filter{Kind: k.text(), Key: k.key(s.Account, s.Environment, f.Type, found, sealer)}
	}
	return rows
}

// storable: PostgreSQL stores no other texts, and no event has them as its type.
func storable(text string) bool {
	return len(text) <= machine.MaxFilterText && utf8.ValidString(text) && !strings.Contains(text, "\x00")
}

// eventSteps bounds the steps that the expressions of all kinds take for one event. The kinds that are not evaluated by
// then let it through.
const eventSteps = 20 * quickSteps

// maxUnsure is for how many events of a page a kind is asked that takes longer than allowed.
const maxUnsure = 3

var errNoSealer = errors.New("executions with secrets listen, and there is no master key here")

// filterKinds are the kinds of filters that a stream has, ready to be asked about events.
type filterKinds struct {
	list   []filterKind
	texts  []string // of list
	types  []machine.TypeFilter
	unsure []int            // how often one of list took too long
	known  map[string][]int // by type of events: those of list that let it through
	reader *Reader
	sealer *secret.Sealer
}

// newFilterKinds reads kinds. Errors: one cannot be read, or is sealed and there is no sealer. To skip it would lose
// events.
func newFilterKinds(texts []string, r *Reader, sealer *secret.Sealer) (*filterKinds, error) {
	f := &filterKinds{
		list: make([]filterKind, len(texts)), texts: texts, types: make([]machine.TypeFilter, len(texts)), unsure: make([]int, len(texts)),
		known: make(map[string][]int), reader: r, sealer: sealer,
	}
	for i, text := range texts {
		k, err := parseKind(text)
		if err != nil {
			return nil, err
		}
		if k.sealed && sealer == nil {
			return nil, errNoSealer
		}
		if !k.exact {
			f.types[i] = r.typeFilter(k.kind)
		}
		f.list[i] = k
	}
	return f, nil
}

// of lists the entries of the index that let an event through.
func (f *filterKinds) of(account int64, env chargehand.Environment, e *Event) (entries []store.Filter) {
	kinds, ok := f.known[e.Type]
	if !ok {
		for i := range f.list {
			if f.list[i].exact || f.types[i].Lets(e.Type) {
				kinds = append(kinds, i)
			}
		}
		f.known[e.Type] = kinds
	}
	left := eventSteps
	for _, i := range kinds {
		k := &f.list[i]
		var found []byte
		if k.path != "" {
			steps := min(quickSteps, left)
			before := steps
			key, has, unsure := machine.ConstantKey, true, true
			if f.unsure[i] < maxUnsure { // else it takes too long, mostly
				key, has, unsure = f.reader.keyOf(e, k.path, &steps)
			}
			if left -= before - steps; unsure {
				f.unsure[i]++
			}
			if !has {
				continue
			}
			found = key[:]
		}
		entries = append(entries, store.Filter{Kind: f.texts[i], Key: k.key(account, env, e.Type, found, f.sealer)})
	}
	return entries
}
