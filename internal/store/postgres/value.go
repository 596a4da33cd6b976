package postgres

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// The types of PostgreSQL that package store's values travel as, by their object ids.
const (
	typeBool   = 16
	typeBytes  = 17
	typeChar   = 18
	typeName   = 19
	typeInt8   = 20
	typeInt2   = 21
	typeInt4   = 23
	typeText   = 25
	typeOID    = 26
	typeFloat8 = 701
	typeText2  = 1043 // varchar
)

// encode turns arguments into binary parameters. The type 0 of nil leaves the choice to
// the server.
func encode(args []any) (types []uint32, values [][]byte, err error) {
	types, values = make([]uint32, len(args)), make([][]byte, len(args))
	number := func(i int, n int64) {
		types[i], values[i] = typeInt8, binary.BigEndian.AppendUint64(make([]byte, 0, 8), uint64(n))
	}
	for i, arg := range args {
		switch v := arg.(type) {
		case nil:
		case int64:
			number(i, v)
		case int:
			number(i, int64(v))
		case bool:
			n := int64(0)
			if v {
				n = 1
			}
			number(i, n)
		case float64:
			types[i], values[i] = typeFloat8, binary.BigEndian.AppendUint64(nil, math.Float64bits(v))
		case string:
			types[i], values[i] = typeText, escape(v)
		case []byte:
			types[i], values[i] = typeBytes, v
			if v == nil {
				values[i] = []byte{}
			}
		default:
			return nil, nil, fmt.Errorf("argument %d has type %T", i+1, arg)
		}
	}
	return types, values, nil
}

// escape makes any string a text of PostgreSQL's, which knows neither U+0000 nor bytes
// that are no UTF-8: such a byte, and U+0001 itself, becomes U+0001 and two hexadecimal
// digits. Equal stays equal, different stays different.
func escape(s string) []byte {
	if utf8.ValidString(s) && !strings.ContainsAny(s, "\x00\x01") {
		return []byte(s)
	}
	b := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r <= 1 || r == utf8.RuneError && n == 1 {
			b = append(b, 1)
			b = hex.AppendEncode(b, []byte{s[i]})
		} else {
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return b
}

// unescape is the inverse of escape. What escape has not made stays as it is.
func unescape(b []byte) string {
	s := string(b)
	if !strings.Contains(s, "\x01") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == 1 && i+2 < len(s) {
			if v, err := hex.DecodeString(s[i+1 : i+3]); err == nil {
				out = append(out, v[0])
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

// readable refuses result columns that Row has no words for.
func readable(types []uint32) error {
	for i, t := range types {
		switch t {
		case typeBool, typeBytes, typeChar, typeName, typeInt8, typeInt2, typeInt4, typeText, typeOID, typeFloat8, typeText2:
		default:
			return fmt.Errorf("column %d has the type with the object id %d, which is not read here; cast it to bigint, text or bytea", i, t)
		}
	}
	return nil
}

// resultRow implements store.Row.
type resultRow struct {
	types  []uint32
	values [][]byte
}

func (r *resultRow) Null(col int) bool { return r.values[col] == nil }

// Int reads a number; 0 for NULL and for what is none.
func (r *resultRow) Int(col int) int64 {
	v := r.values[col]
	switch {
	case len(v) == 8 && r.types[col] == typeInt8:
		return int64(binary.BigEndian.Uint64(v))
	case len(v) == 8 && r.types[col] == typeFloat8:
		return int64(math.Float64frombits(binary.BigEndian.Uint64(v)))
	case len(v) == 4 && (r.types[col] == typeInt4 || r.types[col] == typeOID):
		return int64(int32(binary.BigEndian.Uint32(v)))
	case len(v) == 2 && r.types[col] == typeInt2:
		return int64(int16(binary.BigEndian.Uint16(v)))
	case len(v) == 1 && r.types[col] == typeBool:
		return int64(v[0])
	}
	return 0
}

// Bytes needs no copy: rows are copied when they are read.
func (r *resultRow) Bytes(col int) []byte { return r.values[col] }

func (r *resultRow) Text(col int) string { return unescape(r.values[col]) }
