package expr

import (
	"encoding/base64"
	"math"
	"math/big"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chargehand/chargehand/internal/excerpt"
)

func wrapText(s string, err error) (Value, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// toText is tostring: a text as it is, anything else as JSON.
func (r *evaluation) toText(v Value) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case int:
		return strconv.Itoa(v), nil
	}
	return r.toJSON(v)
}

func fnStartsWith(r *evaluation, v Value, args []Value) (Value, error) {
	s, ok := v.(string)
	t, ok2 := args[0].(string)
	if !ok || !ok2 {
		return nil, cannotApply1("startswith", v, args[0])
	}
	return strings.HasPrefix(s, t), r.scan(len(t))
}

func fnEndsWith(r *evaluation, v Value, args []Value) (Value, error) {
	s, ok := v.(string)
	t, ok2 := args[0].(string)
	if !ok || !ok2 {
		return nil, cannotApply1("endswith", v, args[0])
	}
	return strings.HasSuffix(s, t), r.scan(len(t))
}

func trimmer(name string, trim func(s, t string) string) native {
	return func(r *evaluation, v Value, args []Value) (Value, error) {
		s, ok := v.(string)
		t, ok2 := args[0].(string)
		if !ok || !ok2 {
			return nil, cannotApply1(name, v, args[0])
		}
		return trim(s, t), r.scan(len(t))
	}
}

func trimLeft(s string) string  { return strings.TrimLeftFunc(s, unicode.IsSpace) }
func trimRight(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) }

func spaceTrimmer(name string, trim func(string) string) native {
	return func(r *evaluation, v Value, _ []Value) (Value, error) {
		s, ok := v.(string)
		if !ok {
			return nil, cannotApply0(name, v)
		}
		return trim(s), r.scan(len(s))
	}
}

func caseChanger(name string, first, last byte) native {
	return func(r *evaluation, v Value, _ []Value) (Value, error) {
		s, ok := v.(string)
		if !ok {
			return nil, cannotApply0(name, v)
		}
		if err := r.alloc(2 * len(s)); err != nil {
			return nil, err
		}
		b := []byte(s)
		for i, c := range b {
			if first <= c && c <= last {
				b[i] = c ^ 0x20
			}
		}
		return string(b), r.scan(8 * len(s))
	}
}

func fnExplode(r *evaluation, v Value, _ []Value) (Value, error) {
	s, ok := v.(string)
	if !ok {
		return nil, cannotApply0("explode", v)
	}
	n := utf8.RuneCountInString(s)
	if err := r.list(n); err != nil {
		return nil, err
	}
	if err := r.alloc(8 * n); err != nil {
		return nil, err
	}
	list := make([]any, 0, n)
	for _, c := range s {
		list = append(list, int(c))
	}
	return list, r.work(n / 4)
}

func fnImplode(r *evaluation, v Value, _ []Value) (Value, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, cannotApply0("implode", v)
	}
	if err := r.text(4 * len(list)); err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, w := range list {
		c, ok := toInt(w)
		if !ok {
			return nil, cannotApply0("implode", v)
		}
		if c < 0 || c > utf8.MaxRune {
			c = utf8.RuneError
		}
		b.WriteRune(rune(c))
	}
	return b.String(), r.work(len(list))
}

func fnSplit(r *evaluation, v Value, args []Value) (Value, error) {
	s, ok := v.(string)
	t, ok2 := args[0].(string)
	if !ok || !ok2 {
		return nil, cannotApply1("split", v, args[0])
	}
	return r.split(s, t)
}

func (r *evaluation) split(s, separator string) (Value, error) {
	if s == "" {
		return []any{}, nil
	}
	n := strings.Count(s, separator) + 1 // for an empty separator one more than there are parts
	if err := r.work((len(s) + len(separator)) / 8); err != nil {
		return nil, err
	}
	if err := r.list(n); err != nil {
		return nil, err
	}
	if err := r.alloc(32 * n); err != nil {
		return nil, err
	}
	list := make([]any, 0, n)
	for _, part := range strings.Split(s, separator) {
		list = append(list, part)
	}
	return list, nil
}

