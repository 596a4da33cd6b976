package api

import (
	"context"
	"net/url"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/signin"
	"github.com/chargehand/chargehand/internal/store"
)

// goodToken stands for the token of a session in the tests; the fake knows no other.
const goodToken = "the-token"

// fakeSignIn answers every sign-in with one session, or with fail.
type fakeSignIn struct {
	fail    error
	from    signin.Client // of the last request
	browser string        // the secret that a sign-in gives the browser
	read    int           // sessions that were read
}

func (f *fakeSignIn) session(from signin.Client) (*signin.Session, error) {
	f.from = from
	if f.fail != nil {
		return nil, f.fail
	}
	account := store.Account{No: 1, ID: mustID[chargehand.AccountID]("0197a5c4-6666-7000-8000-000000000006"), Name: "default"}
	return &signin.Session{
		Token: goodToken, Browser: f.browser, Account: account, Accounts: []store.Account{account}, ExpiresAt: moment0.Add(time.Hour), FreshUntil: moment0,
		Person: store.Person{ID: mustID[chargehand.UserID]("0197a5c4-7777-7000-8000-000000000007"), Email: "ada@example.com", Name: "Ada"},
	}, nil
}

func (f *fakeSignIn) Methods(context.Context, signin.Client) (signin.Methods, error) {
	return signin.Methods{Setup: true, Password: true}, f.fail
}
func (f *fakeSignIn) Setup(_ context.Context, _ signin.Setup, from signin.Client) (*signin.Session, error) {
	return f.session(from)
}
func (f *fakeSignIn) SignIn(_ context.Context, _, _ string, from signin.Client) (*signin.Session, error) {
	return f.session(from)
}
func (f *fakeSignIn) Session(_ context.Context, token string) (*signin.Session, error) {
	f.read++
	if token != goodToken {
		return nil, chargehand.NewError(chargehand.CodeInvalidCredentials, "The session has ended.")
	}
	s, err := f.session(signin.Client{})
	if err == nil {
		s.Token = ""
	}
	return s, err
}
func (f *fakeSignIn) AskReset(_ context.Context, _ string, from signin.Client) error {
	f.from = from
	return f.fail
}
func (f *fakeSignIn) SignOut(context.Context, *signin.Session) error { return f.fail }
func (f *fakeSignIn) SwitchAccount(context.Context, *signin.Session, chargehand.AccountID) (*signin.Session, error) {
	return f.session(signin.Client{})
}
func (f *fakeSignIn) VerifyPassword(_ context.Context, _ *signin.Session, _ string, from signin.Client) (*signin.Session, error) {
	return f.session(from)
}
func (f *fakeSignIn) ChangePassword(_ context.Context, _ *signin.Session, _, _ string, from signin.Client) (*signin.Session, error) {
	return f.session(from)
}
func (f *fakeSignIn) Accept(_ context.Context, _ signin.Accept, from signin.Client) (*signin.Session, error) {
	return f.session(from)
}
func (f *fakeSignIn) Reset(_ context.Context, _, _ string, from signin.Client) (*signin.Session, error) {
	return f.session(from)
}

func (f *fakeSignIn) StartDevice(_ context.Context, _ signin.StartDevice, from signin.Client) (signin.DeviceCode, error) {
	f.from = from
	return signin.DeviceCode{Device: "device-code", User: "BCDF-GHJK", Life: 10 * time.Minute, Pause: 5 * time.Second}, f.fail
}
func (f *fakeSignIn) Device(context.Context, *signin.Session, string, signin.Client) (*signin.Device, error) {
	return &signin.Device{Name: "chargehand on <laptop>", Environments: []chargehand.Environment{chargehand.Live}, Address: "192.0.2.7", StartedAt: moment0, Code: "BCDF-GHJK", Form: "form"}, f.fail
}
func (f *fakeSignIn) DecideDevice(context.Context, *signin.Session, string, string, bool) error {
	return f.fail
}
func (f *fakeSignIn) RedeemDevice(context.Context, string) (*signin.Redeemed, error) {
	if f.fail != nil {
		return nil, f.fail
	}
	s, err := f.session(signin.Client{})
	return &signin.Redeemed{Person: s.Person, Account: s.Account, Keys: []signin.IssuedKey{{ID: keyID, Environment: chargehand.Live, Key: goodKey, Scopes: []string{"executions:create"}, ExpiresAt: moment0}}}, err
}
func (f *fakeSignIn) BeginPasskeySignIn(from signin.Client) (signin.Ceremony, error) {
	f.from = from
	return signin.Ceremony{Options: []byte(`{"challenge":"AA"}`), Way: "way", Ends: moment0}, f.fail
}
func (f *fakeSignIn) PasskeySignIn(_ context.Context, _ string, _ []byte, from signin.Client) (*signin.Session, error) {
	return f.session(from)
}
func (f *fakeSignIn) VerifyPasskey(_ context.Context, _ *signin.Session, _ string, _ []byte, from signin.Client) (*signin.Session, error) {
	return f.session(from)
}
func (f *fakeSignIn) Passkeys(context.Context, *signin.Session) ([]signin.Passkey, error) {
	return []signin.Passkey{f.passkey()}, f.fail
}
func (f *fakeSignIn) BeginPasskey(_ context.Context, _ *signin.Session, from signin.Client) (signin.Ceremony, error) {
	return f.BeginPasskeySignIn(from)
}
func (f *fakeSignIn) AddPasskey(context.Context, *signin.Session, string, string, []byte, signin.Client) (signin.Passkey, error) {
	return f.passkey(), f.fail
}
func (f *fakeSignIn) RenamePasskey(context.Context, *signin.Session, chargehand.PasskeyID, string) (signin.Passkey, error) {
	return f.passkey(), f.fail
}
func (f *fakeSignIn) RemovePasskey(context.Context, *signin.Session, chargehand.PasskeyID) error {
	return f.fail
}
func (f *fakeSignIn) passkey() signin.Passkey {
	return signin.Passkey{ID: mustID[chargehand.PasskeyID]("0197a5c4-8888-7000-8000-000000000008"), Name: "Phone", CreatedAt: moment0}
}
func (f *fakeSignIn) Identities(context.Context, *signin.Session) ([]signin.Identity, error) {
	return []signin.Identity{{Provider: "company", Title: "Example Ltd.", CreatedAt: moment0}}, f.fail
}
func (f *fakeSignIn) RemoveIdentity(context.Context, *signin.Session, string) error { return f.fail }
func (f *fakeSignIn) BeginProvider(context.Context, string, string, signin.Journey) (signin.Departure, error) {
	return signin.Departure{Address: "https://id.example.com/authorize", Way: "way", Ends: moment0}, f.fail
}
func (f *fakeSignIn) FinishProvider(_ context.Context, _, _ string, _ url.Values, _ *signin.Session, from signin.Client) (signin.Arrival, error) {
	s, err := f.session(from)
	return signin.Arrival{Session: s, Page: pageSignIn}, err
}
