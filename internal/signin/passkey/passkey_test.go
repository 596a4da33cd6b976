package passkey

import (
	"bytes"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/descope/virtualwebauthn"

	"github.com/chargehand/chargehand/internal/peer/virtualkey"
)

const origin = "https://chargehand.example.com"

func site(t *testing.T, address string) *Site {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	s, err := At(u)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// browser is a browser with a passkey for one person.
type browser struct {
	party      virtualwebauthn.RelyingParty
	device     virtualwebauthn.Authenticator
	credential virtualwebauthn.Credential
}

func newBrowser(address string, person []byte) *browser {
	u, _ := url.Parse(address)
	return &browser{
		party:      virtualwebauthn.RelyingParty{ID: u.Hostname(), Name: "Chargehand", Origin: address},
		device:     virtualwebauthn.NewAuthenticatorWithOptions(virtualwebauthn.AuthenticatorOptions{UserHandle: person}),
		credential: virtualkey.New(),
	}
}

func (b *browser) create(t *testing.T, c Ceremony) []byte {
	t.Helper()
	options, err := virtualwebauthn.ParseAttestationOptions(string(c.Options))
	if err != nil {
		t.Fatal(err)
	}
	return []byte(virtualwebauthn.CreateAttestationResponse(b.party, b.device, b.credential, *options))
}

func (b *browser) signIn(t *testing.T, c Ceremony) []byte {
	t.Helper()
	options, err := virtualwebauthn.ParseAssertionOptions(string(c.Options))
	if err != nil {
		t.Fatal(err)
	}
	return []byte(virtualwebauthn.CreateAssertionResponse(b.party, b.device, b.credential, *options))
}

var ada = Person{ID: []byte("0123456789abcdef"), Name: "ada@example.com", DisplayName: "Ada"}

// register makes a passkey of ada.
func register(t *testing.T, s *Site, b *browser) Credential {
	t.Helper()
	c, err := s.BeginCreate(ada)
	if err != nil {
		t.Fatal(err)
	}
	answer := b.create(t, c)
	if got := ChallengeOf(answer); got != c.Challenge {
		t.Fatalf("challenge of the answer %q, want %q", got, c.Challenge)
	}
	made, err := s.FinishCreate(ada, c.State, answer)
	if err != nil {
		t.Fatal(err)
	}
	b.device.AddCredential(b.credential)
	return made
}

// known finds ada by a passkey.
func known(c Credential) func(person, credential []byte) *Person {
	return func(person, credential []byte) *Person {
		if !bytes.Equal(person, ada.ID) || !bytes.Equal(credential, c.ID) {
			return nil
		}
		p := ada
		p.Credentials = [][]byte{c.Data}
		return &p
	}
}

func TestAPasskeySignsIn(t *testing.T) {
	s, b := site(t, origin), newBrowser(origin, ada.ID)
	made := register(t, s, b)
	for range 2 {
		c, err := s.BeginSignIn()
		if err != nil {
			t.Fatal(err)
		}
		b.credential.Counter++
		used, err := s.FinishSignIn(c.State, b.signIn(t, c), known(made))
		if err != nil || !bytes.Equal(used.ID, made.ID) || used.SignCount != int64(b.credential.Counter) {
			t.Fatalf("sign-in: %+v, %v", used, err)
		}
		made = used
	}
}

func TestAPasskeyIsNotMadeTwice(t *testing.T) {
	s, b := site(t, origin), newBrowser(origin, ada.ID)
	p := ada
	p.Credentials = [][]byte{register(t, s, b).Data}
	c, err := s.BeginCreate(p)
	if err != nil || !strings.Contains(string(c.Options), `"excludeCredentials":[{`) {
		t.Errorf("options %s, %v", c.Options, err)
	}
}

func TestForgedAnswersAreRefused(t *testing.T) {
	s, b := site(t, origin), newBrowser(origin, ada.ID)
	made := register(t, s, b)
	begin := func() Ceremony {
		c, err := s.BeginSignIn()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	refused := func(what string, state, answer []byte, find func(person, credential []byte) *Person) {
		t.Helper()
		if _, err := s.FinishSignIn(state, answer, find); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
	c := begin()
	b.credential.Counter = 5
	good := b.signIn(t, c)
	refused("the answer to another challenge", begin().State, good, known(made))
	refused("a person without this passkey", c.State, good, func(_, _ []byte) *Person { return nil })

	stranger := newBrowser(origin, ada.ID)
	stranger.credential.ID = b.credential.ID
	stranger.device.AddCredential(stranger.credential)
	refused("another key under the same id", c.State, stranger.signIn(t, c), known(made))

	elsewhere := *b
	elsewhere.party.Origin = "https://chargehand.example.com.evil.test"
	refused("another origin", c.State, elsewhere.signIn(t, c), known(made))
	elsewhere.party = virtualwebauthn.RelyingParty{ID: "evil.test", Origin: origin}
	refused("another site", c.State, elsewhere.signIn(t, c), known(made))

	other := *b
	other.device.Options.UserHandle = []byte("another person's")
	refused("another person's handle", c.State, other.signIn(t, c), func(_, credential []byte) *Person { return known(made)(ada.ID, credential) })

	for _, answer := range []string{"", "{}", "null", "[1]", strings.Repeat("[", 10_000), string(good[:len(good)/2])} {
		refused("no answer at all", c.State, []byte(answer), known(made))
	}
	used, err := s.FinishSignIn(c.State, good, known(made))
	if err != nil {
		t.Fatal(err)
	}
	b.credential.Counter = 4
	again := begin()
	refused("a counter that went back", again.State, b.signIn(t, again), known(used))
	if _, err := s.FinishCreate(ada, begin().State, good); !errors.Is(err, ErrRefused) {
		t.Errorf("a sign-in as a new passkey: %v", err)
	}
}

func TestWherePasskeysWork(t *testing.T) {
	for address, want := range map[string]string{
		"https://chargehand.example.com": "", "http://localhost:8080": "", "http://a.localhost:8080": "",
		"http://127.0.0.1:8080": "name of a host", "https://[::1]": "name of a host", "http://chargehand.example.com": "https",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := Usable(u); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}
