package page

import "golang.org/x/text/language"

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
	Forgotten  = "forgotten"
	Problem    = "problem"
	Linking    = "linking"
	Root       = "root"
	Gone       = "gone"

	DeviceSignIn  = "device-sign-in"
	Device        = "device"
	DeviceConfirm = "device-confirm"
	// DeviceConfirmAdmin is DeviceConfirm for a program that asks for the rights of an admin.
	DeviceConfirmAdmin = "device-confirm-admin"
	DeviceAllowed      = "device-allowed"
	DeviceVerify       = "device-verify"
	DeviceNoRole       = "device-no-role"
	DeviceRefused      = "device-refused"
)

// The languages.
const (
	English = "en"
	German  = "de"
)

var languages = language.NewMatcher([]language.Tag{language.English, language.German})

// Language is the language of a page: the one that the person has chosen, else the best of those that the browser asks
// for (Accept-Language).
func Language(chosen, accept string) string {
	const longest = 1000
	var wanted []language.Tag
	if tag, err := language.Parse(chosen); err == nil {
		wanted = append(wanted, tag)
	}
	if len(accept) <= longest {
		if tags, _, err := language.ParseAcceptLanguage(accept); err == nil {
			wanted = append(wanted, tags...)
		}
	}
	if _, i, _ := languages.Match(wanted...); i == 1 {
		return German
	}
	return English
}

