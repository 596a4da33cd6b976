import type { executions as en } from "./executions.en.ts";
import { formatList, plural } from "./format.ts";

export const executions = {
  count: (n: number) => plural(n, "Ausführung", "Ausführungen"),
  columns: {
    state: "Zustand",
    workflow: "Workflow",
    started: "Angelegt",
    took: "Dauer",
    now: "Jetzt",
    cause: "Auslöser",
  },
  filter: "Filter",
  filterHelp: "Zum Beispiel state:error workflow:shop/order label:customer=42 from:-24h, oder das Ende einer ID",
  states: "Zustand",
  anyState: "jeder",
  presets: "Angelegt",
  presetNames: {
    "-1h": "letzte Stunde",
    "-24h": "letzte 24 Stunden",
    "-7d": "letzte 7 Tage",
    any: "irgendwann",
  },
  remove: (filter: string) => `${filter} entfernen`,
  empty: "Es gibt noch keine Ausführung.",
  emptyFiltered: "Keine Ausführung passt.",
  emptyPage: "Bis hier passt nichts, und es gibt ältere Ausführungen.",
  wrong: {
    key: (key: string) => `Den Filter ${key}: gibt es nicht`,
    value: (key: string, value: string) => `${key}: nimmt ${value} nicht an`,
    person: "state:person geht nicht zusammen mit anderen Zuständen",
    known: (keys: readonly string[]) => `Es gibt ${formatList(keys)}, und Text ohne Doppelpunkt.`,
  },
} satisfies typeof en;
