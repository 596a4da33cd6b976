package grpc

import (
	"encoding/base64"
	"errors"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/protofile"
)

// weighed is what a message Shot on the wire weighs, or its error.
func weighed(t *testing.T, data []byte, most int) (weight, error) {
	t.Helper()
	file, err := protofile.Compile(t.Context(), []byte(telescope))
	if err != nil {
		t.Fatal(err)
	}
	method, err := file.Method("sky.v1.Telescope", "Echo")
	if err != nil {
		t.Fatal(err)
	}
	w := weight{mostValues: most, types: file.Types()}
	return w, w.message(method.Output(), data, 0)
}

func bytesField(number protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), content)
}

func TestValuesAreCountedOnTheWire(t *testing.T) {
	file, err := protofile.Compile(t.Context(), []byte(telescope))
	if err != nil {
		t.Fatal(err)
	}
	method, err := file.Method("sky.v1.Telescope", "Echo")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		`{}`: 4,
		`{"target":"a","photons":"1","serial":"2","frameCount":3,"raw":"AAAA"}`: 4 + 5,
		`{"angles":[1,2,3],"flags":[true,false],"codes":[1,2]}`:                 4 + 7,
		`{"filter":"FILTER_RED","filters":["FILTER_RED","FILTER_NONE"]}`:        4 + 3,
		`{"inner":{"inner":{"retries":1}},"series":[{},{}]}`:                    4 + 8 + 1 + 8,
		`{"counts":{"a":"1","b":"2"}}`:                                          4 + 2*(4+2),
		`{"takenAt":"2026-01-01T00:00:00Z"}`:                                    4 + 4 + 1,
		`{"note":[1,2]}`:                                                        4 + 4 + 4 + 2*(4+1),
		`{"extra":{"@type":"x/sky.v1.Shot","angles":[1,2]}}`:                    4 + 4 + 2 + 4 + 2,
	} {
		message := dynamicpb.NewMessage(method.Output())
		if err := (protojson.UnmarshalOptions{Resolver: file.Types()}).Unmarshal([]byte(text), message); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		data, err := proto.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		w, err := weighed(t, data, want)
		if err != nil || w.values != want || w.text > len(text)+2 {
			t.Errorf("%s: %d values and %d bytes, %v; want %d values", text, w.values, w.text, err, want)
		}
		if _, err := weighed(t, data, want-1); err == nil || !strings.Contains(err.Error(), "values, the limit of a call") {
			t.Errorf("%s with a limit of %d: %v", text, want-1, err)
		}
	}
}

func TestSmallMessagesThatWouldBecomeLargeTakeNoMemory(t *testing.T) {
	const size = 8 << 20
	deep := []byte{}
	for range maxMessageDepth + 1 {
		deep = bytesField(12, deep)
	}
	cases := map[string][]byte{
		"flags":   bytesField(13, make([]byte, size)),
		"codes":   bytesField(17, make([]byte, size)),
		"series":  []byte(strings.Repeat(string(bytesField(15, nil)), size/2)),
		"names":   bytesField(14, []byte(strings.Repeat("\x01", size))),
		"unread":  bytesField(16, append(bytesField(1, []byte("x/sky.v1.Shot")), bytesField(2, bytesField(13, make([]byte, size)))...)),
		"nesting": deep,
	}
	for name, data := range cases {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := weighed(t, data, 1<<20)
		runtime.ReadMemStats(&after)
		if limit := limitError(""); !errors.As(err, &limit) {
			t.Errorf("%s: %v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > size {
			t.Errorf("%s: %d bytes were taken", name, took)
		}
	}
}

func TestValuesOfACallAreBounded(t *testing.T) {
	port := (&observatory{}).serve(t)
	r := runner(t, loopback, func(c *Config) { c.Values = 30 })
	some := map[string]any{"angles": []any{1, 2, 3}, "frameCount": 2}
	wantOutput(t, invoke(t, r, port, "Echo", some, nil), `{"angles":[1,2,3],"frameCount":2}`)
	wantOutput(t, invoke(t, r, port, "Watch", some, nil), `[{"angles":[1,2,3],"frameCount":2},{"angles":[1,2,3],"frameCount":2}]`)
	wantFault(t, invoke(t, r, port, "Watch", map[string]any{"angles": []any{1, 2, 3}, "frameCount": 4}, nil),
		machine.ErrCommunication, 500, "more than 30 values, the limit of a call")
	wantFault(t, invoke(t, r, port, "Echo", map[string]any{"angles": make([]any, 0), "raw": base64.StdEncoding.EncodeToString(nil),
		"series": []any{map[string]any{}, map[string]any{}, map[string]any{}, map[string]any{}, map[string]any{}, map[string]any{}, map[string]any{}}}, nil),
		machine.ErrCommunication, 500, "more than 30 values")
}

func FuzzWeight(f *testing.F) {
	f.Add(bytesField(13, []byte{1, 2, 0x80, 1}))
	f.Add(bytesField(16, append(bytesField(1, []byte("x/sky.v1.Shot")), bytesField(2, bytesField(13, []byte{1}))...)))
	f.Add(bytesField(9, bytesField(1, []byte("a"))))
	f.Add([]byte{0x0b, 0x0c, 0x6b, 0x6c})
	file, err := protofile.Compile(f.Context(), []byte(telescope))
	if err != nil {
		f.Fatal(err)
	}
	method, err := file.Method("sky.v1.Telescope", "Echo")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w := weight{mostValues: 1 << 20, types: file.Types()}
		err := w.message(method.Output(), data, 0)
		message := dynamicpb.NewMessage(method.Output())
		if unread := proto.Unmarshal(data, message); unread == nil && errors.Is(err, errMalformed) {
			t.Errorf("%x is refused and can be read", data)
		}
	})
}
