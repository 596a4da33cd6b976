package failure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/chargehand/chargehand/internal/egress"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
)

// Communication is the fault of a call that got no usable answer. Status is that of HTTP
// where there is one, else 500.
func Communication(status int, detail string) *machine.Fault {
	title := http.StatusText(status)
	if title == "" {
		title = "Call failed"
	}
	return &machine.Fault{
		Type: machine.ErrCommunication, Status: status, Title: title, Detail: detail,
		Retryable: status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout,
	}
}

// NoResponse marks a fault of a call to which no complete answer came, or that was not sent: the
// next attempt has the same idempotency key.
func NoResponse(f *machine.Fault) *machine.Fault {
	marked := *f
	marked.NoResponse = true
	return &marked
}

// NoAnswer is the fault of a call to which no answer came. Its status is 500 where no server gave one
// (docs/language/errors.md); title and detail say that it is none of the other side.
func NoAnswer(detail string) *machine.Fault {
	f := Communication(http.StatusInternalServerError, detail)
	f.Title, f.NoResponse = "No answer", true
	return f
}

// BadAnswer is the fault of a call whose answer came and cannot be used.
func BadAnswer(detail string) *machine.Fault {
	f := Communication(http.StatusInternalServerError, detail)
	f.Title = "Answer cannot be used"
	return f
}

// Configuration is the fault of a call that cannot be made as it is written.
func Configuration(detail string) *machine.Fault {
	return &machine.Fault{Type: machine.ErrConfiguration, Status: 400, Title: "Call cannot be made", Detail: detail}
}

// Runtime is the fault of a peer that was reached and did not do what was asked.
func Runtime(title, detail string) *machine.Fault {
	return &machine.Fault{Type: machine.ErrRuntime, Status: 500, Title: title, Detail: detail}
}

// Timeout is the fault of a call that took too long.
func Timeout(detail string) *machine.Fault {
	return &machine.Fault{Type: machine.ErrTimeout, Status: 408, Title: "Call took too long", Detail: detail, Retryable: true, NoResponse: true}
}

// Refused is the fault of a call to an address that the egress rules refuse.
func Refused(where string) *machine.Fault {
	f := NoAnswer(
		where + ": the address is private and refused by the egress rules; an operator can allow it with --allow-egress")
	f.Title, f.Code, f.Retryable = "Address refused", "egress_refused", false
	return f
}

// Connection tells why no answer came from where; a fault inside err (of credentials) goes
// through.
func Connection(where string, err error) *machine.Fault {
	var fault *machine.Fault
	if errors.As(err, &fault) {
		return fault
	}
	switch {
	case errors.Is(err, egress.ErrRefused):
		return Refused(where)
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout(where + ": no complete answer in time")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return NoAnswer(where + ": the connection ended before the answer was complete")
	}
	return NoAnswer(where + ": " + Cause(err))
}

// Cause is the text of an error of a connection, clipped. Addresses with user, query and fragment, which may
// hold secrets, are left out, and so is the server that was asked for a name: it belongs to the installation.
func Cause(err error) string {
	if urlErr := (*url.Error)(nil); errors.As(err, &urlErr) {
		err = urlErr.Err
	}
	if dnsErr := (*net.DNSError)(nil); errors.As(err, &dnsErr) {
		plain := *dnsErr
		plain.Server = ""
		err = &plain
	}
	return excerpt.Clip(err.Error(), ClipBytes)
}

const shownBodyBytes = 300

// Status is the fault of an answer outside 200–299. It reads the start of the body.
func Status(where string, resp *http.Response) *machine.Fault {
	head, _ := io.ReadAll(io.LimitReader(resp.Body, shownBodyBytes))
	detail := fmt.Sprintf("%s answered %d", where, resp.StatusCode)
	if text := strings.TrimSpace(strings.ToValidUTF8(string(head), "")); text != "" {
		detail += ": " + text
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		detail += " (redirects to another server are not followed)"
	}
	return Communication(resp.StatusCode, detail)
}

// ShownURL is an address without what may be secret in it.
func ShownURL(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return shown.String()
}

// ClipBytes bounds what messages show of a text of a peer.
const ClipBytes = 300
