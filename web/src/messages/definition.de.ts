import type { definition as english } from "./definition.en.ts";

export const definition = {
  graph: {
    task: "Aufgabe",
    kind: "Art",
    detail: "Was sie tut",
    condition: "Läuft, wenn",
    timeout: "Zeitgrenze",
    around: "Läuft darum herum",
    line: "Zeile",
    child: "Workflow",
    excerpt: (task: string) => `Definition von ${task}`,
  },
} satisfies typeof english;
