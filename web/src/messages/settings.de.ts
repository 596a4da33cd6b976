import type { settings as en } from "./settings.en.ts";

export const settings = {
  tabs: "Teile des Kontos",
  profile: "Zur Person",
  name: "Name",
  nameHelp: "Andere sehen ihn, zum Beispiel neben dem, was du gestartet hast.",
  saveName: "Namen speichern",
  email: "E-Mail",
  roles: "Rollen",
  noRole: "Du hast noch keine Rolle. Ein Admin des Kontos kann dir eine geben.",
  moreRoles: "und weitere",
  role: (role: string, over: string, environments: string) => `${role}, ${over}, in ${environments}`,
  everywhere: "alle Workflows",
  namespace: (name: string) => `Namespace ${name}`,
  oneWorkflow: "ein Workflow",
  look: "Sprache und Darstellung",
  lookHelp:
    "Diese Einstellungen gelten auch in anderen Browsern, in denen du angemeldet bist. Jede gilt, sobald sie gewählt ist.",
  language: "Sprache",
  asBrowser: "wie der Browser",
  theme: "Farben",
  timeZone: "Zeitzone",
  timeZoneHelp: (now: string) => `In ihr werden Zeiten angezeigt und eingegeben. Dort ist es ${now}.`,
  ofBrowser: (zone: string) => `wie der Browser (${zone})`,
  rows: "Zeilen in Listen",
  densities: { dense: "eng", comfortable: "weit" },
  keys: "Tastenkürzel ohne Strg",
  keysHelp:
    "Einzelne Tasten wie j, k und g führen durch die Seiten. Schalte sie aus, wenn ein Screenreader oder eine Spracheingabe sie braucht.",
  saved: "Gespeichert",
} satisfies typeof en;
