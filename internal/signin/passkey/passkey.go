package passkey

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
)

// Life is the longest time between the two halves of a ceremony.
const Life = 5 * time.Minute

// MaxPerPerson bounds the passkeys of a person.
const MaxPerPerson = 20

// ErrRefused says that an answer of a browser is not the one to this ceremony, of this site, or by a known passkey. The
// text of an error that wraps it says why, for the log.
var ErrRefused = errors.New("the passkey was not accepted")

// Site is where passkeys are made and used. One of another address cannot use them.
type Site struct{ auth *webauthn.WebAuthn }

// Usable says why a browser makes no passkeys for an address, in a sentence; empty: it does.
func Usable(address *url.URL) string {
	host := address.Hostname()
	if _, err := netip.ParseAddr(host); err == nil {
		return "Passkeys need a name of a host: browsers make none for " + host + ". Use the server's name, or localhost on the same machine."
	}
	if address.Scheme != "https" && host != "localhost" && !strings.HasSuffix(host, ".localhost") {
		return "Passkeys need https, or localhost."
	}
	return ""
}

// At returns the site at the origin of an address, such as https://chargehand.example.com. Errors: that of Usable.
func At(address *url.URL) (*Site, error) {
	if reason := Usable(address); reason != "" {
		return nil, errors.New(reason)
	}
	limit := webauthn.TimeoutConfig{Enforce: true, Timeout: Life, TimeoutUVD: Life}
	auth, err := webauthn.New(&webauthn.Config{
		RPID: address.Hostname(), RPDisplayName: "Chargehand", RPOrigins: []string{address.Scheme + "://" + address.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		Timeouts:              webauthn.TimeoutsConfig{Login: limit, Registration: limit},
	})
	if err != nil {
		return nil, fmt.Errorf("passkeys at %s: %w", address, err)
	}
	return &Site{auth}, nil
}

// Person is whom a passkey is for.
type Person struct {
	ID          []byte // at most 64 bytes, and never a name: authenticators keep it
	Name        string // e-mail
	DisplayName string
	Credentials [][]byte // Data of the passkeys that the person has
}

// Ceremony is the first half.
type Ceremony struct {
	Options   json.RawMessage // for the browser
	Challenge string          // a secret of one use, which the answer repeats
	State     []byte
}

// Credential is a passkey after a ceremony.
type Credential struct {
	ID        []byte // that the authenticator gave it
	Data      []byte // what the next ceremony must know
	SignCount int64
}

// BeginCreate begins to make a passkey for p.
func (s *Site) BeginCreate(p Person) (Ceremony, error) {
	user, err := newUser(p)
	if err != nil {
		return Ceremony{}, err
	}
	known := make([]protocol.CredentialDescriptor, len(user.credentials))
	for i := range user.credentials {
		known[i] = user.credentials[i].Descriptor()
	}
	options, state, err := s.auth.BeginRegistration(user, webauthn.WithExclusions(known),
		webauthn.WithAuthenticatorSelection(protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(), UserVerification: protocol.VerificationRequired,
		}))
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin passkey: %w", err)
	}
	return newCeremony(options.Response, state)
}

// FinishCreate is the second half of BeginCreate for the same person. Errors: ErrRefused.
func (s *Site) FinishCreate(p Person, state, answer []byte) (Credential, error) {
	user, err := newUser(p)
	if err != nil {
		return Credential{}, err
	}
	session, err := readState(state)
	if err != nil {
		return Credential{}, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return Credential{}, refused(err)
	}
	made, err := s.auth.CreateCredential(user, session, parsed)
	if err != nil {
		return Credential{}, refused(err)
	}
	return newCredential(made)
}

// BeginSignIn begins a sign-in of a person who is not known yet.
func (s *Site) BeginSignIn() (Ceremony, error) {
	options, state, err := s.auth.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin sign-in with a passkey: %w", err)
	}
	return newCeremony(options.Response, state)
}

// FinishSignIn is the second half of BeginSignIn. find returns the person with an ID and the passkey that is used among
// its credentials; nil: there is none. Errors: ErrRefused.
func (s *Site) FinishSignIn(state, answer []byte, find func(person, credential []byte) *Person) (Credential, error) {
	session, err := readState(state)
	if err != nil {
		return Credential{}, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return Credential{}, refused(err)
	}
	_, used, err := s.auth.ValidatePasskeyLogin(func(credential, person []byte) (webauthn.User, error) {
		p := find(person, credential)
		if p == nil {
			return nil, errors.New("no such passkey")
		}
		return newUser(*p)
	}, session, parsed)
	if err != nil {
		return Credential{}, refused(err)
	}
	if used.Authenticator.CloneWarning {
		return Credential{}, fmt.Errorf("%w: its counter went back, as that of a copy does", ErrRefused)
	}
	return newCredential(used)
}

// ChallengeOf is the challenge that an answer of a browser repeats; empty: there is none.
func ChallengeOf(answer []byte) string {
	var outer struct {
		Response struct {
			ClientData protocol.URLEncodedBase64 `json:"clientDataJSON"`
		} `json:"response"`
	}
	var inner struct {
		Challenge string `json:"challenge"`
	}
	if json.Unmarshal(answer, &outer) != nil || json.Unmarshal(outer.Response.ClientData, &inner) != nil {
		return ""
	}
	return inner.Challenge
}

func newCeremony(options any, state *webauthn.SessionData) (c Ceremony, err error) {
	c.Challenge = state.Challenge
	if c.Options, err = json.Marshal(options); err == nil {
		c.State, err = json.Marshal(state)
	}
	return c, err
}

func readState(state []byte) (session webauthn.SessionData, err error) {
	if err = json.Unmarshal(state, &session); err != nil {
		err = fmt.Errorf("read the state of a ceremony: %w", err)
	}
	return session, err
}

func newCredential(c *webauthn.Credential) (Credential, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return Credential{}, fmt.Errorf("encode passkey: %w", err)
	}
	return Credential{ID: bytes.Clone(c.ID), Data: data, SignCount: int64(c.Authenticator.SignCount)}, nil
}

// refused keeps what the library tells developers: its errors have a text of their own for people.
func refused(err error) error {
	var detailed *protocol.Error
	if errors.As(err, &detailed) && detailed.DevInfo != "" {
		return fmt.Errorf("%w: %s: %s", ErrRefused, detailed.Details, detailed.DevInfo)
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// user is a Person as the library wants it.
type user struct {
	Person
	credentials []webauthn.Credential
}

func newUser(p Person) (*user, error) {
	u := &user{Person: p, credentials: make([]webauthn.Credential, len(p.Credentials))}
	for i, data := range p.Credentials {
		if err := json.Unmarshal(data, &u.credentials[i]); err != nil {
			return nil, fmt.Errorf("read passkey: %w", err)
		}
	}
	return u, nil
}

func (u *user) WebAuthnID() []byte                         { return u.ID }
func (u *user) WebAuthnName() string                       { return u.Name }
func (u *user) WebAuthnDisplayName() string                { return u.DisplayName }
func (u *user) WebAuthnCredentials() []webauthn.Credential { return slices.Clone(u.credentials) }
