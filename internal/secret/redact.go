package secret

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/chargehand/chargehand/internal/value"
)

// Redacted stands where a secret was.
const Redacted = "[redacted]"

// MinTextBytes is the length of the shortest text that is taken out: shorter ones are found
// everywhere.
const MinTextBytes = 4

// Redactor takes the texts of secrets out of data that is shown: as they are, in base64
// (standard or URL alphabet, padded or not, and inside of longer data), percent-encoded, and
// escaped as in JSON. A text that was cut and ends in an ellipsis is taken out from its fourth byte on, and of a
// long one the first 32 bytes with what follows of it.
//
// It takes time proportional to the data, whatever the texts are. A nil Redactor changes
// nothing. It is safe for concurrent use.
type Redactor struct{ index *index }

// NewRedactor makes a Redactor for all texts in the values of secrets (Texts).
func NewRedactor(values ...value.Value) *Redactor {
	var texts []string
	for _, v := range values {
		texts = append(texts, Texts(v)...)
	}
	if len(texts) == 0 {
		return nil
	}
	return &Redactor{newIndex(forms(texts))}
}

// minPieceBytes is the length of the shortest piece of a secret that is taken out of errors.
const minPieceBytes = 8

// NewErrorRedactor makes a Redactor for texts of errors, which often name a part of an address
// alone: a host, a user, a path. It takes out the pieces of secrets, too, between the characters
// that divide addresses, and both in lower case. In data this would take out too much.
func NewErrorRedactor(values ...value.Value) *Redactor {
	var texts []string
	for _, v := range values {
		for _, text := range Texts(v) {
			texts = append(texts, text, strings.ToLower(text))
			for piece := range strings.FieldsFuncSeq(text, dividesAddress) {
				if len(piece) >= minPieceBytes {
					texts = append(texts, piece, strings.ToLower(piece))
				}
			}
		}
	}
	if len(texts) == 0 {
		return nil
	}
	slices.Sort(texts)
	return &Redactor{newIndex(forms(slices.Compact(texts)))}
}

func dividesAddress(char rune) bool {
	return char <= ' ' || strings.ContainsRune("/?#@:&=;,\"'<>[]\\", char)
}

// Texts lists the texts in the value of a secret that a Redactor looks for, each once: those
// of at least MinTextBytes, at any depth, also without the white space around them. A text that is a JSON object or
// array counts with the texts in it. Keys of objects are no secrets.
func Texts(v value.Value) []string {
	texts := appendTexts(nil, v, true)
	slices.Sort(texts)
	return slices.Compact(texts)
}

func appendTexts(texts []string, v value.Value, parse bool) []string {
	switch v := v.(type) {
	case string:
		trimmed := strings.TrimSpace(v)
		for _, text := range [...]string{v, trimmed} {
			if len(text) >= MinTextBytes {
				texts = append(texts, text)
			}
		}
		if parse && trimmed != "" && (trimmed[0] == '{' || trimmed[0] == '[') {
			if inner, err := value.Parse([]byte(trimmed), value.Limits{}); err == nil {
				texts = appendTexts(texts, inner, false)
			}
		}
	case []any:
		for _, item := range v {
			texts = appendTexts(texts, item, parse)
		}
	case map[string]any:
		for _, member := range v {
			texts = appendTexts(texts, member, parse)
		}
	}
	return texts
}

// Text takes the secrets out of a text. Valid UTF-8 stays valid.
func (r *Redactor) Text(text string) string {
	if r == nil {
		return text
	}
	return replaced(text, r.find(text))
}

// find is where secrets are in a text: disjoint, ascending, at the boundaries of characters.
func (r *Redactor) find(text string) []span {
	spans, _ := r.search(text)
	return spans
}

// unescapes are the ways in which a text is read beside the one as it is, each with the byte without which it changes
// nothing.
var unescapes = [...]struct {
	mark    byte
	readers func(string) (decoded, bool)
}{{'%', percent}, {'+', form}, {'\\', escaped}}

// search is find. complete is how much of the text can hold nothing that a continuation of the text makes a secret;
// only Stream needs it.
func (r *Redactor) search(text string) (spans []span, complete int) {
	var all cover
	complete = min(len(text)-r.index.scan(text, &all), r.beforeEllipsis(text))
	spans = all.spans
	var views []decoded
	for _, unescape := range unescapes {
		if strings.IndexByte(text, unescape.mark) < 0 {
			continue
		}
		d, changed := unescape.readers(text)
		if d.openAt < len(d.text) {
			complete = min(complete, d.open, d.source(d.openAt-r.openAt(d.text[:d.openAt])))
		}
		if !changed {
			continue
		}
		var hidden cover
		open := r.index.scan(d.text, &hidden)
		complete = min(complete, d.source(len(d.text)-open), d.source(r.beforeEllipsis(d.text[:d.openAt])))
		for _, s := range hidden.spans {
			if s.to >= d.openAt {
				complete = min(complete, d.source(s.from)) // it may continue
			}
			spans = append(spans, span{d.source(s.from), d.source(s.to)})
		}
		views = append(views, d)
	}
	spans = joined(text, spans)
	if n := len(spans); n > 0 && spans[n-1].to == len(text) {
		complete = min(complete, spans[n-1].from)
	}
	return spans, wholeEscapes(views, complete)
}

// joined sorts and joins spans, and widens them to the boundaries of characters.
func joined(text string, spans []span) []span {
	if len(spans) == 0 {
		return nil
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var all cover
	for _, s := range spans {
		for s.from > 0 && !utf8.RuneStart(text[s.from]) {
			s.from--
		}
		for s.to < len(text) && !utf8.RuneStart(text[s.to]) {
			s.to++
		}
		all.add(s.from, s.to)
	}
	return all.spans
}

// Value takes the secrets out of every text in a value, keys of objects too. What holds none
// is returned as it is; nothing is changed in place. Two keys that become the same are distinguished by a
// number.
func (r *Redactor) Value(v value.Value) value.Value {
	if r == nil {
		return v
	}
	v, _ = r.value(v)
	return v
}

// Changes reports whether Value would take anything out.
func (r *Redactor) Changes(v value.Value) bool {
	if r == nil {
		return false
	}
	_, changed := r.value(v)
	return changed
}

func (r *Redactor) value(v value.Value) (redacted value.Value, changed bool) {
	switch v := v.(type) {
	case string:
		text := r.Text(v)
		return text, text != v
	case []any:
		var list []any
		for i, item := range v {
			item, changed := r.value(item)
			if changed && list == nil {
				list = slices.Clone(v)
			}
			if changed {
				list[i] = item
			}
		}
		if list == nil {
			return v, false
		}
		return list, true
	case map[string]any:
		return r.object(v)
	}
	return v, false
}

func (r *Redactor) object(v map[string]any) (redacted value.Value, changed bool) {
	var hidden []string // keys that hold secrets
	members := make(map[string]any, len(v))
	for key, member := range v {
		member, other := r.value(member)
		changed = changed || other
		if r.Text(key) != key {
			hidden = append(hidden, key)
		}
		members[key] = member
	}
	if len(hidden) == 0 {
		if !changed {
			return v, false
		}
		return members, true
	}
	slices.Sort(hidden)
	moved := make([]any, len(hidden))
	for i, key := range hidden {
		moved[i] = members[key]
		delete(members, key)
	}
	for i, key := range hidden {
		text := r.Text(key)
		name := text
		for n := 2; ; n++ {
			if _, taken := members[name]; !taken {
				break
			}
			name = text + " (" + strconv.Itoa(n) + ")"
		}
		members[name] = moved[i]
	}
	return members, true
}
