package remote

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// events reads all, as "type|data|id".
func events(t *testing.T, r io.Reader, limit int) ([]string, *Stream, error) {
	t.Helper()
	stream := NewStream(r, limit)
	var all []string
	for {
		event, err := stream.Next()
		if err != nil {
			return all, stream, err
		}
		all = append(all, event.Type+"|"+string(event.Data)+"|"+stream.LastID)
	}
}

func TestEventsAreReadAsTheStandardSays(t *testing.T) {
	for text, want := range map[string]string{
		"data: a\n\n":                                  "message|a|",
		"\ufeffdata: a\r\n\r\n":                        "message|a|",
		"data: a\rdata:b\r\r":                          "message|a\nb|",
		"data:  a\n\n":                                 "message| a|",
		"data\n\n":                                     "message||",
		": note\nevent: x\nid: 7\ndata: a\n\n":         "x|a|7",
		"id: 7\n\ndata: a\n\n":                         "message|a|7",
		"id: 7\ndata: a\n\nid\ndata: b\n\n":            "message|a|7 message|b|",
		"event: x\n\ndata: a\n\n":                      "message|a|",
		"data: cut off":                                "",
		"data: cut off\n":                              "",
		"unknown: x\ndata:{\"a\":1}\n\n\n\ndata:2\n\n": "message|{\"a\":1}| message|2|",
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text))} {
			all, _, err := events(t, r, 100)
			if got := strings.Join(all, " "); got != want || !errors.Is(err, io.EOF) {
				t.Errorf("%q (%s): %q, %v; want %q", text, name, got, err, want)
			}
		}
	}
}

func TestEventsAreBounded(t *testing.T) {
	for _, text := range []string{"data: " + strings.Repeat("x", 200), strings.Repeat("data: x\n", 50), strings.Repeat(":", 500)} {
		if all, _, err := events(t, strings.NewReader(text+"\n\n"), 100); !errors.Is(err, ErrTooLarge) || len(all) > 0 {
			t.Errorf("%.20q: %q, %v", text, all, err)
		}
	}
	if all, _, err := events(t, strings.NewReader(strings.Repeat("data: xxxxxxxxxx\n\n", 50)), 100); len(all) != 50 || !errors.Is(err, io.EOF) {
		t.Errorf("%d small events, %v", len(all), err)
	}
}

func TestRetryIsBounded(t *testing.T) {
	for text, want := range map[string]time.Duration{"250": 250 * time.Millisecond, "99999999999999999999": time.Minute, "-1": 0, "1e3": 0, "": 0} {
		if _, stream, _ := events(t, strings.NewReader("retry: "+text+"\n\n"), 100); stream.Retry != want {
			t.Errorf("retry %q gives %s, want %s", text, stream.Retry, want)
		}
	}
}

func TestLimitFailsAfterItsBytes(t *testing.T) {
	for size, want := range map[int]error{9: nil, 10: nil, 11: ErrTooLarge, 1000: ErrTooLarge} {
		data, err := io.ReadAll(Limit(strings.NewReader(strings.Repeat("x", size)), 10))
		if !errors.Is(err, want) || err == nil && len(data) != size {
			t.Errorf("%d bytes: %d, %v", size, len(data), err)
		}
	}
}

func FuzzEvents(f *testing.F) {
	for _, seed := range []string{"data: a\n\n", "\ufeffid:\x00\r\rretry: 5\rdata", "event:x\r\ndata:\r\n\r\n:", "data: a\rdata:b\r\r"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, stream, err := events(t, strings.NewReader(text), 64)
		slow, other, slowErr := events(t, iotest.OneByteReader(strings.NewReader(text)), 64)
		if strings.Join(all, "\x00") != strings.Join(slow, "\x00") || !errors.Is(slowErr, err) || stream.Retry != other.Retry {
			t.Errorf("in one piece %q, %v; by bytes %q, %v", all, err, slow, slowErr)
		}
		for _, event := range all {
			if len(event) > len(text)+64 {
				t.Errorf("event %q is longer than what it is made of", event)
			}
		}
	})
}