var pages = map[string]map[string]texts{
	English: {
		Setup: {"Set up Chargehand", "Make the first admin of this installation. The set-up token is in the log of the server, and in the file " +
			"setup-token of its data directory.", "Make the admin and sign in"},
		SignIn:     {"Sign in", "", "Sign in"},
		SignedIn:   {"You are signed in", "", "Sign out"},
		Invitation: {"Accept the invitation", "Choose your name, and a password or a passkey.", "Accept and sign in"},
		Reset:      {"Set a new password", "All your sessions, passkeys, personal keys and the identity providers that you have linked end, so that no other person can act in your name. You can add new ones afterwards.", "Set the password and sign in"},
		Forgotten: {"Look into your mail", "If a person signs in here with this e-mail address and a password, a mail with a link is on its way. " +
			"The link can be used once, within an hour.", ""},
		Problem:      {"That did not work", "", ""},
		DeviceSignIn: {"Sign in to connect a program", "A program such as the command line shows a code. Sign in first, then type it here.", "Sign in"},
		Root:         {"Chargehand", "This is a workflow execution service. People sign in; programs use its API.", ""},
		Gone:         {"This link does not work", "", ""},
		Linking:      {"Sign in there", "The identity provider asks you to sign in again. After that you can sign in here by it, too.", "Continue to the identity provider"},
		DeviceVerify: {"Confirm that it is you", "Your sign-in is older than 10 minutes. Confirm it before you connect a program.", ""},
		DeviceNoRole: {"You have no role yet", "You are signed in, but you may not do anything in this account yet, so a program would get no key. Ask an admin for a role, then open " +
			"this page again.", ""},
		Device: {"Connect a program", "Type the code that the program shows. Type no code that another person has sent you: the one who " +
			"started the program could do what you may do.", "Continue"},
		DeviceConfirm: {"Allow this program?", "It gets personal keys, with which it may do everything that you may do in this account, except for what only " +
			"admins may do. The keys end after a year. Allow it only if you have just started it yourself.", "Allow"},
		DeviceConfirmAdmin: {"Allow this program to act as an admin?", "It gets personal keys, with which it may do everything that you may do in this account. If you " +
			"are an admin, it may change users, rights, keys and secrets, and the keys end after 30 days. Allow it only if you have just started it " +
			"yourself, as an admin.", "Allow it to act as an admin"},
		DeviceAllowed: {"The program is connected", "You can close this page and continue in the program.", ""},
		DeviceRefused: {"The program was refused", "It gets no keys. If you did not start it yourself, another person may have tried to use your rights: tell your admin.", ""},
	},
	German: {
		Setup: {"Chargehand einrichten", "Lege den ersten Admin dieser Installation an. Das Einrichtungs-Token steht im Log des Servers und in der Datei " +
			"setup-token in seinem Datenverzeichnis.", "Admin anlegen und anmelden"},
		SignIn:     {"Anmelden", "", "Anmelden"},
		SignedIn:   {"Du bist angemeldet", "", "Abmelden"},
		Invitation: {"Einladung annehmen", "Wähle deinen Namen und ein Passwort oder einen Passkey.", "Annehmen und anmelden"},
		Reset:      {"Neues Passwort setzen", "Alle deine Sitzungen, Passkeys, persönlichen Schlüssel und selbst verknüpften Identitätsanbieter enden, damit niemand außer dir in deinem Namen weitermacht. Danach kannst du neue hinzufügen.", "Passwort setzen und anmelden"},
		Forgotten: {"Sieh in deine Mails", "Wenn sich jemand hier mit dieser E-Mail-Adresse und einem Passwort anmeldet, ist eine Mail mit einem Link unterwegs. " +
			"Der Link gilt einmal, eine Stunde lang.", ""},
		Problem:      {"Das hat nicht geklappt", "", ""},
		DeviceSignIn: {"Anmelden, um ein Programm zu verbinden", "Ein Programm wie die Kommandozeile zeigt einen Code. Melde dich zuerst an und tippe ihn dann hier ein.", "Anmelden"},
		Root:         {"Chargehand", "Dieser Dienst führt Abläufe aus. Menschen melden sich an, Programme nutzen seine API.", ""},
		Gone:         {"Dieser Link gilt nicht", "", ""},
		Linking:      {"Dort anmelden", "Der Identitätsanbieter bittet dich, dich noch einmal anzumelden. Danach kannst du dich auch über ihn hier anmelden.", "Weiter zum Identitätsanbieter"},
		DeviceVerify: {"Bestätige, dass du es bist", "Deine Anmeldung ist älter als 10 Minuten. Bestätige sie, bevor du ein Programm verbindest.", ""},
		DeviceNoRole: {"Du hast noch keine Rolle", "Du bist angemeldet, darfst in diesem Konto aber noch nichts, ein Programm bekäme also keinen Schlüssel. Bitte einen Admin um eine " +
			"Rolle und öffne diese Seite dann wieder.", ""},
		Device: {"Programm verbinden", "Tippe den Code ein, den das Programm zeigt. Tippe keinen Code ein, den dir jemand geschickt hat: Wer das Programm " +
			"gestartet hat, könnte tun, was du tun darfst.", "Weiter"},
		DeviceConfirm: {"Dieses Programm erlauben?", "Es bekommt persönliche Schlüssel, mit denen es in diesem Konto alles tun darf, was du darfst, außer dem, was " +
			"nur Admins dürfen. Die Schlüssel gelten ein Jahr. Erlaube es nur, wenn du es gerade selbst gestartet hast.", "Erlauben"},
		DeviceConfirmAdmin: {"Darf dieses Programm als Admin handeln?", "Es bekommt persönliche Schlüssel, mit denen es in diesem Konto alles tun darf, was du darfst. " +
			"Wenn du Admin bist, darf es Benutzer, Rechte, Schlüssel und Geheimnisse ändern, und die Schlüssel gelten 30 Tage. Erlaube es nur, wenn du es " +
			"gerade selbst gestartet hast, als Admin.", "Als Admin erlauben"},
		DeviceAllowed: {"Das Programm ist verbunden", "Du kannst diese Seite schließen und im Programm weitermachen.", ""},
		DeviceRefused: {"Das Programm wurde abgelehnt", "Es bekommt keine Schlüssel. Wenn du es nicht selbst gestartet hast, wollte vielleicht jemand in deinem Namen handeln: Sag es deinem Admin.", ""},
	},
}

