package page

// Translate is a sentence of an error in a language, or as it is where there is no translation.
func Translate(lang, text string) string {
	if lang == German {
		if translated, known := german[text]; known {
			return translated
		}
	}
	return text
}

// german are the errors that people meet on the pages. TestTranslations holds the left side to what the server says.
var german = map[string]string{
	"The e-mail or the password is not right.":                                         "Die E-Mail-Adresse oder das Passwort stimmt nicht.",
	"Too many tries have failed. Wait a moment before the next one.":                   "Zu viele Versuche sind fehlgeschlagen. Warte einen Moment vor dem nächsten.",
	"Too many requests from this address.":                                             "Zu viele Anfragen von dieser Adresse.",
	"Too many sign-ins at once. Try again in a moment.":                                "Zu viele Anmeldungen auf einmal. Versuche es gleich noch einmal.",
	"The invitation is not right, was used, or has expired. Ask for another one.":      "Die Einladung stimmt nicht, wurde benutzt oder ist abgelaufen. Bitte um eine neue.",
	"The link is not right, was used, or has expired. Ask for another one.":            "Der Link stimmt nicht, wurde benutzt oder ist abgelaufen. Bitte um einen neuen.",
	"This installation is set up already. Sign in, or ask an admin for an invitation.": "Diese Installation ist schon eingerichtet. Melde dich an oder bitte einen Admin um eine Einladung.",
	"Choose a password of at least 12 characters, or the button for a passkey.":        "Wähle ein Passwort mit mindestens 12 Zeichen oder den Knopf für einen Passkey.",
	"name must not be empty.":                                                          "Der Name darf nicht leer sein.",
	"email must be an e-mail address, such as ada@example.org.":                        "Das muss eine E-Mail-Adresse sein, zum Beispiel ada@example.org.",
	"The session has ended. Sign in again.":                                            "Die Sitzung ist zu Ende. Melde dich noch einmal an.",
	"An unexpected error occurred. It was logged under the request_id.":                "Ein unerwarteter Fehler ist aufgetreten. Er steht im Log des Servers.",
}
