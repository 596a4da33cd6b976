package asyncapidoc

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/value"
)

// filler puts values into the variables of servers and the parameters of addresses.
type filler struct {
	document  *Document
	selection Selection
	used      map[string]bool
}

// serverURL is the address of a server: url in version 2, host and pathname in version 3.
func (f *filler) serverURL(t *Target, server map[string]any) (string, error) {
	text, _ := server["url"].(string)
	if f.document.major == 3 {
		host, _ := server["host"].(string)
		pathname, _ := server["pathname"].(string)
		if host == "" {
			return "", errors.New("it has no host")
		}
		if pathname != "" && !strings.HasPrefix(pathname, "/") {
			pathname = "/" + pathname
		}
		text = host + pathname
	}
	variables, err := f.document.object(server, "variables")
	if err != nil {
		return "", err
	}
	template := text
	if text, err = f.fill(template, variables, serverVariable); err != nil {
		return "", err
	}
	if err := checkSegments(template, text); err != nil {
		return "", err
	}
	if !strings.Contains(text, "://") {
		text = t.Protocol + "://" + strings.TrimPrefix(text, "//")
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("%q is no address", excerpt.Clip(text, clipBytes))
	}
	if scheme := Family(u.Scheme); scheme != t.Family && (t.Family != "nats" || u.Scheme != "tls") {
		return "", fmt.Errorf("its address begins with %q, its protocol is %q", excerpt.Clip(u.Scheme, clipBytes), t.Protocol)
	}
	return strings.TrimSuffix(text, "/"), nil
}

// address is the address of a channel with its parameters filled in.
func (f *filler) address(family string, p endpoint) (string, error) {
	parameters, err := f.document.object(p.channel, "parameters")
	if err != nil {
		return "", err
	}
	if family == "nats" {
		return f.fill(p.address, parameters, token)
	}
	address, err := f.fill(p.address, parameters, func(_, _ string, v filled) (string, error) { return url.PathEscape(v.text), nil })
	if err != nil {
		return "", err
	}
	return address, checkSegments(p.address, address)
}

// filled is what stands for a name.
type filled struct {
	text string
	// own: the value is in the document, as the default or one of an enumeration; others
	// are data, which must not lead elsewhere.
	own bool
}

// fill replaces each {name} in text. What stands for it is made by place, which gets the text
// before it, already filled.
func (f *filler) fill(text string, known map[string]any, insert func(before, name string, v filled) (string, error)) (string, error) {
	var filled strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		filled.WriteString(before)
		if !found {
			return filled.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", fmt.Errorf("%q has a { without a }", excerpt.Clip(text, clipBytes))
		}
		v, err := f.value(name, known)
		if err != nil {
			return "", err
		}
		inserted, err := insert(filled.String(), name, v)
		if err != nil {
			return "", err
		}
		if filled.WriteString(inserted); filled.Len() > maxAddressBytes {
			return "", fmt.Errorf("its address has more than %d bytes", maxAddressBytes)
		}
		text = after
	}
}

// maxAddressBytes bounds an address that values were put into.
const maxAddressBytes = 64 << 10

// serverVariable places a variable of the address of a server. In the authority it must not
// end that, and in the path it must not end that either.
func serverVariable(before, name string, v filled) (string, error) {
	if v.own {
		return v.text, nil
	}
	_, inside, found := strings.Cut(before, "://")
	if !found {
		inside = strings.TrimPrefix(before, "//")
	}
	what, forbidden := "path", `?#\`
	if !strings.Contains(inside, "/") {
		what, forbidden = "host", `/?#@\`
	}
	if strings.ContainsAny(v.text, forbidden) || strings.ContainsFunc(v.text, blankOrControl) {
		return "", fmt.Errorf("{%s} is in the %s of the server, so %q cannot be its value: it must not contain %s, blanks or control characters",
			excerpt.Clip(name, clipBytes), what, excerpt.Clip(v.text, clipBytes), strings.Join(strings.Split(forbidden, ""), " "))
	}
	return v.text, nil
}

// token places a parameter of a subject of NATS.
func token(_, name string, v filled) (string, error) {
	if !v.own && (v.text == "" || strings.ContainsAny(v.text, ".*>") || strings.ContainsFunc(v.text, blankOrControl)) {
		return "", fmt.Errorf("{%s} is one part of a subject of NATS, so %q cannot be its value: it must not be empty or contain . * >, blanks or control characters",
			excerpt.Clip(name, clipBytes), excerpt.Clip(v.text, clipBytes))
	}
	return v.text, nil
}