// words are the texts of fields and of what several pages have.
var words = map[string]map[string]string{
	English: {
		"token": "Token", "token-help": "The end of the address, behind #token=.", "name": "Name", "email": "E-mail", "password": "Password",
		"password-help": "At least 12 characters. Some words in a row are easy to remember.", "skip": "Skip to the form", "error": "Error",
		"or": "or", "passkey-sign-in": "Sign in with a passkey", "passkey-setup": "Make the admin with a passkey", "passkey-invitation": "Accept with a passkey",
		"passkey-add": "Add a passkey", "passkey-failed": "The browser has not used a passkey. Try again, or choose another way.",
		"passkey-script": "Passkeys need JavaScript.", "provider": "Sign in with", "provider-verify": "Confirm with", "link": "Sign in by it from now on:", "link-help": "You can choose another way to sign in. The identity provider asks you to sign in there first.",
		"ways": "You sign in with", "passkey-verify": "Confirm with a passkey", "form": "Something is not right in the form.",
		"added": "The passkey was added.", "back": "Back to the sign-in", "to-sign-in": "Sign in", "to-api": "The description of the API", "to-ui": "Open Chargehand",
		"no-ui":     "This program was built without its web UI. `make build` builds it with the UI, and every release has it.",
		"forgotten": "Forgotten the password?", "forgotten-help": "You get a mail with a link to set another password.", "forgotten-button": "Send me a link",
		"code": "Code", "code-help": "8 letters, such as BCDF-GHJK.", "fresh-help": "Confirm that it is you: your sign-in is older than 10 minutes.", "refuse": "Refuse",
		"skip-to-text": "Skip to the text", "manual": "Documentation", "manual-language": "Language of workflows", "manual-glossary": "Glossary",
		"device-name": "The program calls itself", "device-address": "It asks from the address", "device-started": "It was started at", "device-environments": "It asks for a key of",
	},
	German: {
		"token": "Token", "token-help": "Das Ende der Adresse, hinter #token=.", "name": "Name", "email": "E-Mail", "password": "Passwort",
		"password-help": "Mindestens 12 Zeichen. Einige Wörter hintereinander merken sich leicht.", "skip": "Zum Inhalt springen", "error": "Fehler",
		"or": "oder", "passkey-sign-in": "Mit Passkey anmelden", "passkey-setup": "Admin mit Passkey anlegen", "passkey-invitation": "Mit Passkey annehmen",
		"passkey-add": "Passkey hinzufügen", "passkey-failed": "Der Browser hat keinen Passkey verwendet. Versuche es noch einmal oder wähle einen anderen Weg.",
		"passkey-script": "Passkeys brauchen JavaScript.", "provider": "Anmelden mit", "provider-verify": "Bestätigen mit", "link": "Künftig auch anmelden mit:", "link-help": "Du kannst einen weiteren Weg wählen, dich anzumelden. Der Identitätsanbieter bittet dich vorher, dich dort anzumelden.",
		"ways": "Du meldest dich an mit", "passkey-verify": "Mit Passkey bestätigen", "form": "Im Formular stimmt etwas nicht.",
		"added": "Der Passkey wurde hinzugefügt.", "back": "Zurück zur Anmeldung", "to-sign-in": "Anmelden", "to-api": "Die Beschreibung der API", "to-ui": "Chargehand öffnen",
		"no-ui":     "Dieses Programm wurde ohne seine Weboberfläche gebaut. `make build` baut es mit ihr, und jede Ausgabe hat sie.",
		"forgotten": "Passwort vergessen?", "forgotten-help": "Du bekommst eine Mail mit einem Link, um ein anderes Passwort zu setzen.", "forgotten-button": "Link schicken",
		"code": "Code", "code-help": "8 Buchstaben, zum Beispiel BCDF-GHJK.", "fresh-help": "Bestätige, dass du es bist: Deine Anmeldung ist älter als 10 Minuten.", "refuse": "Ablehnen",
		"skip-to-text": "Zum Text springen", "manual": "Dokumentation", "manual-language": "Sprache der Workflows", "manual-glossary": "Glossar",
		"device-name": "Das Programm nennt sich", "device-address": "Es fragt von der Adresse", "device-started": "Es wurde gestartet um", "device-environments": "Es will einen Schlüssel für",
	},
}
