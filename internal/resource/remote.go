package resource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/chargehand/chargehand/internal/egress"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
)

const maxRedirects = 10

var errDowngrade = errors.New("it redirects from https to http")

func (f *Fetcher) fetchHTTP(ctx context.Context, r Request, u *url.URL, known freshness) (Content, bool, error) {
	at := shown(u)
	if u.Host == "" {
		return Content{}, false, misconfigured(at, "the address names no host")
	}
	policy := r.Authentication
	if policy == nil && u.User != nil {
		password, _ := u.User.Password()
		policy = map[string]any{"scheme": "basic", "username": u.User.Username(), "password": password}
	}
	credentials, fault := f.cfg.Auth.Resolve(ctx, policy)
	if fault != nil {
		return Content{}, false, unauthenticated(at, fault)
	}
	target := *u
	target.User, target.Fragment, target.RawFragment = nil, "", ""
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return Content{}, false, misconfigured(at, "it is no address")
	}
	req.Header.Set("User-Agent", f.cfg.UserAgent)
	req.Header.Set("Accept", "*/*")
	known.ask(req.Header)
	client := http.Client{Transport: credentials.Transport(f.cfg.Transport), CheckRedirect: checkRedirect}
	resp, err := client.Do(req)
	if err != nil {
		return Content{}, false, f.noAnswer(ctx, at, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified && known.validates() {
		return Content{fresh: readFreshness(resp.Header)}, true, nil
	}
	if resp.StatusCode != http.StatusOK {
		return Content{}, false, statusError(at, resp)
	}
	content, err := f.receive(ctx, at, resp)
	return content, false, err
}

func checkRedirect(next *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	}
	if via[len(via)-1].URL.Scheme == "https" && next.URL.Scheme != "https" {
		return errDowngrade
	}
	next.Header.Del("Referer")
	return nil
}

func (f *Fetcher) receive(ctx context.Context, at string, resp *http.Response) (Content, error) {
	if resp.ContentLength > f.cfg.MaxBytes {
		return Content{}, f.tooLarge(at)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, f.cfg.MaxBytes+1))
	if err != nil {
		return Content{}, f.noAnswer(ctx, at, err)
	}
	if int64(len(data)) > f.cfg.MaxBytes {
		return Content{}, f.tooLarge(at)
	}
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		media = unknownType
	}
	content := contentOf(data, media, resp.Request.URL.String())
	content.fresh = readFreshness(resp.Header)
	return content, nil
}

func statusError(at string, resp *http.Response) *Error {
	reason := fmt.Sprintf("the server answered %d", resp.StatusCode)
	if text := http.StatusText(resp.StatusCode); text != "" {
		reason += " (" + strings.ToLower(text) + ")"
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // for the next use of the connection
	transient := resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusRequestTimeout
	e := unreachable(at, reason, transient)
	e.status = resp.StatusCode
	return e
}

func (f *Fetcher) noAnswer(ctx context.Context, at string, err error) *Error {
	if fault := (*machine.Fault)(nil); errors.As(err, &fault) {
		return unauthenticated(at, fault)
	}
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		err = urlErr.Err
	}
	switch {
	case errors.Is(err, egress.ErrRefused):
		e := unreachable(at, "the address is private and refused by the egress rules; an operator can allow it with --allow-egress", false)
		e.code = "egress_refused"
		return e
	case errors.Is(err, errDowngrade):
		return unreachable(at, err.Error(), false)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return unreachable(at, fmt.Sprintf("no complete answer within %s", f.cfg.Timeout), true)
	}
	return unreachable(at, excerpt.Line(err.Error(), maxShownBytes), true)
}
