import type { files as en } from "./files.en.ts";
import { plural } from "./format.ts";

export const files = {
  text: (name: string) => `Inhalt von ${name}`,
  rows: (n: number) => `${plural(n, "Zeile", "Zeilen")}.`,
  cut: "Nur der erste Teil ist zu sehen.",
  noPreview: "Von Dateien dieser Art gibt es keine Vorschau.",
  broken: "Sie kann nicht gezeigt werden.",
} satisfies typeof en;
