package nats

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

const testMessageBytes = 1000

// conn is a connection of which only reading matters.
type conn struct {
	net.Conn
	io.Reader
}

func (c conn) Read(p []byte) (int, error) { return c.Reader.Read(p) }

// through reads a stream through the scanner.
func through(r io.Reader) (string, error) {
	read, err := io.ReadAll(guard(conn{Reader: r}, nil, testMessageBytes))
	return string(read), err
}

func TestScannerHandsOnWhatKeepsToTheProtocol(t *testing.T) {
	stream := "INFO {\"cluster\":\"" + strings.Repeat("x", maxLineBytes) + "\"}\r\nPING\r\npong\r\n+OK\r\n-ERR 'what'\r\n" +
		"MSG a 1 5\r\nMSG \n\r\nMSG a 1 reply 0\r\n\r\nHMSG\ta 1 12 14\r\nNATS/1.0\r\n\r\nhi\r\n" +
		"MSG a 1 " + strconv.Itoa(testMessageBytes) + "\r\n" + strings.Repeat("\n", testMessageBytes) + "\r\nHMSG a 1 r 3 3\r\nabc\r\nPI"
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(stream), "bytes": iotest.OneByteReader(strings.NewReader(stream))} {
		if got, err := through(r); got != stream || err != nil {
			t.Errorf("%s: %d of %d bytes were passed, %v", name, len(got), len(stream), err)
		}
	}
}

func TestScannerRefuses(t *testing.T) {
	const good = "PING\r\nMSG a 1 2\r\nhi\r\n"
	for bad, detail := range map[string]string{
		"MSG ticks 1 9000000000000000000\r\nabc":        errTooLarge.Error(),
		"MSG ticks 1 99999999999999999999999999\r\nabc": errTooLarge.Error(),
		"MSG ticks 1 1001\r\nabc":                       errTooLarge.Error(),
		"HMSG ticks 1 12 1013\r\nabc":                   errTooLarge.Error(),
		"HMSG ticks 1 70000 70001\r\nabc":               "limit of headers",
		"HMSG ticks 1 13 12\r\nabc":                     "cannot be",
		"HMSG ticks 1 -1 12\r\nabc":                     "cannot be",
		"MSG ticks 1 -5\r\nabc":                         "cannot be",
		"MSG ticks x 5\r\nabc":                          "cannot be",
		"MSG ticks 9223372036854775807 5\r\nabc":        "cannot be",
		"MSG ticks 1 0x5\r\nabc":                        "cannot be",
		"MSG ticks 5\r\nabc":                            "malformed",
		"HMSG 5\r\nabc":                                 "malformed",
		"MSG a 1 b c 5\r\nabc":                          "malformed",
		"MSG a 1 1\r00\r\nabc":                          "CR before its end",
		"MSG a 1 1\r\r\nabc":                            "CR before its end",
		"PING\n":                                        "without a CR",
		"PINGS\r\n":                                     "no operation",
		" PING\r\n":                                     "no operation",
		"\r\n":                                          "no operation",
		"MSG a 1 2\r\nabc\r\n":                          "not followed",
		"MSG a 1 2\r\nab\n":                             "not followed",
		"MSG " + strings.Repeat("a", maxLineBytes) + " 1 2\r\nab\r\n": "8192 bytes",
		"INFO " + strings.Repeat("a", maxInfoBytes) + "\r\n":          "1048576 bytes",
		"INFOS " + strings.Repeat("a", maxLineBytes) + "\r\n":         "8192 bytes",
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(good + bad), "bytes": iotest.OneByteReader(strings.NewReader(good + bad))} {
			got, err := through(r)
			if err == nil || !strings.Contains(err.Error(), detail) {
				t.Errorf("%.40q (%s): %v, want %q", bad, name, err, detail)
			}
			if !strings.HasPrefix(got, good) || len(got) >= len(good+bad) {
				t.Errorf("%.40q (%s): %d bytes were passed", bad, name, len(got))
			}
		}
	}
}

