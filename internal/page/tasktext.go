package page

// taskStates are what the page of a human task says when there is no form. %s is the time.
var taskStates = map[string]map[string]struct{ Title, Lead string }{
	English: {
		TaskOpen:      {},
		TaskUsed:      {"Thank you, your answer has arrived", "It was given by this link on %s. You can close this page."},
		TaskAnswered:  {"This task is done", "It was answered in another way on %s. Nothing is left to do here."},
		TaskWithdrawn: {"This task is not needed any more", "It was withdrawn on %s. Nothing is left to do here."},
		TaskExpired:   {"This link has expired", "It could be used until %s. Ask the person who sent it for another one."},
		TaskRevoked:   {"This link was withdrawn", "It was revoked on %s. If you did not expect that, ask the person who sent it."},
		TaskRefused:   {"This link does not count any more", "The task was given to other people, or your account has changed. If you did not expect that, ask the person who sent the link."},
		TaskTaken:     {"Another person is working on this task", "As long as that is so, it cannot be answered here. Come back later, or ask the person who sent the link."},
		TaskUnknown:   {"This link is not known", "Check that the address is complete: mail programs sometimes break it into two lines. Links of tasks that were deleted are not known either."},
		TaskProblem:   {"That did not work", ""},
	},
	German: {
		TaskOpen:      {},
		TaskUsed:      {"Danke, deine Antwort ist angekommen", "Sie wurde am %s über diesen Link gegeben. Du kannst diese Seite schließen."},
		TaskAnswered:  {"Diese Aufgabe ist erledigt", "Sie wurde am %s auf anderem Weg beantwortet. Hier ist nichts mehr zu tun."},
		TaskWithdrawn: {"Diese Aufgabe wird nicht mehr gebraucht", "Sie wurde am %s zurückgezogen. Hier ist nichts mehr zu tun."},
		TaskExpired:   {"Dieser Link ist abgelaufen", "Er galt bis %s. Bitte die Person, die ihn geschickt hat, um einen neuen."},
		TaskRevoked:   {"Dieser Link wurde zurückgezogen", "Er wurde am %s widerrufen. Wenn du das nicht erwartet hast, frage die Person, die ihn geschickt hat."},
		TaskRefused:   {"Dieser Link gilt nicht mehr", "Die Aufgabe wurde anderen gegeben, oder dein Konto hat sich geändert. Wenn du das nicht erwartet hast, frage die Person, die den Link geschickt hat."},
		TaskTaken:     {"Jemand anderes bearbeitet diese Aufgabe", "Solange das so ist, kann sie hier nicht beantwortet werden. Komm später wieder oder frage die Person, die den Link geschickt hat."},
		TaskUnknown:   {"Diesen Link gibt es nicht", "Prüfe, ob die Adresse vollständig ist: Mailprogramme brechen sie manchmal in zwei Zeilen um. Auch Links zu gelöschten Aufgaben sind unbekannt."},
		TaskProblem:   {"Das hat nicht geklappt", ""},
	},
}

