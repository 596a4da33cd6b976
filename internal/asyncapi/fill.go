package asyncapi

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/expr"
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
	text, err = f.fill(text, variables, func(s string) string { return s })
	if err != nil {
		return "", err
	}
	if !strings.Contains(text, "://") {
		text = t.Protocol + "://" + strings.TrimPrefix(text, "//")
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("%q is no address", clip(text))
	}
	if scheme := Family(u.Scheme); scheme != t.Family && (t.Family != "nats" || u.Scheme != "tls") {
		return "", fmt.Errorf("its address begins with %q, its protocol is %q", clip(u.Scheme), t.Protocol)
	}
	return strings.TrimSuffix(text, "/"), nil
}

// address is the address of a channel with its parameters filled in.
func (f *filler) address(family string, p place) (string, error) {
	parameters, err := f.document.object(p.channel, "parameters")
	if err != nil {
		return "", err
	}
	escape := url.PathEscape
	if family == "nats" {
		escape = func(s string) string { return s }
	}
	return f.fill(p.address, parameters, escape)
}

// fill replaces each {name} in text.
func (f *filler) fill(text string, known map[string]any, escape func(string) string) (string, error) {
	var filled strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		filled.WriteString(before)
		if !found {
			return filled.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", fmt.Errorf("%q has a { without a }", clip(text))
		}
		value, err := f.value(name, known)
		if err != nil {
			return "", err
		}
		filled.WriteString(escape(value))
		text = after
	}
}

// value is what stands for a variable or parameter: what the task gives, what the message
// holds, or the default.
func (f *filler) value(name string, known map[string]any) (string, error) {
	about, err := f.document.object(known, name)
	if err != nil {
		return "", err
	}
	schema, err := f.document.object(about, "schema") // version 2
	if err != nil {
		return "", err
	}
	f.used[name] = true
	value, given := f.selection.Variables[name]
	if location, _ := about["location"].(string); !given && location != "" && !f.selection.Subscribe {
		var found any
		if found, given = Locate(location, f.selection.Headers, f.selection.Payload); given {
			value = textOf(found)
		}
	}
	for _, source := range []map[string]any{about, schema} {
		if standard, ok := source["default"]; !given && ok {
			value, given = textOf(standard), true
		}
	}
	if !given {
		return "", fmt.Errorf("{%s} has no value: give it in the variables of the task's server", clip(name))
	}
	for _, source := range []map[string]any{about, schema} {
		allowed, _ := source["enum"].([]any)
		if len(allowed) > 0 && !slices.ContainsFunc(allowed, func(v any) bool { return textOf(v) == value }) {
			return "", fmt.Errorf("{%s} must be one of %s, not %q", clip(name), clip(string(expr.Marshal(allowed))), clip(value))
		}
	}
	return value, nil
}

// unused is the error of a variable that the document does not know.
func (f *filler) unused() error {
	for _, name := range slices.Sorted(maps.Keys(f.selection.Variables)) {
		if !f.used[name] {
			return fmt.Errorf("the server and the channel have no variable %q; they have %s",
				clip(name), clip(strings.Join(slices.Sorted(maps.Keys(f.used)), ", ")))
		}
	}
	return nil
}

func textOf(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	return string(expr.Marshal(v))
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