var (
	plainLine = regexp.MustCompile(`^(?i:INFO|PING|PONG|\+OK|-ERR)(?:[ \t][^\r\n]*)?\r\n`)
	anyLine   = regexp.MustCompile(`^(?i:(H?)MSG)[ \t]+([^ \t\r\n]+)[ \t]+([0-9]+)((?:[ \t]+[^ \t\r\n]+)??)((?:[ \t]+[0-9]+)?)[ \t]+([0-9]+)[ \t]*\r\n`)
)

// accepted is how much of a whole stream is complete operations that are passed on: the same
// rules, written a second time in another way.
func accepted(stream []byte) int {
	at := 0
	for {
		rest := stream[at:]
		if line := plainLine.Find(rest); line != nil && len(line) <= maxLineBytes {
			at += len(line)
			continue
		}
		parts := anyLine.FindSubmatch(rest)
		if parts == nil || len(parts[0]) > maxLineBytes+1 {
			return at
		}
		withHeaders := len(parts[1]) > 0
		headers, err := 0, error(nil)
		if last := strings.TrimSpace(string(parts[5])); withHeaders {
			if last == "" {
				return at
			}
			headers, err = strconv.Atoi(last)
		} else if last != "" && len(parts[4]) > 0 {
			return at // four arguments and a number too many
		}
		size, sizeErr := strconv.Atoi(string(parts[6]))
		_, idErr := strconv.ParseInt(string(parts[3]), 10, 62)
		end := len(parts[0]) + size
		if errors.Join(err, sizeErr, idErr) != nil || headers > size || headers > maxHeaderBytes ||
			size-headers > testMessageBytes || end+2 > len(rest) || string(rest[end:end+2]) != "\r\n" {
			return at
		}
		at += end + 2
	}
}

func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		"PING\r\nMSG a 1 2\r\nhi\r\nPONG\r\n", "HMSG a 1 r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n", "MSG a 1 9000000000000000000\r\nabc",
		"INFO {}\r\n-ERR 'x'\r\n+OK\r\n", "MSG a 1 1\r0\r\n", "MSG a 1 0\r\n\r\nMSG a 1 0\r\n\r", "msg\ta  1\tb 3 \r\nabc\r\nHMSG a 1 0 0\r\n\r\n",
	} {
		f.Add([]byte(seed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, stream []byte, step uint8) {
		if len(stream) > maxLineBytes {
			return // the limits of lines have their own test
		}
		whole := scanner{messageBytes: testMessageBytes}
		passed, err := whole.pass(stream)
		good := accepted(stream)
		if passed < good {
			t.Fatalf("%d bytes were passed, %d are good (%v)", passed, good, err)
		}
		// What is passed besides is the beginning of one operation.
		if more := accepted(stream[:passed]); more != good {
			t.Fatalf("%d bytes of whole operations were passed, %d are good", more, good)
		}
		if err == nil && passed != len(stream) {
			t.Fatalf("%d of %d bytes were passed without an error", passed, len(stream))
		}
		pieces := scanner{messageBytes: testMessageBytes}
		var got bytes.Buffer
		var pieceErr error
		for left := stream; len(left) > 0 && pieceErr == nil; {
			n := min(len(left), int(step)+1)
			var ok int
			ok, pieceErr = pieces.pass(left[:n])
			got.Write(left[:ok])
			left = left[n:]
		}
		if fmt.Sprint(pieceErr) != fmt.Sprint(err) {
			t.Fatalf("in one piece %v, in pieces of %d bytes %v", err, int(step)+1, pieceErr)
		}
		if !bytes.HasPrefix(stream, got.Bytes()) || accepted(got.Bytes()) != good {
			t.Fatalf("%d bytes were passed in pieces, %d are good", got.Len(), good)
		}
	})
}
