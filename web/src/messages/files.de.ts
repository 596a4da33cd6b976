import type { files as en } from "./files.en.ts";

export const files = {
  text: (name: string) => `Inhalt von ${name}`,
  cut: "Nur der erste Teil ist zu sehen.",
  noPreview: "Von Dateien dieser Art gibt es keine Vorschau.",
  broken: "Sie kann nicht gezeigt werden.",
} satisfies typeof en;
