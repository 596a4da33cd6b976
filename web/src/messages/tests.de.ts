import { formatNumber, plural } from "./format.ts";
import type { tests as english } from "./tests.en.ts";

export const tests = {
  label: "Tests",
  run: "Tests ausführen",
  upload: "Testdatei öffnen",
  download: "Tests herunterladen",
  keys: "Strg Eingabe in den Tests führt sie aus. Nichts wird aufgerufen oder gespeichert: Mocks antworten, und die Uhr ist virtuell.",
  leave: "Escape, dann Tab verlässt die Tests.",
  kept: "Dieser Browser behält die Tests. Lade sie herunter und lege sie neben die Definition.",
  noRoom: "Dieser Browser hat keinen Platz für die Tests. Lade sie herunter, bevor du gehst.",
  results: "Ergebnisse",
  none: "Die Tests sind noch nicht gelaufen.",
  stale: "Die Definition oder die Tests haben sich seitdem geändert.",
  summary: (all: number, failed: number, broken: number, skipped: number) =>
    [
      plural(all, "Test", "Tests"),
      ...(failed > 0 ? [`${formatNumber(failed)} fehlgeschlagen`] : []),
      ...(broken > 0 ? [`${formatNumber(broken)} nicht zu Ende gelaufen`] : []),
      ...(skipped > 0 ? [`${formatNumber(skipped)} übersprungen`] : []),
      ...(failed + broken + skipped === 0 ? ["alle bestanden"] : []),
    ].join(", "),
  covered: (tasks: number, all: number, branches: number, allBranches: number) =>
    `Gelaufen: ${formatNumber(tasks)} von ${plural(all, "Aufgabe", "Aufgaben")}, ${formatNumber(branches)} von ${plural(allBranches, "Weg", "Wegen")}.`,
  status: { passed: "Bestanden", failed: "Fehlgeschlagen", error: "Nicht zu Ende gelaufen", skipped: "Übersprungen" },
  after: (time: string) => `nach ${time} virtueller Zeit`,
  place: (line: number) => `Zeile ${formatNumber(line)}:`,
  want: "Erwartet",
  got: "Gekommen",
  nothing: "nichts",
  paste: "Ein Mock zum Einfügen in den Test:",
  mock: "Mock",
  warning: "Warnung",
  missing: "Von keinem Test ausgeführt",
  missingWay: (way: string, task: string) => `${way} von ${task}`,
  cut: "Was zu groß war, fehlt.",
} satisfies typeof english;
