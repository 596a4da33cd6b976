package letter

// times are the forms of a point in time, which is in UTC.
var times = map[string]string{"en": "2 January 2006, 15:04 UTC", "de": "02.01.2006, 15:04 Uhr (UTC)"}

var (
	greetings       = map[string]string{"en": "Hello,", "de": "Hallo,"}
	greetingsByName = map[string]string{"en": "Hello %s,", "de": "Hallo %s,"}
)

// texts are those of each kind, by language.
var texts = map[string]map[Kind]phrases{
	"en": {
		Invitation: {
			Subject: "Invitation to {{.Account}}",
			Lead:    "{{with .By}}{{.}} invites you{{else}}you are invited{{end}} to the account {{.Account}} on Chargehand. Open this address to accept the invitation:",
			Button:  "Accept the invitation",
			Until:   "The address can be used once, until {{.Time}}.",
			Closing: "If you did not expect this invitation, do nothing.",
		},
		Reset: {
			Subject: "Set a new password",
			Lead:    "an admin has made an address with which you set a new password for Chargehand:",
			Button:  "Set a new password",
			Until:   "The address can be used once, until {{.Time}}.",
			Closing: "Your password stays as it is until you open the address and set another one. Then all your sessions, passkeys, personal keys and the identity providers that you have linked end.",
		},
		AskedReset: {
			Subject: "Set a new password",
			Lead:    "with this address you set a new password for Chargehand:",
			Button:  "Set a new password",
			Until:   "The address can be used once, until {{.Time}}.",
			Closing: "If you did not ask for it, do nothing: your password stays as it is. If you set another one, all your sessions, passkeys, personal keys and the identity providers that you have linked end.",
		},
		KeyEnds: {
			Subject: "API key {{.Key}} ends in {{if eq .Days 1}}1 day{{else}}{{.Days}} days{{end}}",
			Lead: "the API key {{.Key}} (…{{.LastFour}}, {{.Environment}}) of the account {{.Account}} ends on {{.Time}}. " +
				"Requests with it are refused from then on.",
			Closing: "Make another key before, and give it to what uses this one. If nothing uses the key any more, do nothing.",
		},
		Test: {
			Subject: "Test of Chargehand's mail",
			Lead:    "this mail was sent by `chargehand doctor`. The settings for mail work.",
		},
		TaskOpened:   taskPhrasesEnglish("Task", "asks you for an answer"),
		TaskReminded: taskPhrasesEnglish("Reminder", "still waits for an answer"),
		TaskOverdue:  taskPhrasesEnglish("Overdue", "waits for an answer that is overdue"),
	},
	"de": {
		Invitation: {
			Subject: "Einladung zu {{.Account}}",
			Lead:    "{{with .By}}{{.}} lädt dich zum Konto {{$.Account}} auf Chargehand ein.{{else}}du bist zum Konto {{.Account}} auf Chargehand eingeladen.{{end}} Öffne diese Adresse, um die Einladung anzunehmen:",
			Button:  "Einladung annehmen",
			Until:   "Die Adresse kann einmal benutzt werden, bis {{.Time}}.",
			Closing: "Wenn du diese Einladung nicht erwartet hast, tu nichts.",
		},
		Reset: {
			Subject: "Neues Passwort setzen",
			Lead:    "ein Admin hat eine Adresse angelegt, mit der du ein neues Passwort für Chargehand setzt:",
			Button:  "Neues Passwort setzen",
			Until:   "Die Adresse kann einmal benutzt werden, bis {{.Time}}.",
			Closing: "Dein Passwort bleibt, wie es ist, bis du die Adresse öffnest und ein anderes setzt. Dann enden alle deine Sitzungen, Passkeys, persönlichen Schlüssel und selbst verknüpften Identitätsanbieter.",
		},
		AskedReset: {
			Subject: "Neues Passwort setzen",
			Lead:    "mit dieser Adresse setzt du ein neues Passwort für Chargehand:",
			Button:  "Neues Passwort setzen",
			Until:   "Die Adresse kann einmal benutzt werden, bis {{.Time}}.",
			Closing: "Wenn du nicht darum gebeten hast, tu nichts: Dein Passwort bleibt, wie es ist. Wenn du ein anderes setzt, enden alle deine Sitzungen, Passkeys, persönlichen Schlüssel und selbst verknüpften Identitätsanbieter.",
		},
		KeyEnds: {
			Subject: "API-Schlüssel {{.Key}} endet in {{if eq .Days 1}}1 Tag{{else}}{{.Days}} Tagen{{end}}",
			Lead: "der API-Schlüssel {{.Key}} (…{{.LastFour}}, {{.Environment}}) des Kontos {{.Account}} endet am {{.Time}}. " +
				"Danach werden Anfragen mit ihm abgewiesen.",
			Closing: "Lege vorher einen anderen an, und gib ihn dem, was diesen benutzt. Benutzt nichts mehr den Schlüssel, tu nichts.",
		},
		Test: {
			Subject: "Test der Mails von Chargehand",
			Lead:    "diese Mail hat `chargehand doctor` verschickt. Die Einstellungen für Mails stimmen.",
		},
		TaskOpened:   taskPhrasesGerman("Aufgabe", "bittet dich um eine Antwort"),
		TaskReminded: taskPhrasesGerman("Erinnerung", "wartet noch auf eine Antwort"),
		TaskOverdue:  taskPhrasesGerman("Überfällig", "wartet auf eine Antwort, die überfällig ist"),
	},
}

// taskPhrasesEnglish are the texts about a human task: what the subject begins with, and what the workflow does.
func taskPhrasesEnglish(subject, does string) phrases {
	return phrases{
		Subject: `{{if eq .Environment "test"}}[test] {{end}}` + subject + ": {{.Short}}",
		Lead: "the workflow {{.Workflow}} of the account {{.Account}} " + does + `{{if eq .Environment "test"}}, in the environment test{{end}}` +
			": “{{.Task}}”. {{with .DueTime}}Due: {{.}}. {{end}}Priority: {{.Priority}} of 100.",
		Button:  "Open the task",
		Until:   "{{if not .Until.IsZero}}The address is for you alone: who has it can answer in your name. It can be used until {{.Time}}.{{end}}",
		Closing: "You get this mail because the workflow names you, or a group that you are in.",
	}
}

// taskPhrasesGerman are the same in German.
func taskPhrasesGerman(subject, does string) phrases {
	return phrases{
		Subject: `{{if eq .Environment "test"}}[Test] {{end}}` + subject + ": {{.Short}}",
		Lead: "der Workflow {{.Workflow}} des Kontos {{.Account}} " + does + `{{if eq .Environment "test"}}, in der Umgebung test{{end}}` +
			": „{{.Task}}“. {{with .DueTime}}Fällig: {{.}}. {{end}}Priorität: {{.Priority}} von 100.",
		Button:  "Aufgabe öffnen",
		Until:   "{{if not .Until.IsZero}}Die Adresse ist nur für dich: Wer sie hat, kann in deinem Namen antworten. Sie gilt bis {{.Time}}.{{end}}",
		Closing: "Du bekommst diese Mail, weil der Workflow dich nennt, oder eine Gruppe, in der du bist.",
	}
}
