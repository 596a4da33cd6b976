import { formatList, plural } from "./format.ts";
import type { Messages } from "./index.ts";

export const de = {
  product: "Chargehand",
  skip: "Zum Inhalt springen",
  close: "Schließen",
  cancel: "Abbrechen",
  again: "Noch einmal versuchen",
  more: "Mehr laden",
  copy: "Kopieren",
  copied: "Kopiert",
  copyOf: (what: string) => `${what} kopieren`,
  loading: "Wird geladen",
  time: { now: "gerade eben", soon: "jetzt" },

  nav: {
    label: "Bereiche",
    overview: "Überblick",
    workflows: "Workflows",
    executions: "Ausführungen",
    batches: "Stapel",
    open: "Menü öffnen",
    search: "Suche oder Befehl",
    account: (name: string) => `Konto von ${name}`,
    apiKeys: "API-Schlüssel",
    security: "Sitzungen und Passkeys",
  },
  bytes: (n: number) => plural(n, "Byte", "Bytes"),
  list: {
    newer: (n: number, more: boolean) => `${more ? `${n}+` : n} neue`,
    newerHelp: "Neue Ausführungen zeigen",
    apply: "Anwenden",
    clear: "Filter löschen",
    end: "Das sind alle.",
    example: "Dieser Befehl startet eines der Beispiele:",
    id: "Id",
    actions: "Aktionen",
  },
  environment: {
    label: "Umgebung",
    live: "live",
    test: "test",
  },
  connection: {
    lost: (at: string) =>
      `Seit ${at} nicht verbunden. Die Seite zeigt, was da bekannt war, und macht von selbst weiter.`,
  },
  failure: {
    title: "Diese Seite ist gescheitert",
    text: "Das ist ein Fehler von Chargehand, nicht von dir. Was du gespeichert hast, ist nicht verloren.",
    reload: "Seite neu laden",
    notFound: "Diese Seite gibt es nicht",
    notFoundText: "Vielleicht stimmt die Adresse nicht, oder wohin sie führt, ist gelöscht.",
    home: "Zu den Ausführungen",
    forbidden: "Das darfst du nicht sehen",
    forbiddenText:
      "Deine Rollen in dieser Umgebung erlauben es nicht. Ein Admin des Kontos kann dir eine andere geben.",
    busy: (seconds: string) => `Der Server ist beschäftigt. Er möchte in ${seconds} wieder gefragt werden.`,
    request: "Anfrage",
    about: "Was dieser Fehler bedeutet",
    unreachable: "Der Server ist nicht zu erreichen.",
  },

  states: {
    queued: "wartet auf Start",
    running: "läuft",
    waiting: "wartet",
    person: "braucht einen Menschen",
    finished: "fertig",
    error: "Fehler",
    cancelled: "abgebrochen",
    suspended: "angehalten",
  },
  waits: {
    person: "auf einen Menschen",
    child: "auf eine andere Ausführung",
    event: (types: string[]) => (types.length === 0 ? "auf ein Ereignis" : `auf ein Ereignis ${formatList(types)}`),
    retry: "auf den nächsten Versuch",
    timer: "auf eine Zeit",
    slot: "auf einen freien Platz",
    until: (what: string, until: string) => `${what}, ${until}`,
  },
  attempting: (attempt: number, of: number | undefined, next: string) =>
    of === undefined ? `Versuch ${attempt} ${next}` : `Versuch ${attempt} von ${of} ${next}`,
  causes: {
    api: "Anfrage",
    batch: "Stapel",
    schedule: "Zeitplan",
    event: "Ereignis",
    parent: "Ausführung",
    retry: "Wiederholung",
  },
} satisfies Messages;
