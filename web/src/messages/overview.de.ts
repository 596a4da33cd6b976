import { formatNumber, plural } from "./format.ts";
import type { overview as en } from "./overview.en.ts";

export const overview = {
  title: "Übersicht",
  span: "Zeitraum",
  spans: { "24h": "24 Std.", "7d": "7 Tage", "30d": "30 Tage" },
  asOf: (at: string) => `Stand: ${at}`,
  needs: "Zu tun",
  nothing: "Es gibt nichts zu tun.",
  people: (n: string, one: boolean) =>
    one ? "1 Ausführung wartet auf eine Person" : `${n} Ausführungen warten auf eine Person`,
  tasks: (n: string, one: boolean) => (one ? "1 Aufgabe für dich" : `${n} Aufgaben für dich`),
  overdue: (n: string) => `${n} überfällig`,
  failed: (n: number) => plural(n, "Fehler", "Fehler"),
  allFailed: "Alle Fehler",
  example: "Beispiel",
  exampleOf: (name: string) => `Beispiel: ${name}`,
  last: "zuletzt",
  ended: "In dieser Zeit beendet",
  p95: (time: string) => `95 von 100 dauerten höchstens ${time}.`,
  chart: "Ausführungen nach Zeit",
  chartHelp: "Jeder Balken zeigt, was in seiner Zeit endete, und führt zu dem, was damals angelegt wurde.",
  bar: (time: string, finished: number, error: number, cancelled: number) =>
    `${time}: ${formatNumber(finished)} abgeschlossen, ${formatNumber(error)} mit Fehler, ${formatNumber(cancelled)} abgebrochen`,
  most: (n: string) => `Der höchste Balken steht für ${n}.`,
  table: "Als Tabelle",
  time: "Zeit",
  started: "angelegt",
  now: "Jetzt",
  delayed: "beginnen später",
  oldest: "Die älteste wurde angelegt",
  batches: "Laufende Stapel",
  noBatches: "Es läuft kein Stapel.",
  empty: "In dieser Zeit lief kein Workflow.",
} satisfies typeof en;