var taskWords = map[string]map[string]string{
	English: {
		"skip": "Skip to the form", "error": "Error", "for": "For", "due": "Due", "overdue": "Overdue since", "ends": "This link can be used until", "shown": "Details", "files": "Files",
		"summary": "Something is not right yet", "checked": "Everything is filled in correctly. Nothing was sent yet: choose your answer below.",
		"comment": "Comment (optional)", "your-files": "Your files", "add-file": "Add a file", "add-files": "Add files", "another-file": "Instead, another file", "kept": "Uploaded; untick what is to be left out",
		"answer": "Your answer", "answer-lead": "What you choose is final.", "check": "Check what I have entered", "check-lead": "This sends nothing yet. Use it also after a choice on which other fields depend.",
		"add": "Add a row", "remove": "Remove row", "row": "Row", "name": "Name", "optional": "optional", "choose": "Please choose", "none": "No answer", "yes": "Yes", "no": "No",
		"alternative": "Show these fields", "empty": "nothing", "form": "Form", "default": "Check", "utc": "Times are in UTC.",
		"date": "Such as 2026-01-31.", "time": "Such as 09:30, in UTC.", "datetime": "Such as 2026-01-31 09:30, in UTC.", "json": "As JSON.", "between": "From %s to %s.", "from": "At least %s.",
		"to": "At most %s.", "above": "More than %s.", "below": "Less than %s.", "length": "At most %s characters.", "accept": "Accepted: %s.", "max-files": "At most %s files.", "too-many-files": "At most %s files may be given.",
		"missing": "Fill this in.", "number": "This is not a number.", "integer": "This is not a whole number.", "ambiguous": "Write a decimal point, and nothing between thousands, such as 1500 or 1.5.",
		"bad-json": "This is not JSON.", "bad-date": "This is not a date such as 2026-01-31.", "bad-time": "This is not a time of day such as 09:30.", "bad-datetime": "This is not a date with a time, such as 2026-01-31 09:30.",
		"bad-name": "A name is empty, or there is another entry or field with it.", "no_option": "This is none of the options.", "too-many": "The form has too many fields or rows.",
		"gone-file": "A file that was uploaded more than a day ago, or was deleted, is left out. Upload it again.", "whole": "Form",
	},
	German: {
		"skip": "Zum Formular springen", "error": "Fehler", "for": "Für", "due": "Fällig", "overdue": "Überfällig seit", "ends": "Dieser Link gilt bis", "shown": "Angaben", "files": "Dateien",
		"summary": "Etwas stimmt noch nicht", "checked": "Alles ist richtig ausgefüllt. Noch wurde nichts gesendet: Wähle unten deine Antwort.",
		"comment": "Kommentar (freiwillig)", "your-files": "Deine Dateien", "add-file": "Datei hinzufügen", "add-files": "Dateien hinzufügen", "another-file": "Stattdessen eine andere Datei", "kept": "Hochgeladen; entferne den Haken bei dem, was wegbleiben soll",
		"answer": "Deine Antwort", "answer-lead": "Was du wählst, ist endgültig.", "check": "Eingaben prüfen", "check-lead": "Das sendet noch nichts. Nutze es auch nach einer Auswahl, von der andere Felder abhängen.",
		"add": "Zeile hinzufügen", "remove": "Zeile entfernen", "row": "Zeile", "name": "Name", "optional": "freiwillig", "choose": "Bitte wählen", "none": "Keine Angabe", "yes": "Ja", "no": "Nein",
		"alternative": "Diese Felder zeigen", "empty": "nichts", "form": "Formular", "default": "Prüfen", "utc": "Zeiten sind in UTC.",
		"date": "Zum Beispiel 2026-01-31.", "time": "Zum Beispiel 09:30, in UTC.", "datetime": "Zum Beispiel 2026-01-31 09:30, in UTC.", "json": "Als JSON.", "between": "Von %s bis %s.", "from": "Mindestens %s.",
		"to": "Höchstens %s.", "above": "Mehr als %s.", "below": "Weniger als %s.", "length": "Höchstens %s Zeichen.", "accept": "Erlaubt: %s.", "max-files": "Höchstens %s Dateien.", "too-many-files": "Höchstens %s Dateien sind erlaubt.",
		"missing": "Bitte ausfüllen.", "number": "Das ist keine Zahl.", "integer": "Das ist keine ganze Zahl.", "ambiguous": "Schreibe einen Dezimalpunkt und nichts zwischen Tausendern, zum Beispiel 1500 oder 1.5.",
		"bad-json": "Das ist kein JSON.", "bad-date": "Das ist kein Datum wie 2026-01-31.", "bad-time": "Das ist keine Uhrzeit wie 09:30.", "bad-datetime": "Das ist kein Datum mit Uhrzeit wie 2026-01-31 09:30.",
		"bad-name": "Ein Name ist leer, oder ein anderer Eintrag oder ein Feld heißt schon so.", "no_option": "Das ist keine der Möglichkeiten.", "too-many": "Das Formular hat zu viele Felder oder Zeilen.",
		"gone-file": "Eine Datei, die vor mehr als einem Tag hochgeladen oder gelöscht wurde, fehlt. Lade sie noch einmal hoch.", "whole": "Formular",
	},
}

// TaskWord is a text of the page of a human task; empty if there is none of that name.
func TaskWord(lang, name string) string { return taskWords[lang][name] }
