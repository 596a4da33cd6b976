import type { exported as en } from "./export.en.ts";
import { formatNumber, plural } from "./format.ts";

export const exported = {
  limit: (rows: number, megabytes: number) =>
    `Eine Datei hat bis zu ${formatNumber(rows)} Zeilen und etwa ${formatNumber(megabytes)} MB.`,
  format: "Format",
  formats: { csv: "CSV: eine Tabelle für Tabellenprogramme", jsonl: "JSON Lines: wie die API sie liefert" },
  start: "Exportieren",
  reading: (rows: string) => `${rows} gelesen`,
  saved: (rows: string) => `${rows} gespeichert.`,
  gone: (n: number) => `${plural(n, "ist", "sind")} nicht mehr da.`,
  executions: {
    title: "Ausführungen exportieren",
    help: "Alle, die zum Filter passen, die neuesten zuerst. Eingaben sind nur in JSON Lines, Ausgaben in keinem von beiden.",
    helpSelected: (n: number) =>
      `Die ${plural(n, "ausgewählte Ausführung", "ausgewählten Ausführungen")}, die neuesten zuerst. Eingaben sind nur in JSON Lines, Ausgaben in keinem von beiden.`,
    count: (n: number) => plural(n, "Ausführung", "Ausführungen"),
    cut: "Es gibt ältere: ein Filter mit engerer Zeit speichert auch jene.",
    none: "Keine Ausführungen passen; es wurde keine Datei gespeichert.",
    noneSelected: "Keine davon ist noch da; es wurde keine Datei gespeichert.",
  },
  items: {
    title: "Einträge exportieren",
    help: "Alle Einträge des Stapels in ihrer Reihenfolge. Ausgaben sind in keinem der Formate.",
    helpState: (state: string) =>
      `Die Einträge, die jetzt im Zustand „${state}“ sind, in ihrer Reihenfolge. Ausgaben sind in keinem der Formate.`,
    helpFields: (names: string) =>
      `Von den Eingaben hat die Tabelle die gezeigten Spalten: ${names}. JSON Lines hat alle.`,
    count: (n: number) => plural(n, "Eintrag", "Einträge"),
    cut: "Danach gibt es weitere: die Einträge als JSON herunterladen, um auch jene zu haben.",
    none: "Kein Eintrag ist in diesem Zustand; es wurde keine Datei gespeichert.",
  },
} satisfies typeof en;
