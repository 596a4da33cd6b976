import type { TaskNameTexts } from "./taskname.en.ts";

export const taskName = {
  goTo: "Zu einer Aufgabe",
  field: "Name einer Aufgabe",
  line: (line: number) => `Zeile ${line}`,
  rename: "Aufgabe umbenennen",
  renameTitle: (name: string) => `${name} umbenennen`,
  renameHelp: "Jedes then derselben Liste, das zu der Aufgabe führt, wird mit geändert.",
  name: "Name",
  none: "Der Cursor steht in keiner Aufgabe.",
  empty: "Eine Aufgabe braucht einen Namen.",
  taken: (name: string) => `Eine Aufgabe daneben heißt schon ${name}.`,
  reserved: (name: string) => `then: ${name} hat eine eigene Bedeutung.`,
  renamed: (before: string, after: string) => `${before} heißt jetzt ${after}.`,
} satisfies TaskNameTexts;
