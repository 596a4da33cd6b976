import type { exported as en } from "./export.en.ts";
import { formatNumber, plural } from "./format.ts";

const executions = (n: number) => plural(n, "Ausführung", "Ausführungen");

export const exported = {
  title: "Ausführungen exportieren",
  help: (most: number) =>
    `Alle, die zum Filter passen, die neuesten zuerst, bis zu ${formatNumber(most)}. Eingaben sind nur in JSON Lines, Ausgaben in keinem von beiden.`,
  format: "Format",
  formats: { csv: "CSV: eine Tabelle für Tabellenprogramme", jsonl: "JSON Lines: wie die API sie liefert" },
  start: "Exportieren",
  reading: (n: number) => `${executions(n)} gelesen`,
  saved: (n: number) => `${executions(n)} gespeichert.`,
  cut: (most: number) =>
    `Es gibt ältere. Ein Export hat höchstens ${formatNumber(most)}: ein Filter mit engerer Zeit speichert auch jene.`,
  none: "Keine Ausführungen passen; es wurde keine Datei gespeichert.",
} satisfies typeof en;
