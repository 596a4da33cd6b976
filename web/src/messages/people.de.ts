import { formatList, plural } from "./format.ts";
import type { people as english } from "./people.en.ts";

const sessions = (n: number) => plural(n, "Sitzung", "Sitzungen");
const keys = (n: number) => plural(n, "persönlicher Schlüssel", "persönliche Schlüssel");
const roles = (n: number) => plural(n, "Rolle", "Rollen");
const groups = (n: number) => plural(n, "Gruppe", "Gruppen");
const provider = (source: string) => source.replace("oidc:", "Anmeldedienst ");

const all = (...parts: [number, (n: number) => string][]): string =>
  formatList(parts.filter(([n]) => n > 0).map(([n, text]) => text(n)));

export const people = {
  users: "Benutzer",
  user: "Benutzer",
  usersHelp: "Alle, die sich bei diesem Konto anmelden können, die neuesten zuerst.",
  openInvitations:
    "Wer eingeladen ist und noch nicht da war. Eine Einladung gilt 72 Stunden; eine neue lässt sich jederzeit anlegen.",
  noUsers: "Kein Benutzer passt dazu.",
  noInvitations: "Keine Einladung ist offen.",
  search: "Name oder E-Mail",
  searchHelp: "Beginnt mit",
  status: "Status",
  anyStatus: "alle",
  statuses: { active: "aktiv", invited: "eingeladen", disabled: "gesperrt" },
  statusHelp: {
    active: "aktiv: kann sich anmelden",
    invited: "eingeladen: war noch nicht da.",
    disabled: "gesperrt: kann sich nicht anmelden",
  },
  invitationEnds: (at: string) => `Die Einladung kann bis ${at} angenommen werden.`,
  invitationOver: "Die Einladung ist abgelaufen: Es braucht eine neue.",
  name: "Name",
  email: "E-Mail",
  methods: "Meldet sich an mit",
  method: (method: string) => ({ password: "Passwort", passkey: "Passkey" })[method] ?? provider(method),
  noMethods: "noch nichts",
  access: "Handelt mit",
  accessNow: (s: number, k: number) => `zurzeit ${sessions(s)} und ${keys(k)}`,
  seen: "Zuletzt gesehen",
  never: "nie",
  since: "Angelegt",
  groupCount: groups,
  didLink: "Was dieser Benutzer geändert hat",
  doneToLink: "Was an diesem Benutzer geändert wurde",

  invite: "Person einladen",
  inviteButton: "Einladung anlegen",
  inviteHelp: "Danach erscheint ein Link, mit dem die Person hereinkommt. Er gilt einmal, innerhalb von 72 Stunden.",
  invited: (name: string) => `${name} ist eingeladen`,
  withRole: "Gleich eine Rolle geben",
  withRoleHelp: "Ohne Rolle kann sich die Person anmelden und sieht nichts. Rollen lassen sich später geben.",
  inviteAgain: "Neuen Link anlegen",
  inviteAgainTitle: (name: string) => `Neue Einladung für ${name} anlegen`,
  inviteAgainHelp: "Der bisherige Link gilt ab jetzt nicht mehr. Der neue gilt einmal, innerhalb von 72 Stunden.",
  uninvite: "Einladung zurückziehen",
  uninviteTitle: (name: string) => `Einladung von ${name} zurückziehen`,
  uninviteHelp:
    "Der Link gilt ab jetzt nicht mehr, und die Person steht nicht mehr in der Liste. Sie kann wieder eingeladen werden.",
  link: "Link",
  linkOnce: (until: string) => `Er gilt einmal, bis ${until}, und wird nicht noch einmal gezeigt.`,
  linkMailed: (email: string) => `Der Link ist unterwegs an ${email}. Er lässt sich auch selbst übergeben:`,
  linkNotMailed: (email: string) =>
    `Dieser Server verschickt keine Mail. Der Link muss selbst an ${email} übergeben werden: Wer ihn zuerst öffnet, kommt herein.`,
  linkLost:
    "Der Link wurde angelegt, aber die Antwort mit ihm ging verloren. Mit einem neuen Link wird dieser ungültig.",
  linkDone: "Ich habe ihn kopiert",

  self: "Das ist der eigene Benutzer.",
  disable: "Sperren",
  disableTitle: (name: string) => `${name} sperren`,
  disableHelp: (s: number, k: number) =>
    s + k === 0
      ? "Der Benutzer kann sich ab jetzt nicht anmelden. Keine Sitzung ist offen, und es gibt keinen persönlichen Schlüssel."
      : `Der Benutzer kann sich ab jetzt nicht anmelden. Innerhalb einer Sekunde endet: ${all([s, sessions], [k, keys])}.`,
  disableKeeps: "Rollen und Gruppen bleiben. Nach dem Entsperren gelten auch die persönlichen Schlüssel wieder.",
  enable: "Entsperren",
  enableTitle: (name: string) => `${name} entsperren`,
  enableHelp: (r: number, g: number, k: number) =>
    r + g + k === 0
      ? "Der Benutzer kann sich wieder anmelden und hat keine Rolle."
      : `Der Benutzer kann sich wieder anmelden. Wieder gilt: ${all([r, roles], [g, groups], [k, keys])}.`,
  reset: "Anmeldung zurücksetzen",
  resetTitle: (name: string) => `${name} ein neues Passwort setzen lassen`,
  resetButton: "Link anlegen",
  resetHelp:
    "Es entsteht ein Link für den Benutzer, der einmal gilt, innerhalb von 24 Stunden. Bis er benutzt wird, ändert sich nichts.",
  resetEnds: (s: number, k: number) =>
    `Wird er benutzt, ändert sich das Passwort, und alle Sitzungen, persönlichen Schlüssel und Passkeys des Benutzers enden. ${
      s + k === 0
        ? "Keine Sitzung ist offen, und es gibt keinen persönlichen Schlüssel."
        : `Heute sind das ${all([s, sessions], [k, keys])}.`
    }`,
  resetMade: (name: string) => `Ein Link für ${name}`,
  remove: "Entfernen",
  removeTitle: (name: string) => `${name} entfernen`,
  removeHelp: (r: number, g: number, s: number, k: number) =>
    r + g + s + k === 0
      ? "Der Benutzer verlässt das Konto. Das lässt sich nicht rückgängig machen."
      : `Der Benutzer verlässt das Konto. Endgültig endet: ${all([r, roles], [g, groups], [s, sessions], [k, keys])}. Das lässt sich nicht rückgängig machen.`,
  removeKeeps:
    "Was der Benutzer gestartet hat, bleibt unter seinem Namen. Um ihn nur eine Zeit lang aufzuhalten, besser sperren.",

  grants: "Rollen",
  grantsHelp: "Wer was darf: jede Rolle, die ein Benutzer oder eine Gruppe hat, die neuesten zuerst.",
  grantsOver: (workflow: string) =>
    `Wer was mit ${workflow} darf: Rollen über ihn, über seinen Namespace und über alles.`,
  noGrants: "Niemand hat eine Rolle.",
  rolesTitle: "Rollen",
  noRoles: "Dieser Benutzer hat keine Rolle: Er kann sich anmelden und sieht nichts.",
  noGroupRoles: "Diese Gruppe hat keine Rolle: In ihr zu sein erlaubt nichts.",
  role: "Rolle",
  roles: {
    participant: "Teilnehmer",
    viewer: "Betrachter",
    operator: "Betreiber",
    author: "Autor",
    publisher: "Herausgeber",
    admin: "Admin",
  },
  roleHelp: {
    participant: "Startet Workflows, beantwortet Aufgaben und sieht, was er selbst gestartet hat. (participant)",
    viewer: "Sieht Workflows, Ausführungen und Aufgaben und ändert nichts. (viewer)",
    operator:
      "Ein Betrachter, der auch startet, abbricht, wiederholt, Ereignisse sendet und Aufgaben beantwortet. (operator)",
    author: "Ein Betrachter, der auch Definitionen schreibt und sie in test erprobt. (author)",
    publisher: "Ein Autor, der auch entscheidet, was in live läuft. (publisher)",
    admin: "Darf alles und gibt anderen Rollen. (admin)",
  },
  adminHelp: "Diese Rolle gilt über alles, in live und in test.",
  over: "Über",
  overs: { everything: "alles", namespace: "einen Namespace", workflow: "einen Workflow" },
  inNamespace: (name: string) => `Namespace ${name}`,
  namespaceHelp: "Die Workflows dieses Namespace, auch künftige",
  workflow: "Workflow",
  workflowHelp: "Namespace/Name",
  both: "live und test",
  by: "Durch",
  byGroup: (name: string) => `Gruppe ${name}`,
  given: "Seit",
  who: "Wer",
  whoMissing: "Zuerst einen Benutzer oder eine Gruppe wählen.",
  give: "Rolle geben",
  giveTo: (name: string) => `${name} eine Rolle geben`,
  giveButton: "Die Rolle geben",
  giveHelp:
    "Sie gilt innerhalb einer Sekunde, auch in offenen Sitzungen. Ein Benutzer darf, was alle Rollen zusammen erlauben.",
  take: "Wegnehmen",
  takeTitle: (role: string, over: string, holder: string) => `Wegnehmen: ${holder}, ${role} über ${over}`,
  takeHelp:
    "Das gilt innerhalb einer Sekunde, auch in offenen Sitzungen. Was andere Rollen und Gruppen erlauben, bleibt.",
  takeGroupHelp: "Das gilt innerhalb einer Sekunde für alle in der Gruppe. Was sie durch andere Rollen dürfen, bleibt.",
  taken: (role: string, holder: string) => `${holder} hat die Rolle ${role} nicht mehr.`,
  giveAgain: "Wieder geben",

  groups: "Gruppen",
  group: "Gruppe",
  groupsHelp:
    "Rollen besser Gruppen als Benutzern geben: Wer das Team wechselt, wechselt dann die Gruppe und sonst nichts.",
  noGroups: "Es gibt noch keine Gruppe.",
  makeGroup: "Neue Gruppe",
  makeGroupButton: "Gruppe anlegen",
  groupNameHelp: "Etwa Finanzen. Jeden Namen gibt es einmal.",
  members: "Mitglieder",
  noMembers: "Niemand ist in dieser Gruppe.",
  source: "Kommt von",
  madeHere: "hier angelegt",
  from: provider,
  fromHelp: (source: string) =>
    `Diese Gruppe kommt vom ${provider(source)}, und dort ändern sich Name und Mitglieder. Sie kommen mit jeder Anmeldung.`,
  groupLog: "Was an dieser Gruppe geändert wurde",
  rename: "Umbenennen",
  renameTitle: (name: string) => `${name} umbenennen`,
  deleteGroup: "Löschen",
  deleteTitle: (name: string) => `${name} löschen`,
  deleteHelp: (n: number, more: boolean, r: number) =>
    `Damit endet: ${roles(r)} für ${more ? `mehr als ${n} Mitglieder` : plural(n, "Mitglied", "Mitglieder")}. Das lässt sich nicht rückgängig machen.`,
  addMember: "Mitglied hinzufügen",
  addMemberTitle: (group: string) => `Mitglied zu ${group} hinzufügen`,
  addMemberHelp: "Das Mitglied bekommt die Rollen der Gruppe innerhalb einer Sekunde.",
  add: "Hinzufügen",
  addToGroup: "In eine Gruppe aufnehmen",
  addTitle: (name: string) => `${name} in eine Gruppe aufnehmen`,
  addHelp: "Der Benutzer bekommt die Rollen der Gruppe innerhalb einer Sekunde.",
  choose: "wählen",
  noOtherGroup: "Es gibt keine andere Gruppe, die hier angelegt ist.",
  inNoGroup: "In keiner Gruppe.",
  leave: "Herausnehmen",
  leaveTitle: (name: string, group: string) => `Herausnehmen: ${name} aus ${group}`,
  leaveHelp:
    "Die Rollen der Gruppe enden für diesen Benutzer innerhalb einer Sekunde. Eigene Rollen und die anderer Gruppen bleiben.",
  left: (name: string, group: string) => `${name} ist nicht mehr in ${group}.`,
  rejoin: "Wieder aufnehmen",

  pickHelp: "Den Anfang eines Namens oder einer E-Mail eingeben. Gefunden werden aktive Benutzer.",
  pickAnyHelp: "Den Anfang eines Namens oder einer E-Mail eingeben. Gefunden werden aktive Benutzer und Gruppen.",
  noMatch: (text: string) => `Mit ${text} ist niemand zu finden.`,
  another: "Andere Wahl",
} satisfies typeof english;