func blankOrControl(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// checkSegments refuses an address in which values have made a segment of the path a step up,
// or none.
func checkSegments(template, filled string) error {
	if template == filled {
		return nil
	}
	filled, _, _ = strings.Cut(filled, "?")
	for segment := range strings.SplitSeq(filled, "/") {
		if plain, err := url.PathUnescape(segment); err == nil && (plain == "." || plain == "..") {
			return fmt.Errorf("the values in its address would lead to another path: they make the segment %q of %q", excerpt.Clip(segment, clipBytes), excerpt.Clip(filled, clipBytes))
		}
	}
	return nil
}

// value is what stands for a variable or parameter: what the task gives, what the message
// holds, or the default.
func (f *filler) value(name string, known map[string]any) (filled, error) {
	about, err := f.document.object(known, name)
	if err != nil {
		return filled{}, err
	}
	schema, err := f.document.object(about, "schema") // version 2
	if err != nil {
		return filled{}, err
	}
	f.used[name] = true
	text, given := f.selection.Variables[name]
	if location, _ := about["location"].(string); !given && location != "" && !f.selection.Subscribe {
		var found any
		if found, given = Locate(location, f.selection.Headers, f.selection.Payload); given {
			if text, given = scalar(found); !given {
				return filled{}, fmt.Errorf("{%s} must be a text, a number or a boolean; the message has something else at %s", excerpt.Clip(name, clipBytes), excerpt.Clip(location, clipBytes))
			}
		}
	}
	own := false
	for _, source := range []map[string]any{about, schema} {
		if standard, ok := source["default"]; !given && ok {
			if text, given = scalar(standard); !given {
				return filled{}, fmt.Errorf("the default of {%s} must be a text, a number or a boolean", excerpt.Clip(name, clipBytes))
			}
			own = true
		}
	}
	if !given {
		return filled{}, fmt.Errorf("{%s} has no value: give it in the variables of the task's server", excerpt.Clip(name, clipBytes))
	}
	for _, source := range []map[string]any{about, schema} {
		allowed, _ := source["enum"].([]any)
		if len(allowed) == 0 {
			continue
		}
		if !slices.ContainsFunc(allowed, func(v any) bool { one, ok := scalar(v); return ok && one == text }) {
			return filled{}, fmt.Errorf("{%s} must be one of %s, not %q", excerpt.Clip(name, clipBytes), shownEnum(allowed), excerpt.Clip(text, clipBytes))
		}
		own = true
	}
	return filled{text, own}, nil
}

// maxShown bounds the values of an enumeration that an error shows.
const maxShown = 10

// shownEnum lists the first values of an enumeration.
func shownEnum(allowed []any) string {
	var shown []string
	for _, v := range allowed[:min(len(allowed), maxShown)] {
		if text, ok := scalar(v); ok {
			shown = append(shown, fmt.Sprintf("%q", excerpt.Clip(text, clipBytes)))
		}
	}
	if more := len(allowed) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("%d more", more))
	}
	return strings.Join(shown, ", ")
}

// unused is the error of a variable that the document does not know.
func (f *filler) unused() error {
	for _, name := range slices.Sorted(maps.Keys(f.selection.Variables)) {
		if !f.used[name] {
			return fmt.Errorf("the server and the channel have no variable %q; they have %s",
				excerpt.Clip(name, clipBytes), excerpt.Clip(strings.Join(slices.Sorted(maps.Keys(f.used)), ", "), clipBytes))
		}
	}
	return nil
}

// scalar is the text of a text, a number or a boolean. It does not write out lists and objects,
// which may be large.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool, int, *big.Int, float64:
		return string(value.Marshal(v)), true
	}
	return "", false
}

// Locate finds what a location points to, $message.header#/pointer or
// $message.payload#/pointer. The names of headers are compared without case.
func Locate(location string, headers, payload any) (any, bool) {
	source, pointer, _ := strings.Cut(location, "#")
	switch source {
	case "$message.payload":
		v, ok := follow(payload, pointer)
		return v, ok && v != nil
	case "$message.header":
		if v, ok := follow(headers, pointer); ok {
			return v, v != nil
		}
		object, _ := headers.(map[string]any)
		for name, v := range object {
			if strings.EqualFold("/"+name, pointer) {
				return v, v != nil
			}
		}
	}
	return nil, false
}
