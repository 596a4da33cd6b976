package draft_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/form/draft"
	"github.com/chargehand/chargehand/internal/value"
)

var update = flag.Bool("update", false, "write the golden file")

// local is in a zone whose offset differs in winter and summer.
var local = func() draft.Local {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	return draft.Local{Zone: zone, Now: time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)}
}()

func parse(t testing.TB, text string) value.Value {
	t.Helper()
	v, err := dsl.ParseValue([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// open is the form of a schema, opened with data; nil: without.
func open(t testing.TB, schema string, data value.Value) (form.Field, draft.Draft) {
	t.Helper()
	return draft.Open(form.Of(parse(t, schema), nil), data, local)
}

// textsOf are the texts of all controls, as a browser sends them.
func textsOf(controls []draft.Control) map[string][]string {
	all := map[string][]string{}
	for i := range controls {
		for key, values := range controls[i].Values() {
			all[key] = append(all[key], values...)
		}
	}
	return all
}

// drawn writes the controls of a form, one a line, and what is read of it.
func drawn(t testing.TB, whole *form.Field, d *draft.Draft) string {
	controls, ok := draft.Controls(whole, d, local)
	if !ok {
		t.Fatal("too many controls")
	}
	var out strings.Builder
	for i := range controls {
		c := &controls[i]
		name := map[draft.Role]string{draft.Group: "group ", draft.Entered: "entry of ", draft.Variant: "variant "}[c.Role]
		fmt.Fprintf(&out, "%s%s%s %q", strings.Repeat("  ", c.Depth), name, c.Field.Kind, c.Key)
		if c.Pointer != c.Key {
			fmt.Fprintf(&out, " at %q", c.Pointer)
		}
		if c.Required {
			out.WriteString(" required")
		}
		if !c.There {
			out.WriteString(" hidden")
		}
		values := c.Values()
		for _, key := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(&out, " %q", values[key])
		}
		out.WriteByte('\n')
	}
	v, wrong := draft.Read(whole, d, local)
	fmt.Fprintf(&out, "= %s\n", value.Marshal(v))
	for _, w := range wrong {
		fmt.Fprintf(&out, "! %q %s\n", w.Pointer, w.Code)
	}
	return out.String()
}

const (
	schemas = "../testdata/outlines.txtar"
	goldens = "testdata/drawn.txtar"
)

// data are values for some of the schemas, which are drawn with them as well.
var data = map[string]string{
	"numbers":            `{count: 3, price: 0.25, both: 12345678901234567890}`,
	"formats":            `{a: '2026-01-31', b: '09:30:00+01:00', c: '2026-07-01T07:30:00Z', d: a@example.com, e: 'https://example.com', f: x}`,
	"enum":               `{colour: null, size: 2}`,
	"choices":            `{days: [mon, wed]}`,
	"list-of-texts":      `{tags: [a, b]}`,
	"list-of-objects":    `{lines: [{sku: a, amount: 1}, {sku: b, amount: 3}]}`,
	"tuple":              `{place: [1.5, 2]}`,
	"tuple-and-more":     `[a, 1, 2]`,
	"nested-objects":     `{order: {id: o1, address: {zip_code: '1'}}}`,
	"map":                `{labels: {b/c: x, a: y}}`,
	"further-properties": `{id: i, more: 1.5}`,
	"oneof-objects":      `{vat: DE1}`,
	"anyof-types":        `{value: [a]}`,
	"several-types":      `{a: 1, b: {c: [d]}}`,
	"recursive":          `{name: a, children: [{name: b, children: [{name: c, children: []}]}]}`,
	"if-then-else":       `{kind: card, number: '1'}`,
	"files":              `{invoice: {uri: /api/v1/files/1, name: a.pdf}, photos: [{uri: /api/v1/files/2}]}`,
	"read-only":          `{id: x7}`,
}

// TestDrawn draws every schema of package form, empty and with data. What is drawn goes through the texts of a browser
// and is the same afterwards.
func TestDrawn(t *testing.T) {
	archive, err := txtar.ParseFile(schemas)
	if err != nil {
		t.Fatal(err)
	}
	got := &txtar.Archive{Comment: []byte("Schemas of ../../testdata/outlines.txtar as forms, empty and with data. Write with: go test ./internal/form/draft -update\n")}
	left := maps.Clone(data)
	for _, f := range archive.Files {
		if strings.HasSuffix(f.Name, ".outline") {
			continue
		}
		cases := []string{""}
		if data[f.Name] != "" {
			cases = append(cases, data[f.Name])
		}
		delete(left, f.Name)
		outline := form.Of(parse(t, string(f.Data)), nil)
		for _, given := range cases {
			name := f.Name
			var v value.Value
			if given != "" {
				name += " with " + given
				v = parse(t, given)
			}
			whole, d := draft.Open(outline, v, local)
			text := drawn(t, &whole, &d)
			controls, _ := draft.Controls(&whole, &d, local)
			_, empty := draft.Open(outline, nil, local)
			again, err := draft.Decode(&whole, textsOf(controls), &empty)
			if err != nil {
				t.Fatal(err)
			}
			if after := drawn(t, &whole, &again); after != text {
				t.Errorf("%s: after a browser\n%swas\n%s", name, after, text)
			}
			if got, wrong := draft.Read(&whole, &d, local); given != "" && (len(wrong) > 0 || !value.Equal(got, v)) {
				t.Errorf("%s: read %s, %v", name, value.Marshal(got), wrong)
			}
			got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(text)})
		}
	}
	if len(left) > 0 {
		t.Errorf("no schemas %v", left)
	}
	text := txtar.Format(got)
	if *update {
		if err := os.WriteFile(goldens, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(goldens); err != nil || !bytes.Equal(want, text) {
		t.Errorf("not as in %s (%v); got\n%s", goldens, err, text)
	}
}

// enter puts texts into a form, by the keys of its controls, until they have all found their field.
func enter(t *testing.T, whole *form.Field, d *draft.Draft, entered map[string]string) draft.Draft {
	t.Helper()
	controls, _ := draft.Controls(whole, d, local)
	texts := textsOf(controls)
	for key, text := range entered {
		texts[key] = append(texts[key], text)
	}
	after, err := draft.Decode(whole, texts, d)
	if err != nil {
		t.Fatal(err)
	}
	return after
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		schema  string
		data    string // empty: none
		entered map[string]string
		want    string // the value
		wrong   string // pointers and codes
	}{
		"what is not filled in is not there": {
			`{type: object, required: [b], properties: {a: {type: string}, b: {type: string}, c: {type: boolean}}}`, "", nil, `{}`, "/b missing"},
		"whole numbers": {`{type: integer}`, "", map[string]string{"": " 1.5 "}, "null", " integer"},
		"a whole number with a fraction of zeros": {`{type: integer}`, "", map[string]string{"": "+007.0"}, "7", ""},
		"a large whole number":                    {`{type: integer}`, "", map[string]string{"": "123456789012345678901234567890"}, "123456789012345678901234567890", ""},
		"numbers":                                 {`{type: number}`, "", map[string]string{"": "-,5e2"}, "-50.0", ""},
		"a decimal comma":                         {`{type: number}`, "", map[string]string{"": "0,125"}, "0.125", ""},
		"thousands or decimals":                   {`{type: number}`, "", map[string]string{"": "1,500"}, "null", " ambiguous"},
		"no number":                               {`{type: number}`, "", map[string]string{"": "0x10"}, "null", " number"},
		"a number out of range":                   {`{type: number}`, "", map[string]string{"": "1e999"}, "null", " number"},
		"data of another kind stays":              {`{type: object, properties: {n: {type: number}}}`, `{n: many}`, nil, `{}`, "/n number"},
		"a date":                                  {`{type: object, properties: {a: {type: string, format: date}}}`, "", map[string]string{"/a": "2026-02-30"}, `{}`, "/a date"},
		"a time of day has the offset of the zone": {
			`{type: object, properties: {a: {type: string, format: time}, b: {type: string, format: time}}}`, "",
			map[string]string{"/a": "09:30", "/b": "9.30"}, `{"a":"09:30:00+01:00"}`, "/b time"},
		"a time of day with an offset": {`{type: string, format: time}`, "", map[string]string{"": "09:30:00-05:00"}, `"09:30:00-05:00"`, ""},
		"a moment is in local time": {
			`{type: object, properties: {a: {type: string, format: date-time}, b: {type: string, format: date-time}, c: {type: string, format: date-time}}}`, "",
			map[string]string{"/a": "2026-07-01 09:30", "/b": "2026-07-01T09:30:00-05:00", "/c": "soon"},
			`{"a":"2026-07-01T07:30:00Z","b":"2026-07-01T09:30:00-05:00"}`, "/c datetime"},
		"the hour that comes twice in autumn stays": {`{type: string, format: date-time}`, "'2026-10-25T02:30:00+02:00'", nil, `"2026-10-25T02:30:00+02:00"`, ""},
		"JSON": {`{type: object, properties: {a: {}, b: {}}}`, "", map[string]string{"/a": ` [1, {"x": null}] `, "/b": "{"}, `{"a":[1,{"x":null}]}`, "/b json"},
		"an entry is wrong at its place": {
			`{type: object, properties: {rows: {type: array, items: {type: object, properties: {n: {type: integer}}}}}}`, `{rows: [{}, {}]}`,
			map[string]string{"/rows/~e1/n": "x"}, `{}`, "/rows/1/n number"},
		"a new entry": {
			`{type: array, items: {type: object, required: [n], properties: {n: {type: integer}}}}`, `[{n: 1}]`, map[string]string{"/~e7": "", "/~e9/n": "3"},
			`[{"n":1},{},{"n":3}]`, "/1/n missing"},
		"entries without content": {`{type: object, properties: {t: {type: array, items: {type: string}}, n: {type: array, items: {type: number}}}}`, "",
			map[string]string{"/t/~e0": "", "/n/~e0": ""}, `{"n":[null],"t":[""]}`, ""},
		"names of a map": {
			`{type: object, additionalProperties: {type: integer}}`, "",
			map[string]string{"/~e0/~name": "a/b", "/~e0": "1", "/~e1/~name": "a/b", "/~e1": "2", "/~e2": "3", "/~e3/~name": "x", "/~e3": "y"},
			`{"a/b":1}`, "/a~1b name, / name, /x number"},
		"the name of a further property is that of a field": {
			`{type: object, properties: {id: {type: string}}, additionalProperties: {type: string}}`, "", map[string]string{"/~e0/~name": "id", "/~e0": "1"}, `{}`, "/id name"},
		"an object that need not be there lacks nothing until something is in it": {
			`{type: object, properties: {order: {type: object, required: [id], properties: {id: {type: string}, note: {type: string}}}}}`, "", nil, `{}`, ""},
		"and then it does": {
			`{type: object, properties: {order: {type: object, required: [id], properties: {id: {type: string}, note: {type: string}}}}}`, "",
			map[string]string{"/order/note": "soon"}, `{}`, "/order/id missing"},
		"nor do defaults in it make it be there": {
			`{type: object, properties: {order: {type: object, required: [id], properties: {id: {type: string}, n: {type: integer, default: 1}}}}}`, "", nil, `{}`, ""},
		"but data does": {
			`{type: object, properties: {order: {type: object, properties: {n: {type: integer, default: 1}}}}}`, `{order: {n: 1}}`, nil, `{"order":{"n":1}}`, ""},
		"and goes when it is cleared": {
			`{type: object, properties: {order: {type: object, required: [n], properties: {n: {type: integer}}}}}`, `{order: {n: 1}}`, map[string]string{"/order/n": ""}, `{}`, ""},
		"defaults of what the data lacks": {`{type: object, properties: {a: {type: string, default: x}, b: {type: integer}}}`, `{b: 2}`, nil, `{"a":"x","b":2}`, ""},
		"null where it must be filled in": {`{type: object, required: [a], properties: {a: {type: [string, 'null']}, b: {type: [string, 'null']}}}`, "", nil, `{"a":null}`, ""},
		"a required boolean":              {`{type: object, required: [a], properties: {a: {type: boolean}}}`, "", nil, `{"a":false}`, ""},
		"a boolean is not chosen again":   {`{type: object, properties: {a: {type: boolean}}}`, `{a: true}`, map[string]string{"/a": ""}, `{}`, ""},
		"data that is no boolean":         {`{type: object, properties: {a: {type: boolean}}}`, `{a: 'yes'}`, nil, `{}`, ""},
		"what is required is empty": {
			`{type: object, required: [a, b, c], properties: {a: {type: array, items: {type: string}}, b: {type: object, properties: {x: {type: string}}}, c: {type: array, uniqueItems: true, items: {enum: [1, 2]}}}}`,
			"", nil, `{"a":[],"b":{},"c":[]}`, ""},
		"a choice of one":  {`{type: object, required: [a], properties: {a: {const: 2}, b: {const: 3}}}`, "", nil, `{"a":2}`, ""},
		"options in order": {`{type: array, uniqueItems: true, items: {enum: [a, b, c]}}`, "[c]", map[string]string{"": "0"}, `["a","c"]`, ""},
		"no option":        {`{enum: [a, b]}`, "", map[string]string{"": "7"}, `null`, " missing"},
		"hidden by a condition, and the text stays": {
			`{type: object, properties: {kind: {enum: [card, bill]}}, required: [kind], if: {properties: {kind: {const: card}}, required: [kind]}, then: {properties: {number: {type: string}}, required: [number]}}`,
			`{kind: card, number: '17'}`, map[string]string{"/kind": "1"}, `{"kind":"bill"}`, ""},
		"there by a condition, and missing": {
			`{type: object, properties: {kind: {enum: [card, bill]}}, required: [kind], if: {properties: {kind: {const: card}}, required: [kind]}, then: {properties: {number: {type: string}}, required: [number]}}`,
			`{kind: card}`, nil, `{"kind":"card"}`, "/number missing"},
		"what is hidden decides nothing": {
			`{type: object, properties: {a: {type: string}}, if: {required: [a]}, then: {properties: {b: {type: string}}}, dependentSchemas: {b: {properties: {c: {type: string}}, required: [c]}}}`,
			"", map[string]string{"/b": "x", "/c": "y"}, `{}`, ""},
		"required by another field": {
			`{type: object, properties: {card: {type: string}, cvc: {type: string}}, dependentRequired: {card: [cvc]}}`, "", map[string]string{"/card": "1"}, `{"card":"1"}`, "/cvc missing"},
		"the end of a tuple may be empty": {`{type: array, minItems: 1, prefixItems: [{type: string}, {type: integer}]}`, "", map[string]string{"/0": "a"}, `["a"]`, ""},
		"the middle of a tuple may not":   {`{type: array, prefixItems: [{type: string}, {type: integer}]}`, "", map[string]string{"/1": "2"}, `[null,2]`, "/0 missing"},
		"an alternative": {
			`{oneOf: [{type: object, title: Card, required: [number], properties: {number: {type: string}}}, {type: object, title: Bill, properties: {vat: {type: string}}}]}`, "",
			map[string]string{"": "1", "/~o1/vat": "DE1"}, `{"vat":"DE1"}`, ""},
		"files": {
			`{type: object, properties: {one: {format: file-ref}, more: {type: array, items: {format: file-ref}}}}`, `{one: {uri: /a}}`,
			map[string]string{"/one": `{"uri":"/b"}`, "/more": `no JSON`}, `{"one":{"uri":"/b"}}`, ""},
		"lines of a browser": {`{type: string, maxLength: 1000}`, "", map[string]string{"": "a\r\nb"}, `"a\nb"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var v value.Value
			if c.data != "" {
				v = parse(t, c.data)
			}
			whole, d := open(t, c.schema, v)
			d = enter(t, &whole, &d, c.entered)
			got, wrong := draft.Read(&whole, &d, local)
			var list []string
			for _, w := range wrong {
				list = append(list, w.Pointer+" "+string(w.Code))
				if w.Text() == "" {
					t.Errorf("no text for %s", w.Code)
				}
			}
			if string(value.Marshal(got)) != c.want || strings.Join(list, ", ") != c.wrong {
				t.Errorf("got %s, %q; want %s, %q", value.Marshal(got), strings.Join(list, ", "), c.want, c.wrong)
			}
		})
	}
}

// TestFind: what the server says about a value is shown at its control, or at what holds it.
func TestFind(t *testing.T) {
	whole, d := open(t, `{type: object, properties: {lines: {type: array, items: {type: object, properties: {sku: {type: string}}}}, map: {type: object, additionalProperties: {type: string}},
		kind: {enum: [a, b]}, l: {type: string}}, if: {properties: {kind: {const: a}}, required: [kind]}, then: {properties: {more: {type: string}}}}`, parse(t, `{lines: [{sku: x}], map: {a/b: y}}`))
	controls, _ := draft.Controls(&whole, &d, local)
	for pointer, want := range map[string]string{
		"/lines": "/lines", "/lines/0/sku": "/lines/~e0/sku", "/lines/0/other": "/lines/~e0", "/lines/3": "/lines", "/map/a~1b": "/map/~e0", "/l": "/l", "/more": "none", "": "none", "/x": "none",
	} {
		key := "none"
		if c := draft.Find(controls, pointer); c != nil {
			key = c.Key
		}
		if key != want {
			t.Errorf("%s is shown at %s, not at %s", pointer, key, want)
		}
	}
}

// TestEntries: entries come and go, and the others stay what they are.
func TestEntries(t *testing.T) {
	whole, d := open(t, `{type: array, items: {type: object, properties: {n: {type: integer, default: 7}}}}`, parse(t, `[{n: 1}, {n: 2}]`))
	d.Remove(0)
	d.Add(&whole)
	d.Remove(9)
	if v, wrong := draft.Read(&whole, &d, local); len(wrong) > 0 || string(value.Marshal(v)) != `[{"n":2},{"n":7}]` {
		t.Errorf("%s, %v", value.Marshal(v), wrong)
	}
}

// TestLimits: what is too large to be drawn is edited as JSON, and what a browser sends is bounded.
func TestLimits(t *testing.T) {
	fields := map[string]any{}
	for i := range 50 {
		fields[fmt.Sprint("f", i)] = map[string]any{"type": "string", "default": strings.Repeat("x", 100)}
	}
	schema := map[string]any{"type": "array", "items": map[string]any{"type": "object", "properties": fields}}
	outline := form.Of(schema, nil)
	many := make([]any, 80_000)
	for i := range many {
		many[i] = map[string]any{}
	}
	whole, d := draft.Open(outline, many, local)
	if v, wrong := draft.Read(&whole, &d, local); whole.Kind != form.JSON || len(wrong) > 0 || !value.Equal(v, many) {
		t.Errorf("%s, %v", whole.Kind, wrong)
	}
	schema["default"] = many
	list := form.Of(schema, nil)[0]
	if d := draft.Start(&list); len(d.Entries) > 0 {
		t.Errorf("%d entries of a default", len(d.Entries))
	}
	whole, d = draft.Open(outline, nil, local)
	texts := map[string][]string{}
	for i := range draft.MaxTexts {
		texts[fmt.Sprint("/~e", i)] = []string{""}
	}
	if _, err := draft.Decode(&whole, texts, &d); err != draft.ErrTooMany {
		t.Errorf("many entries with many fields: %v", err)
	}
	texts["/~e1/more"] = []string{"", ""}
	if _, err := draft.Decode(&whole, texts, &d); err != draft.ErrTooMany {
		t.Errorf("many texts: %v", err)
	}
}

// FuzzDraft: whatever the schema, the data and the texts, a form can be drawn, and what was read of it is read again.
func FuzzDraft(f *testing.F) {
	archive, err := txtar.ParseFile(schemas)
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range archive.Files {
		if !strings.HasSuffix(file.Name, ".outline") {
			f.Add(file.Data, []byte(data[file.Name]), "/a\n1\n/b\n2\n/~e0\n3\n/~o1\n4\n/lines/~e2/sku\nx")
		}
	}
	f.Fuzz(func(t *testing.T, schema, given []byte, sent string) {
		if len(schema) > 5000 || len(given) > 5000 || len(sent) > 5000 {
			return
		}
		s, err := dsl.ParseValue(schema)
		if err != nil {
			return
		}
		v, err := dsl.ParseValue(given)
		if err != nil {
			v = nil
		}
		whole, d := draft.Open(form.Of(s, nil), v, local)
		texts := map[string][]string{}
		for pair := strings.Split(sent, "\n"); len(pair) > 1; pair = pair[2:] {
			texts[pair[0]] = append(texts[pair[0]], pair[1])
		}
		for _, d := range []draft.Draft{d, enterAll(t, &whole, &d, texts)} {
			controls, ok := draft.Controls(&whole, &d, local)
			if !ok {
				t.Fatal("cannot be drawn")
			}
			got, wrong := draft.Read(&whole, &d, local)
			again, err := draft.Decode(&whole, textsOf(controls), &d)
			if err != nil {
				t.Fatal(err)
			}
			after, stillWrong := draft.Read(&whole, &again, local)
			if !slices.Equal(wrong, stillWrong) || len(wrong) == 0 && !value.Equal(got, after) {
				t.Errorf("after a browser %s, %v; was %s, %v", value.Marshal(after), stillWrong, value.Marshal(got), wrong)
			}
			for _, w := range wrong {
				if w.Text() == "" {
					t.Errorf("no text for %s", w.Code)
				}
			}
			if len(wrong) > 0 || got == nil {
				continue
			}
			refilled, ok := draft.Of(&whole, got, local)
			if !ok {
				t.Fatal("too large to be filled in again")
			}
			if after, wrong := draft.Read(&whole, &refilled, local); len(wrong) > 0 || !value.Equal(got, after) {
				t.Errorf("read again %s, %v; was %s", value.Marshal(after), wrong, value.Marshal(got))
			}
		}
	})
}

func enterAll(t *testing.T, whole *form.Field, d *draft.Draft, texts map[string][]string) draft.Draft {
	after, err := draft.Decode(whole, texts, d)
	if err != nil {
		t.Fatal(err)
	}
	return after
}

// TestCheck: one control is checked by itself, and says in words what it takes.
func TestCheck(t *testing.T) {
	whole, d := open(t, `{type: object, required: [a, b], properties: {a: {type: integer, minimum: 1, exclusiveMaximum: 10}, b: {type: string, minLength: 2, pattern: '^[A-Z]'},
		c: {type: array, items: {type: string}, maxItems: 5}, d: {type: string}}}`, nil)
	controls, _ := draft.Controls(&whole, &d, local)
	for i, want := range []string{"at least 1, less than 10", "at least 2 characters, matching ^[A-Z]", "at most 5 entries", ""} {
		if got := draft.Bounds(controls[i].Field); got != want {
			t.Errorf("%s: %q, not %q", controls[i].Key, got, want)
		}
	}
	for text, want := range map[string]string{"": "Fill this in.", "x": "This is not a number.", "99": ""} {
		if got := controls[0].Check(&draft.Draft{Text: text}, local); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
	if got := controls[3].Check(&draft.Draft{}, local); got != "" {
		t.Errorf("what need not be filled in: %q", got)
	}
}
