import type { form as englishForm, workflow as englishOfOne, workflows as english } from "./workflows.en.ts";
import { formatNumber, plural } from "./format.ts";

const counted = (n: number, more: boolean) => `${formatNumber(n)}${more ? "+" : ""}`;

export const workflows = {
  title: "Workflows",
  new: "Neuer Workflow",
  columns: {
    workflow: "Workflow",
    version: "Version",
    last: "Letzte Ausführung",
    day: "Letzte 24 Stunden",
    tags: "Tags",
    next: "Nächster Start",
  },
  never: "lief noch nie",
  started: (n: number, more: boolean) => `${counted(n, more)} gestartet`,
  open: (n: number, more: boolean) => `${counted(n, more)} offen`,
  failed: (n: number, more: boolean) => `${counted(n, more)} gescheitert`,
  draft: "Entwurf",
  draftHelp: "Er hat keine veröffentlichte Version und läuft nur in test.",
  text: "Text",
  textHelp: "Teil des Namens oder Titels",
  namespace: "Namespace",
  tag: "Tag",
  drafts: "Entwürfe",
  draftChoices: { usual: "wie hier üblich", true: "auch Entwürfe", false: "keine Entwürfe" },
  newer: (n: number) => `${formatNumber(n)} neu`,
  newerHelp: "Die neuen Workflows zeigen",
  onlyTag: (tag: string) => `Nur Workflows mit dem Tag ${tag}`,
  empty: "Es gibt noch keinen Workflow.",
  emptyHelp: "Dieser Befehl fügt eines der Beispiele hinzu:",
  emptyFiltered: "Keine Workflows passen.",
  end: "Das sind alle.",
  count: (n: number) => plural(n, "Workflow", "Workflows"),
} satisfies typeof english;

export const workflow = {
  name: "Name",
  version: "Version",
  versionIs: (version: string) => `Version ${version}`,
  tabs: {
    label: "Teile des Workflows",
    definition: "Definition",
    graph: "Graph",
    versions: "Versionen",
    run: "Starten",
    api: "API",
  },
  api: {
    about:
      "So starten Programme diesen Workflow. Die Eingabe ist die des Formulars. Ihren Schlüssel lesen sie aus CHARGEHAND_API_KEY:",
  },
  lines: (n: number) => plural(n, "Zeile", "Zeilen"),
  download: "Herunterladen",
  older: (version: string) => `Das ist Version ${version}.`,
  toCurrent: (version: string) => `${version} zeigen, die gestartet wird`,
  message: "Nachricht",
  by: "Von",
  changed: "Geändert",
  open: "Offene Ausführungen",
  openCount: (n: number, more: boolean) =>
    more ? `${counted(n, more)} Ausführungen` : plural(n, "Ausführung", "Ausführungen"),
  published: "veröffentlicht",
  publish: "Veröffentlichen",
  rollBack: "Zurückgehen",
  publishTitle: (version: string) => `Version ${version} veröffentlichen`,
  rollBackTitle: (version: string) => `Auf Version ${version} zurückgehen`,
  publishHelp:
    "Ausführungen, die von nun an starten, folgen ihr. Eine andere Version kann jederzeit veröffentlicht werden.",
  staying: (count: string, version: string) => `${count}, die mit ${version} begonnen haben, bleiben dabei.`,
} satisfies typeof englishOfOne;

export const form = {
  value: "Wert",
  input: "Eingabe",
  name: "Name",
  required: "nötig",
  choose: "Bitte wählen",
  variant: "Form",
  form: (n: number) => `Form ${n}`,
  entry: (n: number) => `Eintrag ${formatNumber(n)}`,
  add: "Eintrag hinzufügen",
  addTo: (name: string) => (name === "" ? "Eintrag hinzufügen" : `Eintrag zu ${name} hinzufügen`),
  remove: "Entfernen",
  removeOf: (name: string) => `${name} entfernen`,
  uploading: "Wird hochgeladen",
  nothing: "Es braucht keine Eingabe.",
  start: "Starten",
  asJson: "Als JSON schreiben",
  asForm: "Zurück zum Formular",
  notForm: "Das Formular kann das nicht zeigen: Es ist kein JSON oder hat etwas, wofür das Formular kein Feld hat.",
  wrongCount: (n: number) => `${plural(n, "Feld braucht", "Felder brauchen")} noch einen Blick.`,
  wrong: {
    missing: "Bitte ausfüllen.",
    number: "Das ist keine Zahl.",
    integer: "Das ist keine ganze Zahl.",
    json: "Das ist kein JSON oder nicht das, was verlangt ist: Ein Objekt steht in geschweiften Klammern.",
    name: "Jeder Eintrag braucht einen eigenen Namen.",
  },
} satisfies typeof englishForm;
