package credential

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwt"
	"golang.org/x/net/http/httpguts"

	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
)

const (
	// unknownLifetime is for tokens whose server does not say how long they last.
	unknownLifetime = 5 * time.Minute
	longestLifetime = 24 * time.Hour
	// earliestRenewal is how long before its end a token is renewed; a tenth of its lifetime
	// if that is less.
	earliestRenewal = 30 * time.Second

	maxShownBytes = 300
)

// answer is a response of a token or introspection endpoint (RFC 6749, 5; RFC 7662, 2.2).
type answer struct {
	AccessToken  string          `json:"access_token"`
	TokenType    string          `json:"token_type"`
	ExpiresIn    json.RawMessage `json:"expires_in"`
	RefreshToken string          `json:"refresh_token"`
	IDToken      string          `json:"id_token"`

	Active bool   `json:"active"`
	Issuer string `json:"iss"`

	Error       string `json:"error"`
	Description string `json:"error_description"`
}

func (a *answer) secrets() []string { return []string{a.AccessToken, a.RefreshToken, a.IDToken} }

// readAnswer never returns nil, so that what a server said with an error can be reported.
func readAnswer(contentType string, data []byte) (*answer, error) {
	if isForm(contentType) {
		form, err := url.ParseQuery(string(data))
		if err != nil {
			return &answer{}, errors.New("it is no form")
		}
		expires := form.Get("expires_in")
		return &answer{
			AccessToken: form.Get("access_token"), TokenType: form.Get("token_type"), ExpiresIn: json.RawMessage(expires),
			RefreshToken: form.Get("refresh_token"), IDToken: form.Get("id_token"),
			Error: form.Get("error"), Description: form.Get("error_description"),
		}, nil
	}
	said := &answer{}
	if err := json.Unmarshal(data, said); err != nil {
		return &answer{}, errors.New("it is no JSON object")
	}
	return said, nil
}

// reason is what the server said of its refusal.
func (a *answer) reason() string {
	text := a.Error
	if a.Description != "" {
		text = strings.TrimPrefix(text+": "+a.Description, ": ")
	}
	if text == "" {
		return ""
	}
	return ": " + excerpt.Line(text, maxShownBytes)
}

// token checks a token response.
func (a *answer) token(p *policy, now time.Time) (*token, *machine.Fault) {
	switch {
	case a.AccessToken == "":
		return nil, refused("the token response has no access_token")
	case a.TokenType != "" && !strings.EqualFold(a.TokenType, "bearer") && !(p.grant == grantExchange && a.TokenType == "N_A"):
		return nil, refused("the token is of the type " + strconv.Quote(excerpt.Line(a.TokenType, maxShownBytes)) + "; only bearer tokens can be used")
	case !httpguts.ValidHeaderFieldValue(a.AccessToken):
		return nil, refused("the access_token contains characters that a header cannot hold")
	}
	lifetime, known := a.lifetime()
	if !known {
		lifetime = unknownLifetime
		if expires, ok := expiry(a.AccessToken); ok {
			lifetime = min(expires.Sub(now), longestLifetime)
		}
	}
	return &token{
		value: a.AccessToken, refresh: a.RefreshToken,
		renewAt: now.Add(lifetime - min(earliestRenewal, lifetime/10)),
	}, nil
}

// lifetime reads expires_in, which some servers write as text.
func (a *answer) lifetime() (time.Duration, bool) {
	text := string(bytes.Trim(bytes.TrimSpace(a.ExpiresIn), `"`))
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds >= 0) {
		return 0, false
	}
	if seconds >= longestLifetime.Seconds() {
		return longestLifetime, true
	}
	return time.Duration(seconds * float64(time.Second)), true
}

func expiry(accessToken string) (time.Time, bool) {
	claims, err := jwt.ParseInsecure([]byte(accessToken))
	if err != nil {
		return time.Time{}, false
	}
	return claims.Expiration()
}
