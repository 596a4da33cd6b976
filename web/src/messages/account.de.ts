import type { apiKeys as englishKeys, security as english, verify as englishVerify } from "./account.en.ts";
import { plural } from "./format.ts";

export const security = {
  sessions: "Wo Sie angemeldet sind",
  here: "diese hier",
  browser: "Browser",
  address: "Adresse",
  method: "Angemeldet mit",
  methods: (method: string) =>
    ({ password: "Passwort", passkey: "Passkey", oidc: "Identitätsanbieter", invitation: "Einladung" })[method] ??
    method,
  seen: "Zuletzt gesehen",
  expires: "Endet",
  end: "Abmelden",
  endTitle: (browser: string, address: string) => `${browser} bei ${address} abmelden`,
  endOthers: "Überall sonst abmelden",
  endHelp: "Was dort offen ist, fragt nach einer neuen Anmeldung. Diese Sitzung bleibt.",
  passkeys: "Passkeys",
  about: "Ein Passkey meldet Sie mit Finger, Gesicht oder dem Code Ihres Geräts an, ohne Passwort.",
  none: "Sie haben noch keinen Passkey.",
  name: "Name",
  nameHelp: "Wo er liegt, etwa Laptop im Büro",
  created: "Erstellt",
  used: "Zuletzt benutzt",
  add: "Passkey hinzufügen",
  make: "Passkey erstellen",
  unable:
    "Dieser Browser erstellt für diese Adresse keine Passkeys: Sie brauchen einen Namen wie localhost, und anderswo HTTPS.",
  refused: "Der Browser hat keinen Passkey erstellt. Nichts hat sich geändert.",
  remove: "Entfernen",
  removeTitle: (name: string) => `${name} entfernen`,
  removeHelp: "Damit meldet sich von nun an niemand mehr an. Das lässt sich nicht rückgängig machen.",
} satisfies typeof english;

export const verify = {
  text: "Deine Anmeldung ist älter als 10 Minuten. Bestätige, dass du es bist.",
  password: "Dein Passwort",
  show: "Passwort zeigen",
  otherwise: "Stattdessen mit einem Passkey oder über einen Anbieter anmelden",
} satisfies typeof englishVerify;

export const apiKeys = {
  about: "Mit einem Schlüssel handeln Programme in deinem Namen. Er darf nie mehr als du.",
  empty: "Du hast noch keinen API-Schlüssel.",
  create: "Neuer Schlüssel",
  make: "Schlüssel anlegen",
  name: "Name",
  nameHelp: "Was ihn verwendet, zum Beispiel nächtlicher Import",
  key: "Schlüssel",
  scopes: "Darf",
  used: "Zuletzt verwendet",
  expires: "Läuft ab",
  never: "nie",
  preset: "Was er darf",
  presetHelp: "Was du selbst nicht darfst, darf er auch nicht.",
  presets: {
    run: "run: Abläufe starten und Ergebnisse lesen",
    observe: "observe: alles lesen, nichts ändern",
    operate: "operate: starten, abbrechen, wiederholen, Aufgaben beantworten",
    deploy: "deploy: Abläufe anwenden und veröffentlichen",
    all: "all: alles, was du darfst",
  },
  days: (n: number) => `in ${plural(n, "Tag", "Tagen")}`,
  rotate: "Erneuern",
  rotateTitle: (name: string) => `${name} erneuern`,
  rotateHelp:
    "Du bekommst einen neuen Schlüssel an seiner Stelle. Der alte gilt noch 24 Stunden, damit Programme wechseln können.",
  revoke: "Widerrufen",
  revokeTitle: (name: string) => `${name} widerrufen`,
  revokeHelp: "Programme mit diesem Schlüssel werden ab jetzt abgewiesen. Das lässt sich nicht rückgängig machen.",
  madeTitle: "Das ist dein Schlüssel",
  once: "Er wird nur dieses eine Mal gezeigt. Bewahre ihn dort auf, wo Programme ihn lesen.",
  variable: "Umgebungsvariable",
  tryIt: "So wird er verwendet:",
  stored: "Ich habe ihn aufbewahrt",
} satisfies typeof englishKeys;