func fnJoin(r *evaluation, v Value, args []Value) (Value, error) {
	list, ok, err := r.entries(v)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, cannotApply1("join", v, args[0])
	}
	if len(list) == 0 {
		return "", nil
	}
	s := sum{run: r}
	var separator Value = ""
	for _, w := range list {
		switch w.(type) {
		case bool, int, float64, *big.Int:
			if w, err = wrapText(r.toText(w)); err != nil {
				return nil, err
			}
		}
		if err := s.add(separator); err != nil {
			return nil, err
		}
		if err := s.add(w); err != nil {
			return nil, err
		}
		separator = args[0]
	}
	return s.result(), nil
}

// formats are the @name formats and their names in error messages.
var formats = map[string]native{
	"@text": func(r *evaluation, v Value, _ []Value) (Value, error) { return wrapText(r.toText(v)) },
	"@json": fnToJSON,
	"@html": fnHTML,
	"@uri":  fnURI,
	"@urid": fnURIDecode,
	"@csv":  func(r *evaluation, v Value, _ []Value) (Value, error) { return r.row("csv", v, ",", csvField) },
	"@tsv": func(r *evaluation, v Value, _ []Value) (Value, error) {
		return r.row("tsv", v, "\t", tsvEscapes.Replace)
	},
	"@sh":      fnShell,
	"@base64":  fnBase64,
	"@base64d": fnBase64Decode,
}

func fnFormat(r *evaluation, v Value, args []Value) (Value, error) {
	name, ok := args[0].(string)
	if !ok {
		return nil, cannotApply0("format", args[0])
	}
	if format := formats["@"+name]; format != nil {
		return format(r, v, nil)
	}
	return nil, failText("format not defined: @" + excerpt.Clip(name, 100))
}

var (
	htmlEscapes = strings.NewReplacer("<", "&lt;", ">", "&gt;", "&", "&amp;", "'", "&apos;", `"`, "&quot;")
	csvEscapes  = strings.NewReplacer(`"`, `""`, "\x00", `\0`)
	tsvEscapes  = strings.NewReplacer("\t", `\t`, "\r", `\r`, "\n", `\n`, "\\", `\\`, "\x00", `\0`)
	shEscapes   = strings.NewReplacer("'", `'\''`, "\x00", `\0`)
)

func csvField(s string) string { return `"` + csvEscapes.Replace(s) + `"` }

// escaped prepares the text form of v for an encoding that takes at most factor bytes for one.
func (r *evaluation) escaped(v Value, factor int) (string, error) {
	s, err := r.toText(v)
	if err != nil {
		return "", err
	}
	if err := r.work(len(s) / 4); err != nil {
		return "", err
	}
	return s, r.alloc(factor * len(s))
}

// bounded checks a text that was already made; what it took is accounted for.
func (r *evaluation) bounded(s string) (Value, error) {
	if len(s) > MaxValueBytes {
		return nil, r.text(len(s))
	}
	return s, nil
}

func fnHTML(r *evaluation, v Value, _ []Value) (Value, error) {
	s, err := r.escaped(v, 6)
	if err != nil {
		return nil, err
	}
	return r.bounded(htmlEscapes.Replace(s))
}

func fnURI(r *evaluation, v Value, _ []Value) (Value, error) {
	s, err := r.escaped(v, 6)
	if err != nil {
		return nil, err
	}
	return r.bounded(strings.ReplaceAll(url.QueryEscape(s), "+", "%20"))
}

func fnURIDecode(r *evaluation, v Value, _ []Value) (Value, error) {
	s, err := r.escaped(v, 4)
	if err != nil {
		return nil, err
	}
	decoded, err := url.QueryUnescape(strings.ReplaceAll(s, "+", "%2B"))
	if err != nil {
		return nil, because0("@urid", v, failText(err.Error()))
	}
	return r.bounded(validText(decoded))
}

