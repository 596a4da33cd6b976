package credential

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	nethttp "net/http"
	"net/url"
	"strings"

	"github.com/chargehand/chargehand/internal/egress"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
)

// fetch asks for a token: with the refresh token of the one before if there is any, and with
// the policy's own grant otherwise.
func (s *Source) fetch(ctx context.Context, p *policy, before *token) (*token, *machine.Fault) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	tokenURL, introspectionURL := p.endpoint(p.tokenPath), p.endpoint(p.introspectionPath)
	if p.discover {
		found, fault := s.discover(ctx, p)
		if fault != nil {
			return nil, fault
		}
		tokenURL, introspectionURL = found.Token, found.Introspection
	}
	if before != nil && before.refresh != "" {
		form := p.requested(grantRefresh)
		form.Set("refresh_token", before.refresh)
		got, fault := s.ask(ctx, p, tokenURL, introspectionURL, form)
		if fault == nil {
			got.refresh = or(got.refresh, before.refresh)
			return got, nil
		}
		if ctx.Err() != nil {
			return nil, fault
		}
	}
	form := p.requested(p.grant)
	switch p.grant {
	case grantPassword:
		form.Set("username", p.user)
		form.Set("password", p.password)
	case grantCode:
		form.Set("code", p.subject.token)
	case grantRefresh:
		form.Set("refresh_token", p.subject.token)
	case grantExchange:
		form.Set("subject_token", p.subject.token)
		setText(form, "subject_token_type", p.subject.kind)
		setText(form, "actor_token", p.actor.token)
		setText(form, "actor_token_type", p.actor.kind)
	}
	return s.ask(ctx, p, tokenURL, introspectionURL, form)
}

// requested is what every token request asks for.
func (p *policy) requested(grant string) url.Values {
	form := url.Values{"grant_type": {grant}}
	setText(form, "scope", strings.Join(p.scopes, " "))
	if len(p.audiences) > 0 {
		form["audience"] = p.audiences // repeated, as RFC 8693, 2.1 has it
	}
	return form
}

// ask makes a token request and checks its answer.
func (s *Source) ask(ctx context.Context, p *policy, tokenURL, introspectionURL string, form url.Values) (*token, *machine.Fault) {
	said, secrets, fault := s.post(ctx, p, tokenURL, form)
	if fault != nil {
		return nil, fault
	}
	got, fault := said.token(p, s.cfg.Now())
	if fault != nil {
		fault.Detail = shown(tokenURL) + ": " + p.redacted(fault.Detail, append(secrets, said.secrets()...)...)
		return nil, fault
	}
	if fault := s.checkIssuer(ctx, p, introspectionURL, got.value); fault != nil {
		return nil, fault
	}
	s.cfg.Log.Debug("token fetched", "authority", p.shownAuthority(), "grant", form.Get("grant_type"), "renewAt", got.renewAt)
	return got, nil
}

// post sends a form to an endpoint of the authority, with the client's authentication. It
// returns the secrets that it sent besides those of the policy.
func (s *Source) post(ctx context.Context, p *policy, address string, form url.Values) (*answer, []string, *machine.Fault) {
	header := nethttp.Header{"Accept": {encodingJSON}}
	assertion, fault := p.identify(form, header, address, s.cfg.Now())
	if fault != nil {
		return nil, nil, fault
	}
	secrets := []string{assertion, form.Get("refresh_token"), form.Get("token")}
	body := []byte(form.Encode())
	header.Set("Content-Type", encodingForm)
	if p.encoding == encodingJSON {
		body = jsonForm(form)
		header.Set("Content-Type", encodingJSON)
	}
	req, err := nethttp.NewRequestWithContext(ctx, nethttp.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, nil, configuration(fmt.Sprintf("the endpoint %s of the authentication is no address", excerpt.Line(shown(address), maxShownBytes)))
	}
	req.Header = header
	what := "ask " + shown(address) + " for a token"
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, nil, p.unanswered(ctx, what, err, secrets...)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, nil, p.unanswered(ctx, what, err, secrets...)
	}
	said, err := readAnswer(resp.Header.Get("Content-Type"), data)
	if resp.StatusCode != nethttp.StatusOK && resp.StatusCode != nethttp.StatusCreated || err == nil && said.Error != "" {
		fault := refused(p.redacted(fmt.Sprintf("%s answered %d%s", shown(address), resp.StatusCode, said.reason()), secrets...))
		fault.Retryable = resp.StatusCode >= 500 || resp.StatusCode == nethttp.StatusTooManyRequests
		return nil, nil, fault
	}
	if err != nil {
		return nil, nil, refused(shown(address) + " answered with something that is no token response")
	}
	return said, secrets, nil
}

// unanswered is the fault of a request that got no usable answer. Addresses are shown without
// user, query and fragment.
func (p *policy) unanswered(ctx context.Context, what string, err error, secrets ...string) *machine.Fault {
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		err = urlErr.Err
	}
	if errors.Is(err, egress.ErrRefused) {
		fault := refused(what + ": the address is private and refused by the egress rules; an operator can allow it with --allow-egress")
		fault.Code = "egress_refused"
		return fault
	}
	reason := err.Error()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		reason = fmt.Sprintf("no complete answer within %s", requestTimeout)
	}
	fault := refused(what + ": " + excerpt.Line(p.redacted(reason, secrets...), maxShownBytes))
	fault.Retryable = true
	return fault
}

func jsonForm(form url.Values) []byte {
	object := make(map[string]any, len(form))
	for name, values := range form {
		object[name] = values
		if len(values) == 1 {
			object[name] = values[0]
		}
	}
	data, _ := json.Marshal(object) // texts always can be encoded
	return data
}

// isForm tells the answers of servers that are older than RFC 6749.
func isForm(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == encodingForm
}
