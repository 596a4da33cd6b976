package page

// texts are what a page says.
type texts struct {
	Title, Lead, Button string
}

// The pages.
const (
	Setup      = "setup"
	SignIn     = "sign-in"
	SignedIn   = "signed-in"
	Invitation = "invitation"
	Reset      = "password-reset"
	Problem    = "problem"
)

var english = map[string]texts{
	Setup: {"Set up Chargehand", "Make the first admin of this installation. The set-up token is in the log of the server, and in the file " +
		"setup-token of its data directory.", "Make the admin and sign in"},
	SignIn:     {"Sign in", "", "Sign in"},
	SignedIn:   {"You are signed in", "", "Sign out"},
	Invitation: {"Accept the invitation", "Choose your name and a password.", "Accept and sign in"},
	Reset:      {"Set a new password", "All your sessions end.", "Set the password and sign in"},
	Problem:    {"That did not work", "", ""},
}

// words are the texts of fields.
var words = map[string]string{
	"token": "Token", "token-help": "The end of the address, behind #token=.", "name": "Name", "email": "E-mail", "password": "Password",
	"password-help": "At least 12 characters. Some words in a row are easy to remember.", "skip": "Skip to the form",
}