// validText replaces each byte that is no UTF-8.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

func fnShell(r *evaluation, v Value, _ []Value) (Value, error) {
	if _, ok := v.([]any); !ok {
		v = []any{v}
	}
	return r.row("sh", v, " ", func(s string) string { return "'" + shEscapes.Replace(s) + "'" })
}

// row joins the fields of a line.
func (r *evaluation) row(format string, v Value, separator string, escape func(string) string) (Value, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, cannotApply0("@"+format, v)
	}
	if err := r.alloc(16 * len(list)); err != nil {
		return nil, err
	}
	fields := make([]string, len(list))
	for i, w := range list {
		if err := r.step(); err != nil {
			return nil, err
		}
		switch w := w.(type) {
		case []any, map[string]any:
			return nil, &failure{kind: withValue, name: "@" + format + " cannot format an array including", v: w}
		case nil:
			if format == "sh" {
				fields[i] = "null"
			}
		case string:
			if _, err := r.escaped(w, 4); err != nil {
				return nil, err
			}
			fields[i] = escape(w)
		case float64:
			if w == w || format == "sh" {
				fields[i] = string(appendNumberText(nil, w))
			}
		default:
			text, err := r.toText(w)
			if err != nil {
				return nil, err
			}
			fields[i] = text
		}
	}
	size := 0
	for _, field := range fields {
		size += len(field) + len(separator)
	}
	if err := r.text(size); err != nil {
		return nil, err
	}
	return strings.Join(fields, separator), nil
}

func fnBase64(r *evaluation, v Value, _ []Value) (Value, error) {
	s, err := r.escaped(v, 4)
	if err != nil {
		return nil, err
	}
	return r.bounded(base64.StdEncoding.EncodeToString([]byte(s)))
}

func fnBase64Decode(r *evaluation, v Value, _ []Value) (Value, error) {
	s, err := r.escaped(v, 6)
	if err != nil {
		return nil, err
	}
	if i := strings.IndexByte(s, '='); i >= 0 {
		s = s[:i]
	}
	decoded, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return nil, because0("@base64d", v, failText(err.Error()))
	}
	return r.bounded(validText(string(decoded)))
}

// parseNumber reads a number as the language writes it: a sign, digits with a point
// anywhere, an exponent.
func (r *evaluation) parseNumber(s string) (v Value, ok bool, err error) {
	digits := strings.TrimLeft(s, "+-")
	if len(s)-len(digits) > 1 || !isNumberText(digits) {
		return nil, false, nil
	}
	if n, err := strconv.Atoi(s); err == nil {
		return n, true, nil
	}
	if strings.ContainsAny(s, ".eE") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			f = math.Inf(1)
			if s[0] == '-' {
				f = math.Inf(-1)
			}
			r.nonFinite = true
		}
		return f, true, nil
	}
	if len(strings.TrimLeft(digits, "0")) > MaxIntegerBits*30103/100000+1 {
		return nil, true, limit("An integer of more than %d bits comes up in the expression.", MaxIntegerBits)
	}
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return nil, false, nil
	}
	v, err = r.bigResult(n)
	return v, true, err
}

// isNumberText reports whether s is a number without a sign: 1, 1., .5, 1.5e-3.
func isNumberText(s string) bool {
	rest := strings.TrimLeft(s, "0123456789")
	whole := len(s) - len(rest)
	fraction := 0
	if strings.HasPrefix(rest, ".") {
		after := strings.TrimLeft(rest[1:], "0123456789")
		fraction = len(rest) - 1 - len(after)
		rest = after
	}
	if whole+fraction == 0 {
		return false
	}
	if rest == "" {
		return true
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return false
	}
	rest = rest[1:]
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		rest = rest[1:]
	}
	return rest != "" && strings.Trim(rest, "0123456789") == ""
}
