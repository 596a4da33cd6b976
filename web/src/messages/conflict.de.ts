import type { conflict as english } from "./conflict.en.ts";

export const conflict = {
  title: "Konflikt",
  changed: (name: string) => `${name} hat sich geändert, seit du begonnen hast. Dein Text ist nicht gespeichert.`,
  taken: (name: string) => `Einen Workflow ${name} gibt es schon. Dein Text ist nicht gespeichert.`,
  theirs: (version: string, by: string | undefined) =>
    by === undefined ? `Version ${version}` : `Version ${version} von ${by},`,
  help: "Nichts ist verloren. Stelle auf der Seite deines Textes zusammen, was bleiben soll; der andere Text bleibt eine eigene Version.",
  continue: "Mit meinem weiter",
  take: "Mit dem anderen weiter",
  theirsName: "Der andere",
  mine: "Meiner",
  base: "Vor beiden",
  view: "Vergleichen",
  views: { both: "Der andere und meiner", theirs: "Was dort geändert ist", mine: "Was ich geändert habe" },
} satisfies typeof english;
