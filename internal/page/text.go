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

	DeviceSignIn  = "device-sign-in"
	Device        = "device"
	DeviceConfirm = "device-confirm"
	DeviceAllowed = "device-allowed"
	DeviceRefused = "device-refused"
)

var english = map[string]texts{
	Setup: {"Set up Chargehand", "Make the first admin of this installation. The set-up token is in the log of the server, and in the file " +
		"setup-token of its data directory.", "Make the admin and sign in"},
	SignIn:     {"Sign in", "", "Sign in"},
	SignedIn:   {"You are signed in", "", "Sign out"},
	Invitation: {"Accept the invitation", "Choose your name and a password.", "Accept and sign in"},
	Reset:      {"Set a new password", "All your sessions end.", "Set the password and sign in"},
	Problem:    {"That did not work", "", ""},

	DeviceSignIn: {"Sign in to connect a program", "A program such as the command line shows a code. Sign in first, then type it here. " +
		"If you sign in in another way, open the page /sign-in, and this page again afterwards.", "Sign in"},
	Device: {"Connect a program", "Type the code that the program shows. Type no code that another person has sent you: the one who " +
		"started the program could do what you may do.", "Continue"},
	DeviceConfirm: {"Allow this program?", "It gets personal keys, with which it may do everything that you may do in this account. Allow it only if you " +
		"have just started it yourself.", "Allow"},
	DeviceAllowed: {"The program is connected", "You can close this page and continue in the program.", ""},
	DeviceRefused: {"The program was refused", "It gets no keys. If you did not start it yourself, another person may have tried to use your rights: tell your admin.", ""},
}

// words are the texts of fields.
var words = map[string]string{
	"token": "Token", "token-help": "The end of the address, behind #token=.", "name": "Name", "email": "E-mail", "password": "Password",
	"password-help": "At least 12 characters. Some words in a row are easy to remember.", "skip": "Skip to the form",
	"code": "Code", "code-help": "8 letters, such as BCDF-GHJK.", "fresh-help": "Confirm that it is you: your sign-in is older than 10 minutes.", "refuse": "Refuse",
	"device-name": "The program calls itself", "device-address": "It asks from the address", "device-started": "It was started at", "device-environments": "It asks for a key of",
}
