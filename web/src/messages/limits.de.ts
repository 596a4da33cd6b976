import type { limits as en } from "./limits.en.ts";

export const limits = {
  about:
    "Wer an eine Grenze stößt, bekommt einen klaren Fehler; nichts wird still abgeschnitten. Die mit einer Einstellung ändern sich, wenn der Server mit einem anderen Wert startet.",
  columns: { limit: "Grenze", value: "Wert", used: "Verbraucht", meaning: "Bedeutung", setting: "Einstellung" },
  none: "keine Grenze",
  of: (share: string) => `${share} verbraucht`,
  fixed: "fest",
  filter: "Filter",
  filterHelp: "Ein Teil des Namens, der Bedeutung oder der Einstellung",
  only: "Zeigen",
  choices: { all: "alle Grenzen", used: "die mit Verbrauch", settable: "die mit Einstellung" },
  noMatch: "Keine Grenze passt.",
  clear: "Filter löschen",
} satisfies typeof en;
