import { formatNumber, plural } from "./format.ts";
import type { operations as en } from "./operations.en.ts";

const executions = (n: number) => plural(n, "Ausführung", "Ausführungen");

export const operations = {
  label: "Ausgewählte Ausführungen",
  selected: (n: number) => `${formatNumber(n)} ausgewählt`,
  all: "Alle, die zum Filter passen, sind ausgewählt",
  selectAll: "Alle auswählen, die zum Filter passen",
  none: "Keine auswählen",
  select: (workflow: string, id: string) => `${workflow} ${id} auswählen`,
  actions: {
    cancel: "Abbrechen",
    retry: "Wiederholen",
    suspend: "Anhalten",
    resume: "Fortsetzen",
    delete: "Löschen",
  },
  retryThese: "Diese wiederholen",
  titles: {
    cancel: "Ausführungen abbrechen",
    retry: "Ausführungen wiederholen",
    suspend: "Ausführungen anhalten",
    resume: "Ausführungen fortsetzen",
    delete: "Ausführungen löschen",
  },
  helps: {
    cancel: "Sie enden jetzt und endgültig. Was ihre Tasks anderswo getan haben, bleibt getan.",
    retry:
      "Jede wird von einer neuen Ausführung mit gleicher Eingabe und Version wiederholt. Die alten bleiben, wie sie sind.",
    suspend: "Sie beginnen nichts Neues, bis sie fortgesetzt werden.",
    resume: "Sie gehen dort weiter, wo sie angehalten wurden.",
    delete: "Sie werden mit allem gelöscht, was zu ihnen gehört. Das lässt sich nicht rückgängig machen.",
  },
  counting: "Wird gezählt",
  would: {
    cancel: (n: string) => `Das würde ${n} abbrechen.`,
    retry: (n: string) => `Das würde ${n} wiederholen.`,
    suspend: (n: string) => `Das würde ${n} anhalten.`,
    resume: (n: string) => `Das würde ${n} fortsetzen.`,
    delete: (n: string) => `Das würde ${n} löschen.`,
  },
  count: executions,
  atLeast: (n: number) => `mindestens ${executions(n)}`,
  nothing: "Mit keiner von ihnen geht das.",
  type: (n: number) => `Zum Fortfahren ${n} eingeben`,
  wrongCount: (n: number) => `Das ist nicht ${n}.`,
  statuses: {
    selecting: "sucht Ausführungen",
    running: "läuft",
    completed: "abgeschlossen",
    cancelled: "abgebrochen",
    stopped: "vom Server beendet",
  },
  progress: "Fortschritt",
  of: (done: number, total: number) => `${formatNumber(done)} von ${executions(total)}`,
  counts: { pending: "zu tun", succeeded: "getan", skipped: "nichts zu tun", failed: "fehlgeschlagen" },
  by: (name: string) => `von ${name}`,
  stop: "Operation abbrechen",
  stopHelp: "Sie betrifft keine weiteren Ausführungen. Was sie getan hat, bleibt getan.",
  failures: "Was fehlgeschlagen ist",
  execution: "Ausführung",
  why: "Warum",
  back: "Zu den Ausführungen",
} satisfies typeof en;
