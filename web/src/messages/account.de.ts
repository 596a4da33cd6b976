import type { security as english } from "./account.en.ts";

export const security = {
  title: "Sitzungen und Passkeys",
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
