package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"go.yaml.in/yaml/v3"
	"golang.org/x/term"
)

// The values of --output.
const (
	formatTable = "table"
	formatWide  = "wide" // a table with full ids, times and every column
	formatJSON  = "json"
	formatJSONL = "jsonl"
	formatYAML  = "yaml"
)

var formats = []string{formatTable, formatWide, formatJSON, formatJSONL, formatYAML}

// field is one line of a description.
type field struct{ name, value string }

// show writes one object: as a list of its fields, or whole in the other formats.
func (c *connection) show(v any, fields []field) error {
	if c.output != formatTable && c.output != formatWide {
		return c.encode(v)
	}
	width := 0
	for _, f := range fields {
		if f.value != "" {
			width = max(width, len(f.name)+1)
		}
	}
	for _, f := range fields {
		if f.value == "" {
			continue
		}
		value := printable(f.value)
		if f.name == "status" || f.name == "phase" {
			value = c.paintState(value)
		}
		if _, err := fmt.Fprintf(c.out, "%-*s %s\n", width, f.name+":", value); err != nil {
			return err
		}
	}
	return nil
}

// encode writes v as -o asks for: JSON where it asks for a table.
func (c *connection) encode(v any) error {
	switch c.output {
	case formatJSONL:
		text, err := marshal(v)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.out, "%s\n", text)
		return err
	case formatYAML:
		return printYAML(c.out, v)
	}
	return printJSON(c.out, v)
}

// marshal writes JSON without the escapes that HTML needs.
func marshal(v any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text.Bytes()); err != nil {
		return nil, err
	}
	return escapeControls(compact.Bytes()), nil
}

// printJSON writes v as indented JSON.
func printJSON(w io.Writer, v any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(escapeControls(text.Bytes()))
	return err
}

// escapeControls escapes the control characters that JSON allows in texts, and that a terminal may obey: U+007F to
// U+009F.
func escapeControls(text []byte) []byte {
	if !bytes.ContainsFunc(text, func(r rune) bool { return r >= 0x7f && r < 0xa0 }) {
		return text
	}
	var out bytes.Buffer
	for _, r := range string(text) {
		if r >= 0x7f && r < 0xa0 {
			fmt.Fprintf(&out, "\\u%04x", r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}

// printYAML writes v as YAML, with the fields in the order and the numbers in the notation of
// its JSON.
func printYAML(w io.Writer, v any) error {
	text, err := marshal(v)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	node, err := yamlNode(decoder)
	if err != nil {
		return err
	}
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	return errors.Join(encoder.Encode(node), encoder.Close())
}

// otherBooleans are texts that readers of YAML 1.1 take for true and false.
var otherBooleans = []string{"y", "n", "yes", "no", "on", "off"}

func yamlNode(d *json.Decoder) (*yaml.Node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	scalar := func(tag, value string) (*yaml.Node, error) {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}, nil
	}
	switch token := token.(type) {
	case json.Delim:
		node := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		if token == '{' {
			node = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		}
		for d.More() {
			child, err := yamlNode(d) // of an object, its names and values in turn
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, child)
		}
		if len(node.Content) == 0 {
			node.Style = yaml.FlowStyle
		}
		_, err := d.Token()
		return node, err
	case string:
		node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: token}
		if slices.Contains(otherBooleans, strings.ToLower(token)) {
			node.Style = yaml.DoubleQuotedStyle
		}
		return node, nil
	case json.Number:
		return scalar("", token.String()) // in its own notation, whatever its size
	case bool:
		return scalar("!!bool", fmt.Sprint(token))
	}
	return scalar("!!null", "null")
}

// printable keeps text from a server from moving the cursor, breaking the table, or turning the direction of the text
// around it.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if moves(r) {
			return ' '
		}
		return r
	}, text)
}

// printableLines is printable for a text that may have several lines.
func printableLines(text string) string {
	return strings.Map(func(r rune) rune {
		if moves(r) && r != '\n' {
			return ' '
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
}

// moves reports whether a character is a control character, or changes the direction of what follows.
func moves(r rune) bool {
	return r < ' ' || (r >= 0x7f && r < 0xa0) || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069)
}

// textWidth is the number of columns that a text takes.
func textWidth(text string) int { return runewidth.StringWidth(text) }

// terminal reports whether w is a terminal.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colour colours text for w unless it is no terminal or NO_COLOR is set.
func colour(w io.Writer, code, text string) string {
	if code == "" || !terminal(w) || os.Getenv("NO_COLOR") != "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// paint colours text on standard error.
func (c console) paint(code, text string) string { return colour(c.err, code, text) }

// paintStatus colours the word of a state on standard error, paintState on standard output.
func (c console) paintStatus(state string) string { return colour(c.err, stateColour(state), state) }
func (c console) paintState(state string) string  { return colour(c.out, stateColour(state), state) }

var stateColours = map[string][]string{
	"32": {"finished", "completed", "published", "ok", "answered"},
	"31": {"error", "failed", "faulted", "wrong"},
	"33": {"human_in_the_loop", "cancelled", "suspended", "draft", "open", "withdrawn"},
	"36": {"processing", "running", "waiting", "claimed"},
}

func stateColour(state string) string {
	for code, states := range stateColours {
		if slices.Contains(states, state) {
			return code
		}
	}
	return ""
}

// id is the part of an id that tables show: its last digits, or the whole id in wide tables.
func (c *connection) id(id string) string {
	if c.output == formatWide || len(id) <= shortIDLength {
		return id
	}
	return id[len(id)-shortIDLength:]
}

// when is a time as tables show it: how long ago, or with -o wide exactly.
func (c *connection) when(t *time.Time) string {
	switch {
	case t == nil || t.IsZero():
		return "-"
	case c.output == formatWide:
		return t.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return relative(time.Until(*t))
}

// relative tells a time from now in two or three characters and a unit.
func relative(d time.Duration) string {
	form := "%d%s ago"
	if d > 0 {
		form = "in %d%s"
	}
	d = d.Abs()
	for _, unit := range []struct {
		below, size time.Duration
		name        string
	}{{2 * time.Minute, time.Second, "s"}, {2 * time.Hour, time.Minute, "m"}, {48 * time.Hour, time.Hour, "h"}} {
		if d < unit.below {
			return fmt.Sprintf(form, d/unit.size, unit.name)
		}
	}
	return fmt.Sprintf(form, d/(24*time.Hour), "d")
}

// took is a duration in milliseconds below 10 s, and shorter above.
func took(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Hour:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// between is the time from one moment to another; empty while one is not known.
func between(from, to *time.Time) string {
	if from == nil || to == nil {
		return ""
	}
	return took(to.Sub(*from))
}
